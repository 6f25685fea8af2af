package search

import (
	"context"

	"searchd/index/lsi"
	"searchd/index/maxsim"
	"searchd/internal/simd"
	"searchd/search/backend"
)

const (
	// feedback is how many of the best candidates say, too, what a query is about, and feedbackWeight what they all count beside it.
	feedback, feedbackWeight = 3, 0.5
	// heldNothing is how much of a query lies in the topics of the collection where they say nothing of it, and heldFully where they have their whole share.
	// Of a collection about one field half of the queries have .3 to .5. Of 55 notes about all kinds of things, alone or among 2,000 other documents, queries have
	// .05 to .2, and with the whole share always 6 of 43 that share no content word with their note found it first, with none 17, and so with this (eleven retrieval
	// sets, mean nDCG@10 of semantic search .634, .619 and .635; with a share of .4 there, too, and before titles counted).
	heldNothing, heldFully = 0.2, 0.35
)

// topical is what the topics of a collection say of a query.
type topical struct {
	model *lsi.Model
	query []float32 // where the query is among the topics, moved towards the best candidates
	share float64   // that they have in the vector leg
	least float64   // likeness of the candidates that were compared; the others count with that
}

// likeness is what topics say of a document, in [0, 1]: the square of the cosine, as a little of it is chance.
func (t *topical) likeness(cosine *float64) float64 {
	if cosine == nil {
		return t.least
	}
	return *cosine * *cosine
}

// place sets how much a candidate is about what the query is, if its tokens are among texts.
func (t *topical) place(c *candidate, texts map[backend.Ref]maxsim.Text) {
	x, ok := texts[c.ref]
	if !ok {
		return
	}
	v := 0.0
	if place, _ := t.model.Place(x.Title, x.Body); place != nil {
		v = min(1, max(0, float64(simd.Dot(place, t.query))))
	}
	c.vector.topics = &v
}

// topics says of the candidates that were compared token by token how much each is about what the query and the best of them are, and ranks all of them
// again.
func (s *search) topics(context.Context) error {
	if s.matched == nil || s.learnt == nil {
		return nil
	}
	query, held := s.learnt.Place(s.encoding.Matcher().Tokens(s.plan.text.Text))
	share := s.encoding.Calibration.Topics * ramp(held, heldNothing, heldFully)
	if s.plan.Mode == Semantic { // there the vector leg is all of the score, of which topics have the same share as in a hybrid one
		share *= s.encoding.Calibration.Alpha
	}
	if share == 0 {
		return nil
	}
	for _, c := range s.candidates[:min(feedback, len(s.candidates))] {
		x := s.matched.texts[c.ref]
		place, _ := s.learnt.Place(x.Title, x.Body)
		for i, v := range place {
			query[i] += v * feedbackWeight / feedback
		}
	}
	if lsi.Unit(query) == 0 {
		return nil
	}
	s.topical = &topical{model: s.learnt, query: query, share: share, least: 1}
	for i := range s.candidates {
		if s.topical.place(&s.candidates[i], s.matched.texts); s.candidates[i].vector.topics != nil {
			s.topical.least = min(s.topical.least, s.topical.likeness(s.candidates[i].vector.topics))
		}
	}
	s.fuser().rank(s.candidates)
	return nil
}
