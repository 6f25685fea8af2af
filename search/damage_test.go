package search_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"searchd/search"
)

// TestDamagedDocument searches a collection of which a document is damaged, and ingests it again.
func TestDamagedDocument(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, &fakeEmbedder{})
	docs := []search.Document{doc("cat", `{"text":"a kitten sleeps"}`), doc("dog", `{"text":"a puppy sleeps"}`)}
	put(t, e, search.Created, docs...)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "searchd.db")
	file, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(file, []byte("kitten sleeps")) {
		t.Fatal("the store does not hold the text", err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(file, []byte("kitten"), []byte("kit###")), 0o600); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, &fakeEmbedder{})
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		if got := find(t, e, search.Query{Q: "sleeps", Mode: mode}); got != "dog" {
			t.Errorf("%s finds %q", mode, got)
		}
	}
	if info, err := e.Collection(t.Context(), "docs"); err != nil || info.DamagedDocuments != 1 || info.Documents != 2 {
		t.Errorf("Collection = %+v, %v", info, err)
	}
	var damaged *search.DamagedError
	if _, err := e.Document(t.Context(), "docs", "cat"); !errors.As(err, &damaged) || !strings.Contains(err.Error(), `of "docs" one document cannot be read: document "cat", fields: `) {
		t.Errorf("Document: %v", err)
	}
	results, err := e.Ingest(t.Context(), "docs", docs)
	if err != nil || results[0].Status != search.Updated || results[1].Status != search.Unchanged {
		t.Fatalf("Ingest = %+v, %v", results, err)
	}
	if info, err := e.Collection(t.Context(), "docs"); err != nil || info.DamagedDocuments != 0 {
		t.Errorf("Collection = %+v, %v", info, err)
	}
	if got := find(t, e, search.Query{Q: "kitten"}); !strings.HasPrefix(got, "cat") {
		t.Errorf("kitten finds %q", got)
	}
	noProblems(t, e)
}
