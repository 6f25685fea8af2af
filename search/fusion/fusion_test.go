package fusion

import (
	"math"
	"testing"
)

func TestScore(t *testing.T) {
	of := func(rank int, score float64) Retrieved { return Retrieved{Rank: rank, Score: score, Known: true} }
	hybrid := func(alpha, ceiling float64) Scorer {
		return Scorer{Mode: Hybrid, Method: Relative, Alpha: alpha, Ceiling: ceiling, Floor: 0.2, Documents: 100}
	}
	rrf, matched := Scorer{Mode: Hybrid, Method: RRF, Alpha: 0.5, Ceiling: 10}, Scorer{Mode: Semantic, MatchShare: 0.25, LeastMatch: 0.2}
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	hybridly := func(evidence float64) float64 { return logistic(12*evidence - math.Log(100)) }
	semantically := func(likeness float64) float64 { return logistic(8*likeness - math.Log(50)) }
	for _, tc := range []struct {
		name          string
		s             Scorer
		words, vector Retrieved
		want          float64
	}{
		{"hybrid, words", hybrid(0.25, 10), of(1, 8), of(2, 0.4), hybridly(0.25*0.25 + 0.75*math.Pow(0.8, 1.3))},
		{"hybrid, vector", hybrid(0.25, 10), of(2, 4), of(1, 0.8), hybridly(0.25*0.75 + 0.75*math.Pow(0.4, 1.3))},
		{"a document without passages", hybrid(0.5, 10), of(1, 10), Retrieved{}, hybridly(0.5)},
		{"no words at all", hybrid(0.5, 0), Retrieved{}, of(1, 0.6), hybridly(0.25)},
		{"words that no document has", Scorer{Mode: Hybrid, Wordless: true, Alpha: 1}, Retrieved{}, of(1, 0.6), semantically(0.6)},
		{"a cosine below that of unrelated texts", hybrid(1, 0), Retrieved{}, of(2, -0.6), hybridly(-1)},
		{"rrf", rrf, of(1, 9), of(3, 0.1), 1.0/61 + 1.0/63},
		{"rrf, one retriever", rrf, Retrieved{Score: 1, Known: true}, of(1, 0.9), 1.0 / 61},
		{"keyword", Scorer{Mode: Keyword, Ceiling: 10}, of(1, 3), Retrieved{}, 3},
		{"compared token by token", matched, Retrieved{}, Retrieved{Rank: 2, Score: 0.6, Known: true, Match: new(0.8)}, semantically(0.75*0.6 + 0.25*0.8)},
		{"not compared", matched, Retrieved{}, of(1, 0.7), semantically(0.75*0.7 + 0.25*0.2)},
		{"few documents", Scorer{Mode: Hybrid, Alpha: 1}, Retrieved{}, of(1, 0.5), logistic(6 - math.Log(50))},
		{"many documents", Scorer{Mode: Hybrid, Alpha: 1, Documents: 1e6}, Retrieved{}, of(1, 0.5), logistic(6 - math.Log(150))},
		{"documents like a document", Scorer{Mode: Semantic, RawCosine: true}, Retrieved{}, of(1, 0.7), 0.7},
	} {
		if got := tc.s.Score(&tc.words, &tc.vector); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	for _, s := range []Scorer{{Mode: Semantic, Floor: 0.1}, {Mode: Hybrid, Method: Relative, Floor: 0.1, Alpha: 1}} {
		vector := of(1, s.CosineOf(0.3))
		if got := s.Score(&Retrieved{}, &vector); math.Abs(got-0.3) > 1e-12 {
			t.Errorf("%s: the cosine of .3 scores %v", s.Mode, got)
		}
	}
}

// TestWeight: the order is that of BM25 by the root of the number of terms and by its share of the
// ceiling, plus the standardised cosine times that of the best passage.
func TestWeight(t *testing.T) {
	const best, mean, deviation, floor, ceiling = 0.7, 0.2, 0.1, 0.05, 20.0
	const terms = 8
	a := Scorer{Floor: floor, Ceiling: ceiling}.Weight(Query{best, mean, deviation, terms})
	evidence := func(bm25, cosine float64) float64 {
		return bm25/math.Sqrt(terms)*math.Pow(bm25/ceiling, 0.3) + 0.4*(best-mean)/deviation*(cosine-mean)/deviation
	}
	fused := func(bm25, cosine float64) float64 {
		return a*(cosine-floor)/(1-floor) + (1-a)*math.Pow(bm25/ceiling, 1.3)
	}
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
		if got := (Scorer{Floor: floor, Ceiling: tc.ceiling}).Weight(Query{tc.best, mean, tc.deviation, terms}); got != tc.want {
			t.Errorf("best %v, deviation %v, ceiling %v: %v, want %v", tc.best, tc.deviation, tc.ceiling, got, tc.want)
		}
	}
}
