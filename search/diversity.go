package search

import (
	"context"

	"example.com/searchd/internal/simd"
	"example.com/searchd/search/backend"
)

// maxDiverse is how many candidates take part in diversifying. It does not depend on the page, so
// that pages fit together.
const maxDiverse = 1000

// diversify orders the first candidates so that each is relevant and unlike those before it. Scores
// stay as they are.
func (s *search) diversify(ctx context.Context) error {
	pool := s.candidates[:min(maxDiverse, len(s.candidates))]
	passages := make([]backend.PassageRef, len(pool))
	for i, c := range pool {
		passages[i] = backend.PassageRef{Ref: c.ref, Ordinal: c.best}
	}
	have, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Passages: passages, Vectors: true})
	if err != nil {
		return err
	}
	d := diversifier{lambda: 1 - s.plan.Diversity, relevance: s.unitScores(pool), vectors: have.Vectors}
	need := s.plan.Offset + s.plan.limit
	order := d.order(min(need, len(pool)))
	out := make([]candidate, len(order))
	for i, p := range order {
		out[i] = pool[p.RankBefore-1]
		out[i].diversity = &p
	}
	if need > len(pool) {
		out = append(out, s.candidates[len(pool):]...)
	}
	s.candidates = out // what would follow is on no page of this request
	return ctx.Err()
}

// unitScores returns the scores of candidates on the scale of cosines. Those of BM25, of reciprocal
// ranks, of a cross-encoder's raw output and with boosts have another.
func (s *search) unitScores(pool []candidate) []float64 {
	out := make([]float64, len(pool))
	low, high := 0.0, 0.0
	for i, c := range pool {
		out[i] = c.score
		low, high = min(low, c.score), max(high, c.score)
	}
	own := !s.plan.Rerank && len(s.plan.boosts) == 0 && (s.plan.Mode == Semantic || s.plan.Mode == Hybrid && s.plan.Fusion == Relative)
	if !own && high > low {
		for i := range out {
			out[i] = (out[i] - low) / (high - low)
		}
	}
	return out
}

// diversifier picks by maximal marginal relevance.
type diversifier struct {
	lambda    float64
	relevance []float64
	vectors   [][]float32 // unit length; nil is like nothing
}

// order returns the first k picks; of equal values the one with the better rank comes first. It
// takes k·n products of vectors.
func (d diversifier) order(k int) []DiversityExplain {
	nearest := make([]float64, len(d.relevance)) // the largest cosine with a pick
	met := make([]bool, len(d.relevance))        // there is one
	picked := make([]bool, len(d.relevance))
	var out []DiversityExplain
	for len(out) < k {
		best, value := -1, 0.0
		for i := range d.relevance {
			if picked[i] {
				continue
			}
			if v := d.lambda*d.relevance[i] - (1-d.lambda)*nearest[i]; best < 0 || v > value {
				best, value = i, v
			}
		}
		picked[best] = true
		out = append(out, DiversityExplain{RankBefore: best + 1, Relevance: d.relevance[best], Similarity: nearest[best], Value: value})
		for i, v := range d.vectors {
			if picked[i] || v == nil || d.vectors[best] == nil {
				continue
			}
			if cos := float64(simd.Dot(v, d.vectors[best])); !met[i] || cos > nearest[i] {
				nearest[i], met[i] = cos, true
			}
		}
	}
	return out
}
