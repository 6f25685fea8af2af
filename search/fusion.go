package search

import (
	"cmp"
	"math"
	"slices"

	"searchd/search/backend"
)

// rrfK is the constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
const rrfK = 60

// The probability that a document is relevant is the logistic function of its evidence. Fitted to
// the first results of eleven retrieval sets with two models: .5 and above is more likely relevant
// than not. The middle lies higher in semantic mode, where nothing but likeness speaks.
const (
	probabilitySlope = 9
	middleHybrid     = 0.5
	middleSemantic   = 0.6
)

// leg is what one retriever says of a document.
type leg struct {
	rank  int     // from 1 among the retriever's own hits; 0 where the score was filled in afterwards
	score float64 // BM25, or the cosine of the best passage
	norm  float64 // score in [0,1]
	known bool    // false: the retriever did not run, or the document is gone or has no passage

	match *float64 // of the vector retriever: the comparison token by token; nil where there was none
}

// candidate is a document that takes part in the ranking.
type candidate struct {
	ref       backend.Ref
	words     leg
	vector    leg
	weak      bool // below the cutoff
	best      int  // ordinal of the passage nearest to the query; 0 without the vector retriever
	score     float64
	boosted   *boosted          // nil where there are no boosts
	rerank    *RerankExplain    // nil where there was no re-ranking
	diversity *DiversityExplain // nil where the order is that of the scores
	group     *HitGroup         // nil where hits are not grouped
}

// fuser turns the scores of both retrievers into one.
type fuser struct {
	mode    Mode
	fusion  Fusion
	alpha   float64 // weight of the vector retriever
	ceiling float64 // a BM25 that no document can exceed for this query
	floor   float64 // cosine of unrelated texts
	plain   bool    // the score is the cosine itself: documents are compared with a document
	matched *matched
}

// trust returns what one unit of either evidence counts, by the number of terms of the query: the
// vector of a word or two is uncertain, and the words of a long query are not independent. Both are
// 1 or near it for five to ten terms. Measured on eleven retrieval sets with two models; other
// shapes are within .003.
func trust(terms int) (vector, words float64) {
	n := float64(max(1, terms))
	return 1.2 * n / (n + 2), 1 / (1 + n/20)
}

// autoAlpha returns the weight of the vector retriever for one query.
//
// BM25 is a log-odds. A cosine becomes one when it is standardised, z = (cosine - mean) / deviation
// over the collection: of two normal distributions whose means are d deviations apart, z is d·z +
// const of evidence. The query's own best passage estimates d. So the evidence for a document is
// BM25 + d·(cosine - mean)/deviation, each times its [trust], and what one unit of each norm is
// worth follows: the ceiling for the words, d·(1 - floor)/deviation for the cosine. The weight is
// the second one's share of both.
func autoAlpha(best, mean, deviation, floor, ceiling float64, terms int) float64 {
	if !(deviation > 0) {
		return 0.5
	}
	ofVector, ofWords := trust(terms)
	d := max(0, (best-mean)/deviation)
	vector, words := ofVector*d*(1-floor)/deviation, ofWords*ceiling
	if !(vector+words > 0) {
		return 0.5
	}
	return vector / (vector + words)
}

// rank scores the candidates and sorts them: larger scores first, equal ones by ref, so that pages
// are stable.
//
// Relative: the evidence alpha·vector' + (1-alpha)·words', where words' is the share of the query's
// BM25 ceiling and vector' how far the similarity lies between that of unrelated texts and 1.
// Neither depends on what else was found. The score is the probability of relevance that the
// evidence stands for.
//
// RRF: alpha/(60+rank) + (1-alpha)/(60+rank), doubled, so that alpha 0.5 gives the published form;
// a document that a retriever did not find gets nothing from it.
func (f fuser) rank(cs []candidate) {
	for i := range cs {
		f.set(&cs[i])
	}
	slices.SortFunc(cs, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ref, b.ref))
	})
}

// set gives a candidate its norms and its score.
func (f fuser) set(c *candidate) {
	if c.words.norm = 0; f.ceiling > 0 {
		c.words.norm = min(1, c.words.score/f.ceiling)
	}
	if c.vector.norm = 0; c.vector.known {
		c.vector.norm = f.likeness(f.similarity(c.vector))
	}
	switch {
	case f.plain:
		c.score = c.vector.score
	case f.mode == Semantic:
		c.score = probability(c.vector.norm, middleSemantic)
	case f.mode == Keyword:
		c.score = c.words.score
	case f.fusion == RRF:
		c.score = 2 * (f.alpha*reciprocal(c.vector.rank) + (1-f.alpha)*reciprocal(c.words.rank))
	default:
		c.score = probability(f.alpha*c.vector.norm+(1-f.alpha)*c.words.norm, middleHybrid)
	}
}

// probability is the logistic function of evidence.
func probability(evidence, middle float64) float64 {
	return 1 / (1 + math.Exp(-probabilitySlope*(evidence-middle)))
}

// similarity is the cosine or, where texts were compared token by token, its mean with that.
func (f fuser) similarity(l leg) float64 {
	if f.matched == nil {
		return l.score
	}
	match := f.matched.least
	if l.match != nil {
		match = *l.match
	}
	return (1-f.matched.share)*l.score + f.matched.share*match
}

// likeness maps a similarity to how far it lies between that of unrelated texts and 1. It may be
// negative.
func (f fuser) likeness(x float64) float64 { return (x - f.floor) / (1 - f.floor) }

func reciprocal(rank int) float64 {
	if rank == 0 {
		return 0
	}
	return 1 / float64(rrfK+rank)
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
	best := s.best
	for i := range s.candidates {
		if c := &s.candidates[i]; c.vector.known {
			best = max(best, c.vector.score)
		}
	}
	return autoAlpha(best, s.spread.Mean, s.spread.Deviation, s.encoding.Calibration.CosineFloor, s.wordCeiling, s.queryTerms())
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
