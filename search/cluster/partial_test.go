package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestAllowPartial searches a collection of which no node serves one partition: that fails with the
// name of the partition, or with AllowPartial finds what the others have and says what is missing.
func TestAllowPartial(t *testing.T) {
	b, err := Open(t.Context(), t.TempDir(), Options{Cluster: "test", Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	e, err := search.Open("", search.Options{Backend: b, Model: "../../encoder/testdata/bert-mean"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{Synonyms: []string{"tv => television"}, Fields: map[string]search.FieldSettings{"n": {Type: "filter"}}}); err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	for i := range 8 {
		docs = append(docs, search.Document{ID: fmt.Sprint("d", i), Fields: []byte(fmt.Sprintf(`{"text":"a television in room %d","n":%d}`, i, i))})
	}
	if _, err := e.Ingest(t.Context(), "docs", docs); err != nil {
		t.Fatal(err)
	}
	b.catalogue.change(func() { // a third partition, which nobody has, nor makes
		self := b.catalogue.mu.nodes[b.name]
		self.Drained = true
		b.catalogue.mu.nodes[b.name] = self
		c := *b.catalogue.mu.collections["docs"]
		c.Partitions = 3
		b.catalogue.mu.collections["docs"] = &c
	})
	if _, err := e.Search(t.Context(), "docs", search.Query{Q: "tv"}); !errors.Is(err, search.ErrUnavailable) || !strings.Contains(err.Error(), `partition 2 of collection "docs"`) {
		t.Errorf("without AllowPartial: %v", err)
	}
	for name, q := range map[string]search.Query{
		"hybrid": {Q: "tv", Diversity: 0.5, Facets: []search.Facet{{Field: "n"}}, Explain: true}, "keyword": {Q: `"television in" -garden`, Mode: search.Keyword, Sort: []search.SortKey{{Field: "n"}}},
		"misspelled": {Q: "televisoin", Mode: search.Keyword}, "all": {Facets: []search.Facet{{Field: "n"}}, Filter: "n >= 0"},
	} {
		q.AllowPartial = true
		r, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(r.Hits) != 8 || fmt.Sprint(r.Missing) != "[2]" || r.Total.Relation != "gte" || !strings.Contains(fmt.Sprint(r.Warnings), "1 of 3 partitions are missing") {
			t.Errorf("%s: %d hits, missing %v, total %+v, warnings %q", name, len(r.Hits), r.Missing, r.Total, r.Warnings)
		}
	}
	b.catalogue.change(func() {
		c := *b.catalogue.mu.collections["docs"]
		c.ID, c.Partitions = newID(), 1
		b.catalogue.mu.collections["docs"] = &c
	})
	if r, err := e.Search(t.Context(), "docs", search.Query{Q: "tv", AllowPartial: true}); !errors.Is(err, search.ErrUnavailable) {
		t.Errorf("where nothing is left: %+v, %v", r, err)
	}
}
