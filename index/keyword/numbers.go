package keyword

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

const numbersBudget = 64 << 20 // bytes of numberLists kept, of all indexes

// numbersMost is how many numbers a numberList has at most; longer ones are not made.
var numbersMost = numbersBudget / 2 / docNumberBytes

// docNumber is a number of a document, or a date in microseconds since 1970.
type docNumber struct {
	doc   uint32 // local
	value float64
}

const docNumberBytes = 16

// numberList holds the numbers, or the dates, that a value field has in a segment, by document,
// deleted ones too.
type numberList []docNumber

// each calls f with the numbers of a document.
func (l numberList) each(doc uint32, f func(doc uint32, value float64)) {
	i, _ := slices.BinarySearchFunc(l, doc, func(n docNumber, doc uint32) int { return cmp.Compare(n.doc, doc) })
	for ; i < len(l) && l[i].doc == doc; i++ {
		f(doc, l[i].value)
	}
}

// Numbers calls f with each number that a document of docs has in a field, or with dates with each
// date in microseconds since 1970, in no particular order. An integer that shares its float64 with
// others is that.
//
// At first the numbers are looked for down their prefixes, as [Index.Order] does. Once this has
// taken as many terms as a segment has documents, a list of all that it has is made and kept: then
// a document costs a search in that list.
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
			err := s.numbers(ctx, field, kind, local, func(doc uint32, value float64) { f(s.nos[doc], value) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// numbers calls f with the numbers or dates of local documents.
func (s *segmentView) numbers(ctx context.Context, field string, kind byte, local *roaring.Bitmap, f func(doc uint32, value float64)) error {
	values, err := s.values(field)
	if err != nil {
		return err
	}
	key := columnKey{s.id, string(values.whole([]byte{kind, 0}))} // one byte more than that of a column
	list, ok, err := s.numberList(ctx, values, kind, key)
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

// numberList returns the list of a field, and whether there is one. As of columns, one is made at a
// time.
func (s *segmentView) numberList(ctx context.Context, values *fieldValues, kind byte, key columnKey) (numberList, bool, error) {
	if l, ok := numbersKept.get(key); ok {
		return l, true, nil
	}
	if !s.walks.due(key.terms, false, len(s.nos)) || !columnsMade.TryLock() {
		return nil, false, nil
	}
	defer columnsMade.Unlock()
	if l, ok := numbersKept.get(key); ok {
		return l, true, nil
	}
	l, ok, err := makeNumberList(ctx, values, kind)
	if err != nil {
		return nil, false, err
	}
	if s.walks.made(key.terms, ok); ok {
		numbersKept.put(key, l, docNumberBytes*len(l))
	}
	return l, ok, nil
}

// makeNumberList says false if the list would be longer than numbersMost.
func makeNumberList(ctx context.Context, values *fieldValues, kind byte) (numberList, bool, error) {
	var l numberList
	err := values.eachDocs(ctx, termRange{[]byte{kind, 8}, []byte{kind, 9}}, func(term []byte, docs *roaring.Bitmap) error {
		value := termNumeric(term)
		for it := docs.Iterator(); it.HasNext(); {
			l = append(l, docNumber{it.Next(), value})
		}
		if len(l) > numbersMost {
			return errEnough
		}
		return nil
	})
	if len(l) > numbersMost {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(l, func(a, b docNumber) int { return cmp.Compare(a.doc, b.doc) })
	return slices.Clip(l), true, nil
}

// descend calls f with the numbers or dates of docs that begin with a prefix of n bytes. It returns
// how many terms it has looked at.
func (v *fieldValues) descend(ctx context.Context, kind, n byte, prefix uint64, docs *roaring.Bitmap, f func(doc uint32, value float64)) (terms int, err error) {
	type child struct {
		last byte
		docs *roaring.Bitmap
	}
	var children []child
	first := appendPrefix([]byte{kind, n + 1}, n, prefix)
	r := termRange{append(slices.Clone(first), 0), append(slices.Clone(first), 0xff, 0xff)}
	err = v.eachDocs(ctx, r, func(term []byte, have *roaring.Bitmap) error {
		terms++
		if have.And(docs); have.IsEmpty() {
			return nil
		}
		if n < 7 {
			children = append(children, child{term[len(term)-1], have.Clone()})
			return nil
		}
		for it, value := have.Iterator(), termNumeric(term); it.HasNext(); {
			f(it.Next(), value)
		}
		return nil
	})
	if err != nil {
		return terms, err
	}
	for _, c := range children {
		more, err := v.descend(ctx, kind, n+1, prefix<<8|uint64(c.last), c.docs, f)
		if terms += more; err != nil {
			return terms, err
		}
	}
	return terms, ctx.Err()
}

// termNumeric returns the number, or the microseconds of the date, of a term of level 8.
func termNumeric(term []byte) float64 {
	bits := binary.BigEndian.Uint64(term[2:10])
	switch {
	case term[0] == termDate:
		return float64(int64(bits ^ 1<<63))
	case bits>>63 == 1:
		return math.Float64frombits(bits &^ (1 << 63))
	}
	return math.Float64frombits(^bits)
}

var numbersKept = kept[columnKey, numberList]{budget: numbersBudget}
