package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/searchd/api"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/extract"
	"example.com/searchd/extract/pdf"
	"example.com/searchd/search"
)

// The summary says what was skipped and why, also after a dry run.
func TestSkipped(t *testing.T) {
	dir := t.TempDir()
	for ext, n := range map[string]int{"go": 4, "yaml": 3, "png": 2, "c": 1, "zig": 1, "so": 1, "\x1b[2J": 1, "averylongextension": 1} {
		for i := range n {
			write(t, fmt.Sprintf("%s/%d.%s", dir, i, ext), "x")
		}
	}
	write(t, dir+"/a.md", "words")
	write(t, dir+"/.b.md", "words")
	write(t, dir+"/.git/c.md", "words")
	write(t, dir+"/program", "\x7fELF\x00")
	symlink(t, "a.md", filepath.Join(dir, "d.md"))
	for _, tt := range []struct {
		name, documents, want string
		f                     flags
	}{
		{"a run", "1 document", "       12 files skipped, of no known format: 4 .go, 3 .yaml, 1 .c, 1 .so, 1 .zig, 2 other\n        1 file skipped, of binary content\n        2 files skipped, hidden: --hidden reads them, but not .git\n        1 file skipped, symbolic links: --follow-symlinks reads them\n        2 files skipped, pictures: Tesseract reads them if it is installed", flags{data: t.TempDir()}},
		{"dry run", "1 document", "       12 files skipped, of no known format: 4 .go, 3 .yaml, 1 .c, 1 .so, 1 .zig, 2 other\n        1 file skipped, of binary content\n        2 files skipped, hidden: --hidden reads them, but not .git\n        1 file skipped, symbolic links: --follow-symlinks reads them\n        2 files skipped, pictures: Tesseract reads them if it is installed", flags{dryRun: true}},
		{"more", "3 documents", "       12 files skipped, of no known format: 4 .go, 3 .yaml, 1 .c, 1 .so, 1 .zig, 2 other\n        1 file skipped, of binary content\n        1 file skipped, hidden: --hidden reads them, but not .git\n        2 files skipped, pictures: Tesseract reads them if it is installed", flags{dryRun: true, hidden: true, followSymlinks: true}},
	} {
		tt.f.collection, tt.f.format, tt.f.workers, tt.f.onError, tt.f.pdfTime, tt.f.ocr = "docs", "auto", 2, "skip", time.Second, "off"
		var stderr bytes.Buffer
		if err := run(t.Context(), tt.f, []string{dir}, strings.NewReader(""), io.Discard, &stderr); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stderr.String(), "\n"+tt.want+"\n") || strings.Contains(stderr.String(), "unknown") || !strings.Contains(stderr.String(), " "+tt.documents+" from") {
			t.Errorf("%s: want %q and %s in\n%s", tt.name, tt.want, tt.documents, &stderr)
		}
	}
	c := newCounts()
	c.skip("dir.v1/b.tar.GZ", extract.SkippedType)
	if kinds := c.unknownKinds(); kinds != "1 .tar.gz" {
		t.Errorf("skipped: %s, want 1 .tar.gz", kinds)
	}
	c = newCounts()
	for i := range 2 * maxKinds {
		c.skip(fmt.Sprint("x.", i), extract.SkippedType)
	}
	if c.skipped[extract.SkippedType] != 2*maxKinds || len(c.unknown) > maxKinds+1 {
		t.Errorf("%d kinds are kept as %d", 2*maxKinds, len(c.unknown))
	}
}

// Files that are inside others are counted by their own formats.
func TestInsideOthers(t *testing.T) {
	dir := t.TempDir()
	attached := "--A\nContent-Type: text/csv\nContent-Disposition: attachment; filename=b.csv\n\nid,text\n1,x\n2,y\n--A\nContent-Type: x/y; name=c.docx\n\nx\n--A\nContent-Type: x/y; name=d.exe\n\nx\n--A--\n"
	write(t, dir+"/a.eml", "From: a@example.org\nSubject: S\nContent-Type: multipart/mixed; boundary=A\n\n"+attached)
	f := flags{dryRun: true, collection: "docs", format: "auto", workers: 2, onError: "skip", pdfTime: time.Second}
	var stderr bytes.Buffer
	if err := run(t.Context(), f, []string{dir}, strings.NewReader(""), io.Discard, &stderr); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(stderr.String()), " ")
	if !strings.Contains(got, "csv 0 1 0 0 2 0.0 docx 0 1 0 1 0 0.0 eml 1 0 0 0 1 0.0 ") || !strings.Contains(got, "1 file skipped, of no known format: 1 .exe") ||
		!strings.Contains(got, `a.eml: warning: attachment "c.docx": not a Word document`) {
		t.Errorf("got %s", &stderr)
	}
}

// TestWithoutPDFs: PDFium, which takes seconds to compile, is started by the first PDF alone.
func TestWithoutPDFs(t *testing.T) {
	dir := t.TempDir()
	for file, content := range map[string]string{
		"a.md": "see [the manual](manual.pdf)", "b.pdf.txt": "%PDF", "c.html": "<p>a</p><embed src=m.pdf type=application/pdf>", "d.pdf.exe": "%PDF-1.7",
		"e.eml": "Subject: S\nContent-Type: text/plain\n\nattached: m.pdf\n", "f.jsonl": `{"text":"a","file":"m.pdf"}`,
	} {
		write(t, dir+"/"+file, content)
	}
	f := flags{data: t.TempDir(), collection: "docs", format: "auto", workers: 2, onError: "skip", pdfTime: time.Minute, ocr: "off"}
	if err := run(t.Context(), f, []string{dir}, strings.NewReader(""), io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(pdf.CacheIn(f.data)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("PDFium was started: %v", err)
	}
}

// A dry run refuses what a run refuses, and the reason says what is allowed.
func TestDryRunTooLarge(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/big.txt", strings.Repeat("words ", 2_000_000))
	write(t, dir+"/small.txt", "words")
	for _, f := range []flags{{dryRun: true}, {data: t.TempDir()}} {
		f.collection, f.format, f.workers, f.onError, f.pdfTime = "docs", "auto", 2, "skip", time.Second
		var stderr bytes.Buffer
		err := run(t.Context(), f, []string{dir}, strings.NewReader(""), io.Discard, &stderr)
		if !errors.Is(err, command.ErrSome) || !strings.Contains(stderr.String(), ": at most 8388608 bytes of JSON, not 12000") || !strings.Contains(stderr.String(), " 1 document from 2 files") {
			t.Errorf("dry run %v: %v\n%s", f.dryRun, err, &stderr)
		}
	}
}

// TestWarnings are those of documents that are stored, and no failures.
func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/shelf.jsonl", "{\"id\":\"a\",\"text\":\"a cat\"}\n{\"id\":\"b\",\"title\":5}\n")
	_, url := served(t, t.TempDir())
	for _, f := range []flags{{data: t.TempDir()}, {server: url, state: t.TempDir()}} {
		f.collection, f.format, f.workers, f.onError, f.pdfTime = "docs", "auto", 2, "stop", time.Second
		for _, files := range []string{"new", "unchanged"} {
			var stderr bytes.Buffer
			err := run(t.Context(), f, []string{dir}, strings.NewReader(""), io.Discard, &stderr)
			if err != nil || !strings.Contains(stderr.String(), `shelf.jsonl:2: warning: no searchable text, only filters can find this document; not text:  "title"`) ||
				!strings.Contains(stderr.String(), "1 warning") {
				t.Errorf("%s, %s: %v\n%s", f.server, files, err, &stderr)
			}
		}
	}
}

// into returns the arguments of an ingest of paths into a new "folder" or "server", and what hands
// its engine over.
func into(t *testing.T, sink string, paths ...string) (args []string, with func(look func(*search.Engine))) {
	t.Helper()
	dir := t.TempDir()
	args = append([]string{"--workers", "1", "--state", t.TempDir()}, paths...)
	if sink == "server" {
		e, url := served(t, dir)
		return append(args, "--server", url), func(look func(*search.Engine)) { look(e) }
	}
	return append(args, "--data", dir), func(look func(*search.Engine)) {
		e, err := search.Open(dir, search.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		look(e)
	}
}

// served is an engine over a folder, and the URL of a server of it, until the test ends.
func served(t *testing.T, dir string) (e *search.Engine, url string) {
	t.Helper()
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	server, err := api.New(api.Options{Engine: e, Inference: e.Inference(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(server.Handler())
	t.Cleanup(ts.Close)
	return e, ts.URL
}
