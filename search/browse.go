package search

import "context"

// browse finds without a query: all documents that pass the filter and have nothing that is
// excluded, in the order of the sort or of their first arrival. Nothing is scored. What becomes a
// candidate is what can be on the page, or with a group the window.
func (s *search) browse(ctx context.Context) error {
	s.wordSet = s.selection
	s.total = Total{Value: s.wordSet.Len(), Relation: "eq", Of: "all"}
	if s.wordSet.Partial {
		s.total.Relation = "gte"
	}
	switch {
	case s.plan.limit == 0:
		return nil
	case len(s.plan.sort) > 0:
		return s.sort(ctx)
	}
	for _, ref := range s.wordSet.Refs(0, s.firsts()) {
		s.candidates = append(s.candidates, candidate{ref: ref})
	}
	return nil
}
