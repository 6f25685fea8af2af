package search_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/embedded"
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
	if r, err := e.Search(t.Context(), "docs", search.Query{Q: "sleeps", Mode: search.Semantic}); err != nil || len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "hits: 1 of total could not be read") {
		t.Errorf("Search = %+v, %v; want a warning", r, err)
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

// spoilVectors writes over the vectors of a text, which a data folder holds.
func spoilVectors(t *testing.T, dir, text string) {
	t.Helper()
	r, err := new(fakeEmbedder).Embed(t.Context(), []string{text}, search.EmbedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	search.Normalize(r.Vectors[0])
	var vector []byte
	for _, x := range r.Vectors[0] {
		vector = binary.LittleEndian.AppendUint32(vector, math.Float32bits(x))
	}
	path := filepath.Join(dir, "searchd.db")
	file := mustRead(t, path)
	if !bytes.Contains(file, vector) {
		t.Fatal("the store does not hold the vector")
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(file, vector, bytes.Repeat([]byte("#"), len(vector))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEncodeDamaged encodes documents with a damaged vector again: they are what they were.
func TestEncodeDamaged(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, &fakeEmbedder{})
	put(t, e, search.Created, doc("cat", `{"text":"a kitten sleeps"}`), doc("dog", `{"text":"a puppy barks"}`))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	spoilVectors(t, dir, "a kitten sleeps")
	var told []string
	tell := func(text string) { told = append(told, text) }
	if _, err := embedded.DropDamaged(t.Context(), dir, tell); err != nil || len(told) > 0 {
		t.Fatalf("DropDamaged = %v, dropped %q", err, told)
	}
	e = open(t, dir, &fakeEmbedder{})
	for range 2 {
		if err := search.EncodeDamaged(t.Context(), e, tell); err != nil || !slices.Equal(told, []string{`encoded again: collection "docs": document "cat"`}) {
			t.Errorf("EncodeDamaged = %v, told %q", err, told)
		}
	}
	if got := find(t, e, search.Query{Q: "kitten", Mode: search.Semantic}); !strings.HasPrefix(got, "cat") {
		t.Errorf("kitten finds %q", got)
	}
	noProblems(t, e)
}

// TestEncodeDamagedOfAnother encodes documents again beside those of a checkpoint that is missing,
// which is reported once.
func TestEncodeDamagedOfAnother(t *testing.T) {
	dir := t.TempDir()
	sums := map[string]string{"other": "missing"}
	for _, name := range []string{"docs", "other"} {
		e := open(t, dir, &fakeEmbedder{sha256: sums[name]})
		if _, err := e.CreateCollection(t.Context(), name, search.Settings{}); err != nil && !errors.Is(err, search.ErrCollectionExists) {
			t.Fatal(err)
		}
		if _, err := e.Ingest(t.Context(), name, []search.Document{doc("cat", `{"text":"a kitten sleeps"}`)}); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	spoilVectors(t, dir, "a kitten sleeps")
	e := open(t, dir, &fakeEmbedder{})
	var told []string
	err := search.EncodeDamaged(t.Context(), e, func(text string) { told = append(told, text) })
	if err != nil || len(told) != 2 || !strings.HasPrefix(told[1], "not encoded again: ") {
		t.Errorf("EncodeDamaged = %v, told %q", err, told)
	}
}
