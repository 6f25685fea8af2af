// Package ocr recognises text in pictures with Tesseract, if that is installed. It runs the program
// once for each picture, with limits on time and memory, and reads no files but its own cache.
package ocr

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // pictures are checked before Tesseract gets them
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	_ "golang.org/x/image/bmp"  // the same
	_ "golang.org/x/image/tiff" // the same
	_ "golang.org/x/image/webp" // the same
)

// ErrMissing is the error if Tesseract is not installed.
var ErrMissing = errors.New("Tesseract is not installed (Debian: apt install tesseract-ocr)")

const (
	pictureTime  = 60 * time.Second
	memory       = 2 << 30   // bytes of address space of a process
	maxPixels    = 100 << 20 // of a picture
	maxText      = 4 << 20   // bytes
	maxLanguages = 4         // that are tried for a picture of unknown language
)

// Engine runs Tesseract. It is safe for concurrent use.
type Engine struct {
	// Cache is the folder for recognised texts, so that an interrupted run does not repeat them.
	// Empty: there is none.
	Cache string

	program   string
	languages string // as in -l
	layout    string // as in --psm
}

// Find looks for Tesseract and checks lang, such as "deu" or "eng+fra"; "auto" is all languages
// that are installed, up to four.
func Find(ctx context.Context, lang string) (*Engine, error) {
	program, err := exec.LookPath("tesseract")
	if err != nil {
		return nil, ErrMissing
	}
	out, err := exec.CommandContext(ctx, program, "--list-langs").Output()
	if err != nil {
		return nil, fmt.Errorf("Tesseract cannot list its languages: %w", err)
	}
	var installed []string
	e := &Engine{program: program, layout: "3", languages: lang}
	for line := range strings.Lines(string(out)) {
		switch line = strings.TrimSpace(line); {
		case line == "osd": // which finds out how a page is turned
			e.layout = "1"
		case language.MatchString(line) && line != "equ":
			installed = append(installed, line)
		}
	}
	if len(installed) == 0 {
		return nil, errors.New("Tesseract has no languages; install tesseract-ocr-eng or another one")
	}
	if lang == "" || lang == "auto" {
		e.languages = strings.Join(installed[:min(len(installed), maxLanguages)], "+")
		return e, nil
	}
	for one := range strings.SplitSeq(lang, "+") {
		if !slices.Contains(installed, one) {
			return nil, fmt.Errorf("Tesseract has no language %q; installed are %s", one, strings.Join(installed, ", "))
		}
	}
	return e, nil
}

// language matches the name of a language, as in deu, chi_sim and script/Latin.
var language = regexp.MustCompile(`^[a-z]{3}(_[a-z_]+)?$`)

// Languages returns the languages that are recognised, as in "deu+eng".
func (e *Engine) Languages() string { return e.languages }

// Read returns the text of a picture in PNG, JPEG, GIF, TIFF, BMP, WebP or PNM.
func (e *Engine) Read(ctx context.Context, picture []byte) (string, error) {
	if err := check(picture); err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(e.languages+e.layout+"\n"), picture...))
	cached := filepath.Join(e.Cache, hex.EncodeToString(sum[:])+".txt")
	if e.Cache != "" {
		if b, err := os.ReadFile(cached); err == nil {
			return string(b), nil
		}
	}
	text, err := e.run(ctx, picture)
	if err == nil && e.Cache != "" {
		_ = keep(cached, text) // else it is recognised again
	}
	return text, err
}

// keep writes a text to a file, which is there with all of it or not at all.
func keep(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "*.tmp")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// check returns an error for a picture that is none or too large.
func check(picture []byte) error {
	width, height := 0, 0
	if bytes.HasPrefix(picture, []byte("P5 ")) {
		if _, err := fmt.Sscanf(string(picture[:min(len(picture), 40)]), "P5 %d %d", &width, &height); err != nil {
			return fmt.Errorf("not a picture: %w", err)
		}
	} else {
		c, _, err := image.DecodeConfig(bytes.NewReader(picture))
		if err != nil {
			return fmt.Errorf("not a picture: %w", err)
		}
		width, height = c.Width, c.Height
	}
	if width < 1 || height < 1 || width > maxPixels/height {
		return fmt.Errorf("a picture of %d × %d pixels; the limit is %d pixels", width, height, maxPixels)
	}
	return nil
}

// run runs Tesseract for one picture.
func (e *Engine) run(ctx context.Context, picture []byte) (string, error) {
	within, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	out, faults := &limited{left: maxText}, &limited{left: 4 << 10}
	cmd := exec.CommandContext(within, e.program, "stdin", "stdout", "-l", e.languages, "--psm", e.layout)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(picture), out, faults
	cmd.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
	cmd.WaitDelay = time.Second
	err := cmd.Start()
	if err == nil {
		limitMemory(cmd.Process.Pid, memory)
		err = cmd.Wait()
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case within.Err() != nil:
		return "", fmt.Errorf("OCR takes longer than the limit of %v", pictureTime)
	case err != nil:
		return "", fmt.Errorf("OCR fails: %w: %s", err, strings.TrimSpace(faults.String()))
	}
	return clean(out.String()), nil
}

// clean returns what Tesseract wrote as text: its form feeds, which end pages, become blank lines,
// and other control characters go.
func clean(out string) string {
	out = strings.ToValidUTF8(strings.NewReplacer("\f", "\n\n", "\r\n", "\n").Replace(out), "\ufffd")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, out))
}

// limited keeps the first bytes that are written and ignores the rest.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.Buffer.Write(p[:n])
	return len(p), nil
}
