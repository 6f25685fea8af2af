package search

import (
	"math"
	"testing"

	"searchd/models"
)

func TestFuser(t *testing.T) {
	calibration := models.Calibration{CosineFloor: 0.2, CosineCeiling: 0.8}
	words := func(rank int, score float64) leg { return leg{rank: rank, score: score, known: true} }
	for _, tc := range []struct {
		name string
		f    fuser
		in   []candidate
		want []float64 // scores, in the order that they are ranked
		refs []int
	}{
		{"relative, the query's best is the measure", fuser{Hybrid, Relative, 0.5, 10, calibration, nil, nil},
			[]candidate{{ref: 1, words: words(2, 4), vector: words(1, 0.8)}, {ref: 2, words: words(1, 8), vector: words(2, 0.5)}},
			[]float64{0.5*1 + 0.5*0.5, 0.5*0.5 + 0.5*1}, []int{1, 2}},
		{"relative, a share of the ceiling is the measure", fuser{Hybrid, Relative, 0.5, 40, calibration, nil, nil},
			[]candidate{{ref: 1, words: words(1, 4), vector: words(2, 0.2)}, {ref: 2, vector: words(1, 0.8)}},
			[]float64{0.5, 0.5 * 4 / (ceilingShare * 40)}, []int{2, 1}},
		{"cosines beyond the calibration are clipped", fuser{Hybrid, Relative, 1, 0, calibration, nil, nil},
			[]candidate{{ref: 1, vector: words(2, -0.5)}, {ref: 2, vector: words(1, 0.95)}}, []float64{1, 0}, []int{2, 1}},
		{"a single hit is not dropped", fuser{Hybrid, Relative, 0.5, 1.5, calibration, nil, nil},
			[]candidate{{ref: 1, words: words(1, 1), vector: words(1, 0.5)}}, []float64{0.75}, []int{1}},
		{"rrf", fuser{Hybrid, RRF, 0.5, 10, calibration, nil, nil},
			[]candidate{{ref: 1, words: words(1, 9), vector: words(3, 0.1)}, {ref: 2, words: leg{score: 1, known: true}, vector: words(1, 0.9)}},
			[]float64{1.0/61 + 1.0/63, 1.0 / 61}, []int{1, 2}},
		{"ties by ref", fuser{Keyword, Relative, 0.5, 10, calibration, nil, nil},
			[]candidate{{ref: 7, words: words(1, 3)}, {ref: 3, words: words(2, 3)}}, []float64{3, 3}, []int{3, 7}},
		{"semantic with a comparison of tokens", fuser{Semantic, Relative, 0.5, 0, calibration, &matched{share: 0.25, least: 0.2}, nil},
			[]candidate{{ref: 1, vector: words(1, 0.7)}, {ref: 2, vector: leg{rank: 2, score: 0.6, known: true, match: new(0.8)}}},
			[]float64{0.75*0.6 + 0.25*0.8, 0.75*0.7 + 0.25*0.2}, []int{2, 1}},
		{"hybrid with a comparison of tokens", fuser{Hybrid, Relative, 0.5, 0, calibration, &matched{share: 0.25, least: 0.2}, nil},
			[]candidate{{ref: 1, vector: leg{rank: 1, score: 0.4, known: true, match: new(0.8)}}}, []float64{0.5 * (0.5 - 0.2) / 0.6}, []int{1}},
		{"semantic with topics", fuser{Semantic, Relative, 0.5, 0, calibration, &matched{share: 0.25, least: 0.2}, &topical{share: 0.4, least: 0.09}},
			[]candidate{{ref: 1, vector: words(1, 0.6)}, {ref: 2, vector: leg{rank: 2, score: 0.6, known: true, match: new(0.2), topics: new(0.5)}}},
			[]float64{0.6*0.5 + 0.4*(0.2+0.6*0.25), 0.6*0.5 + 0.4*(0.2+0.6*0.09)}, []int{2, 1}},
		{"hybrid with topics", fuser{Hybrid, Relative, 0.5, 0, calibration, &matched{share: 0, least: 0}, &topical{share: 0.4, least: 0}},
			[]candidate{{ref: 1, vector: leg{rank: 1, score: 0.5, known: true, topics: new(1.0)}}}, []float64{0.5 * (0.6*0.5 + 0.4*1)}, []int{1}},
		{"no words at all", fuser{Hybrid, Relative, 0.5, 0, calibration, nil, nil},
			[]candidate{{ref: 1, vector: words(1, 0.8)}}, []float64{0.5}, []int{1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.f.rank(tc.in)
			for i, c := range tc.in {
				if int(c.ref) != tc.refs[i] || math.Abs(c.score-tc.want[i]) > 1e-12 {
					t.Errorf("place %d: document %d with %v, want %d with %v", i, c.ref, c.score, tc.refs[i], tc.want[i])
				}
			}
		})
	}
}
