package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/mapping"
)

// TestLongStringsAreValues: in a declared filter field whatever their length, in others for EXISTS
// alone.
func TestLongStringsAreValues(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	settings := search.Settings{Fields: mapping.Mapping{"url": {Type: mapping.Filter}}}
	if _, err := e.CreateCollection(t.Context(), "urls", settings); err != nil {
		t.Fatal(err)
	}
	long, longer := strings.Repeat("u", 300), strings.Repeat("v", 2000)
	var docs []search.Document
	for i, url := range []string{"short", long, longer + "1", longer + "2"} {
		docs = append(docs, doc(fmt.Sprint("d", i), fmt.Sprintf(`{"text":"page","url":%q,"other":%[1]q}`, url)))
	}
	docs = append(docs, doc("none", `{"text":"page"}`))
	if _, err := e.Ingest(t.Context(), "urls", docs); err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[string]string{
		"NOT url EXISTS": "none", "NOT other EXISTS": "none", "other EXISTS": "d0 d1 d2 d3",
		"url = '" + long + "'": "d1", "url = '" + longer + "2'": "d3", "url >= 'u'": "d1 d2 d3",
		"other = '" + long + "'": "", "other = 'short'": "d0", "other > 'a'": "d0",
	} {
		r, err := e.Search(t.Context(), "urls", search.Query{Q: "page", Mode: search.Keyword, Filter: filter})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range r.Hits {
			got = append(got, h.ID)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%.60s finds %v, want %q", filter, got, want)
		}
	}
	r, err := e.Search(t.Context(), "urls", search.Query{Q: "page", Mode: search.Keyword, Group: "url", Facets: []search.Facet{{Field: "url"}, {Field: "other"}},
		Sort: []search.SortKey{{Field: "url", Order: "desc"}}})
	if err != nil || len(r.Hits) != 5 || r.Hits[4].ID != "none" || r.Hits[2].ID != "d1" {
		t.Fatalf("sorted and grouped: %+v, %v", r, err)
	}
	url, other := r.Facets["url"], r.Facets["other"]
	if url.Distinct != 4 || url.Missing != 1 || other.Distinct != 1 || other.Missing != 1 {
		t.Errorf("facets: url %d different, %d missing; other %d, %d", url.Distinct, url.Missing, other.Distinct, other.Missing)
	}
	d, err := e.DeleteByFilter(t.Context(), "urls", "NOT other EXISTS", false)
	if err != nil || d.Deleted != 1 {
		t.Errorf("deletion %+v, %v, want one document", d, err)
	}
}
