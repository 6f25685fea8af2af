package extract

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/searchd/extract/content"
)

// csvReader reads records through a window of the stream: at least one record, at most MaxLine
// bytes and a buffer.
//
// A broken record costs only its first line, as the commonest fault is an unclosed quote that
// swallows good records.
type csvReader struct {
	csvParser
	x       *source
	r       io.Reader
	buf     []byte
	start   int // of the unread part in buf
	eof     bool
	readErr error
	line    int   // number of the line at start, from 1
	reread  int64 // bytes parsed more than once because of broken records
	parsed  int64 // bytes parsed
	columns []string
	text    []bool // columns that are never typed
}

func (x *source) readCSV(br *bufio.Reader) error {
	c := &csvReader{x: x, r: br, line: 1}
	for !c.eof && !holdsLine(c.buf) && int64(len(c.buf)) <= x.o.MaxLine {
		c.fill()
	}
	if bytes.IndexByte(c.firstLine(), 0) >= 0 {
		return x.Errorf(1, "%v, not CSV", errNUL)
	}
	c.comma = x.o.Delimiter
	if s, ok := bytes.CutPrefix(c.buf, []byte("sep=")); ok && len(s) > 1 && s[0] < 0x80 && (s[1] == '\r' || s[1] == '\n') {
		// Excel reads the delimiter from this line.
		if c.comma == 0 {
			c.comma = s[0]
		}
		c.skipLine()
	}
	if ext := x.Ext(); c.comma == 0 && (ext == ".tsv" || ext == ".tab") {
		c.comma = '\t'
	}
	if c.comma == 0 {
		c.comma = sniffDelimiter(c.buf[c.start:], c.eof)
	}
	ok, err := c.header()
	if err != nil {
		return err
	}
	for ok {
		var line int
		if line, ok, err = c.record(len(c.columns)); err != nil {
			return err
		}
		if ok {
			err = c.emit(line)
		}
		if err != nil {
			return err
		}
	}
	if c.readErr != nil {
		return x.Errorf(c.line, "cannot be read: %v", c.readErr)
	}
	return nil
}

// holdsLine reports whether b holds a whole line. Behind a CR at the very end an LF may follow.
func holdsLine(b []byte) bool {
	i := bytes.IndexAny(b, "\r\n")
	return i >= 0 && (b[i] == '\n' || i+1 < len(b))
}

// maxColumns limits the columns, whose names take far more memory than their bytes.
const maxColumns = 1 << 18

func (c *csvReader) header() (ok bool, err error) {
	errs := c.x.stats.Errors
	line, ok, err := c.record(0)
	switch {
	case err != nil:
		return false, err
	case c.x.stats.Errors > errs: // a broken first line: whatever follows is not the header
		return false, nil
	case !ok && c.readErr != nil: // the caller reports it
		return false, nil
	case !ok:
		return false, c.x.Errorf(0, "no text: the file is empty, and CSV needs a header row")
	}
	if len(c.ends) > maxColumns {
		return false, c.x.Errorf(line, "the header has %d columns, more than the limit of %d", len(c.ends), maxColumns)
	}
	seen := make(map[string]int, len(c.ends))
	tried := map[string]int{} // other names for one that stands twice
	numbers, again, warning := true, 0, ""
	for k := range c.ends {
		name, err := c.x.Text(line, bytes.TrimSpace(c.field(k)))
		if err != nil {
			return false, err
		}
		if name == "" { // data frames are often written with an index column that has no name
			name = fmt.Sprintf("column%d", k+1)
		}
		if _, isString := content.Typed(name).(string); isString {
			numbers = false
		}
		if first, twice := seen[name]; twice {
			given := name
			for twice {
				tried[given]++
				name = fmt.Sprintf("%s_%d", given, tried[given]+1)
				_, twice = seen[name]
			}
			if again++; again == 1 {
				warning = fmt.Sprintf("header names the column %q twice, as column %d and %d: the second is %q", given, first+1, k+1, name)
			}
		}
		seen[name] = k
		c.columns = append(c.columns, name)
	}
	if again > 1 {
		warning += fmt.Sprintf("; there are %d more like it", again-1)
	}
	if again > 0 {
		if err := c.x.Warnf(line, "%s", warning); err != nil {
			return false, err
		}
	}
	if numbers {
		return false, c.x.Errorf(line, "the first row holds only numbers; CSV needs a header row with the names of the columns")
	}
	c.text = make([]bool, len(c.columns))
	for _, name := range append([]string{"_id", "id", "title", "text", c.x.o.IDField}, c.x.o.TextFields...) {
		if k, ok := seen[name]; ok {
			c.text[k] = true
		}
	}
	return true, nil
}

func (c *csvReader) emit(line int) error {
	fields := make(map[string]any, len(c.columns))
	warned := false
	for k, name := range c.columns {
		s, warning := c.x.Decoder.Text(c.field(k))
		if warning != "" && !warned {
			warned = true
			if err := c.x.Warnf(line, "field %q: %s", name, warning); err != nil {
				return err
			}
		}
		if strings.IndexByte(s, 0) >= 0 {
			return c.x.Errorf(line, "field %q: %v", name, errNUL)
		}
		s = content.Newlines(s)
		switch trimmed := strings.TrimSpace(s); {
		case trimmed == "": // an empty cell says nothing
		case c.text[k]:
			fields[name] = s
		default:
			if v := content.Typed(trimmed); v != any(trimmed) {
				fields[name] = v
			} else {
				fields[name] = s
			}
		}
	}
	return c.x.record(line, fields)
}

// record parses the next record of want fields and returns its line; ok is false at the end. It
// skips blank records and reports broken ones. For the header want is 0: any number of fields will
// do, and a broken header is the end.
func (c *csvReader) record(want int) (line int, ok bool, err error) {
	for {
		if err := c.x.Ended(); err != nil {
			return 0, false, err
		}
		n, status := c.parse(c.buf[c.start:], c.eof)
		if status == csvMore && int64(len(c.buf)-c.start) <= c.x.o.MaxLine {
			c.fill()
			continue
		}
		c.parsed += int64(n)
		if c.eof && c.start == len(c.buf) {
			return 0, false, nil
		}
		problem := c.problem(n, status, want)
		switch {
		case problem == "":
			line = c.line
			blank := c.blank()
			c.advance(n)
			if blank {
				continue
			}
			return line, true, nil
		case c.comma == '\t' && !c.literal && bytes.IndexByte(c.firstLine(), '"') >= 0:
			// Tab-separated files are often written without quoting, so that a quote may be
			// literal.
			c.reread += int64(n - len(c.firstLine()))
			c.literal = true
			if c.spent() {
				continue
			}
			line, ok, err = c.literally(want)
		default:
			err = c.reject(n, status, problem)
		}
		if ok || err != nil || want == 0 {
			return line, ok, err
		}
	}
}

// literally parses the line at the front with literal quotes.
func (c *csvReader) literally(want int) (line int, ok bool, err error) {
	defer func() { c.literal = false }()
	first := c.firstLine()
	n, status := c.parse(first, true)
	if problem := c.problem(n, status, want); problem != "" {
		return 0, false, c.reject(n, status, problem)
	}
	line = c.line
	_, _ = c.skipLine() // its end is in the window
	return line, true, nil
}

// problem returns the fault of the record just parsed, or nothing.
func (c *csvReader) problem(n int, status csvStatus, want int) string {
	field := len(c.ends) + 1
	tooLong := int64(n) > c.x.o.MaxLine
	switch {
	case status == csvAfter:
		return fmt.Sprintf("field %d: text after the closing quote; a quote inside a quoted field is written twice", field)
	case status == csvUnclosed:
		return fmt.Sprintf("field %d: the quote is not closed before the end of the file", field)
	case (status == csvMore || tooLong) && int64(len(c.firstLine())) <= c.x.o.MaxLine && bytes.IndexByte(c.firstLine(), '"') >= 0:
		return fmt.Sprintf("field %d: the quote is not closed within the limit of %d bytes for one record", field, c.x.o.MaxLine)
	case status == csvMore || tooLong:
		return "too long"
	case want > 0 && len(c.ends) != want && !c.blank():
		return fmt.Sprintf("row has %s, the header has %d", content.Plural(len(c.ends), "field"), want)
	}
	return ""
}

// reject reports the record at the front and skips its first line, or all of it once rereading has
// become too expensive.
func (c *csvReader) reject(n int, status csvStatus, problem string) error {
	line := c.line
	first := int64(len(c.firstLine()))
	switch {
	case problem == "too long":
		size, err := c.skipLine()
		if err != nil {
			return c.x.Errorf(line, "%v; the rest of the file is not read", err)
		}
		return c.x.Errorf(line, "line of %d bytes is longer than the limit of %d", size, c.x.o.MaxLine)
	case c.spent():
		c.line += bytes.Count(c.buf[c.start:c.start+n], []byte("\n"))
		c.start += n
		if status != csvOK { // in the middle of a line
			if _, err := c.skipLine(); err != nil {
				return c.x.Errorf(line, "%s; %v follows, and the rest of the file is not read", problem, err)
			}
		}
		problem = fmt.Sprintf("%s; too many rows are broken, so all up to line %d are skipped", problem, c.line-1)
	default:
		c.reread += int64(n) - first
		_, _ = c.skipLine() // its end is in the window
	}
	return c.x.Errorf(line, "%s", problem)
}

// spent reports whether parsing records again has cost as much as parsing them.
func (c *csvReader) spent() bool { return c.reread > c.parsed/2+c.x.o.MaxLine }

// firstLine returns the line at the front with its end, or the whole window if it is longer.
func (c *csvReader) firstLine() []byte {
	b := c.buf[c.start:]
	i := bytes.IndexAny(b, "\r\n")
	switch {
	case i < 0:
		return b
	case b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n':
		return b[:i+2]
	}
	return b[:i+1]
}

func (c *csvReader) advance(n int) {
	c.line += max(1, bytes.Count(c.buf[c.start:c.start+n], []byte("\n")))
	c.start += n
}

// skipLine skips the line at the front and returns its size. If it is binary beyond the window, it
// returns errNUL.
func (c *csvReader) skipLine() (size int64, err error) {
	for {
		first := c.firstLine()
		size += int64(len(first))
		c.start += len(first)
		end := len(first) - 1
		switch {
		case end >= 0 && first[end] == '\r' && c.start == len(c.buf) && !c.eof: // its LF may be yet to come
			if c.fill(); len(c.buf) > 0 && c.buf[0] == '\n' {
				c.start++
			}
			c.line++
			return size, nil
		case end >= 0 && (first[end] == '\n' || first[end] == '\r'), c.eof:
			c.line++
			return size, nil
		case bytes.IndexByte(first, 0) >= 0:
			c.eof, c.start = true, len(c.buf)
			return size, errNUL
		}
		c.fill()
	}
}

// fill reads more of the stream. A large window grows by half, so that parsing it again is cheap.
func (c *csvReader) fill() {
	c.buf = append(c.buf[:0], c.buf[c.start:]...)
	c.start = 0
	want := len(c.buf) + 1
	if len(c.buf) > bufferSize {
		want = len(c.buf) + len(c.buf)/2
	}
	for len(c.buf) < want && !c.eof {
		if len(c.buf) == cap(c.buf) {
			c.buf = append(make([]byte, 0, max(bufferSize, 2*cap(c.buf))), c.buf...)
		}
		n, err := c.r.Read(c.buf[len(c.buf):cap(c.buf)])
		c.buf = c.buf[:len(c.buf)+n]
		if err != nil {
			c.eof = true
			if !errors.Is(err, io.EOF) {
				c.readErr = err
			}
		}
	}
}
