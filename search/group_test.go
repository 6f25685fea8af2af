package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestGroup compares the hits with the first of each language, or of each tag, of the ungrouped
// hits.
func TestGroup(t *testing.T) {
	e := shelf(t)
	put(t, e, search.Created, doc("plain1", `{"text":"red book"}`), doc("plain2", `{"text":"red book too"}`))
	for _, q := range []search.Query{
		{Q: "red number7", Mode: search.Keyword}, {Q: "red number7", Mode: search.Semantic}, {Q: "red number7"},
		{Q: "red", Mode: search.Keyword, Sort: []search.SortKey{{Field: "n", Order: "desc"}}},
	} {
		q.Limit = ptr(100)
		all, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		more := map[string]int{}
		seen := map[string]bool{}
		for _, h := range all.Hits {
			lang := ""
			if _, after, ok := strings.Cut(string(h.Document), `"lang":"`); ok {
				lang = after[:2]
			}
			if lang != "" && seen[lang] {
				more[lang]++
				continue
			}
			seen[lang] = true
			want = append(want, h.ID)
		}
		q.Group = "lang"
		r, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range r.Hits {
			got = append(got, h.ID)
			switch lang, _ := h.Group.Value.(string); {
			case strings.HasPrefix(h.ID, "plain") && (h.Group.Value != nil || h.Group.More != 0):
				t.Errorf("%s without a value is of group %+v", h.ID, h.Group)
			case h.Group.More != more[lang]:
				t.Errorf("%s stands for %d more of %q, want %d", h.ID, h.Group.More, lang, more[lang])
			}
		}
		if !slices.Equal(got, want) || r.Total.Groups < len(want) || r.Total.Value != all.Total.Value || len(want) < 3 {
			t.Errorf("%s %v grouped: %v, want %v; total %+v, want %+v", q.Mode, q.Sort, got, want, r.Total, all.Total)
		}
		var paged []string
		for q.Offset, q.Limit = 0, ptr(2); q.Offset < len(want); q.Offset += 2 {
			paged = append(paged, strings.Fields(find(t, e, q))...)
		}
		if !slices.Equal(paged, want) {
			t.Errorf("%s: pages %v, want %v", q.Mode, paged, want)
		}
	}
	if got := find(t, e, search.Query{Q: "red", Mode: search.Keyword, Group: "nothing", Limit: ptr(100)}); len(strings.Fields(got)) != 22 {
		t.Errorf("grouped by a field that nobody has: %s", fmt.Sprint(got))
	}
}
