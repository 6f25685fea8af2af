package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
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
