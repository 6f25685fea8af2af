package backend

import (
	"errors"
	"fmt"
)

// Errors of every backend, matched with errors.Is.
var (
	ErrCollectionNotFound = errors.New("collection not found")
	ErrCollectionExists   = errors.New("collection exists")
	ErrDocumentNotFound   = errors.New("document not found")
	ErrReadOnly           = errors.New("data folder read-only")
	ErrOutcomeUnknown     = fmt.Errorf("%w: the outcome of this write is unknown", ErrReadOnly) // of the write that made it so
	ErrClosed             = errors.New("data folder closed")
	ErrNoSpace            = errors.New("no space left")
	ErrInvalid            = errors.New("invalid request")
	ErrUnavailable        = errors.New("part of the cluster unavailable") // of which the message names
	ErrDamaged            = errors.New("collection damaged")              // a stored value that is needed cannot be read
	ErrStatistics         = errors.New("statistics do not fit the query") // they are not complete, or of another query
)

// DamagedError reports that a collection cannot be opened, or that a document of it cannot be read,
// and which value is damaged. It matches [ErrDamaged].
type DamagedError struct {
	Collection, Damage string
	Document           bool // the others can be read
}

func (e *DamagedError) Error() string {
	if e.Document {
		return fmt.Sprintf("%v: of %q one document cannot be read: %s", ErrDamaged, e.Collection, e.Damage)
	}
	return fmt.Sprintf("%v: %q cannot be opened: %s", ErrDamaged, e.Collection, e.Damage)
}

// Is makes errors.Is(err, ErrDamaged) true.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// ValuesError lists the damaged values under a prefix. It matches [ErrDamaged].
type ValuesError struct {
	Keys []string
	Err  error
}

func (e *ValuesError) Error() string { return fmt.Sprintf("%v: %v", ErrDamaged, e.Err) }

// Is makes errors.Is(err, ErrDamaged) true.
func (e *ValuesError) Is(target error) bool { return target == ErrDamaged }
