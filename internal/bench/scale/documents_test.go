//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The documents are the same in every run, no two of them are, and each has as many words as it
// should.
func TestDocuments(t *testing.T) {
	const n = 3000
	var files [2]string
	for i := range files {
		w, err := newWriter("../../../testdata/notes")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "docs.jsonl")
		if err := w.write(file, n); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = string(b)
	}
	if files[0] != files[1] {
		t.Error("two runs write different documents")
	}
	ids, texts := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(files[0]) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if len(strings.Fields(r.Text)) != words || len(r.Tags) != 2 || r.Year < 2000 || r.Date[:4] < "2000" {
			t.Fatalf("%+v", r)
		}
		ids[r.ID], texts[r.Text] = true, true
	}
	if len(ids) != n || len(texts) != n {
		t.Errorf("%d ids and %d texts, want %d", len(ids), len(texts), n)
	}
}

// Where there are few words, it says so.
func TestFewWords(t *testing.T) {
	if _, err := newWriter(t.TempDir()); err == nil || !strings.Contains(err.Error(), "0 different words") {
		t.Errorf("got %v", err)
	}
}
