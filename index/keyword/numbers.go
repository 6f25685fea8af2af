package keyword

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/internal/cache"
)

// maxNumbers is the length of a numberList beyond which it is not built.
var maxNumbers = numbersBudget / 2 / docNumberBytes

// docNumber is a number of a document, a date or a point.
type docNumber struct {
	doc  uint32 // local
	bits uint64 // of its term, see sortable
}

const docNumberBytes = 16

// numberList holds the numbers, the dates, or the points that a value field has in a segment, by
// document, deleted ones too.
type numberList []docNumber

// each calls f with the numbers of a document.
func (l numberList) each(doc uint32, f func(doc uint32, bits uint64)) {
	i, _ := slices.BinarySearchFunc(l, doc, func(n docNumber, doc uint32) int { return cmp.Compare(n.doc, doc) })
	for ; i < len(l) && l[i].doc == doc; i++ {
		f(doc, l[i].bits)
	}
}

// Numbers calls f with each number that a document of docs has in a field, or with dates with each
// date in microseconds since 1970, in no particular order. Integers beyond 2^53 are rounded to
// float64.
//
// The numbers are found along their prefixes, as in [Index.Order]. Once this has visited as many
// terms as a segment has documents, a list by document is built and cached.
func (x *Index) Numbers(ctx context.Context, field string, dates bool, docs *roaring.Bitmap, f func(no uint32, value float64)) error {
	kind := termNumber
	if dates {
		kind = termDate
	}
	return x.read(func(v *view) error {
		for i, local := range v.allowed(docs) {
			if local.IsEmpty() {
				continue
			}
			s := v.segments[i]
			err := s.numbers(ctx, field, kind, local, func(doc uint32, bits uint64) { f(s.nos[doc], numeric(kind, bits)) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// numbers calls f with the numbers, dates or points of local documents.
func (s *segmentView) numbers(ctx context.Context, field string, kind byte, local *roaring.Bitmap, f func(doc uint32, bits uint64)) error {
	values, err := s.values(field)
	if err != nil {
		return err
	}
	key := columnKey{s.id, string(values.whole([]byte{kind, 0}))} // one byte more than that of a column
	list, ok, err := built(s, s.caches.numbers, key, false, func(l numberList) int { return docNumberBytes * len(l) }, func() (numberList, bool, error) {
		return buildNumberList(ctx, values, kind)
	})
	if err != nil {
		return err
	}
	if !ok {
		n, err := values.descend(ctx, kind, 0, 0, local, f)
		s.walks.add(key.terms, n)
		return err
	}
	for it := local.Iterator(); it.HasNext(); {
		list.each(it.Next(), f)
	}
	return nil
}

// built returns a cached value, which it builds if that is due, see segmentView.column. ok is false
// if there is none.
func built[V any](s *segmentView, c *cache.Cache[columnKey, V], key columnKey, all bool, bytes func(V) int, build func() (V, bool, error)) (value V, ok bool, err error) {
	if value, ok = c.Get(key); ok || !s.walks.due(key.terms, all, len(s.nos)) || !s.caches.building.TryLock() {
		return value, ok, nil
	}
	defer s.caches.building.Unlock()
	if value, ok = c.Get(key); ok {
		return value, ok, nil
	}
	if value, ok, err = build(); err != nil {
		return value, false, err
	}
	if s.walks.built(key.terms, ok); ok {
		c.Put(key, value, bytes(value))
	}
	return value, ok, nil
}

// buildNumberList returns false if the list would be longer than maxNumbers.
func buildNumberList(ctx context.Context, values *fieldValues, kind byte) (numberList, bool, error) {
	var l numberList
	err := values.eachDocs(ctx, termRange{[]byte{kind, 8}, []byte{kind, 9}}, func(term []byte, docs *roaring.Bitmap) error {
		bits := termBits(term)
		for it := docs.Iterator(); it.HasNext(); {
			l = append(l, docNumber{it.Next(), bits})
		}
		if len(l) > maxNumbers {
			return errEnough
		}
		return nil
	})
	if len(l) > maxNumbers {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(l, func(a, b docNumber) int { return cmp.Compare(a.doc, b.doc) })
	return slices.Clip(l), true, nil
}

// descend calls f with the numbers, dates or points of docs that begin with a prefix of n bytes. It
// returns the number of terms that it has visited.
func (f *fieldValues) descend(ctx context.Context, kind, n byte, prefix uint64, docs *roaring.Bitmap, each func(doc uint32, bits uint64)) (terms int, err error) {
	type child struct {
		last byte
		docs *roaring.Bitmap
	}
	var children []child
	err = f.eachDocs(ctx, childTerms(kind, n, prefix), func(term []byte, have *roaring.Bitmap) error {
		terms++
		if have.And(docs); have.IsEmpty() {
			return nil
		}
		if n < 7 {
			children = append(children, child{term[len(term)-1], have.Clone()})
			return nil
		}
		for it, bits := have.Iterator(), termBits(term); it.HasNext(); {
			each(it.Next(), bits)
		}
		return nil
	})
	if err != nil {
		return terms, err
	}
	for _, c := range children {
		more, err := f.descend(ctx, kind, n+1, prefix<<8|uint64(c.last), c.docs, each)
		if terms += more; err != nil {
			return terms, err
		}
	}
	return terms, ctx.Err()
}

// childTerms returns the range of the terms of one more byte than a prefix of n bytes.
func childTerms(kind, n byte, prefix uint64) termRange {
	first := appendPrefix([]byte{kind, n + 1}, n, prefix)
	return termRange{append(slices.Clone(first), 0), append(slices.Clone(first), 0xff, 0xff)}
}

// termBits returns the bits of a term of level 8, see sortable.
func termBits(term []byte) uint64 { return binary.BigEndian.Uint64(term[2:10]) }

// numeric returns the number, or the microseconds of the date, with these bits.
func numeric(kind byte, bits uint64) float64 {
	switch {
	case kind == termDate:
		return float64(int64(bits ^ 1<<63))
	case bits>>63 == 1:
		return math.Float64frombits(bits &^ (1 << 63))
	}
	return math.Float64frombits(^bits)
}

// appendPrefix appends the n low bytes of prefix, the highest first.
func appendPrefix(dst []byte, n byte, prefix uint64) []byte {
	for i := int(n) - 1; i >= 0; i-- {
		dst = append(dst, byte(prefix>>(8*i)))
	}
	return dst
}
