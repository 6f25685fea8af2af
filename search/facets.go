package search

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/query"
)

// Bounds of facets.
const (
	MaxFacets         = 16
	MaxFacetLimit     = 1000
	DefaultFacetLimit = 10
	MaxFacetRanges    = 100
)

// checkFacets reads the facets of a query.
func (p *plan) checkFacets(wrong *fault.Fields) {
	if len(p.Facets) > MaxFacets {
		wrong.Add("facets", len(p.Facets), fmt.Sprintf("at most %d", MaxFacets))
		return
	}
	seen := map[string]bool{}
	for i, f := range p.Facets {
		at := fmt.Sprintf("facets[%d].", i)
		if f.Field == "" || !utf8.ValidString(f.Field) || seen[f.Field] {
			wrong.Add(at+"field", f.Field, "the name of a field, each field once")
		}
		seen[f.Field] = true
		if f.Limit < 0 || f.Limit > MaxFacetLimit {
			wrong.Add(at+"limit", f.Limit, fmt.Sprintf("1 to %d, or 0 for the default", MaxFacetLimit))
		}
		if len(f.Ranges) > MaxFacetRanges {
			wrong.Add(at+"ranges", len(f.Ranges), fmt.Sprintf("at most %d", MaxFacetRanges))
			continue
		}
		b := backend.Facet{Field: f.Field, Limit: f.Limit}
		if b.Limit == 0 {
			b.Limit = DefaultFacetLimit
		}
		for j, r := range f.Ranges {
			b.Ranges = append(b.Ranges, checkRange(fmt.Sprintf("%sranges[%d]", at, j), r, wrong))
		}
		p.facets = append(p.facets, b)
	}
}

// checkRange reads the ends of a range.
func checkRange(at string, r FacetRange, wrong *fault.Fields) (out backend.Range) {
	end := func(name string, x any) *filter.Value {
		if x == nil {
			return nil
		}
		if v, ok := single(x, filter.Number, filter.Date); ok {
			return &v
		}
		wrong.Add(at+"."+name, x, "a number, or a date as RFC 3339 or YYYY-MM-DD")
		return nil
	}
	before := len(*wrong)
	out.From, out.To = end("from", r.From), end("to", r.To)
	switch {
	case len(*wrong) > before:
	case out.From == nil && out.To == nil:
		wrong.Add(at, "{}", "from, to or both")
	case out.From != nil && out.To != nil:
		if c, ok := out.From.Compare(*out.To); !ok || c >= 0 {
			wrong.Add(at, fmt.Sprintf("from %v to %v", r.From, r.To), "two numbers or two dates, the smaller one first; to is not part of the range")
		}
	}
	return out
}

// single returns the value of one of kinds that x is, which is no list.
func single(x any, kinds ...filter.Kind) (v filter.Value, ok bool) {
	if _, list := x.([]any); list {
		return v, false
	}
	values := filter.Values(nil, x)
	i := slices.IndexFunc(values, func(v filter.Value) bool { return slices.Contains(kinds, v.Kind) })
	if i < 0 {
		return v, false
	}
	return values[i], true
}

// refs returns the refs of the candidates.
func (s *search) refs() []backend.Ref {
	refs := make([]backend.Ref, len(s.candidates))
	for i, c := range s.candidates {
		refs[i] = c.ref
	}
	return refs
}

// found returns the documents that the total counts.
func (s *search) found() *backend.Selection {
	if s.plan.Mode == Keyword && s.wordSet != nil { // the candidates are among them
		return s.wordSet
	}
	return s.wordSet.With(s.refs())
}

// count answers the facets, over the documents that the total counts.
func (s *search) count(ctx context.Context) error {
	set := s.found()
	have, err := s.engine.backend.Aggregate(ctx, backend.AggregateRequest{Collection: s.collection, Selection: set, Facets: s.plan.facets})
	if err != nil {
		return err
	}
	s.facets = make(map[string]FacetCounts, len(have.Facets))
	for i, n := range have.Facets {
		f := s.plan.Facets[i]
		out := FacetCounts{Of: s.total.Of, Documents: set.Len(), Missing: n.Missing, Distinct: n.Distinct}
		for _, v := range n.Values {
			out.Values = append(out.Values, FacetValue{Value: query.PlainValue(v.Value), Count: v.Count})
		}
		for j, r := range f.Ranges {
			out.Ranges = append(out.Ranges, RangeCount{FacetRange: r, Count: n.Ranges[j]})
		}
		s.facets[f.Field] = out
	}
	return nil
}
