package search

import (
	"errors"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
	"example.com/searchd/search/snapshot"
	"example.com/searchd/search/task"
)

// Errors that callers tell apart with [errors.Is]. The text of a returned error names the thing
// that it is about.
var (
	ErrInvalid            = backend.ErrInvalid // a field's value is not allowed; see [FieldError]
	ErrCollectionNotFound = backend.ErrCollectionNotFound
	ErrCollectionExists   = backend.ErrCollectionExists
	ErrTooManyCollections = errors.New("too many collections")
	ErrAliasNotFound      = errors.New("alias not found")
	ErrSnapshotNotFound   = snapshot.ErrNotFound
	ErrTooManySnapshots   = snapshot.ErrTooMany
	ErrTaskNotFound       = task.ErrNotFound
	ErrTaskFinished       = task.ErrFinished
	ErrTaskRunning        = task.ErrRunning // another one works on the same collection
	ErrAliased            = errors.New("collection has an alias")
	ErrDocumentNotFound   = backend.ErrDocumentNotFound
	ErrConflict           = errors.New("revision conflict") // the document's revision is not the expected one
	ErrModelMismatch      = fault.ErrModelMismatch          // the collection was built with another checkpoint
	ErrDamaged            = backend.ErrDamaged              // a stored value that is needed cannot be read
	ErrReadOnly           = backend.ErrReadOnly             // after a failed commit; reopen to go on
	ErrUnavailable        = backend.ErrUnavailable          // a partition that no node serves, or a log without a majority
	ErrOutcomeUnknown     = backend.ErrOutcomeUnknown       // of the write whose commit failed: it may be there after reopening; matches ErrReadOnly
	ErrNoSpace            = backend.ErrNoSpace              // the disk or the configured size is full; reads go on
	ErrClosed             = backend.ErrClosed
	ErrBusy               = fault.ErrBusy
	ErrUnsupported        = fault.ErrUnsupported // the checkpoints or the backend that the engine was given cannot do it
)

// DamagedError says that a collection cannot be opened, or a document of it not be read, and which
// stored value is damaged. It matches [ErrDamaged].
type DamagedError = backend.DamagedError

// FieldError says which field of a request is wrong, its value, and what is allowed. It matches
// [ErrInvalid].
type FieldError = fault.FieldError

// ErrEmbedder is matched by the errors of remote embedders.
var ErrEmbedder = fault.ErrEmbedder

// DocumentError says which value of a document is wrong, and what is allowed. It matches
// [ErrInvalid].
type DocumentError = fault.DocumentError
