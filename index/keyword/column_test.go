package keyword

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
	"example.com/searchd/internal/cache"
)

// TestColumnsEqualWalks asks the same before there are columns and with them, of a field with
// values that one document has, some, and most.
func TestColumnsEqualWalks(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	x := openTemp(t, Options{})
	ctx := context.Background()
	docs := map[uint32]any{}
	for round := range 2 {
		var entries []Entry
		for no := range uint32(3000) {
			no := no + uint32(round)*2500
			var v []any
			if r.IntN(3) > 0 {
				v = append(v, fmt.Sprintf("part %d", r.IntN(100_000)))
			}
			if r.IntN(3) == 0 {
				v = append(v, fmt.Sprintf("group %d", r.IntN(40)))
			}
			switch r.IntN(8) {
			case 0:
				v = append(v, float64(r.IntN(500)))
			case 1:
				v = append(v, r.IntN(2) == 0)
			default:
				v = append(v, "most")
			}
			docs[no] = v
			entries = append(entries, Entry{No: no, Values: map[string]any{"f": v}})
		}
		apply(t, x, uint64(2*round+1), entries...)
		apply(t, x, uint64(2*round+2), Entry{No: uint32(round), Delete: true})
		delete(docs, uint32(round))
	}
	some := roaring.New()
	for range 200 {
		some.Add(r.Uint32N(6000))
	}
	if err := x.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	defer func(most int) { maxColumnBytes = most }(maxColumnBytes)
	var wanted []string
	for round := range 3 {
		var got []string
		for range 40 {
			text := fmt.Sprintf("part %d", r.IntN(100_000))
			if r.IntN(4) == 0 {
				text = []string{"", "group 7", "most", "mp", "z", "part 1"}[r.IntN(6)]
			}
			e := filter.Compare{Field: "f", Op: []filter.Op{filter.Less, filter.LessOrEqual, filter.Greater, filter.GreaterOrEqual}[r.IntN(4)], Value: filter.Value{Kind: filter.String, Str: text}}
			want := roaring.New()
			for no, v := range docs {
				if e.Match(map[string]any{"f": v}) {
					want.Add(no)
				}
			}
			have, err := x.Filter(ctx, e)
			if err != nil || !have.Equals(want) {
				t.Fatalf("round %d: Filter(%v) has %d documents, %v, want %d", round, e, have.GetCardinality(), err, want.GetCardinality())
			}
		}
		if n := x.caches.columns.Bytes(); (n > 0) != (round < 2) {
			t.Fatalf("round %d: there are %d bytes of columns after 40 filters", round, n)
		}
		for _, of := range []*roaring.Bitmap{nil, some} {
			facets, err := x.Facets(ctx, []Facet{{Field: "f", Limit: 60}}, of)
			if err != nil {
				t.Fatal(err)
			}
			order, err := x.Order(ctx, []SortKey{{Field: "f", Desc: true}}, of, 100, Scorer{})
			if err != nil {
				t.Fatal(err)
			}
			firsts, err := x.Firsts(ctx, "f", some)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(facets, order, firsts))
		}
		switch round {
		case 0:
			wanted = got
		case 1: // without columns
			maxColumnBytes = 0
			x.caches.columns = cache.New[columnKey, *column](columnsBudget)
		}
		if !slices.Equal(got, wanted) {
			t.Fatalf("round %d:\n%.3000s\nwant\n%.3000s", round, got, wanted)
		}
	}
}

// TestOneColumnAtATime: a question that would make a column while another is being made is answered
// without.
func TestOneColumnAtATime(t *testing.T) {
	x := openTemp(t, Options{})
	apply(t, x, 1, Entry{No: 1, Values: map[string]any{"f": "a"}}, Entry{No: 2, Values: map[string]any{"f": "b"}})
	x.caches.building.Lock()
	defer x.caches.building.Unlock()
	counts, err := x.Facets(context.Background(), []Facet{{Field: "f", Limit: 9}}, nil)
	if want := "[{'a' 1} {'b' 1}]"; err != nil || fmt.Sprint(counts[0].Values) != want {
		t.Errorf("Facets = %v, %v, want %s", counts, err, want)
	}
}

// TestColumnsWait: a column is made when walks have cost as much, and again after it was dropped,
// but not of values that are too large for it.
func TestColumnsWait(t *testing.T) {
	var w columnWalks
	for i, want := range []bool{false, false, true} {
		if got := w.due("k", false, 1000); got != want {
			t.Fatalf("due after %d walks is %t", i, got)
		}
		w.add("k", 500)
	}
	if !w.due("other", true, 1000) {
		t.Error("a question about all values makes no column")
	}
	if w.built("k", true); w.due("k", false, 1000) {
		t.Error("it is made again at once")
	}
	w.built("k", false)
	if w.add("k", 5000); w.due("k", true, 1000) {
		t.Error("one that is too large is made")
	}
}

func TestMostFrequent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		counts := map[string]int{}
		for range r.IntN(600) {
			v := []any{fmt.Sprint(r.IntN(500)), float64(r.IntN(900) - 450), true, false, ""}[r.IntN(5)]
			counts[string(equalTerm(filter.Values(nil, v)[0]))] = 1 + r.IntN(3)
		}
		limit := r.IntN(200)
		want := []ValueCount{}
		for term, n := range maps.All(counts) {
			want = append(want, ValueCount{termValue(term), n})
		}
		slices.SortFunc(want, func(a, b ValueCount) int {
			byValue, _ := a.Value.Compare(b.Value)
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value.Kind, b.Value.Kind), byValue)
		})
		want = want[:min(limit, len(want))]
		if got := mostFrequent(counts, limit); !slices.Equal(got, want) {
			t.Fatalf("mostFrequent of %d, %d = %v\nwant %v", len(counts), limit, got, want)
		}
	}
}
