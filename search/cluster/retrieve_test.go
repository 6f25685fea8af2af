package cluster

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
)

// TestBest compares the best of partitions with the best of all that they have, where documents are
// divided evenly, where one partition has all of the best, and where many scores are equal.
func TestBest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for name, partitionOf := range map[string]func(score float64) int{
		"even":   func(float64) int { return r.IntN(8) },
		"skewed": func(score float64) int { return int(8 * score) },
		"one":    func(float64) int { return 5 },
	} {
		for _, scores := range []int{1, 5, 1_000_000} {
			have, all := make([][]float64, 8), []float64{}
			for range 2000 {
				s := float64(r.IntN(scores)) / float64(scores)
				all = append(all, s)
				p := partitionOf(s)
				have[p] = append(have[p], s)
			}
			descending := func(list []float64) { slices.SortFunc(list, func(a, b float64) int { return int(b*1e9 - a*1e9) }) }
			descending(all)
			parts := make([]partition, 8)
			for i := range parts {
				parts[i].index = i
				descending(have[i])
			}
			for _, limit := range []int{0, 1, 10, 100, 1500, 3000} {
				var read atomic.Int64
				answers, err := best(t.Context(), parts, limit, func(s []float64) []float64 { return s }, func(_ context.Context, p partition, limit int) ([]float64, error) {
					own := have[p.index]
					own = own[:min(limit, len(own))]
					read.Add(int64(len(own)))
					return own, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				got := slices.Concat(answers...)
				descending(got)
				if want := all[:min(limit, len(all))]; !slices.Equal(got[:min(limit, len(got))], want) {
					t.Errorf("%s, %d scores: the best %d are not those of all", name, scores, limit)
				}
				if n := read.Load(); name == "even" && scores > 5 && limit == 100 && n > 400 {
					t.Errorf("%d scores were read for the best %d", n, limit)
				}
			}
		}
	}
}
