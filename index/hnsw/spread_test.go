package hnsw

import (
	"math"
	"testing"
)

// TestSpread: the mean and deviation of all distances where n allows, of a part of them elsewhere;
// deleted vectors do not count.
func TestSpread(t *testing.T) {
	g, err := New(Options{Dim: 2, Metric: L2})
	if err != nil {
		t.Fatal(err)
	}
	q := []float32{0, 0}
	if s, err := g.Spread(q, 10); err != nil || s != (Spread{}) {
		t.Fatal(s, err)
	}
	for i := range 100 {
		if err := g.Add(uint32(i), []float32{float32(i), 0}); err != nil {
			t.Fatal(err)
		}
	}
	of := func(from, step int) (mean, deviation float64, n int) {
		for i := from; i < 100; i += step {
			mean += float64(i * i)
			n++
		}
		mean /= float64(n)
		for i := from; i < 100; i += step {
			deviation += math.Pow(float64(i*i)-mean, 2)
		}
		return mean, math.Sqrt(deviation / float64(n)), n
	}
	for _, tc := range []struct{ n, step int }{{1000, 1}, {100, 1}, {20, 5}} {
		s, err := g.Spread(q, tc.n)
		mean, deviation, n := of(0, tc.step)
		if err != nil || math.Abs(s.Mean-mean) > 1e-3 || math.Abs(s.Deviation-deviation) > 1e-2 || s.Count != n {
			t.Errorf("of %d: %+v, %v, want %v, %v of %d", tc.n, s, err, mean, deviation, n)
		}
	}
	for i := range 50 {
		g.Delete(uint32(i))
	}
	if s, err := g.Spread(q, 1000); err != nil || s.Count != 50 {
		t.Errorf("after deletions: %+v, %v", s, err)
	} else if mean, _, _ := of(50, 1); math.Abs(s.Mean-mean) > 1e-3 {
		t.Errorf("after deletions the mean is %v, want %v", s.Mean, mean)
	}
	if _, err := g.Spread([]float32{1}, 10); err == nil {
		t.Error("a query of another dimension is measured")
	}
}
