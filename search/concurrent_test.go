package search_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"example.com/searchd/search"
)

// TestConcurrentUse writes, deletes, searches, lists, changes settings and drops, all at once, and
// wants no error that a client could not have caused, and no difference in the end. It is worth
// most under the race detector.
func TestConcurrentUse(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, numbered(50)...)
	const rounds = 15
	var wg sync.WaitGroup
	fail := func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for w := range 2 {
		wg.Go(func() {
			for i := range rounds {
				_, err := e.Ingest(t.Context(), "docs", []search.Document{
					doc(fmt.Sprintf("w%d-%d", w, i), fmt.Sprintf(`{"text":"common fresh%d"}`, i)), doc("n001", fmt.Sprintf(`{"text":"common changed%d by%d"}`, i, w))})
				fail("ingest", err)
				if i%3 == 0 {
					_, err := e.DeleteDocuments(t.Context(), "docs", []string{fmt.Sprintf("w%d-%d", w, i)})
					fail("delete", err)
				}
			}
		})
		wg.Go(func() {
			for i := range 4 * rounds {
				mode := []search.Mode{search.Keyword, search.Semantic, search.Hybrid}[i%3]
				_, err := e.Search(t.Context(), "docs", search.Query{Q: "common word7 fresh3", Mode: mode, Explain: true})
				fail(string(mode), err)
			}
		})
	}
	wg.Go(func() {
		for i := range rounds / 2 {
			_, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Index: search.IndexSettings{EfSearch: 50 + i, Quantize: []string{"none", "int8"}[i%2]}})
			fail("settings", err)
			_, _, err = e.Documents(t.Context(), "docs", "", 20)
			fail("list", err)
		}
	})
	wg.Go(func() {
		for range rounds / 2 {
			_, err := e.CreateCollection(t.Context(), "brief", search.Settings{})
			fail("create", err)
			_, err = e.Ingest(t.Context(), "brief", []search.Document{doc("a", `{"text":"brief"}`)})
			fail("ingest into brief", err)
			fail("drop", e.DropCollection(t.Context(), "brief"))
		}
	})
	wg.Go(func() {
		for range rounds {
			_, err := e.Search(t.Context(), "brief", search.Query{Q: "brief"})
			if !errors.Is(err, search.ErrCollectionNotFound) {
				fail("search of a collection that comes and goes", err)
			}
		}
	})
	wg.Wait()
	problems, err := e.Check(t.Context(), true)
	if err != nil || len(problems) != 0 {
		t.Errorf("Check = %v, %v", problems, err)
	}
}
