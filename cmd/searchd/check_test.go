package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"
	"example.com/searchd/search/settings"
	"example.com/searchd/store"
)

// TestReadingIsInterrupted interrupts commands that would build an index first.
func TestReadingIsInterrupted(t *testing.T) {
	data := filledFolder(t)
	if err := os.RemoveAll(filepath.Join(data, "indexes")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"check", "--data", data}, {"query", "--data", data, "kitten"}, {"reembed", "--data", data}} {
		root := newRootCommand()
		root.SetOut(io.Discard)
		root.SetArgs(args)
		if err := root.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%q: %v", args, err)
		}
		if files, _ := filepath.Glob(filepath.Join(data, "indexes", "*", "keyword", "*")); len(files) > 0 {
			t.Errorf("%q made an index: %q", args, files)
		}
	}
}

// TestCheckWaitsForIndexes checks folders whose indexes are lost and so large that a server would
// rebuild them beside its work: check waits until they are complete.
func TestCheckWaitsForIndexes(t *testing.T) {
	longtest.Skip(t)
	data := filepath.Join(t.TempDir(), "data")
	e, err := search.Open(data, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{Embedder: &settings.Embedder{Source: settings.Given, Dimension: 2}}); err != nil {
		t.Fatal(err)
	}
	const documents = 20480 // more than are added before an opening returns
	for n := 0; n < documents; {
		batch := make([]search.Document, 2048)
		for i := range batch {
			batch[i] = search.Document{ID: strconv.Itoa(n), Fields: fmt.Appendf(nil, `{"text":"w%d","vector":[%d,1]}`, n%7, n)}
			n++
		}
		if _, err := e.Ingest(t.Context(), "docs", batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	lost, err := filepath.Glob(filepath.Join(data, "indexes", "*", "keyword"))
	if err != nil || len(lost) != 1 {
		t.Fatal(lost, err)
	}
	if err := os.RemoveAll(lost[0]); err != nil {
		t.Fatal(err)
	}
	if out, _, err := execute(t, "", "check", "--data", data); err != nil || out != "0 differences\n" {
		t.Errorf("check: %v, %q", err, out)
	}
}

// Commands that ask a data folder make none of a folder that is there for something else, and say
// what is lost of one that was.
func TestNoDataFolder(t *testing.T) {
	other, lost := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(lost, "indexes"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check"}, {"check", "--repair"}, {"query", "kitten"}, {"reembed", "--model", "embedded"}, {"mcp"}} {
		for dir, want := range map[string]error{other: store.ErrNoStore, lost: store.ErrLost, filepath.Join(other, "none"): store.ErrNoStore} {
			if _, _, err := execute(t, "", append(args, "--data", dir)...); !errors.Is(err, want) {
				t.Errorf("%q in %s: %v, want %v", args, dir, err, want)
			}
		}
	}
	if _, _, err := execute(t, "", "backup", "--data", other, filepath.Join(t.TempDir(), "b")); !errors.Is(err, store.ErrNoStore) {
		t.Errorf("backup: %v, want %v", err, store.ErrNoStore)
	}
	for dir, want := range map[string]int{other: 0, lost: 1} {
		if files, err := os.ReadDir(dir); err != nil || len(files) != want {
			t.Errorf("%v in the folder, want %d: %v", files, want, err)
		}
	}
}
