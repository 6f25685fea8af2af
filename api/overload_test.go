package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/searchd/search"
)

// TestSearchersBesideAnImport lets a hundred searchers ask at once while documents are imported:
// nothing is refused and nothing lost. How fast that goes is measured by `searchd bench serve`.
func TestSearchersBesideAnImport(t *testing.T) {
	f := overEngine(t, Options{SearchTimeout: time.Minute})
	f.do("PUT", "/v1/collections/docs", "").want(201, nil)
	f.do("PUT", "/v1/collections/docs/documents/first", `{"text":"the first kitten sleeps"}`).want(201, nil)
	const documents, searchers, each = 150, 100, 3
	var lines strings.Builder
	for i := range documents {
		fmt.Fprintf(&lines, `{"id":"%d","text":"kitten number %d sleeps in basket %d"}`+"\n", i, i, i%7)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, a := range importLines(t, f.do("POST", importPath, lines.String(), "Content-Type", "application/x-ndjson")) {
			if a.Status != search.Created {
				t.Errorf("document %s: %s %v", a.ID, a.Status, a.Error)
			}
		}
	})
	for n := range searchers {
		wg.Go(func() {
			for i := range each {
				if a := f.do("GET", fmt.Sprintf("/v1/collections/docs/search?q=kitten+%d+%d", n, i), ""); a.Code != http.StatusOK {
					t.Errorf("searcher %d: status %d: %s", n, a.Code, a.Body)
				}
			}
		})
	}
	wg.Wait()
	if n := f.server.searches.refusals.Load(); n != 0 {
		t.Errorf("%d searches were refused", n)
	}
	var c search.CollectionInfo
	if f.do("GET", "/v1/collections/docs", "").want(200, &c); c.Documents != documents+1 {
		t.Errorf("%d documents, want %d", c.Documents, documents+1)
	}
}
