package search

import (
	"context"
	"slices"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/settings"
)

// Rule changes what a query finds; see [Settings].
type (
	Rule      = settings.Rule
	RuleBoost = settings.RuleBoost
)

// rules are the rules of the collection that a query matches.
type rules struct {
	applied  []RuleApplied
	pin      []string
	hide     []string
	redirect string
}

// useRules notes the rules that the query matches, hides documents and adds boosts. Queries without
// words and those that ask for none have none.
func (s *search) useRules() {
	p := s.plan
	if len(s.record.Settings.Rules) == 0 || p.given || p.browse || p.Rules != nil && !*p.Rules {
		return
	}
	matching := s.record.Settings.MatchingRules(p.Q)
	if len(matching) == 0 {
		return
	}
	s.rules = &rules{}
	for _, r := range matching {
		s.rules.applied = append(s.rules.applied, RuleApplied{ID: r.ID})
		s.rules.pin = append(s.rules.pin, r.Pin...)
		s.rules.hide = append(s.rules.hide, r.Hide...)
		if s.rules.redirect == "" {
			s.rules.redirect = r.Redirect
		}
		for _, b := range r.Boost {
			if e, err := filter.Parse(b.Filter); err == nil && len(p.Sort) == 0 && len(p.boosts) < MaxBoosts { // checked with the settings
				p.boosts = append(p.boosts, boost{of: b.Filter, weight: b.Weight, filter: filter.WithID(e)})
			}
		}
	}
	if len(s.rules.hide) > 0 {
		p.filter = filter.All(p.filter, filter.Not{Expr: filter.IDs(s.rules.hide)})
	}
}

// pins reports whether documents are pinned. An order of one's own has no first places.
func (s *search) pins() bool {
	return s.rules != nil && len(s.rules.pin) > 0 && len(s.plan.Sort) == 0
}

// pin puts the documents that rules name in front of the others, whether or not the query finds
// them. One that is hidden, does not pass the filter or may not be seen stays out.
func (s *search) pin(ctx context.Context) error {
	ids := slices.DeleteFunc(slices.Clone(s.rules.pin), func(id string) bool { return slices.Contains(s.rules.hide, id) })
	var first []candidate
	err := backend.LookupPages(ctx, s.engine.backend, backend.LookupRequest{Collection: s.collection, IDs: ids, NoFields: s.plan.Within == nil}, func(_ []string, docs []*backend.Document) error {
		for _, d := range docs {
			if d == nil || !s.maySee(d) || s.selection != nil && !s.selection.Contains(d.Ref) || slices.ContainsFunc(first, func(c candidate) bool { return c.ref == d.Ref }) {
				continue
			}
			c := candidate{ref: d.Ref}
			if i := slices.IndexFunc(s.candidates, func(c candidate) bool { return c.ref == d.Ref }); i >= 0 {
				c = s.candidates[i]
			}
			c.pinned = true
			first = append(first, c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	rest := slices.DeleteFunc(s.candidates, func(c candidate) bool {
		return slices.ContainsFunc(first, func(f candidate) bool { return f.ref == c.ref })
	})
	s.candidates = append(first, rest...)
	s.total.Value = max(s.total.Value, len(s.candidates))
	return nil
}
