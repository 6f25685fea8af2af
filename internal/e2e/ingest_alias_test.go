package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/searchd/search"
)

// TestIngestIntoAnAlias brings documents into what an alias leads to, and after the alias has
// moved, into the other.
func TestIngestIntoAnAlias(t *testing.T) {
	for _, where := range []string{"server", "folder"} {
		t.Run(where, func(t *testing.T) {
			dir := t.TempDir()
			data, file := filepath.Join(dir, "data"), filepath.Join(dir, "docs.jsonl")
			if err := os.WriteFile(file, []byte(`{"id":"a","text":"one"}`+"\n"+`{"id":"b","text":"two"}`+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var e *search.Engine
			to := []string{"--data", data}
			with := func(f func()) { // an engine on the folder, that of the server or one for the moment
				if where == "server" {
					f()
					return
				}
				var err error
				if e, err = search.Open(data, search.Options{}); err != nil {
					t.Fatal(err)
				}
				f()
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if where == "server" {
				var err error
				if e, err = search.Open(data, search.Options{}); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { e.Close() })
				to = []string{"--server", serve(t, e)}
			}
			point := func(collection string) {
				if _, err := e.SetAlias(t.Context(), "live", collection); err != nil {
					t.Fatal(err)
				}
			}
			count := func(collection string, want int) {
				t.Helper()
				if c, err := e.Collection(t.Context(), collection); err != nil || c.Documents != want {
					t.Errorf("%s: %d documents, %v, want %d", collection, c.Documents, err, want)
				}
			}
			with(func() {
				for _, c := range []string{"blue", "green"} {
					if _, err := e.CreateCollection(t.Context(), c, search.Settings{}); err != nil {
						t.Fatal(err)
					}
				}
				// As many documents as the other will have: by their number alone the two look the
				// same to the journal.
				if _, err := e.Ingest(t.Context(), "green", []search.Document{{ID: "c", Fields: []byte(`{"text":"three"}`)}, {ID: "d", Fields: []byte(`{"text":"four"}`)}}); err != nil {
					t.Fatal(err)
				}
				point("blue")
			})
			ingest := append(to, "--collection", "live", "--state", filepath.Join(dir, "state"), file)
			mustRun(t, "ingest", ingest...)
			with(func() {
				count("blue", 2)
				count("green", 2)
				point("green")
			})
			mustRun(t, "ingest", ingest...) // the journal must not think that all is there
			with(func() {
				count("blue", 2)
				count("green", 4)
				if list, err := e.Collections(t.Context()); err != nil || len(list) != 2 {
					t.Errorf("%d collections, %v, want 2", len(list), err)
				}
			})
		})
	}
}
