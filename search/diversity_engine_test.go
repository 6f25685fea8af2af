package search_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
)

func TestDiversity(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created,
		doc("a1", `{"text":"piano music lesson"}`), doc("a2", `{"text":"piano music lesson today"}`), doc("a3", `{"text":"piano music lesson now"}`),
		doc("b", `{"text":"piano repair workshop far away"}`), doc("c", `{"text":"guitar strings"}`))
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		q := search.Query{Q: "piano music", Mode: mode}
		plain := strings.Fields(find(t, e, q))
		if place := slices.Index(plain, "b"); place < 3 {
			t.Fatalf("%s: by score %v, want b behind its betters", mode, plain)
		}
		q.Diversity, q.Explain = 0.6, true
		r, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, h := range r.Hits {
			got = append(got, h.ID)
			d := h.Explain.Diversity
			if d == nil || plain[d.RankBefore-1] != h.ID || i == 0 && d.Similarity != 0 {
				t.Errorf("%s: hit %s explained by %+v, by score %v", mode, h.ID, d, plain)
			}
		}
		if got[0] != plain[0] || !slices.Contains(got[:3], "b") || len(got) != len(plain) {
			t.Errorf("%s: diversified %v, by score %v", mode, got, plain)
		}
		var paged []string
		for q.Offset, q.Limit = 0, ptr(2); q.Offset < len(got); q.Offset += 2 {
			paged = append(paged, strings.Fields(find(t, e, q))...)
		}
		if !slices.Equal(paged, got) {
			t.Errorf("%s: pages %v, at once %v", mode, paged, got)
		}
	}
	for _, q := range []search.Query{{Q: "x", Diversity: 1.5}, {Q: "x", Diversity: -1}, {Q: "x", Diversity: 0.5, Sort: []search.SortKey{{Field: "n"}}}} {
		if _, err := e.Search(t.Context(), "docs", q); err == nil || !strings.Contains(err.Error(), "diversity") {
			t.Errorf("%+v: %v, want an error about diversity", q, err)
		}
	}
}
