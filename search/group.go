package search

import (
	"context"

	"searchd/search/backend"
)

// group leaves of the candidates with the same value of a field the first; those without a value
// all stay.
func (s *search) group(ctx context.Context) error {
	have, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Refs: s.refs(), First: s.plan.Group})
	if err != nil {
		return err
	}
	kept := s.candidates[:0]
	groups := map[any]*HitGroup{}
	s.collapsed = map[backend.Ref]bool{}
	for i, c := range s.candidates {
		v := have.Firsts[i]
		if v == nil {
			c.group = &HitGroup{}
			kept = append(kept, c)
			continue
		}
		key := plainValue(*v)
		if g := groups[key]; g != nil {
			g.More++
			s.collapsed[c.ref] = true
			continue
		}
		c.group = &HitGroup{Value: key}
		groups[key] = c.group
		kept = append(kept, c)
	}
	s.candidates = kept
	return nil
}
