package pdf

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"unicode/utf8"

	parser "github.com/ledongthuc/pdf"
)

const (
	// maxStack is room enough for any honest nesting.
	maxStack = 64 << 20
	// maxPages bounds what a damaged page tree can claim.
	maxPages = 100_000
	// maxInput is far beyond what a parent sends.
	maxInput = 1 << 30
)

// Child is the whole of the process that a [Reader] starts: it limits itself as args say, reads a PDF from in and writes messages to out.
// It returns the exit code. Whatever it cannot say in a message it says by dying.
func Child(args []string, in io.Reader, out io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "want the limits of time and memory")
		return 2
	}
	seconds, err1 := strconv.ParseUint(args[0], 10, 31)
	memory, err2 := strconv.ParseInt(args[1], 10, 63)
	if err1 != nil || err2 != nil || memory <= 0 {
		fmt.Fprintf(os.Stderr, "limits are %q; want seconds and bytes\n", args)
		return 2
	}
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(memory * 3 / 4)
	debug.SetTraceback("none")
	if err := limit(seconds, uint64(memory)); err != nil {
		fmt.Fprintln(os.Stderr, "limits:", err)
		return 2
	}
	b, err := io.ReadAll(io.LimitReader(in, maxInput))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	w := bufio.NewWriter(out)
	if write(w, b) != nil || w.Flush() != nil {
		return 1 // the parent has gone, or has enough
	}
	return 0
}

// write writes the messages about the PDF in b, each as soon as it is known.
func write(w *bufio.Writer, b []byte) error {
	enc := json.NewEncoder(w)
	tell := func(m message) error {
		if err := enc.Encode(m); err != nil {
			return err
		}
		return w.Flush()
	}
	r, first, err := open(b)
	if err != nil {
		return tell(message{Error: err.Error()})
	}
	if err := tell(first); err != nil {
		return err
	}
	for n := 1; n <= first.Pages; n++ {
		m := message{Page: n}
		text, err := pageText(r, n)
		if m.Text = strings.ToValidUTF8(text, string(utf8.RuneError)); err != nil {
			m = message{Page: n, Error: err.Error()}
		}
		if err := tell(m); err != nil {
			return err
		}
	}
	return nil
}

// open reads what comes before the pages.
func open(b []byte) (r *parser.Reader, first message, err error) {
	defer recovered(&err)
	b, err = mend(b)
	if err != nil {
		return nil, first, err
	}
	r, err = parser.NewReader(bytes.NewReader(b), int64(len(b)))
	switch {
	case err != nil && strings.Contains(err.Error(), "password"), err != nil && strings.Contains(err.Error(), "encrypt"):
		return nil, first, fmt.Errorf("it is encrypted; take the password off first")
	case err != nil:
		return nil, first, fmt.Errorf("damaged: %s", short(err.Error()))
	}
	first.Pages = r.NumPage()
	first.Title = title(r)
	if first.Pages < 1 {
		return nil, first, fmt.Errorf("damaged: it has no pages")
	}
	if first.Pages > maxPages {
		return nil, first, fmt.Errorf("it claims %d pages; the limit is %d", first.Pages, maxPages)
	}
	return r, first, nil
}

// mend makes the parser content with a header and an end that other readers take.
func mend(b []byte) ([]byte, error) {
	const header, end = "%PDF-", "%%EOF"
	start := bytes.Index(b[:min(len(b), 1024)], []byte(header))
	if start < 0 {
		return nil, fmt.Errorf("not a PDF: it does not begin with %s", header)
	}
	b = bytes.Clone(b[start:])
	if len(b) < 64 {
		return nil, fmt.Errorf("damaged: it ends after %d bytes", len(b))
	}
	copy(b, "%PDF-1.7\n")
	last := bytes.LastIndex(b, []byte(end))
	if last < 0 {
		return nil, fmt.Errorf("damaged: its end is missing")
	}
	return b[:last+len(end)], nil
}

// recovered turns a panic of the parser into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("damaged: %s", short(fmt.Sprint(p)))
	}
}

func short(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	return s[:min(len(s), 200)]
}

// title returns the title that the document claims, unless it is what a program wrote there for want of one.
func title(r *parser.Reader) (s string) {
	defer func() {
		if recover() != nil {
			s = "" // a broken title is none
		}
	}()
	s = strings.Join(strings.Fields(r.Trailer().Key("Info").Key("Title").Text()), " ")
	lower := strings.ToLower(s)
	switch {
	case !utf8.ValidString(s), len(s) < 3, len(s) > 500, strings.HasPrefix(lower, "untitled"), strings.HasPrefix(lower, "microsoft word -"),
		strings.HasPrefix(lower, "microsoft powerpoint -"), strings.HasSuffix(lower, ".doc"), strings.HasSuffix(lower, ".docx"),
		strings.HasSuffix(lower, ".dvi"), strings.HasSuffix(lower, ".tex"), strings.HasSuffix(lower, ".pdf"), strings.HasSuffix(lower, ".indd"):
		return ""
	}
	return s
}
