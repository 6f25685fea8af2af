// Package fault has the errors of the engine that say what is wrong with a request.
package fault

import (
	"errors"
	"fmt"
	"strings"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
)

// Kinds of errors, matched with errors.Is.
var (
	ErrInvalid       = backend.ErrInvalid               // a field's value is not allowed; see [FieldError]
	ErrUnsupported   = errors.New("not supported here") // the checkpoints that the engine was given cannot do it
	ErrBusy          = errors.New("too much is waiting to be encoded")
	ErrEmbedder      = errors.New("the embedder of the collection failed")
	ErrModelMismatch = errors.New("model mismatch") // the collection was built with another checkpoint
)

// Protect calls f and returns a panic of it as an error.
func Protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return f()
}

// FieldError says which field of a request is wrong, its value, and what is allowed. It matches
// [ErrInvalid].
type FieldError struct {
	Field   string // as the client wrote it, e.g. "limit" or "settings.fields.title.type"
	Value   any    // what was given; shortened when printed
	Allowed string // what is allowed, e.g. "1 to 1000"
}

// Field returns an error about a field, its value, and what is allowed.
func Field(field string, value any, allowed string) *FieldError {
	return &FieldError{Field: field, Value: value, Allowed: allowed}
}

// Error names the field once, also where what is allowed is the error of a parser that names it
// too.
func (e *FieldError) Error() string {
	return Short(e.Field) + ": " + e.Said()
}

// Said is what Error says of the field.
func (e *FieldError) Said() string {
	allowed, joint := strings.TrimPrefix(e.Allowed, e.Field+": "), ", allowed: "
	if strings.HasPrefix(allowed, "at byte ") { // the error of a parser
		joint = ": "
	}
	return "got " + Quote(e.Value) + joint + allowed
}

// Is makes errors.Is(err, ErrInvalid) true.
func (e *FieldError) Is(target error) bool { return target == ErrInvalid }

// DocumentError says which value of a document is wrong, and what is allowed. It matches
// [ErrInvalid].
type DocumentError struct {
	Within  string // [Document.Within]
	Path    []any  // from the fields to the value: names of members, string, and indexes of elements, int; empty: the document as a whole
	Value   any    // what was given; shortened when printed
	Allowed string
}

// Error names the value from the top of what was sent.
func (e *DocumentError) Error() string { return e.field().Error() }

// Said is what Error says of the value.
func (e *DocumentError) Said() string { return e.field().Said() }

// Is makes errors.Is(err, ErrInvalid) true.
func (e *DocumentError) Is(target error) bool { return target == ErrInvalid }

// Steps is the path from the top of what was sent.
func (e *DocumentError) Steps() []any {
	if e.Within == "" {
		return e.Path
	}
	return append([]any{e.Within}, e.Path...)
}

func (e *DocumentError) field() *FieldError {
	name := "document"
	if len(e.Path) > 0 {
		name = mapping.PathText(e.Steps())
	}
	return Field(name, e.Value, e.Allowed)
}

// Quote writes a value for a message, shortened.
func Quote(v any) string {
	s := fmt.Sprintf("%v", v)
	if t, ok := v.(string); ok {
		s = fmt.Sprintf("%q", t)
	}
	return Short(s)
}

// Short returns s, cut where it is long.
func Short(s string) string {
	const limit = 120
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return s
}

// Fields collects the wrong fields of a request.
type Fields []*FieldError

// Add adds a wrong field.
func (e *Fields) Add(field string, value any, allowed string) {
	*e = append(*e, Field(field, value, allowed))
}

// Err returns nil, the one error, or all of them joined.
func (e Fields) Err() error {
	switch len(e) {
	case 0:
		return nil
	case 1:
		return e[0]
	}
	return e
}

func (e Fields) Error() string {
	parts := make([]string, len(e))
	for i, f := range e {
		parts[i] = f.Error()
	}
	return strings.Join(parts, "; ")
}

// Unwrap lets errors.As and errors.Is reach each of them.
func (e Fields) Unwrap() []error {
	out := make([]error, len(e))
	for i, f := range e {
		out[i] = f
	}
	return out
}
