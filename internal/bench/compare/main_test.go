package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/internal/longtest"
)

// TestRun compares a program with itself.
func TestRun(t *testing.T) {
	longtest.Skip(t)
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("processor times are read from /proc")
	}
	dir := t.TempDir()
	searchd := filepath.Join(dir, "searchd")
	if out, err := exec.Command("go", "build", "-o", searchd, "example.com/searchd/cmd/searchd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	documents, queries := filepath.Join(dir, "docs.jsonl"), filepath.Join(dir, "queries.txt")
	write := func(path, s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(documents, `{"id":"a","text":"bread rises overnight"}`+"\n"+`{"id":"b","text":"a bicycle has two wheels"}`+"\n")
	write(queries, "bread\n")
	work := filepath.Join(dir, "work")
	if err := run(searchd, searchd, documents, queries, work); err == nil || !strings.Contains(err.Error(), "got 1 queries, want at least 15") {
		t.Errorf("with one query: %v", err)
	}
	write(queries, strings.Repeat("bread\n", rounds*len(modes)))
	if err := run(searchd, searchd, documents, queries, work); err != nil {
		t.Error(err)
	}
}
