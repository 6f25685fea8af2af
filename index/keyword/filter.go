package keyword

import (
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
)

// Among is a [filter.OfID] with the numbers of the documents with one of its ids.
type Among struct {
	filter.OfID
	Numbers *roaring.Bitmap
}

// Filter returns the numbers of the documents whose Values match e. A nil e matches every document.
// A filter.OfID must be converted to an Among.
func (x *Index) Filter(ctx context.Context, e filter.Expr) (*roaring.Bitmap, error) {
	result := roaring.New()
	err := x.read(func(v *view) error {
		for _, s := range v.segments {
			local, err := s.filter(ctx, e)
			if err != nil {
				return err
			}
			s.addNumbers(result, s.live(local))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// Passing returns the documents of docs that [Index.Filter] would return.
func (x *Index) Passing(ctx context.Context, e filter.Expr, docs *roaring.Bitmap) (*roaring.Bitmap, error) {
	result := roaring.New()
	err := x.read(func(v *view) error {
		for i, local := range v.allowed(docs) {
			if local.IsEmpty() {
				continue
			}
			s := v.segments[i]
			have, err := s.filter(ctx, e)
			if err != nil {
				return err
			}
			local.And(have)
			s.addNumbers(result, local)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// filter returns the local numbers of the documents that match e, deleted ones too. The caller may
// change it.
func (s *segmentView) filter(ctx context.Context, e filter.Expr) (*roaring.Bitmap, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case nil:
		return s.complement(roaring.New()), nil
	case filter.And:
		return s.combine(ctx, e, (*roaring.Bitmap).And)
	case filter.Or:
		return s.combine(ctx, e, (*roaring.Bitmap).Or)
	case filter.Not:
		bm, err := s.filter(ctx, e.Expr)
		if err != nil {
			return nil, err
		}
		return s.complement(bm), nil
	case filter.Within:
		return s.within(ctx, e)
	case filter.Exists:
		return s.union(ctx, e.Field, termRange{first: []byte{termExists}})
	case filter.In:
		ranges := make([]termRange, len(e.Values))
		for i, v := range e.Values {
			ranges[i] = termRange{first: equalTerm(v)}
		}
		return s.union(ctx, e.Field, ranges...)
	case filter.Compare:
		if passes := e.Text(); passes != nil {
			return s.strings(ctx, e.Field, passes)
		}
		bm, err := s.union(ctx, e.Field, compareTerms(e.Op, e.Value)...)
		if err != nil || e.Op != filter.NotEqual {
			return bm, err
		}
		return s.complement(bm), nil
	case Among:
		return s.among(ctx, e)
	default:
		return nil, fmt.Errorf("keyword: cannot filter by a %T", e)
	}
}

// strings returns the documents with a string in a value field whose key passes.
func (s *segmentView) strings(ctx context.Context, field string, passes func(key string) bool) (*roaring.Bitmap, error) {
	result := roaring.New()
	values, err := s.values(field)
	if err != nil {
		return nil, err
	}
	all := termRange{first: []byte{termString}, end: []byte{termString + 1}}
	return result, values.each(ctx, all, func(term []byte) error {
		if !passes(string(term[1:])) {
			return nil
		}
		return values.or(result, term)
	})
}

// among returns the documents that have the field and one of its values, and those of e.Numbers
// that do not have it.
func (s *segmentView) among(ctx context.Context, e Among) (*roaring.Bitmap, error) {
	result := roaring.New()
	for it := e.Numbers.Iterator(); it.HasNext(); {
		if local, ok := s.local(it.Next()); ok {
			result.Add(local)
		}
	}
	have, err := s.filter(ctx, filter.Exists{Field: e.Own.Field})
	if err != nil {
		return nil, err
	}
	own, err := s.filter(ctx, e.Own)
	if err != nil {
		return nil, err
	}
	result.AndNot(have)
	result.Or(own)
	return result, nil
}

func (s *segmentView) complement(bm *roaring.Bitmap) *roaring.Bitmap {
	bm.Flip(0, uint64(len(s.nos)))
	return bm
}

func (s *segmentView) combine(ctx context.Context, operands []filter.Expr, with func(dst, src *roaring.Bitmap)) (*roaring.Bitmap, error) {
	var result *roaring.Bitmap
	for _, e := range operands {
		bm, err := s.filter(ctx, e)
		if err != nil {
			return nil, err
		}
		if result == nil {
			result = bm
		} else {
			with(result, bm)
		}
	}
	if result == nil {
		return nil, fmt.Errorf("keyword: a filter has no operands")
	}
	return result, nil
}

// compareTerms returns the terms of the values that compare to v by op; for NotEqual, of those that
// are equal.
func compareTerms(op filter.Op, v filter.Value) []termRange {
	term := equalTerm(v)
	if op == filter.Equal || op == filter.NotEqual {
		return []termRange{{first: term}}
	}
	if v.Kind == filter.String || v.Kind == filter.Bool {
		return orderedTerms(op, term)
	}
	switch op {
	case filter.Less:
		return between(v.Kind, nil, term)
	case filter.LessOrEqual:
		return between(v.Kind, nil, after(v))
	case filter.Greater:
		return between(v.Kind, after(v), nil)
	default:
		return between(v.Kind, term, nil)
	}
}

// orderedTerms returns the terms below or above term that begin with the same byte. The next term
// is the term and a zero byte.
func orderedTerms(op filter.Op, term []byte) []termRange {
	first, end := term[:1:1], []byte{term[0] + 1}
	next := append(slices.Clone(term), 0)
	switch op {
	case filter.Less:
		return []termRange{{first, term}}
	case filter.LessOrEqual:
		return []termRange{{first, next}}
	case filter.Greater:
		return []termRange{{next, end}}
	default:
		return []termRange{{term, end}}
	}
}

// union returns the documents with a term of ranges in a value field.
func (s *segmentView) union(ctx context.Context, field string, ranges ...termRange) (*roaring.Bitmap, error) {
	result := roaring.New()
	values, err := s.values(field)
	if err != nil {
		return nil, err
	}
	for _, r := range ranges {
		c, err := s.column(ctx, values, r)
		if err == nil && c != nil {
			err = c.orInto(result, values, r, len(s.nos))
		} else if err == nil {
			n := 0
			err = values.each(ctx, r, func(term []byte) error {
				n++
				return values.or(result, term)
			})
			s.walked(values, r, n)
		}
		if err != nil {
			return nil, err
		}
	}
	return result, nil
}
