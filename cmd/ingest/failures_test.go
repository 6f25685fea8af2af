package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"searchd/extract"
)

// A run that begins while another goes on leaves it its file of failures; the next one after both
// begins with an empty one.
func TestFailuresOfTwoRuns(t *testing.T) {
	dir := t.TempDir()
	open := func(path, state string) *failures {
		t.Helper()
		f, err := newFailures(path, state, &strings.Builder{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	fail := func(f *failures, path string) {
		t.Helper()
		if err := f.add(extract.ItemError{Path: path, Reason: "no"}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when, want string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, errorsName))
		if err != nil && want != "" {
			t.Errorf("%s: %v", when, err)
		}
		if got := strings.NewReplacer(`{"path":"`, "", `","reason":"no"}`+"\n", " ").Replace(string(b)); strings.TrimSpace(got) != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	watch := open("", dir)
	fail(watch, "a")
	once := open("", dir)
	fail(watch, "b")
	fail(once, "c")
	fail(watch, "d")
	check("both", "a b c d")
	if err := once.close(); err != nil {
		t.Fatal(err)
	}
	if err := watch.close(); err != nil {
		t.Fatal(err)
	}
	last := open("", dir)
	check("after both", "")
	fail(last, "e")
	check("after both", "e")
	if err := last.close(); err != nil {
		t.Fatal(err)
	}
	named := open(filepath.Join(dir, errorsName), "")
	fail(named, "f")
	check("by name", "f")
	if err := named.close(); err != nil {
		t.Fatal(err)
	}
}

// Names of files do not command the terminal.
func TestPrintable(t *testing.T) {
	var b strings.Builder
	f, err := newFailures("", "", &b)
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

// Once a watch goes on, no line of progress comes between its notices.
func TestProgressEnds(t *testing.T) {
	var b strings.Builder
	p := newProgress(&b)
	p.told = p.told.Add(-2 * tellEvery)
	p.add(1)
	p.finish()
	p.told = p.told.Add(-2 * tellEvery)
	p.add(1)
	if got := b.String(); strings.Count(got, "\n") != 1 {
		t.Errorf("told %q, want one line", got)
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
	if got, want := b.String(), "        3 .pdf no text on … pages\n        1 binary\n        1 .pdf warning: no text on … pages\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := range 3 * maxReasons {
		f.note(extract.ItemError{Path: fmt.Sprint("a.", strings.Repeat("x", i%15), "y"), Reason: strings.Repeat("z", i%200)})
	}
	b.Reset()
	if f.printReasons(&b); len(f.reasons) > maxReasons+1 || strings.Count(b.String(), "\n") != shownReasons+1 {
		t.Errorf("%d reasons, %d lines", len(f.reasons), strings.Count(b.String(), "\n"))
	}
}
