package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNesting bounds how deep objects and arrays of tokenizer.json may nest.
const maxNesting = 64

// reader walks JSON text strictly: invalid UTF-8, lone surrogates, duplicate keys and deep nesting are errors.
// encoding/json keeps the last of two equal keys and matches keys by case folding; neither will do for a vocabulary.
// Strings without escapes are substrings of the text.
type reader struct {
	s     string
	pos   int
	depth int
}

func (r *reader) errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", r.pos, fmt.Sprintf(format, args...))
}

func (r *reader) space() {
	for r.pos < len(r.s) {
		switch r.s[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the byte that begins the next token, 0 at the end.
func (r *reader) next() byte {
	r.space()
	if r.pos == len(r.s) {
		return 0
	}
	return r.s[r.pos]
}

func (r *reader) expect(c byte) error {
	if got := r.next(); got != c {
		if got == 0 {
			return r.errorf("unexpected end, want %q", c)
		}
		return r.errorf("found %q, want %q", got, c)
	}
	r.pos++
	return nil
}

// list reads the items between open and close, separated by commas.
func (r *reader) list(open, close byte, item func() error) error {
	if err := r.expect(open); err != nil {
		return err
	}
	if r.depth++; r.depth > maxNesting {
		return r.errorf("nesting deeper than %d", maxNesting)
	}
	defer func() { r.depth-- }()
	if r.next() == close {
		r.pos++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if r.next() == close {
			r.pos++
			return nil
		}
		if err := r.expect(','); err != nil {
			return err
		}
	}
}

// pairs reads an object; f gets each key and must read its value. Duplicate keys are f's affair.
func (r *reader) pairs(f func(key string) error) error {
	return r.list('{', '}', func() error {
		key, err := r.str()
		if err != nil {
			return err
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		return f(key)
	})
}

// object is pairs for small objects: a key given twice is an error, and an error of f is prefixed with its key.
func (r *reader) object(f func(key string) error) error {
	seen := make(map[string]bool)
	return r.pairs(func(key string) error {
		if seen[key] {
			return r.errorf("key %q given twice", key)
		}
		seen[key] = true
		if err := f(key); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
}

func (r *reader) array(f func() error) error { return r.list('[', ']', f) }

// str reads a string.
func (r *reader) str() (string, error) {
	if err := r.expect('"'); err != nil {
		return "", err
	}
	start := r.pos
	for r.pos < len(r.s) {
		switch c := r.s[r.pos]; {
		case c == '"':
			s := r.s[start:r.pos]
			if !utf8.ValidString(s) {
				return "", r.errorf("string is not valid UTF-8")
			}
			r.pos++
			return s, nil
		case c == '\\':
			return r.escaped(start)
		case c < 0x20:
			return "", r.errorf("control character in a string")
		}
		r.pos++
	}
	return "", r.errorf("unexpected end of a string")
}

// escaped reads on from the first backslash of a string that began at start.
func (r *reader) escaped(start int) (string, error) {
	i := r.pos
	for i < len(r.s) && r.s[i] != '"' {
		if r.s[i] == '\\' {
			i++
		}
		i++
	}
	if i >= len(r.s) {
		return "", r.errorf("unexpected end of a string")
	}
	raw := r.s[start-1 : i+1]
	if err := loneSurrogate(raw); err != nil {
		return "", r.errorf("%v", err)
	}
	var s string
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		return "", r.errorf("%v", err)
	}
	if !utf8.ValidString(raw) {
		return "", r.errorf("string is not valid UTF-8")
	}
	r.pos = i + 1
	return s, nil
}

// loneSurrogate reports a \u escape of half a surrogate pair, which encoding/json would turn into U+FFFD.
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
func (r *reader) literal() string {
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

// id reads a token id: an integer from 0 to maxID.
func (r *reader) id() (int32, error) {
	lit := r.literal()
	n, err := strconv.ParseInt(lit, 10, 64)
	if err != nil || lit[0] == '+' {
		return 0, r.errorf("id %.40q, want an integer", lit)
	}
	if n < 0 || n > maxID {
		return 0, r.errorf("id %d, allowed 0 to %d", n, maxID)
	}
	return int32(n), nil
}

// float reads a number.
func (r *reader) float() (float64, error) {
	lit := r.literal()
	if !json.Valid([]byte(lit)) {
		return 0, r.errorf("%.40q, want a number", lit)
	}
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil {
		return 0, r.errorf("%.40q, want a number", lit)
	}
	return f, nil
}

// raw checks one value of any kind and returns its text.
func (r *reader) raw() (json.RawMessage, error) {
	r.space()
	start := r.pos
	if err := r.value(); err != nil {
		return nil, err
	}
	return json.RawMessage(r.s[start:r.pos]), nil
}

func (r *reader) value() error {
	switch r.next() {
	case '{':
		return r.object(func(string) error { return r.value() })
	case '[':
		return r.array(r.value)
	case '"':
		_, err := r.str()
		return err
	default:
		if lit := r.literal(); !json.Valid([]byte(lit)) {
			return r.errorf("%.40q is not a JSON value", lit)
		}
		return nil
	}
}

// isNull reports whether raw is absent or null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
