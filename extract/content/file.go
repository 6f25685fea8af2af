// Package content holds what the readers of all formats share: the file that is read, with its
// limits and reports, character sets, and the text that is built, with its blocks.
//
// It is not for reading a format; the packages beside it do that.
package content

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Content is what a reader finds in a file.
type Content struct {
	Title  string
	Text   string
	Blocks []Block        // of Text; nil where the format has none
	Fields map[string]any // further metadata of the file
}

// Set sets a field unless v is empty.
func (c *Content) Set(name, v string) {
	if v == "" {
		return
	}
	if c.Fields == nil {
		c.Fields = map[string]any{}
	}
	c.Fields[name] = v
}

// File is a file for the reader of its format: its name, its limits, and where reports go.
type File struct {
	Name       string // its path
	Format     string // the name of its format
	Noun       string // its format in messages, such as "a workbook"
	Marked     bool   // it began with a byte order mark, and was decoded to UTF-8
	MaxFile    int64  // bytes, decompressed
	MaxText    int64  // bytes of text
	WholePages bool   // read all text of a web page, not only its main text
	Decoder    Decoder

	// Ended returns why the caller's context has ended, or nil.
	Ended func() error
	// Report takes an error or a warning about a line; line 0 is the whole file. An error that it
	// returns ends the reading.
	Report func(line int, warning bool, reason string) error
}

var (
	// ErrReported ends the reading of a file whose error has been reported.
	ErrReported = errors.New("reported")
	// ErrTooLong is the error for a text of more than MaxText bytes.
	ErrTooLong = errors.New("its text is longer than the limit")
	// ErrBudget is the error for a file that takes longer than Budget.
	ErrBudget = errors.New("time budget spent")
)

// InstallOCR says how to get text from pictures.
const InstallOCR = "install Tesseract (Debian: apt install tesseract-ocr, and tesseract-ocr-deu and the like for languages) to read it by OCR"

// Budget is the time that parsing one file may take. Tests shorten it.
var Budget = 10 * time.Second

// BudgetSpent returns an error if more than Budget has passed since start.
func BudgetSpent(start time.Time) error {
	if d := time.Since(start); d > Budget {
		return fmt.Errorf("%w after %v", ErrBudget, d.Round(time.Millisecond))
	}
	return nil
}

// Check returns an error if the caller's context has ended or parsing has taken too long.
func (f *File) Check(start time.Time) error { return errors.Join(f.Ended(), BudgetSpent(start)) }

// TooLong returns an error if n bytes of text exceed the limit.
func (f *File) TooLong(n int) error {
	if int64(n) > f.MaxText {
		return fmt.Errorf("%w of %d bytes", ErrTooLong, f.MaxText)
	}
	return nil
}

// Errorf reports an error at a line.
func (f *File) Errorf(line int, format string, args ...any) error {
	return f.Report(line, false, fmt.Sprintf(format, args...))
}

// Warnf reports a warning at a line.
func (f *File) Warnf(line int, format string, args ...any) error {
	return f.Report(line, true, fmt.Sprintf(format, args...))
}

// Reject reports why the file cannot be read and returns ErrReported.
func (f *File) Reject(format string, args ...any) error {
	if err := f.Errorf(0, format, args...); err != nil {
		return err
	}
	return ErrReported
}

// Truncated handles an error in the middle of a file: without text the file is rejected, else the
// rest is left out with a warning.
func (f *File) Truncated(err error, text string) error {
	if ended := f.Ended(); ended != nil {
		return ended
	}
	if !HasText(text) {
		return f.Reject("not %s that can be read: %v", f.Noun, err)
	}
	return f.Warnf(0, "the document is damaged or too large (%v); the rest is left out", err)
}

// Text decodes b to valid UTF-8 and reports what it had to change.
func (f *File) Text(line int, b []byte) (string, error) {
	s, warning := f.Decoder.Text(b)
	if warning != "" {
		if err := f.Warnf(line, "%s", warning); err != nil {
			return "", err
		}
	}
	return s, nil
}

// Ext returns the extension of the file.
func (f *File) Ext() string { return Extension(f.Name) }

// Stem returns the last element of the name without its extensions.
func (f *File) Stem() string {
	base := path.Base(filepath.ToSlash(f.Name))
	if len(base) > 3 && strings.EqualFold(base[len(base)-3:], ".gz") {
		base = base[:len(base)-3]
	}
	if ext := path.Ext(base); ext != base {
		base = strings.TrimSuffix(base, ext)
	}
	return base
}

// Extension returns the lower-case extension of a name, ignoring .gz. A name such as ".profile" has
// none.
func Extension(name string) string {
	base := strings.TrimSuffix(strings.ToLower(filepath.Base(name)), ".gz")
	if ext := filepath.Ext(base); ext != base {
		return ext
	}
	return ""
}

// Stoppable reads from R until Ended returns an error.
type Stoppable struct {
	R     io.Reader
	Ended func() error
}

func (s Stoppable) Read(p []byte) (int, error) {
	if err := s.Ended(); err != nil {
		return 0, err
	}
	return s.R.Read(p)
}

// HasText reports whether v, or a value in it where it is a list or an object, is a string with a
// letter, a digit or a symbol.
func HasText(v any) bool {
	return Any(v, func(v any) bool {
		s, ok := v.(string)
		return ok && strings.ContainsFunc(s, func(r rune) bool {
			return r != unicode.ReplacementChar && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsSymbol(r))
		})
	})
}

// Any reports whether match holds for v, or for a value in it where it is a list or an object.
func Any(v any, match func(any) bool) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return Any(e, match) })
	case map[string]any:
		for _, e := range v {
			if Any(e, match) {
				return true
			}
		}
		return false
	}
	return match(v)
}

// Newlines writes every line end as LF.
func Newlines(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// Clean replaces invalid UTF-8 and NUL by U+FFFD.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// OneLine returns s with each run of white space as one space, and none at its ends.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Plural returns a number with a noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
