package ocr

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// found returns an engine, or skips the test.
func found(t *testing.T) *Engine {
	e, err := Find(t.Context(), "eng")
	if errors.Is(err, ErrMissing) && os.Getenv("E2E_REQUIRE") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// page is a picture of lines of text.
func page(t *testing.T, lines ...string) []byte {
	t.Helper()
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: 40, DPI: 72})
	if err != nil {
		t.Fatal(err)
	}
	img := image.NewGray(image.Rect(0, 0, 1000, 100+60*len(lines)))
	for i := range img.Pix {
		img.Pix[i] = 255
	}
	for n, l := range lines {
		d := font.Drawer{Dst: img, Src: image.NewUniform(color.Black), Face: face, Dot: fixed.P(50, 80+60*n)}
		d.DrawString(l)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRead(t *testing.T) {
	e := found(t)
	e.Cache = t.TempDir()
	picture := page(t, "The lighthouse keeper wrote", "a letter on the first of May.")
	for range 2 { // the second time from the cache
		got, err := e.Read(t.Context(), picture)
		if want := "The lighthouse keeper wrote\na letter on the first of May."; err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if files, err := os.ReadDir(e.Cache); err != nil || len(files) != 1 {
		t.Errorf("the cache has %v, %v", files, err)
	}
	if got, err := e.Read(t.Context(), page(t)); err != nil || got != "" {
		t.Errorf("a blank page: %q, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := e.Read(ctx, page(t, "another one")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context that ends: %v", err)
	}
}

// TestInterrupted: pictures whose text was recognised before an interruption are not recognised
// again, and the one that was interrupted leaves nothing behind.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	program := filepath.Join(dir, "tesseract")
	script := "#!/bin/sh\necho >>" + runs + "\ncat >/dev/null\nif [ -e " + dir + "/slow ]; then exec sleep 600; fi\necho text\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	e := &Engine{program: program, languages: "eng", layout: "3", Cache: filepath.Join(dir, "cache")}
	first, second := page(t, "one"), page(t, "two")
	read := func(ctx context.Context, picture []byte) error { _, err := e.Read(ctx, picture); return err }
	if err := read(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "slow"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for b, _ := os.ReadFile(runs); len(b) < 2 && ctx.Err() == nil; b, _ = os.ReadFile(runs) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if err := read(ctx, second); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "slow")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := errors.Join(read(t.Context(), first), read(t.Context(), second)); err != nil {
			t.Error(err)
		}
	}
	files, err := os.ReadDir(e.Cache)
	if b, _ := os.ReadFile(runs); err != nil || len(files) != 2 || len(b) != 3 {
		t.Errorf("%d runs, cached %v, %v; want 3 runs and 2 texts", len(b), files, err)
	}
}

func TestFind(t *testing.T) {
	found(t)
	if e, err := Find(t.Context(), "auto"); err != nil || !strings.Contains(e.Languages(), "eng") {
		t.Errorf("auto: %v, %v", e, err)
	}
	if _, err := Find(t.Context(), "xyz"); err == nil || !strings.Contains(err.Error(), `no language "xyz"; installed are`) {
		t.Errorf("an unknown language: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(t.Context(), "auto"); !errors.Is(err, ErrMissing) {
		t.Errorf("without Tesseract: %v", err)
	}
}

// What is no picture, or too large a one, does not reach Tesseract.
func TestCheck(t *testing.T) {
	large := page(t)
	copy(large[16:], "\x7f\xff\xff\xff\x7f\xff\xff\xff") // width and height
	for _, b := range [][]byte{nil, []byte("hello"), []byte("P5 100000 100000 255\n"), []byte("P5 x"), large, page(t)[:20]} {
		if _, err := (&Engine{program: "no such program"}).Read(t.Context(), b); err == nil || strings.Contains(err.Error(), "no such program") {
			t.Errorf("%.20q: %v", b, err)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"one\n\n\x0c": "one", "one\x0ctwo\x0c": "one\n\ntwo", "\xffa": "\ufffda", "a\x00b\x1b[1mc": "ab[1mc", "a\r\nb": "a\nb", " \n\t\x0c": "", "a\tb": "a\tb", "é\u0085": "é",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// Whatever Tesseract writes becomes text.
func FuzzClean(f *testing.F) {
	f.Add("The lighthouse\n\x0c")
	f.Add("\xc3\x28\x00\r\n\u0085")
	f.Fuzz(func(t *testing.T, out string) {
		got := clean(out)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x0c\x1b\r") || got != strings.TrimSpace(got) || clean(got) != got {
			t.Errorf("clean(%q) = %q", out, got)
		}
	})
}

// No bytes make the check of a picture panic, and none beyond the limit pass.
func FuzzCheck(f *testing.F) {
	f.Add([]byte("P5 10 10 255\n0123456789"))
	f.Add([]byte("GIF89a\x01\x00\x01\x00"))
	f.Add([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, picture []byte) {
		if err := check(picture); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}
