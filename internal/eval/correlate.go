package eval

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Pearson returns the correlation of x and y, from -1 to 1. It is NaN if one of them is constant,
// and an error if they differ in length or have fewer than two elements.
func Pearson(x, y []float64) (float64, error) {
	if len(x) != len(y) || len(x) < 2 {
		return 0, fmt.Errorf("eval: correlation of %d and %d values, want two of one length, at least 2", len(x), len(y))
	}
	return stat.Correlation(x, y, nil), nil
}

// Spearman returns the Pearson correlation of the ranks of x and y; equal values share the mean of
// their ranks.
func Spearman(x, y []float64) (float64, error) { return Pearson(Ranks(x), Ranks(y)) }

// Ranks returns the rank of each value, 1 for the smallest; equal values share the mean of their
// ranks.
func Ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	ranks := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, at := range order[i:j] {
			ranks[at] = float64(i+1+j) / 2 // mean of i+1 .. j
		}
		i = j
	}
	return ranks
}
