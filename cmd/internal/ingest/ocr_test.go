package ingest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/extract/content"
)

// fakeTesseract puts a program into PATH that reads "hello from a scan" in every picture.
func fakeTesseract(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\nif [ \"$1\" = --list-langs ]; then echo 'List of available languages (1):'; echo eng; exit; fi\ncat >/dev/null\necho hello from a scan\n"
	if err := os.WriteFile(filepath.Join(dir, "tesseract"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// Pictures are read where Tesseract is installed; without it the summary says what is missing.
func TestOCR(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10\x00\x00\x00\x10\x08\x00\x00\x00\x00:\x98\xa0\xbd"
	write(t, dir+"/a.png", png)
	write(t, dir+"/b.md", "words")
	ingest := func(f flags) (string, error) {
		f.collection, f.format, f.html, f.workers, f.onError, f.pdfTime = "docs", "auto", "main", 2, "skip", time.Second
		var stderr bytes.Buffer
		err := run(t.Context(), f, []string{dir}, strings.NewReader(""), io.Discard, &stderr)
		return stderr.String(), err
	}
	data := t.TempDir()
	if said, err := ingest(flags{data: data, ocr: "off"}); err != nil || !strings.Contains(said, " 1 document from") || !strings.Contains(said, "1 file skipped, pictures: ") {
		t.Errorf("off: %v\n%s", err, said)
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	if said, err := ingest(flags{data: data, ocr: "auto"}); err != nil || !strings.Contains(said, "1 file skipped, pictures: ") {
		t.Errorf("auto without Tesseract: %v\n%s", err, said)
	}
	if _, err := ingest(flags{data: data, ocr: "deu"}); err == nil || !strings.Contains(err.Error(), "--ocr: Tesseract is not installed") {
		t.Errorf("a language without Tesseract: %v", err)
	}
	t.Setenv("PATH", path)
	fakeTesseract(t)
	if said, err := ingest(flags{data: data, ocr: "auto"}); err != nil || !strings.Contains(said, "1 created") || strings.Contains(said, "pictures: ") {
		t.Errorf("auto: %v\n%s", err, said)
	}
	if files, err := os.ReadDir(filepath.Join(data, "ocr")); err != nil || len(files) != 1 {
		t.Errorf("recognised texts: %v, %v", files, err)
	}
	if _, err := ingest(flags{data: data, ocr: "deu"}); err == nil || errors.Is(err, command.ErrSome) || !strings.Contains(err.Error(), `--ocr: Tesseract has no language "deu"; installed are eng`) {
		t.Errorf("a language that is not installed: %v", err)
	}
}

// A file that waits for OCR is read again once there is one.
func TestWaitingForOCR(t *testing.T) {
	dir, f, to := t.TempDir(), flags{state: t.TempDir()}, shelf{}
	write(t, dir+"/a.md", "words")
	_, p := ingested(t, f, to, dir)
	e, _ := p.journal.lookup(key{dir, "a.md"})
	e.Failures = []failure{{Reason: "no text layer on page 2: a scan; " + content.InstallOCR, Warning: true}}
	if err := errors.Join(p.journal.put(e), p.journal.flush()); err != nil {
		t.Fatal(err)
	}
	for _, has := range []bool{false, true} {
		p := pipelineOf(t, f, to)
		p.ocr = has
		if err := p.once(t.Context(), []string{dir}, p.options); err != nil || (p.counts.byFormat["md"].read == 1) != has {
			t.Errorf("OCR %v: %+v, %v", has, p.counts.byFormat["md"], err)
		}
	}
}
