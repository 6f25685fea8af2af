package search_test

import (
	"bytes"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/embedded"
)

// TestIncarnation holds on to a collection through everything that leaves its documents, and to
// nothing else.
func TestIncarnation(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, &fakeEmbedder{})
	put(t, e, search.Created, numbered(3)...)
	of := func(e *search.Engine, name string) string {
		t.Helper()
		info, err := e.Collection(t.Context(), name)
		if err != nil || info.Incarnation == "" {
			t.Fatalf("Collection(%s) = %+v, %v", name, info, err)
		}
		return info.Incarnation
	}
	was := of(e, "docs")
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Index: search.IndexSettings{EfSearch: 70, Quantize: "int8"}}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, numbered(5)[3:]...)
	if now := of(e, "docs"); now != was {
		t.Errorf("after writes and other settings: %s, before %s", now, was)
	}
	var backup bytes.Buffer
	if _, err := e.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, &fakeEmbedder{})
	if now := of(e, "docs"); now != was {
		t.Errorf("opened again: %s, before %s", now, was)
	}
	seen := map[string]bool{was: true}
	for range 2 {
		to := t.TempDir()
		if err := embedded.Restore(t.Context(), bytes.NewReader(backup.Bytes()), to, nil); err != nil {
			t.Fatal(err)
		}
		restored := open(t, to, &fakeEmbedder{})
		if now := of(restored, "docs"); seen[now] {
			t.Errorf("restored: %s is not new", now)
		} else {
			seen[now] = true
		}
	}
	if err := e.DropCollection(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if now := of(e, "docs"); seen[now] {
		t.Errorf("made anew: %s is not new", now)
	}
}
