package extract

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// valueReader splits a stream of JSON values, or a JSON array, into values. It skips and measures
// values longer than limit. It only counts brackets; the decoder validates.
type valueReader struct {
	r     *bufio.Reader
	limit int64
	line  int // line of the next byte, from 1
	array bool

	begun, ended bool // the array's opening and closing bracket have been read
	buf          []byte
	size         int64
}

// next returns the next value, valid until the next call, and its line. For a value that is too
// long it returns nil and the size, at the end io.EOF. After other errors the rest cannot be read.
func (v *valueReader) next() (value []byte, size int64, line int, err error) {
	c, err := v.separator()
	line = v.line
	if err != nil {
		return nil, 0, line, err
	}
	v.buf, v.size = v.buf[:0], 0
	if err := v.scan(c); err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the input ends inside the value that begins here")
		}
		return nil, v.size, line, err
	}
	if v.size > v.limit {
		return nil, v.size, line, nil
	}
	return v.buf, v.size, line, nil
}

// separator reads up to the next value and returns its first byte.
func (v *valueReader) separator() (byte, error) {
	c, err := v.skipSpace()
	if !v.array {
		return c, v.readable(err)
	}
	switch {
	case v.ended:
		if err == nil {
			return 0, fmt.Errorf("more text after the end of the JSON array")
		}
		return 0, v.readable(err)
	case err != nil:
		if errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("the input ends before the end of the JSON array")
		}
		return 0, v.readable(err)
	case !v.begun: // c is the opening bracket
		v.begun = true
		c, err = v.skipSpace()
		if err == nil && c == ']' {
			v.ended = true
			return v.separator()
		}
	case c == ']':
		v.ended = true
		return v.separator()
	case c == ',':
		c, err = v.skipSpace()
	default:
		return 0, fmt.Errorf("want a comma or the end of the JSON array, got %q", c)
	}
	switch {
	case errors.Is(err, io.EOF):
		return 0, fmt.Errorf("the input ends before the end of the JSON array")
	case err == nil && (c == ',' || c == ']'):
		return 0, fmt.Errorf("want a JSON object, got %q", c)
	}
	return c, v.readable(err)
}

func (v *valueReader) readable(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("cannot be read: %w", err)
}

// scan reads the rest of a value that begins with c.
func (v *valueReader) scan(c byte) error {
	depth := 0
	for {
		v.keep(c)
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if err := v.scanString(); err != nil {
				return err
			}
		case 0:
			return errNUL
		}
		if depth < 0 {
			return fmt.Errorf("a bracket is closed that was never opened")
		}
		if depth == 0 {
			if c == '}' || c == ']' || c == '"' {
				return nil
			}
			if next, err := v.r.Peek(1); errors.Is(err, io.EOF) || err == nil && isDelimiter(next[0]) {
				return nil
			}
		}
		var err error
		if c, err = v.readByte(); err != nil {
			return v.readable(err)
		}
	}
}

func (v *valueReader) scanString() error {
	for {
		c, err := v.readByte()
		if err != nil {
			return v.readable(err)
		}
		v.keep(c)
		switch c {
		case '"':
			return nil
		case '\\':
			if c, err = v.readByte(); err != nil {
				return v.readable(err)
			}
			v.keep(c)
		case '\n':
			// A line end inside a string is invalid, and going on would swap strings and the text
			// between them.
			return fmt.Errorf("a string is not closed at the end of line %d", v.line-1)
		case 0:
			return errNUL
		}
	}
}

func (v *valueReader) keep(c byte) {
	v.size++
	if v.size <= v.limit {
		v.buf = append(v.buf, c)
	}
}

func (v *valueReader) readByte() (byte, error) {
	c, err := v.r.ReadByte()
	if c == '\n' && err == nil {
		v.line++
	}
	return c, err
}

func (v *valueReader) skipSpace() (byte, error) {
	for {
		c, err := v.readByte()
		if err != nil || c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, err
		}
	}
}

func isDelimiter(c byte) bool {
	switch c {
	case ',', ']', '}', ' ', '\t', '\r', '\n', '{', '[', '"':
		return true
	}
	return false
}
