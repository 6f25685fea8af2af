package keyword

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"searchd/index/filter"
)

// maxFacetValues is the number of different values that Facets counts.
const maxFacetValues = 100_000

// Facet is a value of a field and the number of documents that have it.
type Facet struct {
	Value filter.Value // String, Number or Bool; of a long string, its Key
	Count int
}

// Facets counts the values of a field in the documents of allow (nil: all) and returns the limit most frequent, equal
// counts in the order of their values. Dates are counted as the strings that they are written as. ErrQuery says that the
// field has too many different values.
func (x *Index) Facets(ctx context.Context, field string, allow *roaring.Bitmap, limit int) ([]Facet, error) {
	if limit < 0 {
		return nil, fmt.Errorf("%w: limit of facets is %d, must not be negative", ErrQuery, limit)
	}
	counts := map[string]int{}
	err := x.read(func(v *view) error {
		for _, s := range v.segments {
			if err := s.countValues(ctx, field, s.allowed(allow), counts); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	facets := make([]Facet, 0, len(counts))
	for term, n := range counts {
		facets = append(facets, Facet{termValue([]byte(term)), n})
	}
	slices.SortFunc(facets, func(a, b Facet) int {
		if c := cmp.Compare(b.Count, a.Count); c != 0 {
			return c
		}
		if c, ok := a.Value.Compare(b.Value); ok {
			return c
		}
		return cmp.Compare(a.Value.Kind, b.Value.Kind)
	})
	return facets[:min(limit, len(facets))], nil
}

// allowed returns the local numbers of the documents that allow holds and that are not deleted.
func (s *segmentView) allowed(allow *roaring.Bitmap) *roaring.Bitmap {
	local := roaring.New()
	if allow == nil {
		local.AddRange(0, uint64(len(s.nos)))
		return s.live(local)
	}
	var found []uint32
	for i, no := range s.nos {
		if allow.Contains(no) {
			found = append(found, uint32(i))
		}
	}
	local.AddMany(found)
	return s.live(local)
}

// countValues adds to counts, by term, the documents of local that have it.
func (s *segmentView) countValues(ctx context.Context, field string, local *roaring.Bitmap, counts map[string]int) error {
	dict, err := s.segment.Dictionary(valuePrefix + field)
	if err != nil {
		return err
	}
	var pl segment.PostingsList
	docs := roaring.New()
	for _, r := range []termRange{
		{[]byte{termString}, []byte{termString + 1}},
		{[]byte{termBool}, []byte{termBool + 1}},
		{[]byte{termNumber, 8}, []byte{termNumber, 9}},
	} {
		err := eachTerm(ctx, dict, r, func(term []byte) error {
			if pl, err = dict.PostingsList(term, nil, pl); err != nil {
				return err
			}
			docs.Clear()
			if err := orInto(docs, pl); err != nil {
				return err
			}
			if n := docs.AndCardinality(local); n > 0 {
				counts[string(term)] += int(n)
			}
			if len(counts) > maxFacetValues {
				return fmt.Errorf("%w: field %q has more than %d different values, too many for facets", ErrQuery, field, maxFacetValues)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// termValue is the value whose equalTerm is term.
func termValue(term []byte) filter.Value {
	switch term[0] {
	case termBool:
		return filter.Value{Kind: filter.Bool, Num: float64(term[1])}
	case termNumber:
		bits := binary.BigEndian.Uint64(term[2:])
		if bits>>63 == 1 {
			bits &^= 1 << 63
		} else {
			bits = ^bits
		}
		return filter.Value{Kind: filter.Number, Num: math.Float64frombits(bits)}
	default:
		return filter.Value{Kind: filter.String, Str: string(term[1:])}
	}
}
