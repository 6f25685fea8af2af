package search

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"searchd/index/filter"
	"searchd/search/backend"
	"searchd/search/fault"
)

// Bounds of facets.
const (
	MaxFacets         = 16
	MaxFacetLimit     = 1000
	DefaultFacetLimit = 10
	MaxFacetRanges    = 100
)

// Facet asks how the values of a filterable field are spread over the documents found. In JSON it
// is an object, or the name of the field.
type Facet struct {
	Field  string       `json:"field"`
	Limit  int          `json:"limit,omitempty"`  // values, the most frequent, 1..1000; default 10
	Ranges []FacetRange `json:"ranges,omitempty"` // given: instead of values, how many documents have one in each
}

// FacetRange is a half-open interval: values from From up to but not with To. Both are numbers
// (float64, int or json.Number), or both dates as RFC 3339 or YYYY-MM-DD; one may be absent.
type FacetRange struct {
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Facet) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte{'"'}) {
		return json.Unmarshal(b, &f.Field)
	}
	type plain Facet // without this method
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode((*plain)(f)); err != nil {
		return fault.Field("facets", string(b), `the name of a field, or {"field": "year", "limit": 10}, or {"field": "year", "ranges": [{"from": 2000, "to": 2010}]}`)
	}
	for i := range f.Ranges {
		r := &f.Ranges[i]
		r.From, r.To = plainNumber(r.From), plainNumber(r.To)
	}
	return nil
}

// plainNumber returns the float64 of a json.Number that is one, and anything else as it is.
func plainNumber(x any) any {
	if n, ok := x.(json.Number); ok {
		if v, ok := filter.ParseNumber(string(n)); ok {
			return plainValue(v)
		}
	}
	return x
}

// FacetCounts answers a [Facet]. The documents counted are those that [Response].Total counts, and
// Of says which these are: "keyword", all that match by words; "vector", the nearest of the window;
// "union", both; "all", where the query has no word. A document with several values counts for
// each.
type FacetCounts struct {
	Of        string       `json:"of"`
	Documents int          `json:"documents"`          // that were counted
	Missing   int          `json:"missing"`            // of these, without a value
	Distinct  int          `json:"distinct,omitempty"` // different values, those beyond the limit too
	Values    []FacetValue `json:"values,omitempty"`   // by falling count, equal counts in the order of their values
	Ranges    []RangeCount `json:"ranges,omitempty"`   // in the order of the request
}

// FacetValue is a value, a string, float64, json.Number or bool, and the number of documents that
// have it.
type FacetValue struct {
	Value any `json:"value"`
	Count int `json:"count"`
}

// RangeCount is a range and the number of documents that have a value in it.
type RangeCount struct {
	FacetRange
	Count int `json:"count"`
}

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
			out.Values = append(out.Values, FacetValue{plainValue(v.Value), v.Count})
		}
		for j, r := range f.Ranges {
			out.Ranges = append(out.Ranges, RangeCount{r, n.Ranges[j]})
		}
		s.facets[f.Field] = out
	}
	return nil
}

// plainValue is a value as JSON has it: an integer that shares its float64 with others is a
// json.Number.
func plainValue(v filter.Value) any {
	switch v.Kind {
	case filter.Number:
		if v.Wide() {
			return json.Number(v.String())
		}
		return v.Num
	case filter.Bool:
		return v.Num != 0
	default:
		return v.Str
	}
}
