package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"example.com/searchd/search"
)

// items splits a body into documents of at most max bytes and holds only one at a time. A longer
// document is skipped and reported.
//
//	for it.next() { doc, err := it.document() }
//	// it.err is why the body ended early
type items struct {
	r       *bufio.Reader
	max     int
	cut     func(*items) bool // reads one item into buf; false at the end or with err
	n       int               // number of the item, or of its line, from 1
	buf     []byte
	tooLong bool
	err     error
	begun   bool // of an array: its bracket is read
}

// newLineItems reads NDJSON; empty lines are skipped.
func newLineItems(r io.Reader, max int) *items {
	return &items{r: bufio.NewReaderSize(r, 64<<10), max: max, cut: (*items).cutLine}
}

// newArrayItems reads a JSON array.
func newArrayItems(r io.Reader, max int) *items {
	return &items{r: bufio.NewReaderSize(r, 64<<10), max: max, cut: (*items).cutElement}
}

func (it *items) next() bool {
	it.buf, it.tooLong = it.buf[:0], false
	return it.err == nil && it.cut(it)
}

// document parses the current item. The result does not share memory with later items.
func (it *items) document() (search.Document, error) {
	if it.tooLong {
		return search.Document{}, &requestError{kind: errTooLarge, detail: fmt.Sprintf("document: longer than the %d bytes that are allowed", it.max)}
	}
	return parseDocument(it.buf)
}

func (it *items) keep(b ...byte) {
	if it.tooLong = it.tooLong || len(it.buf)+len(b) > it.max; !it.tooLong {
		it.buf = append(it.buf, b...)
	}
}

func (it *items) cutLine() bool {
	for {
		it.buf, it.tooLong = it.buf[:0], false
		it.n++
		if !it.skipBlank() {
			return false
		}
		for {
			part, err := it.r.ReadSlice('\n')
			it.keep(part...)
			if err == bufio.ErrBufferFull {
				continue
			}
			if err != nil && err != io.EOF {
				it.err = err // half a line is no document
				return false
			}
			if it.n == 1 {
				it.buf = bytes.TrimPrefix(it.buf, []byte("\xef\xbb\xbf"))
			}
			it.buf = bytes.TrimSpace(it.buf)
			if len(it.buf) > 0 || it.tooLong {
				return true
			}
			if err == io.EOF {
				return false
			}
			break
		}
	}
}

// skipBlank skips empty lines and white space before an item, a hundred times as fast as trimming
// line by line. It reports whether there is more.
func (it *items) skipBlank() bool {
	for {
		ahead, err := it.r.Peek(max(1, it.r.Buffered()))
		if len(ahead) == 0 {
			if err != io.EOF {
				it.err = err
			}
			return false
		}
		blank := len(ahead) - len(bytes.TrimLeft(ahead, " \t\r\n"))
		it.n += bytes.Count(ahead[:blank], []byte{'\n'})
		it.r.Discard(blank)
		if blank < len(ahead) {
			return true
		}
	}
}

// cutElement finds the end of an array's next element by its brackets and quotes alone.
func (it *items) cutElement() bool {
	c, ok := it.skipSpace()
	if !it.begun && ok {
		if it.begun = true; c != '[' {
			return it.fail("got %q, allowed: an array", c)
		}
		c, ok = it.skipSpace()
		if ok && c == ']' {
			return it.end()
		}
	} else if ok {
		switch c {
		case ']':
			return it.end()
		case ',':
			c, ok = it.skipSpace()
		default:
			return it.fail("got %q between documents, allowed: a comma or the closing bracket", c)
		}
	}
	if !ok {
		return false
	}
	if c == ']' || c == ',' {
		return it.fail("got %q, allowed: a document", c)
	}
	it.n++
	return it.element(c)
}

// element reads the value that begins with c, up to the comma or bracket behind it.
func (it *items) element(c byte) bool {
	depth, quoted := 0, false
	for {
		switch {
		case quoted && c == '\\':
			it.keep(c)
			var ok bool
			if c, ok = it.read(); !ok {
				return false
			}
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']') && depth > 0:
			depth--
		case (c == ',' || c == ']') && depth == 0:
			it.r.UnreadByte()
			return true
		}
		it.keep(c)
		var ok bool
		if c, ok = it.read(); !ok {
			return false
		}
	}
}

func (it *items) read() (byte, bool) {
	c, err := it.r.ReadByte()
	if err == io.EOF {
		err = &requestError{kind: errMalformed, detail: "body: the array is cut off"}
	}
	it.err = err
	return c, err == nil
}

func (it *items) skipSpace() (byte, bool) {
	for {
		c, ok := it.read()
		if !ok || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c, ok
		}
	}
}

func (it *items) fail(format string, args ...any) bool {
	it.err = &requestError{kind: errMalformed, detail: "body: " + fmt.Sprintf(format, args...)}
	return false
}

// end accepts only white space behind the array.
func (it *items) end() bool {
	for {
		c, err := it.r.ReadByte()
		switch {
		case err == io.EOF:
			return false
		case err != nil:
			it.err = err
			return false
		case c != ' ' && c != '\n' && c != '\r' && c != '\t':
			return it.fail("got %q behind the array", c)
		}
	}
}
