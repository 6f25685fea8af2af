package search

import (
	"cmp"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fusion"
	"slices"
)

// candidate is a document that takes part in the ranking.
type candidate struct {
	ref       backend.Ref
	words     fusion.Retrieved
	vector    fusion.Retrieved
	weak      bool // below the cutoff
	pinned    bool // by a rule
	best      int  // ordinal of the passage nearest to the query; 0 without the vector retriever
	score     float64
	boosted   *boosted          // nil where there are no boosts
	rerank    *RerankExplain    // nil where there was no re-ranking
	diversity *DiversityExplain // nil where the order is that of the scores
	group     *HitGroup         // nil where hits are not grouped
}

// scorer returns what scores the candidates.
func (s *search) scorer() fusion.Scorer {
	return fusion.Scorer{
		Mode: s.plan.Mode, Wordless: s.wordless, Method: s.plan.Fusion, Alpha: s.alpha, Ceiling: s.wordCeiling, Floor: s.floor(),
		Documents: s.documents, RawCosine: s.plan.given, MatchShare: s.matchShare, LeastMatch: s.leastMatch,
	}
}

// floorPassages is how many passages of a sample count as much as the guess that unrelated texts
// have the cosine 0.
const floorPassages = 20

// floor returns the cosine of unrelated texts. Where the model is not known it is the mean of the
// query's cosines with the collection.
func (s *search) floor() float64 {
	if s.encoding.Calibrated() {
		return s.encoding.Calibration.CosineFloor
	}
	n := float64(s.spread.Passages)
	return min(max(s.spread.Mean, 0)*n/(n+floorPassages), 0.95)
}

// score sets the score of a candidate.
func (c *candidate) setScore(s fusion.Scorer) { c.score = s.Score(&c.words, &c.vector) }

// rank scores the candidates and sorts them: larger scores first, equal ones by ref, so that pages
// are stable.
func (s *search) rank() {
	f := s.scorer()
	for i := range s.candidates {
		s.candidates[i].setScore(f)
	}
	slices.SortFunc(s.candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ref, b.ref))
	})
}

// weight returns the weight of the vector retriever in a hybrid search: the one that was asked for
// or, without one, what the query's cosines say.
func (s *search) weight() float64 {
	switch {
	case s.plan.Mode == Keyword:
		return 0
	case s.plan.Mode == Semantic:
		return 1
	case s.plan.Alpha != nil:
		return *s.plan.Alpha
	case s.plan.Fusion == RRF:
		return 0.5
	}
	return s.autoWeight()
}

// autoWeight returns the weight that follows from the query's cosines.
func (s *search) autoWeight() float64 {
	if s.wordless {
		return 1
	}
	best := s.best
	for i := range s.candidates {
		if c := &s.candidates[i]; c.vector.Known {
			best = max(best, c.vector.Score)
		}
	}
	return s.scorer().Weight(fusion.Query{Best: best, Mean: s.spread.Mean, Deviation: s.spread.Deviation, Terms: s.queryTerms()})
}

// queryTerms returns the number of different terms of the query that keyword search counts.
func (s *search) queryTerms() int {
	seen := map[string]bool{}
	for _, t := range s.analysis.Occurrences(s.plan.words.Text, nil) {
		if !t.Covered && !t.Name {
			seen[t.Term] = true
		}
	}
	return len(seen)
}
