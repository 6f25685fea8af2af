package backend_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"

	"searchd/index/filter"
	"searchd/index/keyword"
	"searchd/search/backend"
)

// spread is an index of all documents, and indexes of which each has some of them.
type spread struct {
	whole *keyword.Index
	parts []*keyword.Index
}

// documents is one more than the largest number of a document.
const documents = 120

// newSpread spreads documents with all kinds of values over n indexes.
func newSpread(t *testing.T, n int) spread {
	t.Helper()
	open := func(name string) *keyword.Index {
		x, err := keyword.Open(filepath.Join(t.TempDir(), name), keyword.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		return x
	}
	s := spread{whole: open("whole")}
	for i := range n {
		s.parts = append(s.parts, open(fmt.Sprint("part", i)))
	}
	r := rand.New(rand.NewPCG(uint64(n), 14))
	// Of a long string that ends within a character when it is cut, and ones that differ behind the cut alone.
	long := strings.Repeat("é", filter.MaxString/2) + "é"
	pool := []any{1.0, -2.5, 1e300, json.Number("9007199254740993"), json.Number("9007199254740992"), json.Number("18446744073709551615"), json.Number("-9007199254740993"),
		true, false, "a", "b", "", "2024-05-06", "2024-05-06T07:08:09.123456Z", "0001-01-01", long, long + "a", long + "b", "x" + long + "a", filter.Present{}}
	value := func() any {
		if r.IntN(3) > 0 {
			return pool[r.IntN(len(pool))]
		}
		var list []any
		for range 1 + r.IntN(3) {
			list = append(list, pool[r.IntN(len(pool))])
		}
		return list
	}
	all, own := []keyword.Entry(nil), make([][]keyword.Entry, n)
	for no := range uint32(documents) {
		e := keyword.Entry{No: no, Values: map[string]any{"few": float64(r.IntN(3))}}
		for _, field := range []string{"p", "q"} {
			if r.IntN(4) > 0 {
				e.Values[field] = value()
			}
		}
		part := r.IntN(n)
		if all, own[part] = append(all, e), append(own[part], e); no%40 == 39 { // a segment each
			for i, x := range append([]*keyword.Index{s.whole}, s.parts...) {
				entries := all
				if i > 0 {
					entries, own[i-1] = own[i-1], nil
				}
				if err := x.Apply(context.Background(), entries, uint64(no)); err != nil {
					t.Fatal(err)
				}
			}
			all = nil
		}
	}
	return s
}

// drawSet draws documents, of which some are not there.
func drawSet(t *rapid.T) *roaring.Bitmap {
	if rapid.Bool().Draw(t, "all") {
		return nil
	}
	return roaring.BitmapOf(rapid.SliceOfN(rapid.Uint32Range(0, documents+5), 0, documents).Draw(t, "set")...)
}

// ordered returns what a backend with an index would answer to Order.
func ordered(t *rapid.T, x *keyword.Index, keys []keyword.SortKey, set *roaring.Bitmap, k int, by keyword.Scorer) []backend.Ordered {
	list, err := x.OrderWithValues(context.Background(), keys, set, k, by)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]backend.Ordered, len(list))
	for i, o := range list {
		out[i] = backend.Ordered{Ref: backend.Ref(o.No), Values: o.Values}
	}
	return out
}

// TestMergeOrdered merges what some indexes answer and compares it with what one answers.
func TestMergeOrdered(t *testing.T) {
	for n := 1; n <= 4; n++ {
		t.Run(fmt.Sprintf("parts=%d", n), func(t *testing.T) {
			s := newSpread(t, n)
			rapid.Check(t, func(t *rapid.T) {
				fields := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p", "q", "few", "none", ""}), 1, 3, rapid.ID).Draw(t, "fields")
				keys := make([]keyword.SortKey, len(fields))
				for i, f := range fields {
					keys[i] = keyword.SortKey{Field: f, Desc: rapid.Bool().Draw(t, "desc")}
				}
				scores := rapid.SliceOfN(rapid.Float64Range(0, 2), 1, 6).Draw(t, "scores")
				by := keyword.Scorer{Known: func(nos []uint32) ([]float64, error) {
					out := make([]float64, len(nos))
					for i, no := range nos {
						out[i] = scores[int(no)%len(scores)]
					}
					return out, nil
				}}
				set, k := drawSet(t), rapid.IntRange(0, documents+10).Draw(t, "k")
				want := ordered(t, s.whole, keys, set, k, by)
				parts := make([][]backend.Ordered, n)
				for i, x := range s.parts {
					own := set
					if set != nil { // what no part holds is in the set of one
						own = roaring.And(set, held(t, x))
						if i == 0 {
							own.Or(roaring.AndNot(set, held(t, s.whole)))
						}
					}
					parts[i] = ordered(t, x, keys, own, k, by)
				}
				if got := backend.MergeOrdered(keys, parts, k); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
					t.Fatalf("MergeOrdered(%+v, %d):\n%s\nwant\n%s", keys, k, told(got), told(want))
				}
			})
		})
	}
}

// held returns the documents of an index.
func held(t *rapid.T, x *keyword.Index) *roaring.Bitmap {
	docs, err := x.Filter(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// told writes an order, a document to a line.
func told(list []backend.Ordered) string {
	var b strings.Builder
	for _, o := range list {
		fmt.Fprint(&b, o.Ref)
		for _, v := range o.Values {
			if v == nil {
				b.WriteString(" none")
			} else {
				fmt.Fprintf(&b, " %.20s", v)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestMergeFacets merges what some indexes count and compares it with what one counts.
func TestMergeFacets(t *testing.T) {
	for n := 1; n <= 4; n++ {
		t.Run(fmt.Sprintf("parts=%d", n), func(t *testing.T) {
			s := newSpread(t, n)
			rapid.Check(t, func(t *rapid.T) {
				ends := []*filter.Value{nil, {Kind: filter.Number, Num: -2.5}, {Kind: filter.Number, Num: 1 << 53, Off: 1}, {Kind: filter.Date, Time: 1_700_000_000_000_000}}
				facets := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) backend.Facet {
					f := backend.Facet{Field: rapid.SampledFrom([]string{"p", "q", "few", "none"}).Draw(t, "field"), Limit: rapid.IntRange(0, 30).Draw(t, "limit")}
					for range rapid.IntRange(0, 2).Draw(t, "ranges") {
						f.Ranges = append(f.Ranges, backend.FacetRange{From: rapid.SampledFrom(ends).Draw(t, "from")})
					}
					return f
				}), 0, 3).Draw(t, "facets")
				set := drawSet(t)
				want, err := s.whole.Facets(context.Background(), facets, set)
				if err != nil {
					t.Fatal(err)
				}
				asked := append([]backend.Facet(nil), facets...)
				for i := range asked {
					asked[i].Limit = backend.MaxFacetValues
				}
				parts := make([][]backend.FacetCounts, n)
				for i, x := range s.parts {
					if parts[i], err = x.Facets(context.Background(), asked, set); err != nil {
						t.Fatal(err)
					}
				}
				if got := backend.MergeFacets(facets, parts); !reflect.DeepEqual(got, want) {
					t.Fatalf("MergeFacets(%+v) = %+v\nwant %+v", facets, got, want)
				}
			})
		})
	}
}

// TestMergeUnanswered merges what parts answer that leave out what they were asked: it is nothing, and no panic.
func TestMergeUnanswered(t *testing.T) {
	two := backend.Facet{Field: "f", Ranges: make([]backend.FacetRange, 2)}
	facets := backend.MergeFacets([]backend.Facet{two, two}, [][]backend.FacetCounts{{{Ranges: []int{1}}}, {{Ranges: []int{1, 2, 3}}, {Missing: 4}}, nil})
	if want := []backend.FacetCounts{{Ranges: []int{2, 2}, Values: []backend.ValueCount{}}, {Ranges: []int{0, 0}, Missing: 4, Values: []backend.ValueCount{}}}; !reflect.DeepEqual(facets, want) {
		t.Errorf("MergeFacets = %+v, want %+v", facets, want)
	}
	ordered := backend.MergeOrdered([]backend.SortKey{{Field: "f"}}, [][]backend.Ordered{{{Ref: 1}}, nil, {{Ref: 2, Values: []*filter.Value{{Kind: filter.Bool}}}}}, 5)
	if len(ordered) != 2 || ordered[0].Ref != 2 || ordered[1].Ref != 1 {
		t.Errorf("MergeOrdered = %+v, want the one with a value first", ordered)
	}
}

// TestMergeFacetsLeftOut merges counts of parts that left values out.
func TestMergeFacetsLeftOut(t *testing.T) {
	value := func(s string) filter.Value { return filter.Value{Kind: filter.String, Str: s} }
	got := backend.MergeFacets([]backend.Facet{{Field: "f", Limit: 2}}, [][]backend.FacetCounts{
		{{Values: []backend.ValueCount{{Value: value("a"), Count: 5}}, Distinct: 7, Missing: 1}},
		{{Values: []backend.ValueCount{{Value: value("b"), Count: 3}, {Value: value("a"), Count: 2}}, Distinct: 2, Missing: 2}},
	})
	want := []backend.FacetCounts{{Values: []backend.ValueCount{{Value: value("a"), Count: 7}, {Value: value("b"), Count: 3}}, Distinct: 7, Ranges: []int{}, Missing: 3}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("MergeFacets = %+v, want %+v", got, want)
	}
}
