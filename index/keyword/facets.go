package keyword

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
)

// Bounds of one facet, and of sorting by one field.
const (
	MaxFacetValues = 100_000   // distinct values of the documents counted
	maxFacetTerms  = 1_000_000 // distinct values of all documents of a segment
)

// Facet asks for the most frequent values of a field.
type Facet struct {
	Field  string
	Limit  int     // number of values to return
	Ranges []Range // not empty: count the documents with a value in each, instead of values
}

// Range is a half-open interval [From, To) of numbers or of dates; a nil end is open.
type Range struct{ From, To *filter.Value }

// ValueCount is a value of a field and the number of documents that have it.
type ValueCount struct {
	Value filter.Value // String, Number or Bool; of a long string, its Key
	Count int
}

// FacetCounts answers a [Facet].
type FacetCounts struct {
	Values   []ValueCount // the most frequent first, then by value
	Distinct int          // number of values, those beyond Limit too
	Ranges   []int        // by range: documents with a value in it
	Missing  int          // documents without a value
}

// Facets counts the values of fields in the documents of allow (nil: all). A document with several
// values counts for each. Dates are counted as strings. Facets returns ErrQuery for a field with
// too many distinct values.
func (x *Index) Facets(ctx context.Context, facets []Facet, allow *roaring.Bitmap) ([]FacetCounts, error) {
	out := make([]FacetCounts, len(facets))
	for i, f := range facets {
		if f.Limit < 0 {
			return nil, fmt.Errorf("%w: limit of facet %.100q is %d, must not be negative", ErrQuery, f.Field, f.Limit)
		}
		out[i].Ranges = make([]int, len(f.Ranges))
	}
	err := x.read(func(v *view) error {
		locals := v.allowed(allow)
		for i, f := range facets {
			if err := v.facet(ctx, f, locals, &out[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// facet counts one facet over the local documents of each segment.
func (v *view) facet(ctx context.Context, f Facet, locals []*roaring.Bitmap, out *FacetCounts) error {
	counts := map[string]int{}
	for i, s := range v.segments {
		have, err := s.union(ctx, f.Field, termRange{first: []byte{termExists}})
		if err != nil {
			return err
		}
		have.And(locals[i])
		out.Missing += int(locals[i].GetCardinality() - have.GetCardinality())
		if have.IsEmpty() {
			continue
		}
		for r, span := range f.Ranges {
			docs, err := s.union(ctx, f.Field, span.terms()...)
			if err != nil {
				return err
			}
			out.Ranges[r] += int(docs.AndCardinality(have))
		}
		if len(f.Ranges) == 0 {
			if err := s.countValues(ctx, f.Field, have, counts); err != nil {
				return err
			}
		}
	}
	out.Distinct = len(counts)
	out.Values = mostFrequent(counts, f.Limit)
	return nil
}

// terms returns the terms of the values of the range.
func (r Range) terms() []termRange {
	kind := filter.Number
	var first, end []byte
	if r.From != nil {
		kind, first = r.From.Kind, equalTerm(*r.From)
	}
	if r.To != nil {
		kind, end = r.To.Kind, equalTerm(*r.To)
	}
	return between(kind, first, end)
}

// termCount is a term and the number of documents that have it.
type termCount struct {
	term  string
	count int
}

// compare orders by frequency, the highest first, then by value: strings, numbers, booleans.
func (a termCount) compare(b termCount) int {
	if c := cmp.Compare(b.count, a.count); c != 0 {
		return c
	}
	if a.term[0] != b.term[0] {
		const kinds = string(termString) + string(termNumber) + string(termBool)
		return cmp.Compare(strings.IndexByte(kinds, a.term[0]), strings.IndexByte(kinds, b.term[0]))
	}
	return strings.Compare(a.term, b.term)
}

// mostFrequent returns the limit most frequent terms.
func mostFrequent(counts map[string]int, limit int) []ValueCount {
	var best []termCount // once truncated, the first limit of them are the best so far, in order
	truncate := func() {
		slices.SortFunc(best, termCount.compare)
		best = best[:min(limit, len(best))]
	}
	truncated := false
	for term, n := range counts {
		t := termCount{term, n}
		if truncated && (limit == 0 || t.compare(best[limit-1]) > 0) {
			continue
		}
		if best = append(best, t); len(best) >= 2*limit+100 {
			truncate()
			truncated = true
		}
	}
	truncate()
	values := make([]ValueCount, len(best))
	for i, t := range best {
		values[i] = ValueCount{termValue(t.term), t.count}
	}
	return values
}

// valueRanges contain one term for each number, boolean and string; dates are strings too.
var valueRanges = []termRange{
	{[]byte{termNumber, 8}, []byte{termNumber, 9}},
	{[]byte{termBool}, []byte{termBool + 1}},
	{[]byte{termString}, []byte{termString + 1}},
}

// countValues adds to counts, by term, the documents of local that have it.
func (s *segmentView) countValues(ctx context.Context, field string, local *roaring.Bitmap, counts map[string]int) error {
	bits := bitsOf(local, len(s.nos))
	return s.eachValue(ctx, field, valueRanges, func(term string, docs termDocs) error {
		if n := docs.count(local, bits); n > 0 {
			counts[term] += n
		}
		if len(counts) > MaxFacetValues {
			return tooManyValues(field, MaxFacetValues)
		}
		return nil
	})
}

func tooManyValues(field string, most int) error {
	return fmt.Errorf("%w: field %.100q has more than %d distinct values, too many to count or sort by", ErrQuery, field, most)
}

// termDocs are the documents of a term, deleted ones too, in one of two forms.
type termDocs struct {
	few  []uint32 // ascending, read-only
	many *roaring.Bitmap
}

// len returns the number of documents.
func (d termDocs) len() int {
	if d.many != nil {
		return int(d.many.GetCardinality())
	}
	return len(d.few)
}

// count returns the number of documents in a set, which is given as a bitmap and as bits.
func (d termDocs) count(set *roaring.Bitmap, bits docBits) int {
	if d.many != nil {
		return int(d.many.AndCardinality(set))
	}
	n := 0
	for _, doc := range d.few {
		if bits.has(doc) {
			n++
		}
	}
	return n
}

// in returns the documents in a set, which is given as a bitmap and, unless it is small, as bits;
// nil if there are none.
func (d termDocs) in(set *roaring.Bitmap, bits docBits) *roaring.Bitmap {
	if d.many != nil {
		if have := roaring.And(d.many, set); !have.IsEmpty() {
			return have
		}
		return nil
	}
	var have *roaring.Bitmap
	for _, doc := range d.few {
		if bits != nil && bits.has(doc) || bits == nil && set.Contains(doc) {
			if have == nil {
				have = roaring.New()
			}
			have.Add(doc)
		}
	}
	return have
}

// eachValue calls f with every term of ranges that a value field has, in the order of the ranges,
// and its documents, which are valid until f returns.
func (s *segmentView) eachValue(ctx context.Context, field string, ranges []termRange, f func(term string, docs termDocs) error) error {
	values, err := s.values(field)
	if err != nil {
		return err
	}
	terms, docs := 0, roaring.New()
	count := func() error {
		if terms++; terms > maxFacetTerms {
			return tooManyValues(field, maxFacetTerms)
		}
		return nil
	}
	lookUp := func(term []byte) (termDocs, error) {
		docs.Clear()
		return termDocs{many: docs}, values.or(docs, term)
	}
	for _, r := range ranges {
		c, err := s.column(ctx, values, r)
		if err != nil {
			return err
		}
		if c == nil {
			before := terms
			err = values.each(ctx, r, func(term []byte) error {
				if err := count(); err != nil {
					return err
				}
				have, err := lookUp(term)
				if err != nil {
					return err
				}
				return f(string(term), have)
			})
			s.walked(values, r, terms-before)
		} else {
			err = c.each(ctx, r, func(i int, have termDocs) error {
				if err := count(); err != nil {
					return err
				}
				term := c.term(i)
				if have.few == nil {
					var err error
					if have, err = lookUp([]byte(term)); err != nil {
						return err
					}
				}
				return f(term, have)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// termValue returns the value whose equalTerm is term, which is not a date.
func termValue(term string) filter.Value {
	switch term[0] {
	case termBool:
		return filter.Value{Kind: filter.Bool, Num: float64(term[1])}
	case termNumber:
		v := filter.Value{Kind: filter.Number, Num: numeric(term[0], termBits([]byte(term)))}
		if v.Wide() {
			v.Off = int16(int(binary.BigEndian.Uint16([]byte(term[10:]))) - offBias)
		}
		return v
	default:
		return filter.Value{Kind: filter.String, Str: strings.Clone(term[1:])}
	}
}

// Firsts returns the first value that each document of docs has in a field: numbers come before
// booleans, booleans before strings. Documents without a value are left out. Firsts returns
// ErrQuery for a field with too many distinct values.
func (x *Index) Firsts(ctx context.Context, field string, docs *roaring.Bitmap) (map[uint32]filter.Value, error) {
	out := map[uint32]filter.Value{}
	err := x.read(func(v *view) error {
		for i, local := range v.allowed(docs) {
			s := v.segments[i]
			if local.IsEmpty() {
				continue
			}
			bits := bitsOf(local, len(s.nos))
			err := s.eachValue(ctx, field, valueRanges, func(term string, docs termDocs) error {
				have := docs.in(local, bits)
				if have == nil {
					return nil
				}
				for it := have.Iterator(); it.HasNext(); {
					doc := it.Next()
					out[s.nos[doc]] = termValue(term)
					bits.clear(doc)
				}
				if local.AndNot(have); local.IsEmpty() {
					return errEnough
				}
				return nil
			})
			if err != nil && !errors.Is(err, errEnough) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
