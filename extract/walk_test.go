package extract

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// tree writes files below a new folder and returns it. A name that ends in a slash is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, body := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir == path {
			continue
		}
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// walk runs Walk and returns ids, errors with root written as ROOT, and the counts.
func walk(t *testing.T, root string, paths []string, o Options) (ids, fails []string, s Stats) {
	t.Helper()
	s, err := Walk(context.Background(), paths, o,
		func(d Document) error { ids = append(ids, d.ID); return nil },
		func(e ItemError) error {
			fails = append(fails, strings.ReplaceAll(e.Error(), root, "ROOT"))
			return nil
		})
	if err != nil {
		t.Fatalf("Walk(%v): %v", paths, err)
	}
	if s.Documents != len(ids) || s.Errors+s.Warnings != len(fails) {
		t.Errorf("Walk counts %d documents, %d errors and %d warnings; it handed over %d and %d", s.Documents, s.Errors, s.Warnings, len(ids), len(fails))
	}
	return ids, fails, s
}

func TestWalk(t *testing.T) {
	root := tree(t, map[string]string{
		"b.md": "# B", "a/deep/c.txt": "deep text", "a.csv": "id,text\n9,row\n", "z.html": "<p>z",
		".hidden.md": "no", ".two/c.txt": "other text", ".git/x.md": "no", "node_modules/x.md": "no", "old.md~": "no", "prog.go": "package no", "photo.jpg": "\xff\xd8\x00",
		"README": "plain words", "a.doc": "\xd0\xcf\x11\xe0", "letter": `{\rtf1 words}`, "core": "\x7fELF\x00\x00", "x.pdf": "%PDF-1.7",
	})
	for _, tt := range []struct {
		name    string
		paths   []string
		o       Options
		ids     string
		fails   string
		skipped int
	}{
		{"folder", []string{""}, Options{}, "README a/deep/c.txt 9 b.md letter z.html",
			"ROOT/x.pdf: PDF is not read here; convert it to text first, for example with pdftotext", 9},
		{"hidden too", []string{""}, Options{Hidden: true, Format: Markdown}, ".hidden.md prog.go README b.md",
			"", 10},
		{"one format", []string{""}, Options{Format: CSV}, "9", "ROOT/README: row", 10},
		{"by name", []string{"b.md", ".hidden.md", "a"}, Options{}, "b.md .hidden.md deep/c.txt", "", 0},
		{"unknown by name", []string{"prog.go", "core"}, Options{},
			"", `ROOT/prog.go: unknown file type ".go"; say which format it is: jsonl, csv, md, html, txt, pdf, docx, eml, ipynb, epub, odf, pptx, xlsx, rtf, enex, vcf, ics, canvas, opml, msg, feed, xls, picture, archive|ROOT/core: binary data of unknown format`, 0},
		{"of an office program", []string{"a.doc", "letter"}, Options{},
			"letter", `ROOT/a.doc: files of type ".doc" are not read; save it as .docx`, 0},
		{"format by name", []string{"prog.go"}, Options{Format: Text}, "prog.go", "", 0},
		{"no such file", []string{"nowhere", ""}, Options{Format: HTML}, "", "ROOT/nowhere: no such file or directory", 0},
		{"same id twice", []string{"a/deep", ".two/c.txt"}, Options{},
			"c.txt", `ROOT/.two/c.txt: its id "c.txt" belongs to a file below ROOT/a/deep already; give the folder above both`, 0},
		{"given twice", []string{"a/deep", "a/deep/c.txt", "a/deep", "b.md", "b.md"}, Options{}, "c.txt b.md", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var paths []string
			for _, p := range tt.paths {
				paths = append(paths, filepath.Join(root, p))
			}
			ids, fails, s := walk(t, root, paths, tt.o)
			if tt.name == "hidden too" || tt.name == "one format" || tt.name == "no such file" {
				// Text files of unknown extension are read in the given format; which of them
				// succeed is beside the point.
				if len(fails) > 3 {
					t.Errorf("fails = %q", fails)
				}
				if tt.name == "one format" && !contains(ids, "9") || tt.name == "hidden too" && (!contains(ids, ".hidden.md") || contains(ids, "z.html")) {
					t.Errorf("ids = %q", ids)
				}
				return
			}
			if got := strings.Join(ids, " "); got != tt.ids {
				t.Errorf("ids = %s, want %s", got, tt.ids)
			}
			if got := strings.Join(fails, "|"); got != tt.fails {
				t.Errorf("fails = %s\nwant %s", got, tt.fails)
			}
			if s.Skipped != tt.skipped {
				t.Errorf("skipped %d, want %d", s.Skipped, tt.skipped)
			}
		})
	}
}

// With a root, reading one file again gives it the id that reading the folder gave it.
func TestWalkRoot(t *testing.T) {
	root := tree(t, map[string]string{"a/b/c.md": "# C", "a/d.txt": "words"})
	want := "a/b/c.md a/d.txt"
	for _, paths := range [][]string{{"a"}, {"a/b", "a/d.txt"}, {""}, {"a/b/c.md", "a/d.txt"}, {"a/../a"}} {
		given := make([]string, len(paths))
		for i, p := range paths {
			given[i] = root + "/" + p
		}
		if ids, fails, _ := walk(t, root, given, Options{Root: root}); strings.Join(ids, " ") != want || len(fails) > 0 {
			t.Errorf("Walk(%v) = %v, %v, want %s", paths, ids, fails, want)
		}
	}
	_, fails, _ := walk(t, root, []string{root + "/a/d.txt"}, Options{Root: root + "/a/b"})
	if fmt.Sprint(fails) != "[ROOT/a/d.txt: is not in the root folder ROOT/a/b]" {
		t.Errorf("outside the root: %v", fails)
	}
}

func TestWalkProgress(t *testing.T) {
	root := tree(t, map[string]string{"a.jsonl": "{\"text\":\"x\"}\n{\"text\":\"y\"}\n", "b.txt": "words"})
	var last Stats
	calls := 0
	_, _, s := walk(t, root, []string{root}, Options{Progress: func(s Stats) {
		if s.Documents < last.Documents || s.Bytes < last.Bytes {
			t.Errorf("progress goes back from %+v to %+v", last, s)
		}
		last = s
		calls++
	}})
	if calls != 5 || last != s || s.Bytes != 31 {
		t.Errorf("%d calls, the last with %+v, want 5 with %+v", calls, last, s)
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func TestWalkStdin(t *testing.T) {
	o := Options{Stdin: strings.NewReader(`{"id":"s","text":"from a pipe"}`)}
	ids, fails, _ := walk(t, "\x00", []string{"-"}, o)
	if fmt.Sprint(ids, fails) != "[s] []" {
		t.Errorf("got %v, %v", ids, fails)
	}
	_, fails, _ = walk(t, "\x00", []string{"-", ""}, Options{})
	if fmt.Sprint(fails) != `[stdin: there is no standard input to read here "": the path is empty]` {
		t.Errorf("without stdin: %v", fails)
	}
}

func TestWalkStops(t *testing.T) {
	root := tree(t, map[string]string{"a.txt": "one", "b.txt": "two", "c.jsonl": "bad\n{\"text\":\"x\"}\n"})
	stop := errors.New("stop")
	n := 0
	_, err := Walk(context.Background(), []string{root}, Options{}, func(Document) error { n++; return stop }, nil)
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("emit's error: Walk = %v after %d documents, want %v after 1", err, n, stop)
	}
	_, err = Walk(context.Background(), []string{root}, Options{}, func(Document) error { return nil }, func(ItemError) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("fail's error: Walk = %v, want %v", err, stop)
	}
	var item ItemError
	_, err = Walk(context.Background(), []string{root}, Options{}, func(Document) error { return nil }, nil)
	if !errors.As(err, &item) || item.Line != 1 {
		t.Errorf("nil fail: Walk = %v, want the first item error", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := Walk(ctx, []string{root}, Options{}, func(Document) error { cancel(); return nil }, func(e ItemError) error { return e })
	if !errors.Is(err, context.Canceled) || s.Documents != 1 {
		t.Errorf("cancelled: Walk = %+v, %v", s, err)
	}
	if _, err = Walk(context.Background(), nil, Options{}, nil, nil); err == nil {
		t.Error("Walk without paths: no error")
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"MaxLine": {MaxLine: -1}, "MaxFile": {MaxFile: 1 << 50}, "MaxUnpacked": {MaxUnpacked: -5}, "MaxRatio": {MaxRatio: -1},
		"Delimiter": {Delimiter: '\n'}, "Format": {Format: 99},
	} {
		err := Reader(context.Background(), strings.NewReader(""), "x", Text, o, nil, nil)
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(name)) {
			t.Errorf("%s: error %v does not name it", name, err)
		}
	}
}

func TestFormats(t *testing.T) {
	for f := Auto; f <= ICS; f++ {
		if got, err := ParseFormat(f.String()); err != nil || got != f {
			t.Errorf("ParseFormat(%q) = %v, %v", f.String(), got, err)
		}
	}
	for name, want := range map[string]Format{"": Auto, "NDJSON": JSONL, "Markdown": Markdown, "odt": ODF} {
		if got, err := ParseFormat(name); err != nil || got != want {
			t.Errorf("ParseFormat(%q) = %v, %v", name, got, err)
		}
	}
	if _, err := ParseFormat("doc"); err == nil || !strings.Contains(err.Error(), "jsonl") {
		t.Errorf("ParseFormat(doc): %v", err)
	}
	for _, tt := range []struct {
		name, head string
		want       Format
		ok         bool
	}{
		{"a.JSONL", "", JSONL, true}, {"a.csv.gz", "", CSV, true}, {"dir.md/a.txt", "# x", Text, true}, {"a.htm", "", HTML, true},
		{"a.exe", "text", Auto, false}, {"a.doc", "\xd0\xcf\x11\xe0", Auto, false}, {"a.doc", "PK\x03\x04", DOCX, true}, {"a.ppt", "PK\x03\x04", PPTX, true}, {"a.odt", "PK\x03\x04", ODF, true}, {"-", `{\rtf1 x}`, RTF, true}, {"-", "<?xml?><en-export>", ENEX, true}, {"-", "BEGIN:VCARD\r\n", VCF, true}, {"-", "BEGIN:VCALENDAR\n", ICS, true}, {"a.docx", "PK\x03\x04", DOCX, true}, {"a.bin", "%PDF-1.4", PDF, true},
		{"-", "{\"a\":1}", JSONL, true}, {"-", " [ {", JSONL, true}, {"-", "[1] Footnote", Text, true}, {"-", "{braces} in prose", Text, true},
		{"-", "<!DOCTYPE HTML>", HTML, true}, {"-", "<?xml version='1.0'?><html>", HTML, true}, {"-", "<!-- c --><html>", HTML, true},
		{"-", "<?xml version='1.0'?><rss>", Feed, true}, {"-", "---\na: b\n---\n", Markdown, true}, {"-", "# Title\n", Markdown, true},
		{"README", "words", Text, true}, {"-", "\x00\x01", Auto, false}, {"-", "", Auto, false}, {"-", "caf\xe9", Text, true}, {".profile", "words", Text, true},
	} {
		if got, ok := Detect(tt.name, []byte(tt.head)); got != tt.want || ok != tt.ok {
			t.Errorf("Detect(%q, %q) = %v, %v, want %v, %v", tt.name, tt.head, got, ok, tt.want, tt.ok)
		}
	}
}

// Files of nothing but white space are counted, whatever their format and however they were named;
// a stream of it is still an error.
func TestWalkEmpty(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("\n\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	root := tree(t, map[string]string{
		"a.md": "", "b.csv": " \r\n\t\n", "c.jsonl": "\n", "d.txt": "\ufeff\n", "e.html": strings.Repeat(" ", 10_000), "f.txt.gz": packed.String(),
		"g.pdf": "", "LOCK": "", "z.md": strings.Repeat("\n", 10_000) + "words",
	})
	ids, fails, s := walk(t, root, []string{root}, Options{})
	if strings.Join(ids, " ") != "z.md" || len(fails) > 0 || s.Empty != 8 || s.Files != 1 || s.Skipped != 0 {
		t.Errorf("folder: ids %q, fails %q, %+v, want z.md, no failure, 8 empty and 1 read", ids, fails, s)
	}
	ids, fails, s = walk(t, root, []string{root + "/a.md", root + "/LOCK"}, Options{})
	if len(ids)+len(fails) > 0 || s.Empty != 2 {
		t.Errorf("by name: ids %q, fails %q, %+v, want 2 empty", ids, fails, s)
	}
	_, fails, s = walk(t, root, []string{"-"}, Options{Stdin: strings.NewReader("\n")})
	if len(fails) != 1 || s.Empty != 0 {
		t.Errorf("standard input: fails %q, %+v, want one", fails, s)
	}
}

// TestWalkSkips expects a reason for everything that is skipped, and each link to be followed once
// whatever loops the links form.
func TestWalkSkips(t *testing.T) {
	root := tree(t, map[string]string{
		"in/a.md": "words", "in/sub/b.md": "words", "in/.hidden.md": "words", "in/c.go": "x", "in/d.md~": "x", "in/node_modules/e.md": "x", "in/core": "\x7fELF\x00",
		"in/own/f.md": "x", "out/g.md": "words",
	})
	for link, to := range map[string]string{"in/link.md": "../out/g.md", "in/there": "../out", "in/sub/up": "..", "in/twin": "sub", "out/back": "../in/sub"} {
		if err := os.Symlink(filepath.FromSlash(to), filepath.Join(root, filepath.FromSlash(link))); err != nil {
			if runtime.GOOS == "linux" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	for _, tt := range []struct {
		name, ids, skips string
		o                Options
	}{
		{"default", "a.md sub/b.md", ".hidden.md:hidden c.go:type core:content d.md~:litter link.md:link node_modules:litter own:own sub/up:link there:link twin:link", Options{}},
		{"hidden", ".hidden.md a.md sub/b.md", "c.go:type core:content d.md~:litter link.md:link node_modules:litter own:own sub/up:link there:link twin:link", Options{Hidden: true}},
		{"links", "a.md link.md sub/b.md there/g.md", ".hidden.md:hidden c.go:type core:content d.md~:litter node_modules:litter own:own sub/up:link there/back:link twin:link",
			Options{FollowSymlinks: true}},
	} {
		var skips []string
		tt.o.Exclude = []string{root + "/in/own"}
		tt.o.Skip = func(path string, why SkipKind) {
			rel, err := filepath.Rel(root+"/in", path)
			if err != nil {
				t.Error(err)
			}
			skips = append(skips, filepath.ToSlash(rel)+":"+[...]string{"type", "content", "hidden", "link", "litter", "own"}[why])
		}
		ids, fails, s := walk(t, root, []string{root + "/in"}, tt.o)
		slices.Sort(skips)
		if got := strings.Join(ids, " "); got != tt.ids || len(fails) > 0 {
			t.Errorf("%s: ids %s, want %s; fails %q", tt.name, got, tt.ids, fails)
		}
		if got := strings.Join(skips, " "); got != tt.skips || s.Skipped != len(skips) {
			t.Errorf("%s: skipped %d: %s\nwant %s", tt.name, s.Skipped, got, tt.skips)
		}
	}
}

// A file that cannot be opened has the format of its name.
func TestFormatOfUnreadable(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]Format{"a.md": Markdown, "b.csv.gz": CSV, "c": Auto} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("words"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Files(t.Context(), []string{path}, Options{}, func(f File) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			failed := false
			res, err := f.Read(t.Context(), nil, func(ItemError) error { failed = true; return nil })
			if !failed || res.Format != want || res.Info != nil {
				t.Errorf("%s: failed %v, format %v, want %v", name, failed, res.Format, want)
			}
			return err
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What a browser saves beside a page is not read; a folder of that name without its page is.
func TestWalkSavedPage(t *testing.T) {
	root := tree(t, map[string]string{
		"in/Tomatoes.html": "<p>words", "in/Tomatoes_files/saved_resource.html": "<p>an advertisement", "in/Brücken.htm": "<p>words", "in/Brücken-Dateien/a.html": "<p>a frame",
		"in/my_files/a.md": "words", "in/dir.html/b.md": "words", "in/dir_files/c.md": "words",
	})
	ids, fails, s := walk(t, root, []string{root + "/in"}, Options{})
	slices.Sort(ids)
	if got, want := strings.Join(ids, " "), "Brücken.htm Tomatoes.html dir.html/b.md dir_files/c.md my_files/a.md"; got != want || len(fails) > 0 || s.Skipped != 2 {
		t.Errorf("ids %s, want %s; %d skipped, fails %q", got, want, s.Skipped, fails)
	}
}
