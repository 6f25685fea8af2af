package search_test

import (
	"strings"
	"testing"

	"example.com/searchd/search"
)

// A list without values matches nothing, in every mode and beside other conditions.
func TestInNothing(t *testing.T) {
	e := shelf(t)
	for _, tt := range []struct {
		filter string
		want   int
	}{
		{"tags IN []", 0}, {"tags IN ()", 0}, {"n IN []", 0}, {"day IN []", 0}, {"none IN []", 0},
		{"tags NOT IN []", 40}, {"NOT tags IN []", 40}, {"none NOT IN []", 40},
		{"tags IN [] OR lang = 'en'", 14}, {"tags IN [] AND lang = 'en'", 0}, {"NOT (tags IN [] OR lang = 'en')", 26}, {"n NOT IN [] AND n < 3", 3},
	} {
		for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
			r, err := e.Search(t.Context(), "docs", search.Query{Q: "book", Mode: mode, Filter: tt.filter, Limit: ptr(100), Facets: []search.Facet{{Field: "lang"}}})
			if err != nil || len(r.Hits) != tt.want || r.Total.Value != tt.want {
				t.Fatalf("%s, %v: %d hits, total %+v, %v, want %d", tt.filter, mode, len(r.Hits), r.Total, err, tt.want)
			}
		}
	}
}

// The total of a grouped search counts its groups: as many as there are hits on all pages.
func TestTotalOfGroups(t *testing.T) {
	e := shelf(t)
	put(t, e, search.Created, doc("plain1", `{"text":"book"}`), doc("plain2", `{"text":"book too"}`))
	for _, field := range []string{"lang", "n", "year", "day", "tags", "none"} {
		for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
			for _, filter := range []string{"", "n < 20", "lang IN ['en', 'de']", "year EXISTS", "none EXISTS"} {
				for _, limit := range []int{1, 5, 100} {
					q := search.Query{Q: "book", Mode: mode, Group: field, Filter: filter, Limit: ptr(100)}
					all, err := e.Search(t.Context(), "docs", q)
					if err != nil {
						t.Fatal(err)
					}
					q.Limit = ptr(limit)
					r, err := e.Search(t.Context(), "docs", q)
					if err != nil || r.Total.Groups != len(all.Hits) {
						t.Fatalf("%s by %s, %v, limit %d: %d groups, %v, want %d", strings.TrimSpace("book "+filter), field, mode, limit, r.Total.Groups, err, len(all.Hits))
					}
				}
			}
		}
	}
}
