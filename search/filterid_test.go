package search_test

import (
	"testing"

	"example.com/searchd/search"
)

// TestFilterByID finds documents by their ids, and those with a field of that name by the field; a
// deletion agrees.
func TestFilterByID(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("a", `{"text":"common one","n":1}`), doc("b", `{"text":"common two","n":2}`), doc("7", `{"n":3}`),
		doc("2024-05-01", `{"text":"common day","n":4}`), doc("own", `{"text":"common own","id":"a","n":5}`), doc("old", `{"text":"common old","n":6}`))
	if _, err := e.DeleteDocuments(t.Context(), "docs", []string{"old"}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Updated, doc("b", `{"text":"common two again","n":2}`))
	for _, tc := range []struct{ filter, want string }{
		{"id = 'a'", "a own"},
		{"_id = 'a'", "a"},
		{"id IN ['a', 'b'] AND n > 1", "b own"},
		{"id IN ['own', 'old', 'nobody', '']", ""},
		{"_id IN ['own', 'old', 'nobody', '']", "own"},
		{"id = 7", "7"},
		{"id = '2024-05-01'", "2024-05-01"},
		{"id != 'a'", "b 7 2024-05-01"},
		{"id NOT IN ['a', 'b', '7']", "2024-05-01"},
		{"NOT (id = 'a' OR n < 3)", "7 2024-05-01"},
		{"id EXISTS", "own"},
		{"id >= 'a'", "own"},
	} {
		if got := find(t, e, search.Query{Filter: tc.filter, Sort: []search.SortKey{{Field: "n"}}}); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.filter, got, tc.want)
		}
		want := 0
		if r, err := e.Search(t.Context(), "docs", search.Query{Filter: tc.filter}); err != nil || len(r.Warnings) != 0 {
			t.Errorf("%s: warnings %v, %v", tc.filter, r.Warnings, err)
		} else {
			want = r.Total.Value
		}
		if d, err := e.DeleteByFilter(t.Context(), "docs", tc.filter, true); err != nil || d.Matched != want {
			t.Errorf("deletion by %s: %+v, %v, want %d", tc.filter, d, err, want)
		}
	}
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		if got := find(t, e, search.Query{Q: "common", Mode: mode, Filter: "id IN ['b', '7']"}); got != "b" {
			t.Errorf("%s: %q, want b", mode, got)
		}
		if x, err := e.Explain(t.Context(), "docs", "a", search.Query{Q: "common", Mode: mode, Filter: "id = 'b'"}); err != nil || x.Reason != search.ReasonFilter {
			t.Errorf("%s: %+v, %v", mode, x, err)
		}
		if x, err := e.Explain(t.Context(), "docs", "b", search.Query{Q: "common", Mode: mode, Filter: "id = 'b'"}); err != nil || x.Rank != 1 {
			t.Errorf("%s: %+v, %v", mode, x, err)
		}
	}
	if d, err := e.DeleteByFilter(t.Context(), "docs", "id IN ['b', '7', 'nobody']", false); err != nil || d.Deleted != 2 {
		t.Errorf("DeleteByFilter = %+v, %v", d, err)
	}
	if got := find(t, e, search.Query{}); got != "a 2024-05-01 own" {
		t.Errorf("left: %s", got)
	}
}
