package keyword

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/geo"
)

// first returns the value by which a document is sorted, and the place of its kind; a place behind
// all for no value.
func first(v any, desc bool) (filter.Value, int) {
	places := map[filter.Kind]int{filter.Number: 0, filter.Date: 1, filter.Bool: 2, filter.String: 3}
	best, place := filter.Value{}, 4
	for _, v := range filter.Values(nil, v) {
		p, ok := places[v.Kind]
		if !ok { // Opaque or Point
			continue
		}
		c := 0
		if p == place {
			if c, _ = v.Compare(best); desc {
				c = -c
			}
		}
		if p < place || p == place && c < 0 {
			best, place = v, p
		}
	}
	return best, place
}

// distance returns the distance by which v sorts, as a number, and 0, or 4 for no point.
func distance(v any, origin geo.Point, desc bool) (best filter.Value, place int) {
	place = 4
	for _, v := range filter.Values(nil, v) {
		if v.Kind != filter.Point {
			continue
		}
		d := origin.Distance(v.Code().Point())
		if place == 4 || desc && d > best.Num || !desc && d < best.Num {
			best, place = filter.Value{Kind: filter.Number, Num: d}, 0
		}
	}
	return best, place
}

// TestOrderEqualsSorting compares Order with sorting the documents' own values, over segments,
// deletions and several keys.
func TestOrderEqualsSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x := openTemp(t, Options{})
	docs := map[uint32]map[string]any{}
	for round := range 4 {
		var entries []Entry
		for range 120 {
			e := Entry{No: r.Uint32N(300), Delete: r.IntN(6) == 0}
			if delete(docs, e.No); !e.Delete {
				e.Text = []Field{{"text", []string{"one", "one two", "two two three"}[r.IntN(3)]}}
				e.Values = map[string]any{"few": float64(r.IntN(3))}
				for _, field := range []string{"p", "q"} {
					if r.IntN(4) > 0 {
						e.Values[field] = randomValue(r)
					}
				}
				docs[e.No] = e.Values
			}
			entries = append(entries, e)
		}
		apply(t, x, uint64(round+1), entries...)
	}
	q := Query{Text: "one two"}
	defer func(few int) { fewDocs = few }(fewDocs)
	for range 300 {
		fewDocs = []int{0, 5, 64}[r.IntN(3)]
		set := roaring.New()
		for range r.IntN(200) {
			set.Add(r.Uint32N(310)) // some are not there
		}
		var keys []SortKey
		for range 1 + r.IntN(3) {
			keys = append(keys, SortKey{Field: []string{"p", "q", "few", "none", ""}[r.IntN(5)], Desc: r.IntN(2) == 0})
			if key := &keys[len(keys)-1]; key.Field != "" && r.IntN(3) == 0 {
				origin := randomPoint(r)
				key.Origin = &origin
			}
		}
		want := set.ToArray()
		scores, err := x.Score(context.Background(), q, want)
		if err != nil {
			t.Fatal(err)
		}
		score := map[uint32]float64{}
		for i, no := range want {
			score[no] = scores[i]
		}
		slices.SortStableFunc(want, func(a, b uint32) int {
			for _, key := range keys {
				c := cmp.Compare(score[a], score[b])
				if key.Field != "" {
					of := first
					if key.Origin != nil {
						of = func(v any, desc bool) (filter.Value, int) { return distance(v, *key.Origin, desc) }
					}
					va, pa := of(docs[a][key.Field], key.Desc)
					vb, pb := of(docs[b][key.Field], key.Desc)
					if pa != pb {
						return cmp.Compare(pa, pb)
					}
					c, _ = va.Compare(vb)
				}
				if key.Desc {
					c = -c
				}
				if c != 0 {
					return c
				}
			}
			return 0
		})
		k := r.IntN(len(want) + 5)
		want = want[:min(k, len(want))]
		by := Scorer{Query: &q}
		if r.IntN(2) == 0 {
			by = Scorer{Known: func(nos []uint32) ([]float64, error) {
				out := make([]float64, len(nos))
				for i, no := range nos {
					out[i] = score[no]
				}
				return out, nil
			}}
		}
		got, err := x.Order(context.Background(), keys, set, k, by)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("Order(%+v, %d of %d) = %v, %v\nwant %v", keys, k, set.GetCardinality(), got, err, want)
		}
	}
}

// TestFacetsEqualCounting compares Facets with a count over the documents' own values.
func TestFacetsEqualCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	x := openTemp(t, Options{})
	docs := map[uint32]map[string]any{}
	for round := range 3 {
		var entries []Entry
		for range 150 {
			e := Entry{No: r.Uint32N(300), Delete: r.IntN(6) == 0}
			if delete(docs, e.No); !e.Delete {
				e.Values = map[string]any{}
				if r.IntN(4) > 0 {
					e.Values["p"] = randomValue(r)
				}
				docs[e.No] = e.Values
			}
			entries = append(entries, e)
		}
		apply(t, x, uint64(round+1), entries...)
	}
	for range 100 {
		set := roaring.New()
		for range r.IntN(400) {
			set.Add(r.Uint32N(300))
		}
		f := Facet{Field: "p", Limit: r.IntN(6)}
		if r.IntN(2) == 0 {
			for range 3 {
				f.Ranges = append(f.Ranges, randomRange(r))
			}
		}
		var want FacetCounts
		counts := map[string]int{}
		want.Ranges = make([]int, len(f.Ranges))
		for it := set.Iterator(); it.HasNext(); {
			doc, ok := docs[it.Next()]
			if !ok {
				continue
			}
			values := filter.Values(nil, doc["p"])
			if len(values) == 0 {
				want.Missing++
			}
			mine := map[string]bool{}
			for _, v := range values {
				if v.Kind != filter.Date && v.Kind < filter.Opaque {
					mine[string(equalTerm(v))] = true
				}
			}
			for term := range mine {
				counts[term]++
			}
			for i, span := range f.Ranges {
				if slices.ContainsFunc(values, span.holds) {
					want.Ranges[i]++
				}
			}
		}
		if len(f.Ranges) == 0 {
			want.Distinct = len(counts)
			want.Values = mostFrequent(counts, f.Limit)
		}
		firsts, err := x.Firsts(context.Background(), "p", set)
		if err != nil {
			t.Fatal(err)
		}
		for it := set.Iterator(); it.HasNext(); {
			no := it.Next()
			want, best := "", ""
			for _, v := range filter.Values(nil, docs[no]["p"]) {
				key := map[filter.Kind]string{filter.Number: "1", filter.Bool: "2", filter.String: "3"}[v.Kind] + string(equalTerm(v))
				if v.Kind != filter.Date && v.Kind < filter.Opaque && (best == "" || key < best) {
					want, best = fmt.Sprint(termValue(string(equalTerm(v)))), key
				}
			}
			got := ""
			if v, ok := firsts[no]; ok {
				got = fmt.Sprint(v)
			}
			if got != want {
				t.Fatalf("first value of document %d with %v is %s, want %s", no, docs[no]["p"], got, want)
			}
		}
		got, err := x.Facets(context.Background(), []Facet{f}, set)
		if err != nil || fmt.Sprint(got[0]) != fmt.Sprint(want) {
			t.Fatalf("Facets(%+v) over %d = %+v, %v\nwant %+v", f, set.GetCardinality(), got, err, want)
		}
	}
}

// holds is the definition of a range.
func (r Range) holds(v filter.Value) bool {
	if r.From != nil {
		if c, ok := v.Compare(*r.From); !ok || c < 0 {
			return false
		}
	}
	if r.To != nil {
		if c, ok := v.Compare(*r.To); !ok || c >= 0 {
			return false
		}
	}
	return r.From != nil || r.To != nil || v.Kind == filter.Number
}

// randomRange returns a range of numbers or dates, sometimes empty or open.
func randomRange(r *rand.Rand) (out Range) {
	kind := filter.Number + filter.Kind(2*r.IntN(2)) // Number or Date
	end := func() *filter.Value {
		for {
			for _, v := range filter.Values(nil, randomValue(r)) {
				if v.Kind == kind {
					return &v
				}
			}
		}
	}
	if r.IntN(4) > 0 {
		out.From = end()
	}
	if r.IntN(4) > 0 {
		out.To = end()
	}
	return out
}

// TestScoreOfMany scores more documents than are scored at a time.
func TestScoreOfMany(t *testing.T) {
	x := openTemp(t, Options{})
	entries := make([]Entry, chunkDocs+10)
	nos := make([]uint32, len(entries))
	for i := range entries {
		entries[i] = Entry{No: uint32(i), Text: []Field{{"text", []string{"one", "two", "one two"}[i%3]}}}
		nos[i] = uint32(i)
	}
	apply(t, x, 1, entries...)
	all, err := x.Score(context.Background(), Query{Text: "one"}, nos)
	if err != nil {
		t.Fatal(err)
	}
	last, err := x.Score(context.Background(), Query{Text: "one"}, nos[chunkDocs-5:])
	if err != nil || !slices.Equal(all[chunkDocs-5:], last) || all[0] == 0 || all[1] != 0 || slices.Max(last) == 0 {
		t.Errorf("the last of all have the scores %v, alone %v, %v", all[chunkDocs-5:], last, err)
	}
}

func TestOrderOfWhat(t *testing.T) {
	x := openTemp(t, Options{})
	apply(t, x, 1, Entry{No: 3, Values: map[string]any{"p": 2.0}}, Entry{No: 5, Values: map[string]any{"p": 1.0}}, Entry{No: 7})
	if got, err := x.Order(t.Context(), []SortKey{{Field: "p"}}, nil, 10, Scorer{}); err != nil || !slices.Equal(got, []uint32{5, 3, 7}) {
		t.Errorf("Order of all = %v, %v, want 5, 3, 7", got, err)
	}
	if _, err := x.Order(t.Context(), []SortKey{{Field: "p"}}, nil, -1, Scorer{}); !errors.Is(err, ErrQuery) {
		t.Errorf("negative k: %v, want ErrQuery", err)
	}
	if _, err := x.Order(t.Context(), []SortKey{{Desc: true}}, nil, 1, Scorer{}); !errors.Is(err, ErrQuery) {
		t.Errorf("a score that nobody gives: %v, want ErrQuery", err)
	}
}

// TestOrderOfManyTies sorts documents of which two each are equal by the first key, and as many
// different values stand in the second: a walk through these for every two would take minutes.
func TestOrderOfManyTies(t *testing.T) {
	x := openTemp(t, Options{})
	entries := make([]Entry, 10_000)
	want := make([]uint32, len(entries))
	for i := range entries {
		entries[i] = Entry{No: uint32(i), Values: map[string]any{"twice": fmt.Sprintf("%05d", i/2), "once": fmt.Sprintf("%05d", 99_999-i)}}
		want[i] = uint32(i ^ 1)
	}
	apply(t, x, 1, entries...)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, k := range []int{10_000, 9_999, 9_998, 1, 0} {
		got, err := x.Order(ctx, []SortKey{{Field: "twice"}, {Field: "once"}}, nil, k, Scorer{})
		if err != nil || !slices.Equal(got, want[:k]) {
			t.Errorf("the first %d of %d: %d, %v", k, len(want), len(got), err)
		}
	}
}

// TestOrderOfManyNumbers holds a far page of numbers that are all different to some allocations for
// each document: walking down the prefixes of each would be three times as many. What the index
// merges in the background meanwhile is counted, too, hence the least of some runs.
func TestOrderOfManyNumbers(t *testing.T) {
	const docs, page = 10_000, 2500
	r := rand.New(rand.NewPCG(7, 8))
	x := openTemp(t, Options{})
	entries := make([]Entry, docs)
	for i := range entries {
		entries[i] = Entry{No: uint32(i), Values: map[string]any{"price": float64(r.IntN(1_000_000)) / 100, "added": time.Unix(r.Int64N(1<<30), 0).UTC().Format(time.RFC3339)}}
	}
	apply(t, x, 1, entries...)
	for _, field := range []string{"price", "added"} {
		var got []uint32
		allocs := math.Inf(1)
		for try := 0; try < 5 && allocs > 120*page; try++ {
			allocs = min(allocs, testing.AllocsPerRun(1, func() {
				var err error
				if got, err = x.Order(context.Background(), []SortKey{{Field: field, Desc: true}}, nil, page, Scorer{}); err != nil {
					t.Fatal(err)
				}
			}))
		}
		if len(got) != page || allocs > 120*page {
			t.Errorf("%d documents by %s: %.0f allocations, want at most 120 for each", len(got), field, allocs)
		}
	}
}
