package search

import (
	"math"
	"testing"
)

func TestFuser(t *testing.T) {
	of := func(rank int, score float64) leg { return leg{rank: rank, score: score, known: true} }
	hybrid := func(alpha, ceiling float64) fuser {
		return fuser{mode: Hybrid, fusion: Relative, alpha: alpha, ceiling: ceiling, floor: 0.2}
	}
	hybridly := func(evidence float64) float64 { return probability(evidence, middleHybrid) }
	for _, tc := range []struct {
		name string
		f    fuser
		in   []candidate
		want []float64 // scores, in the order that they are ranked
		refs []int
	}{
		{"hybrid", hybrid(0.25, 10),
			[]candidate{{ref: 1, words: of(2, 4), vector: of(1, 0.8)}, {ref: 2, words: of(1, 8), vector: of(2, 0.4)}},
			[]float64{hybridly(0.25*0.25 + 0.75*0.8), hybridly(0.25*0.75 + 0.75*0.4)}, []int{2, 1}},
		{"a document without passages", hybrid(0.5, 10), []candidate{{ref: 1, words: of(1, 10)}}, []float64{hybridly(0.5)}, []int{1}},
		{"no words at all", hybrid(0.5, 0), []candidate{{ref: 1, vector: of(1, 0.6)}}, []float64{hybridly(0.25)}, []int{1}},
		{"a cosine below that of unrelated texts", hybrid(1, 0),
			[]candidate{{ref: 1, vector: of(2, -0.6)}, {ref: 2, vector: of(1, 1)}}, []float64{hybridly(1), hybridly(-1)}, []int{2, 1}},
		{"rrf", fuser{mode: Hybrid, fusion: RRF, alpha: 0.5, ceiling: 10},
			[]candidate{{ref: 1, words: of(1, 9), vector: of(3, 0.1)}, {ref: 2, words: leg{score: 1, known: true}, vector: of(1, 0.9)}},
			[]float64{1.0/61 + 1.0/63, 1.0 / 61}, []int{1, 2}},
		{"ties by ref", fuser{mode: Keyword, ceiling: 10},
			[]candidate{{ref: 7, words: of(1, 3)}, {ref: 3, words: of(2, 3)}}, []float64{3, 3}, []int{3, 7}},
		{"semantic with a comparison of tokens", fuser{mode: Semantic, matched: &matched{share: 0.25, least: 0.2}},
			[]candidate{{ref: 1, vector: of(1, 0.7)}, {ref: 2, vector: leg{rank: 2, score: 0.6, known: true, match: new(0.8)}}},
			[]float64{probability(0.75*0.6+0.25*0.8, middleSemantic), probability(0.75*0.7+0.25*0.2, middleSemantic)}, []int{2, 1}},
		{"documents like a document", fuser{mode: Semantic, plain: true}, []candidate{{ref: 1, vector: of(1, 0.7)}}, []float64{0.7}, []int{1}},
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

// TestAutoAlpha: the order is that of BM25 plus the standardised cosine times that of the best
// passage, each by its trust.
func TestAutoAlpha(t *testing.T) {
	const best, mean, deviation, floor, ceiling = 0.7, 0.2, 0.1, 0.05, 20.0
	const terms = 8
	ofVector, ofWords := trust(terms)
	a := autoAlpha(best, mean, deviation, floor, ceiling, terms)
	evidence := func(bm25, cosine float64) float64 {
		return ofWords*bm25 + ofVector*(best-mean)/deviation*(cosine-mean)/deviation
	}
	fused := func(bm25, cosine float64) float64 { return a*(cosine-floor)/(1-floor) + (1-a)*bm25/ceiling }
	scale := (fused(20, 0.7) - fused(0, 0.2)) / (evidence(20, 0.7) - evidence(0, 0.2))
	for _, c := range [][2]float64{{0, 0.7}, {20, 0}, {5, 0.5}, {12, -0.3}} {
		want := scale * (evidence(c[0], c[1]) - evidence(0, 0.2))
		if got := fused(c[0], c[1]) - fused(0, 0.2); math.Abs(got-want) > 1e-12 {
			t.Errorf("BM25 %v, cosine %v: %v, want %v", c[0], c[1], got, want)
		}
	}
	for _, tc := range []struct{ best, deviation, ceiling, want float64 }{
		{0.7, 0, 20, 0.5}, {0.1, 0.1, 20, 0}, {0.7, 0.1, 0, 1}, {0.1, 0.1, 0, 0.5}, {math.Inf(-1), 0.1, 20, 0},
	} {
		if got := autoAlpha(tc.best, mean, tc.deviation, floor, tc.ceiling, terms); got != tc.want {
			t.Errorf("best %v, deviation %v, ceiling %v: %v, want %v", tc.best, tc.deviation, tc.ceiling, got, tc.want)
		}
	}
}
