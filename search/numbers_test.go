package search_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestLargeIntegersAreExact: integers that share a float64 are distinguished wherever values are
// compared or shown.
func TestLargeIntegersAreExact(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	const first = 1234567890123456789
	var docs []search.Document
	for i := range 4 {
		docs = append(docs, doc(fmt.Sprintf("t%d", i), fmt.Sprintf(`{"text":"tweet","tweet_id":%d,"list":[%d,"x"]}`, first+(i+2)%4, first+i)))
	}
	put(t, e, search.Created, docs...)
	for filter, want := range map[string]string{
		"tweet_id = 1234567890123456789": "t2", "tweet_id != 1234567890123456789": "t0 t1 t3", "tweet_id > 1234567890123456790": "t0 t1",
		"tweet_id IN [1234567890123456792, 1234567890123456793]": "t1", "list <= 1234567890123456789": "t0", "tweet_id = 1.234567890123456791e18": "t0",
	} {
		if got := find(t, e, search.Query{Q: "tweet", Mode: search.Keyword, Filter: filter}); got != want {
			t.Errorf("%s finds %q, want %q", filter, got, want)
		}
	}
	if got := find(t, e, search.Query{Q: "tweet", Mode: search.Keyword, Sort: []search.SortKey{{Field: "tweet_id"}}}); got != "t2 t3 t0 t1" {
		t.Errorf("sorted: %q", got)
	}
	if got := find(t, e, search.Query{Q: "tweet", Sort: []search.SortKey{{Field: "tweet_id", Order: "desc"}}, Limit: ptr(3)}); got != "t1 t0 t3" {
		t.Errorf("sorted, falling: %q", got)
	}
	var q search.Query
	if err := json.Unmarshal([]byte(`{"q":"tweet","mode":"keyword","group":"tweet_id","facets":["tweet_id",
		{"field":"list","ranges":[{"from":1234567890123456790,"to":1234567890123456792},{"to":1234567890123456790}]}]}`), &q); err != nil {
		t.Fatal(err)
	}
	r, err := e.Search(t.Context(), "docs", q)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r.Facets)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"values":[{"value":1234567890123456789,"count":1},{"value":1234567890123456790,"count":1},{"value":1234567890123456791,"count":1},{"value":1234567890123456792,"count":1}]`,
		`"ranges":[{"from":1234567890123456790,"to":1234567890123456792,"count":2},{"to":1234567890123456790,"count":1}]`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("facets %s, want %s", b, want)
		}
	}
	if len(r.Hits) != 4 || fmt.Sprint(r.Hits[0].Group.Value) != "1234567890123456791" {
		t.Errorf("%d groups, want 4, the first is %+v", len(r.Hits), r.Hits[0].Group)
	}
	d, err := e.DeleteByFilter(t.Context(), "docs", "tweet_id = 1234567890123456789", false)
	if err != nil || d.Deleted != 1 {
		t.Errorf("deletion %+v, %v, want one document", d, err)
	}
}

// TestNumbersOutOfRangeAreNamed: the error says which field holds a number that float64 cannot.
func TestNumbersOutOfRangeAreNamed(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	for fields, want := range map[string]string{
		`{"text":"a","price":1e400}`:               "price: got 1e400, allowed: numbers of float64",
		`{"text":"a","in":{"price":[1,-1e400]}}`:   "in.price[1]: got -1e400",
		`{"text":"a","in":[{"price":[1,-1e400]}]}`: "in[0].price[1]: got -1e400",
	} {
		r, err := e.Ingest(t.Context(), "docs", []search.Document{doc("d", fields)})
		if err != nil || r[0].Err == nil || !strings.Contains(r[0].Err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", fields, r[0].Err, err, want)
		}
	}
}
