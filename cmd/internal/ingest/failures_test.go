package ingest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/extract"
)

// A run that begins while another goes on keeps its failures; the next one after both begins with
// an empty file.
func TestFailuresOfTwoRuns(t *testing.T) {
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), errorsName)
	run := func(dir, path string) (fail func(string), end func()) {
		t.Helper()
		p, err := newPipeline(flags{state: dir, collection: "docs", errorsFile: path}, shelf{}, io.Discard, io.Discard, nil)
		if err != nil {
			t.Fatal(err)
		}
		return func(name string) {
				if err := p.failures.add(extract.ItemError{Path: name, Reason: "no"}); err != nil {
					t.Fatal(err)
				}
			}, func() {
				if err := errors.Join(p.failures.close(), p.journal.close()); err != nil {
					t.Fatal(err)
				}
			}
	}
	check := func(when, path, want string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil && want != "" {
			t.Errorf("%s: %v", when, err)
		}
		if got := strings.NewReplacer(`{"path":"`, "", `","reason":"no"}`+"\n", " ").Replace(string(b)); strings.TrimSpace(got) != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	own := filepath.Join(dir, "docs", errorsName)
	first, endFirst := run(dir, "")
	first("a")
	second, endSecond := run(dir, "")
	first("b")
	second("c")
	first("d")
	check("both", own, "a b c d")
	endSecond()
	endFirst()
	last, endLast := run(dir, "")
	check("after both", own, "")
	last("e")
	check("after both", own, "e")
	endLast()
	for range 2 {
		named, endNamed := run("", path)
		named("f")
		check("by name", path, "f")
		endNamed()
	}
}

// Names of files do not command the terminal.
func TestPrintable(t *testing.T) {
	var b strings.Builder
	f, err := newFailures("", "", false, &b)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.add(extract.ItemError{Path: "a\x1b[2Jb\rc\u009bd\u202ee é 文.md", Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), `a\x1b[2Jb\rc\u009bd\u202ee é 文.md: no`+"\n"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// The summary says why things were left out, by the kind of file, also of files inside others.
func TestReasons(t *testing.T) {
	f := &failures{stderr: io.Discard}
	for _, e := range []extract.ItemError{
		{Path: "a/b.PDF", Reason: "no text on 3 pages"}, {Path: "c.pdf", Reason: "no text on 12 pages"}, {Path: "d.eml", Reason: `attachment "x \"y\".pdf": no text on 1 pages`, Warning: true},
		{Path: "e.zip", Reason: `"f/g.zip": "h.pdf", line 7: no text on 5 pages`}, {Path: "stdin", Reason: "binary"},
	} {
		if err := f.add(e); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	f.printReasons(&b)
	if got, want := b.String(), "left out, or read with a warning:\n        3 .pdf no text on … pages (such as a/b.PDF)\n        1 binary (stdin)\n        1 .pdf warning: no text on 1 pages (d.eml)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := range 3 * maxReasons {
		f.countReason(extract.ItemError{Path: fmt.Sprint("a.", strings.Repeat("x", i%15), "y"), Reason: strings.Repeat("z", i%200)})
	}
	b.Reset()
	if f.printReasons(&b); len(f.reasons) > maxReasons+1 || strings.Count(b.String(), "\n") != shownReasons+2 {
		t.Errorf("%d reasons, %d lines", len(f.reasons), strings.Count(b.String(), "\n"))
	}
}
