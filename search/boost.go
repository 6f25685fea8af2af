package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/geo"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/settings"
)

// Bounds of boosts.
const (
	MaxBoosts = 8

	minBoostWeight, maxBoostWeight = -1, 10
)

// boost is a checked [Boost]: filter or field is set.
type boost struct {
	of     string
	weight float64
	filter filter.Expr
	field  string
	dates  bool
	origin *geo.Point              // of points
	value  func(x float64) float64 // of a number, a date in microseconds since 1970, or the metres from origin
}

// boosted is what boosts say of a candidate.
type boosted struct {
	values    []float64 // by boost
	factor    float64
	relevance float64
	rank      int
}

// checkBoosts reads the boosts of a query.
func (p *plan) checkBoosts(wrong *fault.Fields) {
	switch {
	case len(p.Boosts) == 0:
		return
	case len(p.Boosts) > MaxBoosts:
		wrong.Add("boosts", len(p.Boosts), fmt.Sprintf("at most %d", MaxBoosts))
		return
	case len(p.Sort) > 0:
		wrong.Add("boosts", len(p.Boosts), "none together with sort")
	case p.browse:
		wrong.Add("boosts", len(p.Boosts), "none unless q has a word or phrase, as there is no relevance to boost; use sort instead")
	}
	now := p.Now
	if now.IsZero() {
		now = time.Now()
	}
	for i, b := range p.Boosts {
		at := fmt.Sprintf("boosts[%d]", i)
		if !(b.Weight >= minBoostWeight && b.Weight <= maxBoostWeight) || b.Weight == 0 {
			wrong.Add(at+".weight", b.Weight, fmt.Sprintf("%d to %d, and not 0", minBoostWeight, maxBoostWeight))
		}
		out := boost{of: b.Filter + b.Field, weight: b.Weight, field: b.Field}
		switch {
		case (b.Filter == "") == (b.Field == ""):
			wrong.Add(at+".filter", b.Filter, "a filter, or in its place a field")
		case b.Filter != "":
			if b.Origin != nil {
				wrong.Add(at+".origin", b.Origin, "left out with a filter, whose value is 1 or 0")
			}
			if b.Scale != nil {
				wrong.Add(at+".scale", b.Scale, "left out with a filter, whose value is 1 or 0")
			}
			e, err := filter.Parse(b.Filter)
			if err != nil {
				wrong.Add(at+".filter", b.Filter, err.Error())
			}
			out.filter = filter.WithID(e)
		case !utf8.ValidString(b.Field):
			wrong.Add(at+".field", b.Field, "the name of a field")
		default:
			if place, ok := geo.Read(b.Origin); ok {
				out.origin, out.value = &place, fading(b, at, wrong)
				p.measure(b.Field, place)
			} else {
				out.dates, out.value = curve(b, at, now, wrong)
			}
		}
		p.boosts = append(p.boosts, out)
	}
}

// fading reads the scale of distances.
func fading(b Boost, at string, wrong *fault.Fields) (value func(metres float64) float64) {
	text, _ := b.Scale.(string)
	scale, ok := geo.Length(text)
	if !ok || scale <= 0 {
		wrong.Add(at+".scale", b.Scale, "a length above 0 such as 500m, 5km or 3mi, as the origin is a point")
	}
	return func(metres float64) float64 { return math.Exp2(-metres / scale) }
}

// curve reads origin and scale.
func curve(b Boost, at string, now time.Time, wrong *fault.Fields) (dates bool, value func(x float64) float64) {
	var origin float64
	switch {
	case b.Origin == nil:
	case b.Origin == "now":
		dates, origin = true, float64(now.UnixMicro())
	default:
		v, ok := single(b.Origin, filter.Number, filter.Date)
		if !ok {
			wrong.Add(at+".origin", b.Origin, "now, a date as RFC 3339 or YYYY-MM-DD, a number, or "+pointForm)
			return false, nil
		}
		if origin = v.Num; v.Kind == filter.Date {
			dates, origin = true, float64(v.Time)
		}
	}
	scale, ok := positiveNumber(b.Scale)
	allowed := "a number above 0, as the origin is a number"
	if b.Origin == nil {
		allowed = "a number above 0, as there is no origin; dates want an origin, such as now"
	}
	if dates {
		scale, ok = microseconds(b.Scale)
		allowed = "a span above 0 and up to 100 years in hours, days or weeks, such as 12h, 30d or 2w, as the origin is a date"
	}
	switch {
	case b.Scale == nil:
		wrong.Add(at+".scale", "none", allowed)
	case !ok:
		wrong.Add(at+".scale", b.Scale, allowed)
	case b.Origin == nil:
		return false, func(x float64) float64 {
			if x <= 0 {
				return 0
			}
			return 1 / (1 + scale/x)
		}
	}
	return dates, func(x float64) float64 { return math.Exp2(-math.Abs(x-origin) / scale) }
}

// positiveNumber returns the number above 0 that x is.
func positiveNumber(x any) (float64, bool) {
	v, ok := single(x, filter.Number)
	return v.Num, ok && v.Num > 0
}

// microseconds returns how long a span is that is written such as 12h, 30d or 2w.
func microseconds(x any) (float64, bool) {
	text, _ := x.(string)
	d, ok := settings.Span(text)
	return float64(d) / float64(time.Microsecond), ok && d > 0
}

// boost multiplies the relevance of the candidates and puts them into the order of that. A
// candidate's values do not depend on the others.
func (s *search) boost(ctx context.Context) error {
	if err := s.weigh(ctx, s.candidates); err != nil {
		return err
	}
	s.raise()
	return nil
}

// raise gives candidates, in the order of their relevance, their boosted scores, and puts them into
// the order of these.
func (s *search) raise() {
	for i := range s.candidates {
		s.candidates[i].raise(i + 1)
	}
	slices.SortStableFunc(s.candidates, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
}

func (c *candidate) raise(rank int) {
	c.boosted.rank, c.boosted.relevance = rank, c.score
	c.score += math.Abs(c.score) * (c.boosted.factor - 1)
}

// weigh sets what the boosts say of candidates.
func (s *search) weigh(ctx context.Context, cs []candidate) error {
	boosts := s.plan.boosts
	refs := make([]backend.Ref, len(cs))
	weighed, values := make([]boosted, len(cs)), make([]float64, len(cs)*len(boosts))
	for i := range cs {
		refs[i] = cs[i].ref
		weighed[i].values = values[i*len(boosts) : (i+1)*len(boosts)]
		cs[i].boosted = &weighed[i]
	}
	ask := backend.FetchRequest{Collection: s.collection, Refs: refs}
	for _, b := range boosts {
		switch {
		case b.filter != nil:
			ask.Passing = append(ask.Passing, b.filter)
		case b.origin != nil:
			ask.Points = append(ask.Points, b.field)
		default:
			ask.Numbers = append(ask.Numbers, backend.NumberField{Field: b.field, Dates: b.dates})
		}
	}
	have, err := s.engine.backend.Fetch(ctx, ask)
	if err != nil {
		return err
	}
	for k, b := range boosts {
		if b.filter != nil {
			for i, pass := range have.Passing[0] {
				if pass {
					weighed[i].values[k] = 1
				}
			}
			have.Passing = have.Passing[1:]
			continue
		}
		var numbers []backend.Number
		if b.origin != nil {
			for _, p := range have.Points[0] {
				numbers = append(numbers, backend.Number{Index: p.Index, Value: b.origin.Distance(p.At.Point())})
			}
			have.Points = have.Points[1:]
		} else {
			numbers, have.Numbers = have.Numbers[0], have.Numbers[1:]
		}
		for _, n := range numbers {
			v := &weighed[n.Index].values[k]
			*v = max(*v, b.value(n.Value))
		}
		if len(numbers) == 0 {
			note, err := s.otherKind(ctx, b, refs)
			if err != nil {
				return err
			}
			if note != "" {
				s.notes = append(s.notes, note)
			}
		}
	}
	for i := range weighed {
		sum := 0.0
		for k, v := range weighed[i].values {
			sum += boosts[k].weight * v
		}
		weighed[i].factor = max(0, 1+sum)
	}
	return nil
}

// otherKind returns the warning for a boost by numbers, dates or points where documents have none
// of these in its field, but other values; "" where they have no values.
func (s *search) otherKind(ctx context.Context, b boost, refs []backend.Ref) (string, error) {
	others, err := s.engine.backend.Fetch(ctx, backend.FetchRequest{Collection: s.collection, Refs: refs, Passing: []filter.Expr{filter.Exists{Field: b.field}}})
	if err != nil || !slices.Contains(others.Passing[0], true) {
		return "", err
	}
	kind := map[bool]string{true: "date", false: "number"}[b.dates]
	if b.origin != nil {
		kind = "point"
	}
	return fmt.Sprintf("boosts: no document found has a %s in %s, but other values", kind, fault.Quote(b.field)), nil
}

// explain says what the boosts of a plan made of a candidate; nil where there are none.
func (p *plan) explainBoosts(c candidate) *BoostExplain {
	b := c.boosted
	if b == nil {
		return nil
	}
	e := &BoostExplain{RankBefore: b.rank, Relevance: b.relevance, Factor: b.factor}
	for k, v := range b.values {
		e.Values = append(e.Values, BoostValue{Of: p.boosts[k].of, Weight: p.boosts[k].weight, Value: v})
	}
	return e
}
