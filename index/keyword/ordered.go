package keyword

import (
	"context"
	"errors"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/index/filter"
)

// strangers returns the documents of docs (nil: none) that are in no segment; locals has those that
// are.
func (v *view) strangers(docs *roaring.Bitmap, locals []*roaring.Bitmap) *roaring.Bitmap {
	known := roaring.New()
	if docs == nil {
		return known
	}
	n := uint64(0)
	for _, l := range locals {
		n += l.GetCardinality()
	}
	if n == docs.GetCardinality() { // each is in one segment: no need to look at all their numbers
		return known
	}
	for i, s := range v.segments {
		s.addNumbers(known, locals[i])
	}
	return roaring.AndNot(docs, known)
}

// Ordered is a document in an order with what it is ordered by: for each key the value that counts,
// of a long string its Key, or the score as a number; nil where it has none.
type Ordered struct {
	No     uint32
	Values []*filter.Value
}

// OrderWithValues is [Index.Order] that tells what the documents are ordered by, so that the orders
// of several indexes can be merged. That is looked for in the end, for the documents found alone,
// and of keys that Order itself had no need of too: it takes up to as long again for each key, and
// ErrQuery says of these, too, that a field has too many different values.
func (x *Index) OrderWithValues(ctx context.Context, keys []SortKey, docs *roaring.Bitmap, k int, by Scorer) (out []Ordered, err error) {
	_, err = x.order(ctx, keys, docs, k, by, func(o *order) error {
		out, err = o.withValues(ctx, keys)
		return err
	})
	return out, err
}

// withValues returns the documents that were found with what they are ordered by.
func (o *order) withValues(ctx context.Context, keys []SortKey) ([]Ordered, error) {
	out, place := make([]Ordered, len(o.out)), make(map[uint32]int, len(o.out))
	for i, no := range o.out {
		out[i], place[no] = Ordered{No: no, Values: make([]*filter.Value, len(keys))}, i
	}
	found := o.group(o.out)
	for at, key := range keys {
		if key.Field == "" {
			scores, err := o.scores(o.out)
			if err != nil {
				return nil, err
			}
			for i, score := range scores {
				out[i].Values[at] = &filter.Value{Kind: filter.Number, Num: score}
			}
			continue
		}
		for i, docs := range found.locals {
			if docs == nil {
				continue
			}
			s := o.view.segments[i]
			err := s.counting(ctx, key, docs.Clone(), func(doc uint32, v filter.Value) { out[place[s.nos[doc]]].Values[at] = &v })
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// counting calls f with the value of each of docs that counts for a key, those that do not count
// perhaps before it, and takes those that have one out of docs.
func (s *segmentView) counting(ctx context.Context, key SortKey, docs *roaring.Bitmap, f func(doc uint32, v filter.Value)) error {
	values, err := s.values(key.Field)
	if err != nil {
		return err
	}
	for _, kind := range []byte{termNumber, termDate} {
		if err := values.outermost(ctx, kind, 0, 0, key.Desc, docs, f); err != nil {
			return err
		}
	}
	for _, kind := range []byte{termBool, termString} {
		if err := s.outermostTerm(ctx, key, kind, docs, f); err != nil {
			return err
		}
	}
	return nil
}

// outermost calls f with the smallest, or with desc the largest, number or date of docs that begins
// with a prefix of n bytes, and takes those that have one out of docs.
func (v *fieldValues) outermost(ctx context.Context, kind, n byte, prefix uint64, desc bool, docs *roaring.Bitmap, f func(doc uint32, v filter.Value)) error {
	type child struct {
		term string
		docs *roaring.Bitmap
	}
	if docs.IsEmpty() {
		return nil
	}
	var children []child
	first := appendPrefix([]byte{kind, n + 1}, n, prefix)
	r := termRange{append(slices.Clone(first), 0), append(slices.Clone(first), 0xff, 0xff)}
	err := v.eachDocs(ctx, r, func(term []byte, have *roaring.Bitmap) error {
		if have.And(docs); !have.IsEmpty() {
			children = append(children, child{string(term), have.Clone()})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if desc {
		slices.Reverse(children)
	}
	for _, c := range children {
		c.docs.And(docs)
		docs.AndNot(c.docs)
		if n < 7 {
			if err := v.outermost(ctx, kind, n+1, prefix<<8|uint64(c.term[n+2]), desc, c.docs, f); err != nil {
				return err
			}
			continue
		}
		for it, value := c.docs.Iterator(), termValue(c.term); it.HasNext(); {
			f(it.Next(), value)
		}
	}
	return ctx.Err()
}

// outermostTerm calls f with booleans or strings of docs, the one that counts for a key last, and
// takes those that have one out of docs.
func (s *segmentView) outermostTerm(ctx context.Context, key SortKey, kind byte, docs *roaring.Bitmap, f func(doc uint32, v filter.Value)) error {
	if docs.IsEmpty() {
		return nil
	}
	wanted := docs.Clone()
	bits := bitsOf(wanted, len(s.nos))
	err := s.eachValue(ctx, key.Field, []termRange{all(kind)}, func(term string, have termDocs) error {
		meant := have.in(wanted, bits)
		if meant == nil {
			return nil
		}
		for it := meant.Iterator(); it.HasNext(); {
			doc := it.Next()
			if f(doc, termValue(term)); !key.Desc {
				bits.clear(doc)
			}
		}
		if docs.AndNot(meant); key.Desc {
			return nil
		}
		if wanted.AndNot(meant); wanted.IsEmpty() {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
