package keyword

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
)

// MergeFacets returns what one index of all documents would count, where each part is what an index
// of some of them counted for asked, but with [MaxFacetValues] as every Limit: with that, an index
// leaves no value out.
func MergeFacets(asked []Facet, parts [][]FacetCounts) []FacetCounts {
	out := make([]FacetCounts, len(asked))
	for i, f := range asked {
		counts, n := map[string]int{}, FacetCounts{Ranges: make([]int, len(f.Ranges))}
		for _, part := range parts {
			for _, v := range part[i].Values {
				term := string(equalTerm(v.Value))
				if v.Value.Kind == filter.String { // it is a key already
					term = string(termString) + v.Value.Str
				}
				counts[term] += v.Count
			}
			for r, count := range part[i].Ranges {
				n.Ranges[r] += count
			}
			n.Missing += part[i].Missing
		}
		n.Distinct = len(counts)
		n.Values = mostFrequent(counts, f.Limit)
		out[i] = n
	}
	return out
}

// MergeNear returns the terms that one index of all documents would find, in its order, where each
// part is what an index of some of them found.
func MergeNear(parts [][]NearTerm) []NearTerm {
	terms := map[string]NearTerm{}
	for _, part := range parts {
		for _, t := range part {
			if seen, ok := terms[t.Term]; ok {
				t.DF += seen.DF
			}
			terms[t.Term] = t
		}
	}
	merged := slices.SortedFunc(maps.Values(terms), CompareNear)
	return merged[:min(len(merged), MaxNear)]
}

// OrderKey is what a document is ordered by: for each sort key a string, see [CompareOrderKeys].
type OrderKey []string

// noValue is the string of a document without a value: after all others.
const noValue = "\xff"

// kindRanks are the first bytes of the strings: the kinds in their order.
var kindRanks = map[byte]byte{termNumber: 0, termDate: 1, termBool: 2, termString: 3}

// CompareOrderKeys compares two documents as [Index.Order] does, but for their numbers.
func CompareOrderKeys(keys []SortKey, a, b OrderKey) int {
	for i, key := range keys {
		if c := cmp.Compare(a[i][0], b[i][0]); c != 0 { // the kinds
			return c
		}
		if c := strings.Compare(a[i], b[i]); c != 0 {
			if key.Desc {
				return -c
			}
			return c
		}
	}
	return 0
}

// OrderKeys returns what documents are ordered by, so that the orders of several indexes can be
// merged. It takes about as long as Order again.
func (x *Index) OrderKeys(ctx context.Context, keys []SortKey, nos []uint32, scorer Scorer) ([]OrderKey, error) {
	out, place := make([]OrderKey, len(nos)), make(map[uint32]int, len(nos))
	for i, no := range nos {
		out[i], place[no] = make(OrderKey, len(keys)), i
		for k := range keys {
			out[i][k] = noValue
		}
	}
	err := x.read(func(v *view) error {
		o := &order{view: v, scores: scorer.Known}
		if scorer.Query != nil {
			o.scores = func(nos []uint32) ([]float64, error) { return x.scores(ctx, v, *scorer.Query, nos) }
		}
		found := o.group(nos)
		for at, key := range keys {
			if key.Field == "" {
				scores, err := o.scores(nos)
				if err != nil {
					return err
				}
				for i, score := range scores {
					out[i][at] = orderString(termNumber, binary.BigEndian.AppendUint64(nil, sortable(filter.Value{Kind: filter.Number, Num: score})))
				}
				continue
			}
			for i, docs := range found.locals {
				if docs == nil {
					continue
				}
				s := v.segments[i]
				if key.Origin != nil {
					err := s.nearest(ctx, key.Field, *key.Origin, key.Desc, docs, func(doc uint32, metres float64) { out[place[s.nos[doc]]][at] = distanceString(metres) })
					if err != nil {
						return err
					}
					continue
				}
				err := s.outermost(ctx, key, docs.Clone(), func(doc uint32, value string) { out[place[s.nos[doc]]][at] = value })
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	return out, err
}

// orderString returns the string of a value of a kind.
func orderString[S string | []byte](kind byte, value S) string {
	return string(kindRanks[kind]) + string(value)
}

// outermost calls f with the string of the value by which each of docs is ordered, and takes those
// that have one out of docs.
func (s *segmentView) outermost(ctx context.Context, key SortKey, docs *roaring.Bitmap, f func(doc uint32, value string)) error {
	for _, kind := range []byte{termNumber, termDate} {
		if err := s.outermostNumber(ctx, key, kind, 0, 0, docs, f); err != nil {
			return err
		}
	}
	for _, kind := range []byte{termBool, termString} {
		if err := s.outermostTerm(ctx, key, kind, termRange{[]byte{kind}, []byte{kind + 1}}, docs, f); err != nil {
			return err
		}
	}
	return nil
}

// outermostNumber is outermost of the numbers or dates that begin with a prefix of n bytes.
func (s *segmentView) outermostNumber(ctx context.Context, key SortKey, kind, n byte, prefix uint64, docs *roaring.Bitmap, f func(doc uint32, value string)) error {
	if docs.IsEmpty() {
		return nil
	}
	if n == 7 {
		first, end := appendPrefix([]byte{kind, 8}, 7, prefix), appendPrefix([]byte{kind, 8}, 7, prefix+1)
		if prefix+1 == 1<<56 {
			end = []byte{kind, 9}
		}
		return s.outermostTerm(ctx, key, kind, termRange{first, end}, docs, f)
	}
	var children [256]*roaring.Bitmap
	err := s.eachValue(ctx, key.Field, []termRange{childTerms(kind, n, prefix)}, func(term string, have termDocs) error {
		if have := have.in(docs, nil); have != nil {
			children[term[len(term)-1]] = have
		}
		return nil
	})
	if err != nil {
		return err
	}
	for at := range children {
		b := at
		if key.Desc {
			b = 255 - at
		}
		if children[b] == nil {
			continue
		}
		children[b].And(docs)
		docs.AndNot(children[b])
		if err := s.outermostNumber(ctx, key, kind, n+1, prefix<<8|uint64(b), children[b], f); err != nil {
			return err
		}
	}
	return nil
}

// outermostTerm is outermost of the values in a range of terms.
func (s *segmentView) outermostTerm(ctx context.Context, key SortKey, kind byte, r termRange, docs *roaring.Bitmap, f func(doc uint32, value string)) error {
	if docs.IsEmpty() {
		return nil
	}
	wanted := docs.Clone()
	return s.eachValue(ctx, key.Field, []termRange{r}, func(term string, have termDocs) error {
		found := have.in(wanted, nil)
		if found == nil {
			return nil
		}
		for it := found.Iterator(); it.HasNext(); {
			f(it.Next(), orderString(kind, term)) // with Desc the last call is the one that counts
		}
		docs.AndNot(found)
		if !key.Desc {
			wanted.AndNot(found)
		}
		return nil
	})
}
