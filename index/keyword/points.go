package keyword

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/geo"
)

// fewPoints is the number of documents of a cell beyond which its parts are looked at; of fewer all
// points are compared with the area.
var fewPoints uint64 = 64

// within returns the documents with a point in an area.
func (s *segmentView) within(ctx context.Context, e filter.Within) (*roaring.Bitmap, error) {
	values, err := s.values(e.Field)
	if err != nil {
		return nil, err
	}
	result := roaring.New()
	return result, values.area(ctx, e.Area, 0, 0, result)
}

// area adds to dst the documents with a point in an area whose code begins with a prefix of n
// bytes. Of the 256 parts of this cell, those inside are taken as a whole and those outside left
// out.
func (f *fieldValues) area(ctx context.Context, a geo.Area, n byte, prefix uint64, dst *roaring.Bitmap) error {
	var mixed []uint64
	var few []termRange
	err := f.eachDocs(ctx, childTerms(termPoint, n, prefix), func(term []byte, have *roaring.Bitmap) error {
		child := prefix<<8 | uint64(term[len(term)-1])
		switch relation := a.Relate(geo.Cell(child, int(n)+1)); {
		case relation == geo.Inside:
			dst.Or(have)
		case relation == geo.Outside:
		case n == 7:
			if a.Contains(geo.Code(child).Point()) {
				dst.Or(have)
			}
		case have.GetCardinality() <= fewPoints:
			few = append(few, pointTerms(n+1, child))
		default:
			mixed = append(mixed, child)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range few {
		err := f.each(ctx, r, func(term []byte) error {
			if !a.Contains(geo.Code(termBits(term)).Point()) {
				return nil
			}
			return f.or(dst, term)
		})
		if err != nil {
			return err
		}
	}
	for _, child := range mixed {
		if err := f.area(ctx, a, n+1, child, dst); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// pointTerms returns the range of the points whose codes begin with a prefix of n bytes.
func pointTerms(n byte, prefix uint64) termRange {
	first := appendPrefix([]byte{termPoint, 8}, n, prefix)
	return termRange{first, append(slices.Clone(first), slices.Repeat([]byte{0xff}, 9-int(n))...)}
}

// Points calls f with each point that a document of docs has in a field, in no particular order.
// They are found as [Index.Numbers] finds numbers.
func (x *Index) Points(ctx context.Context, field string, docs *roaring.Bitmap, f func(no uint32, at geo.Code)) error {
	return x.read(func(v *view) error {
		for i, local := range v.allowed(docs) {
			if local.IsEmpty() {
				continue
			}
			s := v.segments[i]
			err := s.numbers(ctx, field, termPoint, local, func(doc uint32, bits uint64) { f(s.nos[doc], geo.Code(bits)) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// nearest calls f with the metres from origin to the nearest point of each of docs that has one, or
// with far to the farthest.
func (s *segmentView) nearest(ctx context.Context, field string, origin geo.Point, far bool, docs *roaring.Bitmap, f func(doc uint32, metres float64)) error {
	best := map[uint32]float64{}
	err := s.numbers(ctx, field, termPoint, docs, func(doc uint32, bits uint64) {
		d := origin.Distance(geo.Code(bits).Point())
		if before, ok := best[doc]; !ok || (d > before) == far && d != before {
			best[doc] = d
		}
	})
	for doc, d := range best {
		f(doc, d)
	}
	return err
}

// byDistance sorts a group by the distances from the origin of the first key. Documents without a
// point come last.
func (o *order) byDistance(ctx context.Context, g docGroup, keys []SortKey) error {
	type far struct {
		segment int
		doc     uint32
		metres  float64
	}
	var found []far
	left := docGroup{locals: make([]*roaring.Bitmap, len(g.locals)), unknown: g.unknown}
	for i, l := range g.locals {
		if l == nil || l.IsEmpty() {
			continue
		}
		left.locals[i] = l.Clone()
		err := o.view.segments[i].nearest(ctx, keys[0].Field, *keys[0].Origin, keys[0].Desc, l, func(doc uint32, metres float64) {
			found = append(found, far{i, doc, metres})
			left.locals[i].Remove(doc)
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(found, func(a, b far) int {
		if keys[0].Desc {
			a, b = b, a
		}
		return cmp.Compare(a.metres, b.metres)
	})
	t := ties{order: o, rest: keys[1:]}
	for len(found) > 0 {
		same := docGroup{locals: make([]*roaring.Bitmap, len(g.locals))}
		metres := found[0].metres
		for len(found) > 0 && found[0].metres == metres {
			l := &same.locals[found[0].segment]
			if *l == nil {
				*l = roaring.New()
			}
			(*l).Add(found[0].doc)
			found = found[1:]
		}
		if err := t.add(ctx, same); err != nil {
			return err
		}
	}
	if err := t.add(ctx, left); err != nil {
		return err
	}
	return t.end(ctx)
}

// distanceString returns the string of a distance in an [OrderKey].
func distanceString(metres float64) string {
	return orderString(termNumber, binary.BigEndian.AppendUint64(nil, math.Float64bits(metres)))
}
