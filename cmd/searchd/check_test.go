package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

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
