package search_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestPagesAreTheWhole reads the pages of random queries one after another and wants the hits of
// one large page, none twice, none lost.
func TestPagesAreTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 1))
	e := open(t, t.TempDir(), &fakeEmbedder{})
	words := strings.Fields("red green blue car cat dog house tree river stone cloud wind")
	var docs []search.Document
	for i := range 120 {
		var text []string
		for range 1 + r.IntN(60) {
			text = append(text, words[min(r.IntN(len(words)), r.IntN(len(words)))])
		}
		docs = append(docs, doc(fmt.Sprintf("d%d", i), fmt.Sprintf(`{"title":%q,"text":%q,"g":%d,"k":[%d,"x%d"]}`, text[0], strings.Join(text, " "), i%7, i%3, i%5)))
	}
	put(t, e, search.Created, docs...)
	for range 40 {
		q := search.Query{Q: words[r.IntN(len(words))] + " " + words[r.IntN(len(words))], Mode: []search.Mode{search.Hybrid, search.Semantic, search.Keyword}[r.IntN(3)], Window: 20 + r.IntN(150), Passages: ptr(r.IntN(3)), Explain: r.IntN(2) == 0}
		if r.IntN(3) == 0 {
			q.Fusion = search.RRF
		}
		if r.IntN(3) == 0 {
			q.Q += ` -` + words[r.IntN(len(words))]
		}
		if r.IntN(4) == 0 {
			q.Q = `"` + q.Q + `"`
		}
		if r.IntN(3) == 0 {
			q.Group = []string{"g", "k", "none"}[r.IntN(3)]
		}
		if r.IntN(3) == 0 {
			q.Sort = []search.SortKey{{Field: "k"}, {Field: "_score"}}[r.IntN(2):]
		} else if r.IntN(3) == 0 {
			q.Diversity = 0.5
		}
		if r.IntN(3) == 0 {
			q.MinSimilarity = 0.3
		}
		if r.IntN(4) == 0 {
			q.Filter = "g < 4"
		}
		all := func(q search.Query) (out []string, total search.Total) {
			res, err := e.Search(t.Context(), "docs", q)
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			for _, h := range res.Hits {
				g := ""
				if h.Group != nil {
					g = fmt.Sprintf(" %v+%d", h.Group.Value, h.Group.More)
				}
				out = append(out, fmt.Sprintf("%s %v%s", h.ID, h.Score, g))
			}
			return out, res.Total
		}
		q.Limit = ptr(q.Window)
		want, total := all(q)
		if q.Group == "" && len(want) > total.Value {
			t.Errorf("%+v: %d hits, total %+v", q, len(want), total)
		}
		seen := map[string]bool{}
		for _, w := range want {
			if id := strings.Fields(w)[0]; seen[id] {
				t.Errorf("%+v: %s twice", q, id)
			} else {
				seen[id] = true
			}
		}
		size := 1 + r.IntN(15)
		var got []string
		for q.Offset = 0; q.Offset < q.Window; q.Offset += size {
			q.Limit = ptr(min(size, q.Window-q.Offset))
			page, n := all(q)
			got = append(got, page...)
			if n != total {
				t.Errorf("%+v: total %+v on a page, %+v of the whole", q, n, total)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v\n got %v\nwant %v", q, got, want)
		}
	}
}

// TestDefaultWindow compares what the window is of searches that do not give it.
func TestDefaultWindow(t *testing.T) {
	for _, tc := range []struct {
		name string
		q    search.Query
		want int
	}{
		{"first page", search.Query{}, 100},
		{"to the last of the short one", search.Query{Offset: 90}, 100},
		{"beyond it", search.Query{Offset: 91}, 200},
		{"page", search.Query{Page: 11}, 200},
		{"facets", search.Query{Facets: []search.Facet{{Field: "n"}}}, 200},
		{"sort", search.Query{Sort: []search.SortKey{{Field: "n"}}}, 200},
		{"group", search.Query{Group: "n"}, 200},
		{"diversity", search.Query{Diversity: 0.5}, 200},
		{"cutoff", search.Query{Cutoff: search.CutoffAuto}, 200},
		{"given", search.Query{Window: 150}, 150},
	} {
		tc.q.Q = "red"
		if got := search.WindowOf(tc.q); got != tc.want {
			t.Errorf("%s: window %d, want %d", tc.name, got, tc.want)
		}
	}
}
