// Package strictjson reads the JSON of foreign checkpoints: invalid UTF-8, lone surrogates,
// duplicate keys and deep nesting are errors. encoding/json keeps the last of two equal keys and
// matches keys by case folding; neither will do for a vocabulary, a setting or a tensor.
package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNesting bounds how deep objects and arrays may nest.
const maxNesting = 64

// Reader walks JSON text. Its errors say at which byte. Not safe for concurrent use.
type Reader struct {
	s     string
	pos   int
	depth int
}

// New returns a Reader of a copy of b.
func New(b []byte) *Reader { return &Reader{s: string(b)} }

// Errorf returns an error that says where the reader is.
func (r *Reader) Errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", r.pos, fmt.Sprintf(format, args...))
}

func (r *Reader) space() {
	for r.pos < len(r.s) {
		switch r.s[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// Next skips white space and returns the byte that begins the next token, 0 at the end.
func (r *Reader) Next() byte {
	r.space()
	if r.pos == len(r.s) {
		return 0
	}
	return r.s[r.pos]
}

func (r *Reader) expect(c byte) error {
	if got := r.Next(); got != c {
		if got == 0 {
			return r.Errorf("unexpected end, want %q", c)
		}
		return r.Errorf("found %q, want %q", got, c)
	}
	r.pos++
	return nil
}

// list reads the items between open and close, separated by commas.
func (r *Reader) list(open, close byte, item func() error) error {
	if err := r.expect(open); err != nil {
		return err
	}
	if r.depth++; r.depth > maxNesting {
		return r.Errorf("nesting deeper than %d", maxNesting)
	}
	defer func() { r.depth-- }()
	if r.Next() == close {
		r.pos++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if r.Next() == close {
			r.pos++
			return nil
		}
		if err := r.expect(','); err != nil {
			return err
		}
	}
}

// Pairs reads an object; f gets each key and must read its value. Duplicate keys are f's affair.
func (r *Reader) Pairs(f func(key string) error) error {
	return r.list('{', '}', func() error {
		key, err := r.String()
		if err != nil {
			return err
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		return f(key)
	})
}

// Object is Pairs for small objects: a key that occurs twice is an error, and an error of f is
// prefixed with its key.
func (r *Reader) Object(f func(key string) error) error {
	seen := make(map[string]bool)
	return r.Pairs(func(key string) error {
		if seen[key] {
			return r.Errorf("key %q occurs twice", key)
		}
		seen[key] = true
		if err := f(key); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
}

// Array reads an array; f must read each element.
func (r *Reader) Array(f func() error) error { return r.list('[', ']', f) }

// String reads a string. One without escapes is a substring of the text.
func (r *Reader) String() (string, error) {
	if err := r.expect('"'); err != nil {
		return "", err
	}
	start := r.pos
	for r.pos < len(r.s) {
		switch c := r.s[r.pos]; {
		case c == '"':
			s := r.s[start:r.pos]
			if !utf8.ValidString(s) {
				return "", r.Errorf("string is not valid UTF-8")
			}
			r.pos++
			return s, nil
		case c == '\\':
			return r.escaped(start)
		case c < 0x20:
			return "", r.Errorf("control character in a string")
		}
		r.pos++
	}
	return "", r.Errorf("unexpected end of a string")
}

// escaped reads on from the first backslash of a string that began at start.
func (r *Reader) escaped(start int) (string, error) {
	i := r.pos
	for i < len(r.s) && r.s[i] != '"' {
		if r.s[i] == '\\' {
			i++
		}
		i++
	}
	if i >= len(r.s) {
		return "", r.Errorf("unexpected end of a string")
	}
	raw := r.s[start-1 : i+1]
	if err := loneSurrogate(raw); err != nil {
		return "", r.Errorf("%v", err)
	}
	var s string
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		return "", r.Errorf("%v", err)
	}
	if !utf8.ValidString(raw) {
		return "", r.Errorf("string is not valid UTF-8")
	}
	r.pos = i + 1
	return s, nil
}

// loneSurrogate reports a \u escape of half a surrogate pair, which encoding/json would turn into
// U+FFFD.
func loneSurrogate(raw string) error {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if i+4 >= len(raw) || raw[i] != 'u' {
			continue
		}
		v, err := strconv.ParseUint(raw[i+1:i+5], 16, 16)
		if err != nil || v < 0xD800 || v > 0xDFFF {
			continue
		}
		if v < 0xDC00 && strings.HasPrefix(raw[i+5:], `\u`) && i+11 <= len(raw) {
			low, err := strconv.ParseUint(raw[i+7:i+11], 16, 16)
			if err == nil && low >= 0xDC00 && low <= 0xDFFF {
				i += 10
				continue
			}
		}
		return errors.New("lone surrogate in a string")
	}
	return nil
}

// literal returns the text of a number, true, false or null.
func (r *Reader) literal() string {
	r.space()
	start := r.pos
	for r.pos < len(r.s) {
		c := r.s[r.pos]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E' {
			r.pos++
			continue
		}
		break
	}
	return r.s[start:r.pos]
}

// Integer reads an integer from 0 to limit, written without fraction or exponent.
func (r *Reader) Integer(limit int64) (int64, error) {
	lit := r.literal()
	n, err := strconv.ParseInt(lit, 10, 64)
	if err != nil || n < 0 || n > limit || !json.Valid([]byte(lit)) {
		return 0, r.Errorf("%.40q, want an integer from 0 to %d", lit, limit)
	}
	return n, nil
}

// Float reads a number.
func (r *Reader) Float() (float64, error) {
	lit := r.literal()
	if !json.Valid([]byte(lit)) {
		return 0, r.Errorf("%.40q, want a number", lit)
	}
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil {
		return 0, r.Errorf("%.40q, want a number", lit)
	}
	return f, nil
}

// Raw checks one value of any kind and returns its text.
func (r *Reader) Raw() (json.RawMessage, error) {
	r.space()
	start := r.pos
	if err := r.value(); err != nil {
		return nil, err
	}
	return json.RawMessage(r.s[start:r.pos]), nil
}

func (r *Reader) value() error {
	switch r.Next() {
	case '{':
		return r.Object(func(string) error { return r.value() })
	case '[':
		return r.Array(r.value)
	case '"':
		_, err := r.String()
		return err
	default:
		if lit := r.literal(); !json.Valid([]byte(lit)) {
			return r.Errorf("%.40q is not a JSON value", lit)
		}
		return nil
	}
}

// Rest returns the text that has not been read.
func (r *Reader) Rest() string { return r.s[r.pos:] }

// End returns an error where anything but white space follows.
func (r *Reader) End() error {
	if r.Next() != 0 {
		return r.Errorf("text after the end")
	}
	return nil
}

// IsNull reports whether raw is absent or null.
func IsNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
