package extract

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Pictures are read by OCR, and skipped in folders without it.
func TestPictures(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.png": "Invoice\n\n12 pumps", "b.JPG": "", "c.tiff": "broken", "d.txt": "plain"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string, ocr bool) (ids, fails, skipped []string) {
		o := Options{Skip: func(path string, why SkipKind) {
			if why == SkippedPicture {
				skipped = append(skipped, filepath.Base(path))
			}
		}}
		if ocr {
			o.OCR = func(_ context.Context, b []byte) (string, error) {
				if string(b) == "broken" {
					return "", errors.New("not a picture")
				}
				return string(b), nil
			}
		}
		_, err := Walk(t.Context(), []string{path}, o, func(d Document) error {
			ids = append(ids, d.ID+" "+d.Fields["title"].(string)+": "+d.Fields["text"].(string))
			return nil
		}, func(e ItemError) error { fails = append(fails, e.Reason); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return ids, fails, skipped
	}
	ids, fails, skipped := read(dir, true)
	if got := strings.Join(ids, "|") + "; " + strings.Join(fails, "|"); got != "a.png Invoice: 12 pumps|d.txt plain: plain; not a picture" || skipped != nil {
		t.Errorf("with OCR: %s, skipped %v", got, skipped)
	}
	ids, fails, skipped = read(dir, false)
	if got := strings.Join(skipped, "|"); got != "a.png|b.JPG|c.tiff" || len(ids) != 1 || fails != nil {
		t.Errorf("without OCR: %v, %v, skipped %s", ids, fails, got)
	}
	if ids, fails, _ = read(filepath.Join(dir, "a.png"), false); len(ids) != 0 || len(fails) != 1 || !strings.Contains(fails[0], "install Tesseract") {
		t.Errorf("by name without OCR: %v, %v", ids, fails)
	}
}
