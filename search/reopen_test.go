package search_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/embedded"
)

// answers are the hits of some queries: what reopening must not change.
func answers(t *testing.T, e *search.Engine) string {
	t.Helper()
	out := ""
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		for _, q := range []string{"common", "word7", "word12 word13"} {
			out += fmt.Sprintf("%s %s: %s\n", mode, q, find(t, e, search.Query{Q: q, Mode: mode, Limit: ptr(30)}))
		}
	}
	return out
}

// TestReopen damages the derived indexes in every way and wants the same answers and no difference
// afterwards.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	index := func(name ...string) string {
		return filepath.Join(append([]string{dir, "indexes", "00000001"}, name...)...)
	}
	write := func(path, content string) {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e := open(t, dir, &fakeEmbedder{})
	put(t, e, search.Created, numbered(120)...)
	if _, err := e.DeleteDocuments(t.Context(), "docs", []string{"n003", "n099"}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Updated, doc("n005", `{"text":"common word7 again"}`))
	want := answers(t, e)
	if _, err := os.Stat(index()); err != nil {
		t.Fatalf("the test looks in the wrong place: %v", err)
	}
	for _, tc := range []struct {
		name   string
		damage func()
	}{
		{"", func() {}},
		{"graph missing", func() { os.Remove(index("graph.hnsw")) }},
		{"graph truncated", func() { os.Truncate(index("graph.hnsw"), 100) }},
		{"graph is rubbish", func() { write(index("graph.hnsw"), "rubbish") }},
		{"keyword missing", func() { os.RemoveAll(index("keyword")) }},
		{"keyword is a file", func() { os.RemoveAll(index("keyword")); write(index("keyword"), "rubbish") }},
		{"keyword emptied", func() {
			files, _ := filepath.Glob(index("keyword", "*"))
			for _, f := range files {
				os.RemoveAll(f)
			}
		}},
		{"set aside on purpose", func() {
			if to, err := embedded.QuarantineIndexes(dir); err != nil || to == "" {
				t.Errorf("SetAsideIndexes = %q, %v", to, err)
			}
		}},
		{"all indexes missing", func() { os.RemoveAll(index()) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			tc.damage()
			var log strings.Builder
			e = open(t, dir, &fakeEmbedder{notice: func(text string) { log.WriteString(text) }})
			if rebuilt := log.Len() > 0; rebuilt != (tc.name != "") {
				t.Errorf("rebuilt: %t; log: %s", rebuilt, log.String())
			}
			if got := answers(t, e); got != want {
				t.Errorf("answers changed:\n%s\nwant\n%s", got, want)
			}
			problems, err := e.Check(t.Context(), true)
			if err != nil || len(problems) != 0 {
				t.Errorf("Check = %v, %v", problems, err)
			}
		})
	}
}
