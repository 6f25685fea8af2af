package encoder

import (
	"errors"
	"math"
	"os"
	"testing"
)

// TestTokenVectors: the vectors of BERT are its rows after the first norm and the last, in float64;
// those whose states are elsewhere than their word table have none.
func TestTokenVectors(t *testing.T) {
	for _, name := range []string{"modernbert", "qwen3-lasttoken"} {
		if _, err := mustLoad(t, os.DirFS("testdata/"+name), Options{}).TokenVectors(); !errors.Is(err, ErrTokenVectors) {
			t.Errorf("%s: %v, want ErrTokenVectors", name, err)
		}
	}
	m := mustLoad(t, variant(t, nil), Options{})
	v, err := m.TokenVectors()
	if err != nil {
		t.Fatal(err)
	}
	s := m.stack
	if v.Vocab != s.vocab || v.Dim != s.hidden {
		t.Fatalf("%d of %d dimensions, want %d of %d", v.Vocab, v.Dim, s.vocab, s.hidden)
	}
	last := s.layers[len(s.layers)-1].feedForwardNorm
	got := make([]float32, v.Dim)
	for id := range v.Vocab {
		v.Read(got, id)
		want := slowNorm(slowNorm(toFloat64(s.wordTable[id*v.Dim:(id+1)*v.Dim]), s.embeddingNorm), last)
		for i := range want {
			if math.Abs(float64(got[i])-want[i]) > 1e-4 {
				t.Fatalf("token %d, component %d: %v, want %v", id, i, got[i], want[i])
			}
		}
	}
}

// slowNorm is LayerNorm by its definition.
func slowNorm(x []float64, n *norm) []float64 {
	as := func(v []float32) *array { return &array{shape: []int{len(v)}, x: toFloat64(v)} }
	return weights{"n.weight": as(n.gamma), "n.bias": as(n.beta)}.layerNorm(states{x}, "n", float64(n.eps))[0]
}

func toFloat64(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}
