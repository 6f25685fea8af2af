package search

import (
	"errors"
	"fmt"
	"strings"

	"searchd/search/backend"
	"searchd/search/mapping"
)

// Errors that callers tell apart with [errors.Is]. The text of a returned error names the thing that it is about.
var (
	ErrInvalid            = backend.ErrInvalid // a field's value is not allowed; see [FieldError]
	ErrCollectionNotFound = backend.ErrCollectionNotFound
	ErrCollectionExists   = backend.ErrCollectionExists
	ErrTooManyCollections = errors.New("too many collections")
	ErrAliasNotFound      = errors.New("alias not found")
	ErrSnapshotNotFound   = errors.New("snapshot not found")
	ErrTooManySnapshots   = errors.New("too many snapshots")
	ErrTaskNotFound       = errors.New("task not found")
	ErrTaskFinished       = errors.New("task has ended")
	ErrTaskRunning        = errors.New("task under way") // another one works on the same thing
	ErrAliased            = errors.New("collection has an alias")
	ErrDocumentNotFound   = backend.ErrDocumentNotFound
	ErrConflict           = errors.New("revision conflict") // the document's revision is not the expected one
	ErrModelMismatch      = errors.New("model mismatch")    // the collection was built with another checkpoint
	ErrDamaged            = backend.ErrDamaged              // a stored value that is needed cannot be read
	ErrReadOnly           = backend.ErrReadOnly             // after a failed commit; reopen to go on
	ErrOutcomeUnknown     = backend.ErrOutcomeUnknown       // of the write whose commit failed: it may be there after reopening; matches ErrReadOnly
	ErrNoSpace            = backend.ErrNoSpace              // the disk or the configured size is full; reads go on
	ErrClosed             = backend.ErrClosed
	ErrBusy               = errors.New("too much is waiting to be encoded")
	ErrUnsupported        = errors.New("not supported here") // the checkpoints or the backend that the engine was given cannot do it
)

// DamagedError says that a collection cannot be opened, or a document of it not be read, and which stored value is damaged. It matches
// [ErrDamaged].
type DamagedError = backend.DamagedError

// FieldError says which field of a request is wrong, its value, and what is allowed. It matches [ErrInvalid].
type FieldError struct {
	Field   string // as the client wrote it, e.g. "limit" or "settings.fields.title.type"
	Value   any    // what was given; shortened when printed
	Allowed string // what is allowed, e.g. "1 to 1000"
}

// Error names the field once, also where what is allowed is the error of a parser that names it too.
func (e *FieldError) Error() string {
	return short(e.Field) + ": " + e.Said()
}

// Said is what Error says of the field.
func (e *FieldError) Said() string {
	return fmt.Sprintf("got %s, allowed: %s", quoteShort(e.Value), strings.TrimPrefix(e.Allowed, e.Field+": "))
}

// Is makes errors.Is(err, ErrInvalid) true.
func (e *FieldError) Is(target error) bool { return target == ErrInvalid }

// DocumentError says which value of a document is wrong, and what is allowed. It matches [ErrInvalid].
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
	return &FieldError{name, e.Value, e.Allowed}
}

func quoteShort(v any) string {
	s := fmt.Sprintf("%v", v)
	if t, ok := v.(string); ok {
		s = fmt.Sprintf("%q", t)
	}
	return short(s)
}

func short(s string) string {
	const limit = 120
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return s
}
