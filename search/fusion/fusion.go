// Package fusion makes one score of the scores of keyword and vector search.
package fusion

import "math"

// Mode names the retrievers of a search.
type Mode string

// The modes.
const (
	Hybrid   Mode = "hybrid"   // both retrievers, fused
	Semantic Mode = "semantic" // nearest passages only
	Keyword  Mode = "keyword"  // BM25 only
)

// Method is the way in which a hybrid search makes one score of two.
type Method string

// The methods.
const (
	Relative Method = "relative" // the evidence of both, alpha·vector' + (1-alpha)·words', as a probability
	RRF      Method = "rrf"      // reciprocal rank fusion, k = 60
)

// rrfK is the constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
const rrfK = 60

// The log-odds of relevance are Scale times the evidence plus the prior: of so many documents one
// is relevant. The prior stops at maxPrior documents, since larger collections have more relevant
// ones, and begins at minPrior, below which nothing was measured. Fitted to the first results of
// six retrieval sets and random parts of them with 55, 150 and 600 documents, the scale of hybrid
// search to those of twelve sets with three models.
const (
	scaleHybrid   = 12
	scaleSemantic = 8 // likeness is the only evidence
	minPrior      = 50
	maxPrior      = 150
)

const (
	// vectorShare is what the evidence of the cosines counts in that of the words.
	vectorShare = 0.4
	// coverage is the power of the share of the BM25 ceiling by which BM25 is damped: a document
	// that has a few of the query's words often has them by chance.
	coverage = 0.3
)

// Retrieved is the score of a document by one retriever.
type Retrieved struct {
	Rank  int     // from 1 among the retriever's own hits; 0 if the score was computed afterwards
	Score float64 // BM25, or the cosine of the best passage
	Norm  float64 // score in [0,1], set by [Scorer.Score]
	Known bool    // false: the retriever did not run, or the document is gone or has no passage

	Match *float64 // of vector search: the comparison token by token; nil if there was none
}

// Scorer scores the documents of one query.
type Scorer struct {
	Mode       Mode
	Wordless   bool // hybrid, and no document of the collection has a word of the query
	Method     Method
	Alpha      float64 // weight of vector search
	Ceiling    float64 // a BM25 that no document can exceed for the query
	Floor      float64 // cosine of unrelated texts
	Documents  int     // of the collection
	RawCosine  bool    // the score is the cosine itself, as documents are compared with a document
	MatchShare float64 // weight of the comparison token by token in the similarity
	LeastMatch float64 // stands for the match of a document that was not compared
}

// Score returns the score of a document and sets its norms.
//
// Relative: the probability of relevance of the evidence alpha·vector' + (1-alpha)·words', where
// words' is a power of the share of the query's BM25 ceiling and vector' the position of the
// similarity between that of unrelated texts and 1. Neither depends on the other results.
//
// RRF: alpha/(60+rank) + (1-alpha)/(60+rank), doubled, so that alpha 0.5 gives the published form;
// a document that a retriever did not find gets nothing from it.
func (s Scorer) Score(words, vector *Retrieved) float64 {
	if words.Norm = 0; s.Ceiling > 0 {
		words.Norm = math.Pow(min(1, words.Score/s.Ceiling), 1+coverage)
	}
	if vector.Norm = 0; vector.Known {
		vector.Norm = s.Likeness(s.Similarity(*vector))
	}
	switch {
	case s.RawCosine:
		return vector.Score
	case s.Mode == Semantic:
		return s.probability(vector.Norm)
	case s.Mode == Keyword:
		return words.Score
	case s.Method == RRF:
		return 2 * (s.Alpha*reciprocal(vector.Rank) + (1-s.Alpha)*reciprocal(words.Rank))
	}
	return s.probability(s.Alpha*vector.Norm + (1-s.Alpha)*words.Norm)
}

// Scale is the log-odds of relevance that one unit of evidence is worth.
func (s Scorer) Scale() float64 {
	if s.Mode == Semantic || s.Wordless {
		return scaleSemantic
	}
	return scaleHybrid
}

// Prior is the log-odds of relevance without evidence.
func (s Scorer) Prior() float64 {
	return -math.Log(float64(min(max(s.Documents, minPrior), maxPrior)))
}

// probability is the logistic function of the log-odds.
func (s Scorer) probability(evidence float64) float64 {
	return 1 / (1 + math.Exp(-s.Scale()*evidence-s.Prior()))
}

// Similarity is the cosine or, where texts were compared token by token, its mean with the match.
func (s Scorer) Similarity(r Retrieved) float64 {
	if s.MatchShare == 0 {
		return r.Score
	}
	match := s.LeastMatch
	if r.Match != nil {
		match = *r.Match
	}
	return (1-s.MatchShare)*r.Score + s.MatchShare*match
}

// Likeness maps a similarity to its position between that of unrelated texts and 1. It may be
// negative.
func (s Scorer) Likeness(similarity float64) float64 {
	return (similarity - s.Floor) / (1 - s.Floor)
}

// CosineOf returns the least cosine that can have a probability of relevance by itself.
func (s Scorer) CosineOf(p float64) float64 {
	return s.Floor + (1-s.Floor)*(math.Log(p/(1-p))-s.Prior())/s.Scale()
}

func reciprocal(rank int) float64 {
	if rank == 0 {
		return 0
	}
	return 1 / float64(rrfK+rank)
}

// Query is what the weight of vector search follows from.
type Query struct {
	Best            float64 // the largest cosine
	Mean, Deviation float64 // of the query's cosines with the collection
	Terms           int     // different terms of the query
}

// Weight returns the weight of vector search for one query.
//
// BM25 is a log-odds. A cosine becomes one when it is standardised, z = (cosine - mean) / deviation
// over the collection: of two normal distributions whose means are d deviations apart, z is d·z +
// const of evidence. The query's own best passage estimates d. The words of a query are not
// independent, and BM25 by chance grows with the root of their number. So the evidence for a
// document is BM25 / √terms, times a power of its share of the ceiling, plus a share of d·z. One
// unit of each norm is then worth ceiling / √terms for the words and a share of
// d·(1 - floor)/deviation for the cosine, and the weight is the second one's share of both.
func (s Scorer) Weight(q Query) float64 {
	if !(q.Deviation > 0) {
		return 0.5
	}
	d := max(0, (q.Best-q.Mean)/q.Deviation)
	vector, words := vectorShare*d*(1-s.Floor)/q.Deviation, s.Ceiling/math.Sqrt(float64(max(1, q.Terms)))
	if !(vector+words > 0) {
		return 0.5
	}
	return vector / (vector + words)
}
