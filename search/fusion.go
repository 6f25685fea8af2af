package search

import (
	"cmp"
	"math"
	"slices"

	"searchd/models"
	"searchd/search/backend"
)

// rrfK is the constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
const rrfK = 60

// ceilingShare is the share of a query's BM25 ceiling that counts as a full match by words. The mean nDCG@10 of eleven retrieval sets is much
// the same from .5 to .7; .6 is where no set is far below the better of its legs. More helps queries that share few words with their answer.
const ceilingShare = 0.6

// leg is what one leg of the search says of a document.
type leg struct {
	rank  int     // from 1 among the leg's own hits; 0 where the score was filled in afterwards
	score float64 // BM25, or the cosine of the best passage
	norm  float64 // score in [0,1]
	known bool    // false: the leg did not run, or the document is gone or, of the vector leg, has no passage

	match  *float64 // of the vector leg: the comparison token by token; nil where there was none
	title  *float64 // of the vector leg: the cosine of the title alone; nil where it is not known
	topics *float64 // of the vector leg: the cosine with the query among the topics of the collection; nil where it is not known
}

// candidate is a document that takes part in the ranking.
type candidate struct {
	ref       backend.Ref
	words     leg
	vector    leg
	bare      bool // it has no vector, as is known
	best      int  // ordinal of the passage nearest to the query; 0 without the vector leg
	score     float64
	boosted   *boosted          // nil where there are no boosts
	rerank    *RerankExplain    // nil where there was no re-ranking
	diversity *DiversityExplain // nil where the order is that of the scores
	group     *HitGroup         // nil where hits are not grouped
}

// fuser turns the legs of candidates into one score.
type fuser struct {
	mode        Mode
	fusion      Fusion
	alpha       float64
	ceiling     float64 // of BM25 for this query
	calibration models.Calibration
	matched     *matched // nil: no candidate was compared token by token
	topical     *topical // nil: topics say nothing
}

// rank scores the candidates and sorts them: larger scores first, equal ones by ref, so that pages are stable.
//
// relative: bm25' is the score over the query's largest, or over a share of the query's ceiling where that is more: a document without
// the words has 0, and where the best has only a common word of many it does not count as a full match. similarity' is the
// similarity between the checkpoint's floor and ceiling, clipped to [0,1]. The score is alpha·similarity' + (1-alpha)·bm25'. (Convex combination
// with theoretical floors, Bruch, Gai and Ingber, arXiv:2210.11934.)
//
// rrf: alpha/(60+rank) + (1-alpha)/(60+rank), doubled, so that alpha 0.5 gives the published form; a document that a leg did not
// find has no share of it.
//
// It returns the BM25 that counts as a full match.
func (f fuser) rank(cs []candidate) (best float64) {
	best = ceilingShare * f.ceiling
	for i := range cs {
		best = max(best, cs[i].words.score)
	}
	for i := range cs {
		c := &cs[i]
		if best > 0 {
			c.words.norm = c.words.score / best
		}
		if c.vector.known {
			c.vector.norm = f.likeness(f.similarity(c.vector))
		}
		c.score = f.score(c)
	}
	slices.SortFunc(cs, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ref, b.ref))
	})
	return best
}

func (f fuser) score(c *candidate) float64 {
	switch {
	case f.mode == Semantic:
		return f.similarity(c.vector)
	case f.mode == Keyword:
		return c.words.score
	case f.fusion == RRF:
		return 2 * (f.alpha*reciprocal(c.vector.rank) + (1-f.alpha)*reciprocal(c.words.rank))
	default:
		return f.alpha*c.vector.norm + (1-f.alpha)*c.words.norm
	}
}

// similarity is what the vector leg says of a document: the cosine, raised by a title that is like the query, which takes a part of what the cosine lacks of 1; the mean
// of that with the comparison token by token; and the mean of both with what the topics of the collection say, the square of their cosine, which is a likeness and is put
// on the scale of a cosine.
func (f fuser) similarity(l leg) float64 {
	if f.matched == nil {
		return l.score
	}
	match, cosine := f.matched.least, l.score
	if l.match != nil {
		match = *l.match
	}
	if l.title != nil {
		cosine += f.calibration.Title * max(0, *l.title-titleNothing) * (1 - cosine)
	}
	x := (1-f.matched.share)*cosine + f.matched.share*match
	if t := f.topical; t != nil {
		x = (1-t.share)*x + t.share*(f.calibration.CosineFloor+f.span()*t.likeness(l.topics))
	}
	return x
}

func (f fuser) span() float64 { return f.calibration.CosineCeiling - f.calibration.CosineFloor }

// likeness maps a similarity to [0,1] by the checkpoint's calibration.
func (f fuser) likeness(x float64) float64 {
	return math.Min(1, math.Max(0, (x-f.calibration.CosineFloor)/f.span()))
}

func reciprocal(rank int) float64 {
	if rank == 0 {
		return 0
	}
	return 1 / float64(rrfK+rank)
}
