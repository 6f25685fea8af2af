package search_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestTooManyCollections: at the bound none is made, and those that are there are served, changed
// and deleted as ever.
func TestTooManyCollections(t *testing.T) {
	dir := t.TempDir()
	e, err := search.Open(dir, search.Options{Embedder: &fakeEmbedder{}, MaxCollections: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"docs", "notes"} {
		if _, err := e.CreateCollection(t.Context(), name, search.Settings{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.CreateCollection(t.Context(), "more", search.Settings{}); !errors.Is(err, search.ErrTooManyCollections) || !strings.Contains(err.Error(), "at most 2") {
		t.Errorf("a third one: %v, want ErrTooManyCollections", err)
	}
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); !errors.Is(err, search.ErrCollectionExists) {
		t.Errorf("one that is there: %v, want ErrCollectionExists", err)
	}
	if _, made, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Language: "de"}); made || err != nil {
		t.Errorf("EnsureCollection = %v, %v", made, err)
	}
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Errorf("re-embedding at the bound: %+v", task)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if e, err = search.Open(dir, search.Options{Embedder: &fakeEmbedder{}, MaxCollections: 1}); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	put(t, e, search.Created, doc("a", `{"text":"a car"}`)) // more than the bound of today
	for _, name := range []string{"docs", "notes"} {
		if err := e.DropCollection(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if _, err := e.CreateCollection(t.Context(), "more", search.Settings{}); err != nil {
		t.Errorf("after two were deleted: %v", err)
	}
}
