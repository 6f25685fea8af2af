package keyword

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// fieldLengths says how many tokens the documents of a segment have in one text field. It takes 4
// bytes for each document of the segment or 8 for each that has the field, whichever is less.
type fieldLengths struct {
	locals []uint32 // rising; nil: all documents of the segment
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

// of returns the sum of the lengths of some documents, the fewer of these and those that have the
// field being looked at.
func (l fieldLengths) of(docs *roaring.Bitmap, count uint64) (sum uint64) {
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
		sums[i] += float64(weight * float64(n)) // rounded before it is added, as in docLengths.at
	}
}

const (
	// fewFields are added up for each document that is scored, where all documents have them.
	fewFields = 4
	// keptSums is how many sets of weights a segment keeps the sums of.
	keptSums = 2
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

// docLengths returns the weighted lengths over fields, and which of fields the segment has. key
// names fields and their weights.
func (s *segmentData) docLengths(fields []FieldWeight, key func() string) (l docLengths, have []int) {
	whole := true // all documents have each field
	for i, f := range fields {
		if lengths, ok := s.lengths[f.Name]; ok {
			have = append(have, i)
			l.fields, l.weights = append(l.fields, lengths), append(l.weights, f.Weight)
			whole = whole && lengths.locals == nil
		}
	}
	if !whole || len(have) > fewFields {
		l.sums = s.sums.of(key(), func() []float64 {
			sums := make([]float64, len(s.nos))
			for i := range l.fields {
				l.fields[i].addTo(sums, l.weights[i])
			}
			return sums
		})
	}
	return l, have
}

// lengthSums keeps the sums of the weights used last.
type lengthSums struct {
	mu   sync.Mutex
	kept []keptSum // the latest first
}

type keptSum struct {
	key  string
	sums []float64
}

func (l *lengthSums) of(key string, add func() []float64) []float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.kept, func(k keptSum) bool { return k.key == key })
	var k keptSum
	if i >= 0 {
		k = l.kept[i]
		l.kept = slices.Delete(l.kept, i, i+1)
	} else {
		k = keptSum{key, add()}
	}
	l.kept = slices.Insert(l.kept, 0, k)
	if len(l.kept) > keptSums {
		l.kept = slices.Delete(l.kept, keptSums, len(l.kept))
	}
	return k.sums
}

// weightsKey names fields and their weights.
func weightsKey(fields []FieldWeight) string {
	var b []byte
	for _, f := range fields {
		b = binary.AppendUvarint(b, uint64(len(f.Name)))
		b = append(b, f.Name...)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f.Weight))
	}
	return string(b)
}

// Length returns how many terms of text count, see Token.
func (x *Index) Length(text string) int { return x.analyzer.length(text) }

// Lengths calls f with every document of the index and the number of terms of each of its text
// fields, fields without terms left out, in no order. Fields are named as the index has them, see
// FieldOf. f must not keep the map. It ends with the first error of f.
func (x *Index) Lengths(ctx context.Context, f func(no uint32, terms map[string]int) error) error {
	return x.read(func(v *view) error {
		for _, s := range v.segments {
			if err := s.eachLengths(ctx, f); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachLengths is Lengths for one segment.
func (s *segmentView) eachLengths(ctx context.Context, f func(no uint32, terms map[string]int) error) error {
	type length struct {
		local  uint32
		field  string
		tokens uint32
	}
	var rare []length // of the fields that few documents have, by document
	var common []string
	for field, l := range s.lengths {
		if l.locals == nil {
			common = append(common, field)
		}
		for i, local := range l.locals {
			rare = append(rare, length{local, field, l.tokens[i]})
		}
	}
	slices.SortFunc(rare, func(a, b length) int { return int(a.local) - int(b.local) })
	terms := map[string]int{}
	for i, no := range s.nos {
		if err := ctx.Err(); err != nil {
			return err
		}
		local := uint32(i)
		clear(terms)
		for _, field := range common {
			if n := s.lengths[field].tokens[local]; n > 0 {
				terms[field] = int(n)
			}
		}
		for ; len(rare) > 0 && rare[0].local == local; rare = rare[1:] {
			terms[rare[0].field] = int(rare[0].tokens)
		}
		if s.deleted != nil && s.deleted.Contains(local) {
			continue
		}
		if err := f(no, terms); err != nil {
			return err
		}
	}
	return nil
}
