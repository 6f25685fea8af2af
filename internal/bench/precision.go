package bench

import (
	"fmt"
	"math"
	"slices"

	"searchd/internal/eval"
	"searchd/internal/simd"
)

// Rounding is what a rounded encoder loses beside the exact one on a test collection.
type Rounding struct {
	Set       string  `json:"set"`
	Texts     int     `json:"texts"`      // documents and judged queries
	MinCosine float64 `json:"min_cosine"` // of the two vectors of a text
	Exact     float64 `json:"ndcg@10"`
	Rounded   float64 `json:"ndcg@10_rounded"`
}

// What rounding may cost at most: a cosine of 0.99 for every text and half a point of nDCG@10.
const (
	leastCosine = 0.99
	mostLoss    = 0.005
)

// Err says what of the result is not good enough, nil if all is.
func (r Rounding) Err() error {
	switch {
	case !(r.MinCosine >= leastCosine):
		return fmt.Errorf("%s: smallest cosine %.5f, want at least %v", r.Set, r.MinCosine, leastCosine)
	case !(r.Exact-r.Rounded <= mostLoss):
		return fmt.Errorf("%s: nDCG@10 %.4f instead of %.4f, want at most %v less", r.Set, r.Rounded, r.Exact, mostLoss)
	}
	return nil
}

// CompareRounding encodes every document and judged query with both encoders, which return vectors
// of unit length, and ranks the documents by the inner product with all of them, each document as
// one text that is cut where it exceeds the checkpoint.
func CompareRounding(name string, c *eval.Collection, exact, rounded func(texts []string) ([][]float32, error)) (Rounding, error) {
	texts := make([]string, 0, len(c.Documents)+len(c.Queries))
	for _, d := range c.Documents {
		texts = append(texts, d.Joined())
	}
	for _, q := range c.Queries {
		texts = append(texts, q.Text)
	}
	r := Rounding{Set: name, Texts: len(texts), MinCosine: 1}
	a, err := exact(texts)
	if err != nil {
		return r, err
	}
	b, err := rounded(texts)
	if err != nil {
		return r, err
	}
	for i := range texts {
		if cos := cosine(a[i], b[i]); !(cos >= r.MinCosine) { // NaN too
			r.MinCosine = cos
		}
	}
	r.Exact, r.Rounded = ranked(c, a), ranked(c, b)
	return r, nil
}

// cosine is 1 for two vectors of zeros: of a text without tokens.
func cosine(a, b []float32) float64 {
	norm := math.Sqrt(float64(simd.Dot(a, a)) * float64(simd.Dot(b, b)))
	if norm == 0 && simd.SquaredL2(a, b) == 0 {
		return 1
	}
	return min(1, float64(simd.Dot(a, b))/norm)
}

// ranked returns nDCG@10 with vectors, documents first.
func ranked(c *eval.Collection, vectors [][]float32) float64 {
	const depth = 10
	type hit struct {
		document int
		score    float32
	}
	runs := make(map[string][]string, len(c.Queries))
	for i, q := range c.Queries {
		var top []hit // best first
		for d := range c.Documents {
			h := hit{d, simd.Dot(vectors[len(c.Documents)+i], vectors[d])}
			at, _ := slices.BinarySearchFunc(top, h, func(a, b hit) int {
				if a.score >= b.score { // equal ones in the order of the documents
					return -1
				}
				return 1
			})
			if at < depth {
				top = slices.Insert(top, at, h)
				top = top[:min(depth, len(top))]
			}
		}
		ids := make([]string, len(top))
		for k, h := range top {
			ids[k] = c.Documents[h.document].ID
		}
		runs[q.ID] = ids
	}
	return eval.Measure(runs, c.Qrels).NDCG10
}
