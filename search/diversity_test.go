package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/searchd/search/inference"
)

// TestDiversifierEqualsDefinition compares the picks with those of the definition, in which every
// cosine is computed anew.
func TestDiversifierEqualsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		n, d := 1+r.IntN(30), diversifier{lambda: float64(r.IntN(5)) / 4}
		for range n {
			v := make([]float32, 8)
			for i := range v {
				v[i] = float32(r.NormFloat64())
			}
			if inference.Normalize(v); r.IntN(10) == 0 {
				v = nil
			}
			d.vectors = append(d.vectors, v)
			d.relevance = append(d.relevance, float64(r.IntN(10))/10)
		}
		k := r.IntN(n + 1)
		var want []int
		for len(want) < k {
			best, value := -1, 0.0
			for i := range n {
				if slices.Contains(want, i) {
					continue
				}
				similarity, met := 0.0, false
				for _, j := range want {
					if d.vectors[i] == nil || d.vectors[j] == nil {
						continue
					}
					dot := 0.0
					for x := range d.vectors[i] {
						dot += float64(d.vectors[i][x]) * float64(d.vectors[j][x])
					}
					if !met || dot > similarity {
						similarity, met = dot, true
					}
				}
				if v := d.lambda*d.relevance[i] - (1-d.lambda)*similarity; best < 0 || v > value+1e-6 {
					best, value = i, v
				}
			}
			want = append(want, best)
		}
		got := d.order(k)
		for i := range got {
			if got[i].RankBefore != want[i]+1 {
				t.Fatalf("pick %d of %d is %d, want %d (%+v, lambda %v)", i, n, got[i].RankBefore-1, want[i], got, d.lambda)
			}
		}
		if len(got) != k {
			t.Fatalf("%d picks, want %d", len(got), k)
		}
	}
}
