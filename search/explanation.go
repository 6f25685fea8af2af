package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/fusion"
)

// Explain says why a document ranks where it does for a query, whether or not it is on the page
// that Limit and Offset name: these are not looked at. It returns [ErrDocumentNotFound] where there
// is none of this id.
func (e *Engine) Explain(ctx context.Context, collection, id string, q Query) (*Explanation, error) {
	start := time.Now()
	defer e.throttle.Begin()()
	if err := CheckID(id); err != nil {
		return nil, err
	}
	one := 1
	q.Offset, q.Limit, q.Explain, q.Facets = 0, &one, false, nil
	if q.Window == 0 {
		q.Window = DefaultWindow // as on later pages
	}
	s, err := e.newSearch(ctx, collection, q, false)
	if err != nil {
		return nil, err
	}
	x, err := s.explainPlace(ctx, id)
	if errors.Is(err, ErrDocumentNotFound) {
		err = fmt.Errorf("%w in collection %s", err, collection)
	}
	if err == nil {
		x.TookMS = milliseconds(start)
	}
	return x, err
}

// explainPlace says where a document ranks.
func (s *search) explainPlace(ctx context.Context, id string) (*Explanation, error) {
	if s.plan.browse {
		return nil, fault.Field("q", s.plan.Q, "a word or phrase: without one documents are not ranked")
	}
	s.plan.Explain = true
	docs, err := s.engine.backend.Lookup(ctx, backend.LookupRequest{Collection: s.collection, IDs: []string{id}})
	if err != nil {
		return nil, err
	}
	if docs[0] == nil || !s.maySee(docs[0]) {
		return nil, fmt.Errorf("%w: %s", ErrDocumentNotFound, id)
	}
	if s.plan.limit = s.plan.Window; s.plan.Mode == Keyword && len(s.plan.sort) > 0 {
		s.plan.limit = MaxWindow
	}
	if err := s.run(ctx, slices.Concat(s.reading(), s.ranking())); err != nil {
		return nil, err
	}
	x := &Explanation{Ranked: len(s.candidates), Total: s.total}
	if x.Warnings, err = s.warnings(ctx); err != nil {
		return nil, err
	}
	c, err := s.place(ctx, docs[0], x)
	if err != nil {
		return nil, err
	}
	s.page = []candidate{c}
	if err := s.run(ctx, s.showing()); err != nil {
		return nil, err
	}
	if len(s.hits) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrDocumentNotFound, id)
	}
	x.Hit = s.hits[0]
	if s.rules != nil {
		x.Rules = s.rules.applied
	}
	if s.plan.text.Differs() {
		x.Query = &s.plan.text
	}
	x.TimingsMS, x.Degraded, x.Degrade = s.timings, s.degraded != "", s.degraded
	return x, nil
}

// maySee reports whether the sender of the query may see a document. The index may be behind what
// is stored, so that hits are checked too.
func (s *search) maySee(d *backend.Document) bool {
	if s.plan.Within == nil {
		return true
	}
	parts, err := s.record.Settings.Fields.SplitStored(d.Fields)
	if err != nil {
		return false
	}
	parts.Values[filter.DocumentID] = d.ID
	return s.plan.Within.Match(parts.Values)
}

// place finds a document among the candidates. One that is not there gets the scores that it would
// have, and the reason.
func (s *search) place(ctx context.Context, d *backend.Document, x *Explanation) (candidate, error) {
	for i, c := range s.candidates {
		if c.ref == d.Ref {
			x.Rank = i + 1
			return c, nil
		}
	}
	if i := slices.IndexFunc(s.weak, func(c candidate) bool { return c.ref == d.Ref }); i >= 0 {
		x.Reason = ReasonCutoff
		return s.weak[i], nil
	}
	c := candidate{ref: d.Ref}
	if s.plan.Mode != Semantic {
		have, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Refs: []backend.Ref{d.Ref}, Words: &s.plan.words, Scores: true})
		if err != nil {
			return c, err
		}
		c.words = fusion.Retrieved{Score: have.Scores[0], Known: true}
	}
	if s.plan.Mode != Keyword {
		have, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Refs: []backend.Ref{d.Ref}, Vector: s.vector})
		if err != nil {
			return c, err
		}
		if cosines := have.Cosines[0]; len(cosines) > 0 {
			c.vector = bestRetrieved(cosines)
			c.best = slices.Index(cosines, c.vector.Score)
			if s.matchShare > 0 {
				one := []candidate{c}
				if err := s.compare(ctx, one); err != nil {
					return c, err
				}
				c = one[0]
			}
		}
	}
	c.setScore(s.scorer())
	if len(s.plan.boosts) > 0 {
		one := []candidate{c}
		if err := s.weigh(ctx, one); err != nil {
			return c, err
		}
		c = one[0]
		c.raise(0)
	}
	x.Reason = s.reason(c, d)
	return c, nil
}

// reason says why a document is no candidate.
func (s *search) reason(c candidate, d *backend.Document) string {
	if s.rules != nil && slices.Contains(s.rules.hide, d.ID) {
		return ReasonRule
	}
	if s.plan.filter != nil {
		if parts, err := s.record.Settings.Fields.SplitStored(d.Fields); err == nil {
			if parts.Values[filter.DocumentID] = d.ID; !s.plan.filter.Match(parts.Values) {
				return ReasonFilter
			}
		}
	}
	switch {
	case s.selection != nil && !s.selection.Contains(d.Ref):
		return ReasonText
	case s.plan.Mode == Keyword && c.words.Score == 0:
		return ReasonWords
	case len(d.Passages) == 0 && c.words.Score == 0:
		return ReasonPassages
	case s.plan.Mode == Semantic && c.vector.Score < s.plan.MinSimilarity:
		return ReasonSimilarity
	case s.collapsed[d.Ref]:
		return ReasonGroup
	case s.plan.Rerank:
		return ReasonRerank
	}
	return ReasonWindow
}
