package pdf

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"searchd/extract"
)

// Reader reads PDF files, each in a process of its own. The zero value of each limit is its default. It is safe for concurrent use.
type Reader struct {
	Command []string      // what starts this program as a child; the limits are added to it
	Time    time.Duration // for one file, of the clock and of the processor; default 20 s
	Memory  int64         // bytes that the child may allocate, its own start apart; default 768 MiB
	MaxText int64         // bytes of text of one file; default 16 MiB
}

const (
	defaultTime    = 20 * time.Second
	defaultMemory  = 768 << 20
	defaultMaxText = 16 << 20
)

// message is a line from the child to its parent: first one with Pages and Title, then one for each page.
type message struct {
	Pages int    `json:"pages,omitempty"`
	Title string `json:"title,omitempty"`
	Page  int    `json:"page,omitempty"`
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"` // of the page, or, without one, of the file
}

// Read returns the text of the PDF in b. Pages that cannot be read are named in the warning. It is an error if no page has a text: a
// scanned document has to go through character recognition first.
func (r Reader) Read(ctx context.Context, b []byte) (extract.PDFText, error) {
	if len(r.Command) == 0 {
		return extract.PDFText{}, errors.New("pdf: a Reader needs the command of its child")
	}
	limit := cmp.Or(r.Time, defaultTime)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := append(append([]string{}, r.Command[1:]...),
		strconv.FormatInt(int64(limit/time.Second)+1, 10), strconv.FormatInt(cmp.Or(r.Memory, defaultMemory), 10))
	cmd := exec.CommandContext(ctx, r.Command[0], args...)
	cmd.Stdin = bytes.NewReader(b)
	cmd.WaitDelay = time.Second
	stderr := &head{}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return extract.PDFText{}, fmt.Errorf("PDF: its reader cannot be started: %w", err)
	}
	d := document{max: cmp.Or(r.MaxText, defaultMaxText)}
	full := d.read(out)
	if full {
		cancel() // enough: the child need not go on
	}
	err = cmd.Wait()
	switch {
	case full, d.err != "", d.done():
	case ctx.Err() == context.DeadlineExceeded:
		d.stopped = fmt.Sprintf("it takes longer than the limit of %v", limit)
	case ctx.Err() != nil:
		return extract.PDFText{}, ctx.Err()
	case err != nil:
		d.stopped = stderr.reason(err)
	default:
		d.stopped = "its reader ended early"
	}
	return d.text()
}

// document is what the child has told.
type document struct {
	max     int64
	pages   int
	title   string
	b       strings.Builder
	last    int    // page that was told of last
	bad     int    // pages with an error
	why     string // of the first of them
	err     string // of the file
	stopped string // why the child ended before its time
	full    bool
}

// read takes the messages of the child and reports whether there are more than it wants.
func (d *document) read(r io.Reader) (full bool) {
	br := bufio.NewReader(io.LimitReader(r, 8*d.max+1<<20)) // JSON writes a byte as six at most
	dec := json.NewDecoder(br)
	for {
		var m message
		if dec.Decode(&m) != nil {
			return false // the end, or the child was killed in the middle of a word
		}
		switch {
		case m.Page == 0 && m.Error != "":
			d.err = m.Error
		case m.Page == 0:
			d.pages, d.title = m.Pages, m.Title
		case m.Error != "":
			d.last = m.Page
			if d.bad++; d.why == "" {
				d.why = fmt.Sprintf("page %d: %s", m.Page, m.Error)
			}
		default:
			d.last = m.Page
			if int64(d.b.Len()+len(m.Text)) > d.max {
				d.full = true
				return true
			}
			if text := strings.TrimSpace(m.Text); text != "" {
				if d.b.Len() > 0 {
					d.b.WriteString("\n\n")
				}
				d.b.WriteString(text)
			}
		}
	}
}

// done reports whether every page has been told of.
func (d *document) done() bool { return d.pages > 0 && d.last == d.pages }

func (d *document) text() (extract.PDFText, error) {
	t := extract.PDFText{Title: d.title, Text: d.b.String()}
	switch {
	case d.err != "":
		return t, fmt.Errorf("PDF: %s", d.err)
	case t.Text == "" && d.stopped != "":
		return t, fmt.Errorf("PDF: %s", d.stopped)
	case t.Text == "" && d.full:
		return t, fmt.Errorf("PDF: more than the limit of %d bytes of text", d.max)
	case t.Text == "" && d.bad > 0:
		return t, fmt.Errorf("PDF: %d of %d pages cannot be read; %s", d.bad, d.pages, d.why)
	case t.Text == "":
		return t, fmt.Errorf("PDF: no text layer on its %d pages: scanned pictures need character recognition (OCR) first", d.pages)
	case d.stopped != "":
		t.Warning = fmt.Sprintf("PDF: %s; %d of %d pages are read", d.stopped, d.last, d.pages)
	case d.full:
		t.Warning = fmt.Sprintf("PDF: more than the limit of %d bytes of text; %d of %d pages are read", d.max, d.last-1, d.pages)
	case d.bad > 0:
		t.Warning = fmt.Sprintf("PDF: %d of %d pages cannot be read; %s", d.bad, d.pages, d.why)
	}
	return t, nil
}

// head keeps the beginning of what is written to it.
type head struct{ b []byte }

func (h *head) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), 4096-len(h.b))]...)
	return len(p), nil
}

// reason says in words why the child died.
func (h *head) reason(err error) string {
	s := string(h.b)
	switch {
	case strings.Contains(s, "stack overflow"), strings.Contains(s, "stack exceeds"):
		return "its parts are nested without end"
	case strings.Contains(s, "out of memory"), strings.Contains(s, "cannot allocate memory"), strings.Contains(s, "failed to reserve"):
		return "it needs more memory than the limit"
	case strings.Contains(s, "makeslice"), strings.Contains(s, "too large"):
		return "it claims a size that no file has"
	case strings.Contains(err.Error(), "signal: killed"), strings.Contains(err.Error(), "CPU time limit"):
		return "it takes more of the processor than the limit"
	}
	first, _, _ := strings.Cut(s, "\n")
	return fmt.Sprintf("its reader failed (%v) %.200s", err, first)
}
