package backend

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// Ref names a document for the length of one query: the partition that holds it in the high 32 bits
// and its number there in the low ones. A backend that is not partitioned has partition 0 alone.
// Refs are ordered and stable while the document lives.
type Ref uint64

// RefOf returns the ref of a document of a partition.
func RefOf(partition, number uint32) Ref { return Ref(partition)<<32 | Ref(number) }

// Partition returns the partition that holds the document.
func (r Ref) Partition() uint32 { return uint32(r >> 32) }

// Number returns the number of the document in its partition.
func (r Ref) Number() uint32 { return uint32(r) }

// Selection is a set of documents. It does not change once it was returned; a nil *Selection in a
// request stands for all documents.
type Selection struct {
	Numbers []*roaring.Bitmap // of the documents, by partition
	Loose   []*roaring.Bitmap // those of Numbers that have a phrase only in other forms of its words
	Partial bool              // some that belong to the set may be missing; none is in it wrongly

	local any
}

// Select returns the set of given documents.
func Select(refs []Ref) *Selection { return (*Selection)(nil).With(refs) }

// With returns the set of the documents of s, none where it is nil, and of refs.
func (s *Selection) With(refs []Ref) *Selection {
	out := &Selection{}
	if s != nil {
		out.Partial = s.Partial
		for _, b := range s.Numbers {
			out.Numbers = append(out.Numbers, b.Clone())
		}
	}
	for _, ref := range refs {
		for len(out.Numbers) <= int(ref.Partition()) {
			out.Numbers = append(out.Numbers, roaring.New())
		}
		out.Numbers[ref.Partition()].Add(ref.Number())
	}
	return out
}

// Len returns the number of documents in the set.
func (s *Selection) Len() (n int) {
	for _, b := range s.Numbers {
		n += int(b.GetCardinality())
	}
	return n
}

// Contains reports whether a document is in the set.
func (s *Selection) Contains(ref Ref) bool {
	p := int(ref.Partition())
	return p < len(s.Numbers) && s.Numbers[p].Contains(ref.Number())
}

// IsLoose reports whether a document has a phrase only in other forms of its words. Of a nil set
// none has.
func (s *Selection) IsLoose(ref Ref) bool {
	return s != nil && int(ref.Partition()) < len(s.Loose) && s.Loose[ref.Partition()].Contains(ref.Number())
}

// Refs returns the n lowest refs of the set that are not below from.
func (s *Selection) Refs(from Ref, n int) []Ref {
	var refs []Ref
	for p := int(from.Partition()); p < len(s.Numbers); p++ {
		it := s.Numbers[p].Iterator()
		if p == int(from.Partition()) {
			it.AdvanceIfNeeded(from.Number())
		}
		for it.HasNext() && len(refs) < n {
			refs = append(refs, RefOf(uint32(p), it.Next()))
		}
	}
	return slices.Clip(refs)
}

// SetLocal attaches what the backend that makes s has worked out for its own later calls, before it
// returns s. It can be made again from Numbers, and does not travel.
func (s *Selection) SetLocal(v any) { s.local = v }

// Local returns what SetLocal has attached; nil where s has travelled, or comes from elsewhere.
func (s *Selection) Local() any { return s.local }
