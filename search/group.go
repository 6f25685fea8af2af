package search

import (
	"context"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/query"
)

// group keeps the first of the candidates with the same value of a field, and all without a value,
// and counts the groups of all matches.
func (s *search) group(ctx context.Context) error {
	have, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Refs: s.refs(), First: s.plan.Group})
	if err != nil {
		return err
	}
	n := len(s.candidates)
	kept := s.candidates[:0]
	byValue := map[any]*HitGroup{}
	s.collapsed = map[backend.Ref]bool{}
	for i, c := range s.candidates {
		v := have.Firsts[i]
		if v == nil {
			c.group = &HitGroup{}
			kept = append(kept, c)
			continue
		}
		key := query.PlainValue(*v)
		if g := byValue[key]; g != nil {
			g.More++
			s.collapsed[c.ref] = true
			continue
		}
		c.group = &HitGroup{Value: key}
		byValue[key] = c.group
		kept = append(kept, c)
	}
	s.candidates = kept
	s.total.Groups = len(kept)
	if n < s.total.Value { // some are beyond the window
		have, err := s.engine.backend.Aggregate(ctx, backend.AggregateRequest{Collection: s.collection, Selection: s.found(), Facets: []backend.Facet{{Field: s.plan.Group, Limit: 1}}})
		if err != nil {
			return err
		}
		s.total.Groups = have.Facets[0].Distinct + have.Facets[0].Missing
	}
	return nil
}
