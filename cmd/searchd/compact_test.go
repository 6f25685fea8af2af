package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/embedded"
)

// TestCompactCommand compacts a folder that much was deleted from: it is smaller, holds nothing of
// that, and the rest as before.
func TestCompactCommand(t *testing.T) {
	dir := filledFolder(t)
	file := filepath.Join(dir, "searchd.db")
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var docs []search.Document
	var ids []string
	for i := range 100 {
		id := fmt.Sprint("x", i)
		docs = append(docs, search.Document{ID: id, Fields: []byte(`{"text":"word","note":"` + strings.Repeat("a secret ", 1000) + `"}`)})
		ids = append(ids, id)
	}
	if _, err := e.Ingest(t.Context(), "docs", docs); err != nil {
		t.Fatal(err)
	}
	if _, err := e.DeleteDocuments(t.Context(), "docs", ids); err != nil {
		t.Fatal(err)
	}
	if _, err := runCommand(t, "compact", "--data", dir); err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("a folder in use: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	read := func() []byte {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	before := read()
	if !bytes.Contains(before, []byte("a secret")) {
		t.Fatal("the file holds nothing of what was deleted: there is nothing to be tested")
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := embedded.Compact(stopped, dir); !errors.Is(err, context.Canceled) || !bytes.Equal(read(), before) {
		t.Errorf("interrupted: %v, want the file as it was", err)
	}
	out := mustCommand(t, "compact", "--data", dir)
	after := read()
	if len(after) > len(before)/2 || bytes.Contains(after, []byte("a secret")) {
		t.Errorf("%q: %d bytes of %d, with what was deleted: %v", out, len(after), len(before), bytes.Contains(after, []byte("a secret")))
	}
	if !strings.Contains(out, megabytes(int64(len(before)))) || !strings.Contains(out, megabytes(int64(len(after)))) {
		t.Errorf("output %q of %d and %d bytes", out, len(before), len(after))
	}
	if c := collectionsOf(t, dir)["docs"]; c.Documents != 2 {
		t.Errorf("the collection is %+v, want 2 documents", c)
	}
	if out := mustCommand(t, "check", "--data", dir, "--deep"); !strings.HasSuffix(out, "0 differences") {
		t.Errorf("check: %s", out)
	}
	for _, args := range [][]string{{"compact"}, {"compact", "--data", filepath.Join(dir, "none")}} {
		if _, err := runCommand(t, args...); err == nil {
			t.Errorf("%q succeeded", args)
		}
	}
}
