package keyword

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// fieldLengths are the numbers of tokens that the documents of a segment have in one text field.
// They take 4 bytes for each document of the segment or 8 for each that has the field, whichever is
// less.
type fieldLengths struct {
	locals []uint32 // ascending; nil: all documents of the segment
	tokens []uint32 // of locals
}

// readLengths reads the lengths of one field of a segment of docs documents, and their sum.
func readLengths(pl segment.PostingsList, docs int) (l fieldLengths, sum uint64, err error) {
	if n := int(pl.Count()); 2*n < docs {
		l = fieldLengths{locals: make([]uint32, 0, n), tokens: make([]uint32, 0, n)}
	} else {
		l.tokens = make([]uint32, docs)
	}
	it := pl.Iterator(true, false, false, nil)
	for p, err := it.Next(); p != nil || err != nil; p, err = it.Next() {
		if err != nil {
			return l, 0, err
		}
		if local, n := uint32(p.Number()), uint32(p.Frequency()); l.locals != nil {
			l.locals, l.tokens = append(l.locals, local), append(l.tokens, n)
		} else {
			l.tokens[local] = n
		}
		sum += p.Frequency()
	}
	return l, sum, nil
}

// at returns the length of one document.
func (l fieldLengths) at(local uint32) uint32 {
	if l.locals == nil {
		return l.tokens[local]
	}
	if i, ok := slices.BinarySearch(l.locals, local); ok {
		return l.tokens[i]
	}
	return 0
}

// sum returns the sum of the lengths of count documents. It goes through them or through those that
// have the field, whichever are fewer.
func (l fieldLengths) sum(docs *roaring.Bitmap, count uint64) (sum uint64) {
	if l.locals != nil && uint64(len(l.locals)) < count {
		for i, local := range l.locals {
			if docs.Contains(local) {
				sum += uint64(l.tokens[i])
			}
		}
		return sum
	}
	for it := docs.Iterator(); it.HasNext(); {
		sum += uint64(l.at(it.Next()))
	}
	return sum
}

// addTo adds the weighted lengths to those of all documents of the segment.
func (l fieldLengths) addTo(sums []float64, weight float64) {
	for i, n := range l.tokens {
		if l.locals != nil {
			i = int(l.locals[i])
		}
		sums[i] += float64(weight * float64(n)) // rounded before the addition, as in docLengths.at
	}
}

const (
	maxAddedFields = 4 // that are added up for each document scored, if all documents have them
	maxLengthSums  = 2 // that a segment keeps
)

// docLengths are the weighted lengths of a segment's documents over the fields of a query: sums, or
// fields to be added up in their order, which gives the same to the last bit.
type docLengths struct {
	fields  []fieldLengths
	weights []float64
	sums    []float64 // by local number
}

func (l *docLengths) at(local uint32) float64 {
	if l.sums != nil {
		return l.sums[local]
	}
	dl := 0.0
	for f := range l.fields {
		dl += float64(l.weights[f] * float64(l.fields[f].tokens[local]))
	}
	return dl
}

// docLengths returns the weighted lengths over fields, and the indexes of the fields that the
// segment has. key identifies the fields and their weights.
func (d *segmentData) docLengths(fields []FieldWeight, key func() string) (l docLengths, have []int) {
	whole := true // all documents have each field
	for i, f := range fields {
		if lengths, ok := d.lengths[f.Name]; ok {
			have = append(have, i)
			l.fields, l.weights = append(l.fields, lengths), append(l.weights, f.Weight)
			whole = whole && lengths.locals == nil
		}
	}
	if !whole || len(have) > maxAddedFields {
		l.sums = d.sums.get(key(), func() []float64 {
			sums := make([]float64, len(d.nos))
			for i := range l.fields {
				l.fields[i].addTo(sums, l.weights[i])
			}
			return sums
		})
	}
	return l, have
}

// lengthSums keeps the sums for the weights used last.
type lengthSums struct {
	mu     sync.Mutex
	recent []lengthSum // the latest first
}

type lengthSum struct {
	key  string
	sums []float64
}

func (l *lengthSums) get(key string, add func() []float64) []float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.recent, func(s lengthSum) bool { return s.key == key })
	var s lengthSum
	if i >= 0 {
		s = l.recent[i]
		l.recent = slices.Delete(l.recent, i, i+1)
	} else {
		s = lengthSum{key, add()}
	}
	l.recent = slices.Insert(l.recent, 0, s)
	if len(l.recent) > maxLengthSums {
		l.recent = slices.Delete(l.recent, maxLengthSums, len(l.recent))
	}
	return s.sums
}

// weightsKey identifies fields and their weights.
func weightsKey(fields []FieldWeight) string {
	var b []byte
	for _, f := range fields {
		b = binary.AppendUvarint(b, uint64(len(f.Name)))
		b = append(b, f.Name...)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f.Weight))
	}
	return string(b)
}

// Length returns the length of a text in tokens.
func (x *Index) Length(text string) int { return x.analyzer.Length(text) }

// Lengths calls f with every document and the lengths of its text fields, named as by FieldOf and
// without those of length 0, in no order. f must not keep the map. Lengths returns the first error
// of f.
func (x *Index) Lengths(ctx context.Context, f func(no uint32, lengths map[string]int) error) error {
	return x.read(func(v *view) error {
		for _, s := range v.segments {
			if err := s.eachLengths(ctx, f); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *segmentView) eachLengths(ctx context.Context, f func(no uint32, lengths map[string]int) error) error {
	type length struct {
		local  uint32
		field  string
		tokens uint32
	}
	var rare []length // of fields that few documents have, by document
	var common []string
	for field, l := range s.lengths {
		if l.locals == nil {
			common = append(common, field)
		}
		for i, local := range l.locals {
			rare = append(rare, length{local, field, l.tokens[i]})
		}
	}
	slices.SortFunc(rare, func(a, b length) int { return cmp.Compare(a.local, b.local) })
	lengths := map[string]int{}
	for i, no := range s.nos {
		if err := ctx.Err(); err != nil {
			return err
		}
		local := uint32(i)
		clear(lengths)
		for _, field := range common {
			if n := s.lengths[field].tokens[local]; n > 0 {
				lengths[field] = int(n)
			}
		}
		for ; len(rare) > 0 && rare[0].local == local; rare = rare[1:] {
			lengths[rare[0].field] = int(rare[0].tokens)
		}
		if s.isDeleted(local) {
			continue
		}
		if err := f(no, lengths); err != nil {
			return err
		}
	}
	return nil
}
