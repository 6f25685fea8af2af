package encoder

import (
	"math"
	"testing"
)

// TestRopeTable compares tables with the formula, below and above the length from which dynamic
// scaling changes the base.
func TestRopeTable(t *testing.T) {
	r := &rope{theta: 1000, dims: 8, trained: 32, stretch: 2}
	for _, n := range []int{1, 32, 33, 100} {
		theta := 1000.0
		if n > 32 {
			theta *= math.Pow(2*float64(n)/32-1, 8./6)
		}
		table := r.at(n)
		if table.n < n {
			t.Fatalf("at(%d) has %d positions", n, table.n)
		}
		for i := range n {
			for j := range 4 {
				sin, cos := math.Sincos(float64(i) * math.Pow(theta, -2*float64(j)/8))
				if math.Abs(sin-float64(table.sin[i*4+j])) > 1e-5 || math.Abs(cos-float64(table.cos[i*4+j])) > 1e-5 {
					t.Fatalf("at(%d): position %d, frequency %d: %v %v, want %v %v", n, i, j, table.sin[i*4+j], table.cos[i*4+j], sin, cos)
				}
			}
		}
	}
	if r.at(20) != r.at(32) || r.at(50) != r.at(50) {
		t.Error("the table is made anew for each call")
	}
	if r.at(50) == r.at(51) {
		t.Error("two lengths beyond the trained one share a table")
	}
}

// TestLayersShareRopes counts the tables of a checkpoint: one for each kind of layer, since those
// of long texts are large.
func TestLayersShareRopes(t *testing.T) {
	for name, want := range map[string]int{"modernbert": 2, "qwen3-lasttoken": 1, "bert-mean": 0} {
		m := load(t, "testdata/"+name, Options{})
		encode(t, m, EncodeOptions{}, sampleTexts...)
		made := map[*ropeTable]bool{}
		for _, l := range m.stack.layers {
			if l.spec.rope != nil {
				made[l.spec.rope.table.Load()] = true
			}
		}
		if len(made) != want || made[nil] {
			t.Errorf("%s: %d tables in %d layers, want %d", name, len(made), len(m.stack.layers), want)
		}
	}
}

// BenchmarkRotateLong rotates a block of rows of a text beyond the trained length, as each layer
// does block by block.
func BenchmarkRotateLong(b *testing.B) {
	const tokens, heads, headSize = 4096, 12, 64
	x := make([]float32, blockRows*heads*headSize)
	r := &rope{theta: 1000, dims: headSize, trained: 2048, stretch: 2}
	b.ReportAllocs()
	for b.Loop() {
		r.rotate(x, heads*headSize, headSize, heads, &batch{offsets: []int{0, tokens}}, tokens-blockRows, tokens)
	}
}

// TestPartialRotation leaves the dimensions of a head beyond those that rotate alone.
func TestPartialRotation(t *testing.T) {
	r := &rope{theta: 10, dims: 2}
	x := []float32{9, 9, 9, 9, 1, 0, 5, 6, 0, 1, 7, 8} // two tokens of width 4, the second twice as two heads
	r.rotate(x[4:], 8, 4, 2, &batch{offsets: []int{0, 1, 3}}, 2, 3)
	sin, cos := math.Sincos(1)
	want := []float32{9, 9, 9, 9, float32(cos), float32(sin), 5, 6, float32(-sin), float32(cos), 7, 8}
	if d := difference(x, want); d > 1e-6 {
		t.Errorf("rotate gives %v, want %v", x, want)
	}
}
