package encoder

import (
	"math"
	"testing"
)

// TestRopeTable compares tables with the formula, below and above the length from which dynamic scaling changes the base.
func TestRopeTable(t *testing.T) {
	r := newRope(&ropeSpec{theta: 1000, dims: 8, trained: 32, stretch: 2})
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
	if r.at(20) != r.at(32) {
		t.Error("the table is made anew for each call")
	}
}

// TestPartialRotation leaves the dimensions of a head beyond those that rotate alone.
func TestPartialRotation(t *testing.T) {
	r := newRope(&ropeSpec{theta: 10, dims: 2})
	x := []float32{9, 9, 9, 9, 1, 0, 5, 6, 0, 1, 7, 8} // two tokens of width 4, the second twice as two heads
	r.rotate(x[4:], 8, 4, 2, []int{0, 1, 3}, 2, 3)
	sin, cos := math.Sincos(1)
	want := []float32{9, 9, 9, 9, float32(cos), float32(sin), 5, 6, float32(-sin), float32(cos), 7, 8}
	if d := difference(x, want); d > 1e-6 {
		t.Errorf("rotate gives %v, want %v", x, want)
	}
}
