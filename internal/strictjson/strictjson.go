// Package strictjson reads the JSON of foreign checkpoints: invalid UTF-8, lone surrogates,
// duplicate keys and deep nesting are errors. encoding/json keeps the last of two equal keys and
// matches keys by case folding, which is wrong for a vocabulary, a setting or a tensor.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxNesting bounds how deep objects and arrays may nest.
const maxNesting = 64

// Reader walks JSON text. Its errors name the byte. Not safe for concurrent use.
type Reader struct {
	text []byte
	dec  *jsontext.Decoder
}

// New returns a Reader of b, which must not change.
func New(b []byte) *Reader {
	return &Reader{b, jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true))}
}

// Errorf returns an error that names the position of the reader.
func (r *Reader) Errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", r.dec.InputOffset(), fmt.Sprintf(format, args...))
}

// Next returns the byte that begins the next token: '0' for a number, 0 at the end or an error.
func (r *Reader) Next() byte { return byte(r.dec.PeekKind()) }

// token reads the next token.
func (r *Reader) token() (jsontext.Token, error) {
	t, err := r.dec.ReadToken()
	var syntax *jsontext.SyntacticError
	switch {
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return t, r.Errorf("unexpected end")
	case errors.As(err, &syntax):
		return t, fmt.Errorf("byte %d: %w", syntax.ByteOffset, syntax.Err)
	case err == nil && r.dec.StackDepth() > maxNesting:
		return t, r.Errorf("nesting deeper than %d", maxNesting)
	}
	return t, err
}

// expect reads a token of one kind.
func (r *Reader) expect(kind byte) (jsontext.Token, error) {
	if got := r.Next(); got != kind && got != 0 {
		want := strconv.QuoteRune(rune(kind))
		if kind == '0' {
			want = "a number or integer"
		}
		return jsontext.Token{}, r.Errorf("found %q, want %s", got, want)
	}
	return r.token()
}

// list reads the items between two delimiters.
func (r *Reader) list(open, end byte, item func() error) error {
	if _, err := r.expect(open); err != nil {
		return err
	}
	for r.Next() != end {
		if err := item(); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}

// Pairs reads an object; f gets each key and must read its value. Duplicate keys are left to f.
func (r *Reader) Pairs(f func(key string) error) error {
	return r.list('{', '}', func() error {
		key, err := r.String()
		if err != nil {
			return err
		}
		return f(key)
	})
}

// Object is Pairs for small objects: a duplicate key is an error, and an error of f is prefixed
// with its key.
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

// String reads a string.
func (r *Reader) String() (string, error) {
	t, err := r.expect('"')
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

// Integer reads an integer from 0 to limit, written without fraction or exponent.
func (r *Reader) Integer(limit int64) (int64, error) {
	t, err := r.expect('0')
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(t.String(), 10, 64)
	if err != nil || n < 0 || n > limit {
		return 0, r.Errorf("%.40q, want an integer from 0 to %d", t.String(), limit)
	}
	return n, nil
}

// Float reads a number.
func (r *Reader) Float() (float64, error) {
	t, err := r.expect('0')
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(t.String(), 64)
	if err != nil {
		return 0, r.Errorf("%.40q, want a number", t.String())
	}
	return f, nil
}

// Raw checks one value of any kind and returns its text.
func (r *Reader) Raw() (json.RawMessage, error) {
	start := r.dec.InputOffset() // before a comma or colon
	if err := r.value(); err != nil {
		return nil, err
	}
	return bytes.TrimLeft(r.text[start:r.dec.InputOffset()], " \t\r\n:,"), nil
}

func (r *Reader) value() error {
	switch r.Next() {
	case '{':
		return r.Object(func(string) error { return r.value() })
	case '[':
		return r.Array(r.value)
	}
	_, err := r.token()
	return err
}

// Rest returns the text that has not been read.
func (r *Reader) Rest() string { return string(r.text[r.dec.InputOffset():]) }

// End returns an error where anything but white space follows.
func (r *Reader) End() error {
	if len(bytes.TrimLeft(r.text[r.dec.InputOffset():], " \t\r\n")) > 0 {
		return r.Errorf("text after the end")
	}
	return nil
}

// IsNull reports whether raw is absent or null.
func IsNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
