package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Errors of opening.
var (
	// ErrLocked is returned by Open when another process (or another Store of this one) uses the
	// data folder.
	ErrLocked = errors.New("store: data folder is in use")

	// ErrNoStore is returned by Open with Options.MustExist when the folder holds no store.
	ErrNoStore = errors.New("store: no store here")

	// ErrLost is matched by every *LostError.
	ErrLost = errors.New("store: file is missing")

	// ErrDamaged is matched by every *DamagedError.
	ErrDamaged = errors.New("store: file is damaged")

	// ErrNewerFormat is returned by Open when a later version of the program wrote the file.
	ErrNewerFormat = errors.New("store: file has a newer format")
)

// Errors of reading.
var (
	// ErrCorrupt is matched by every *CorruptError.
	ErrCorrupt = errors.New("store: record is corrupt")

	// ErrNotFound is returned when the collection holds no such document, passage or vector.
	ErrNotFound = errors.New("store: not found")

	// ErrNoCollection is returned when there is no collection with that name or number.
	ErrNoCollection = errors.New("store: no such collection")

	// ErrTrimmed is returned by Changes when changes after the given sequence number have been
	// trimmed away: the reader cannot catch up from the log and must rebuild from the documents.
	ErrTrimmed = errors.New("store: changes were trimmed")

	// ErrAhead is returned by Changes and TrimChanges for a sequence number that the collection has
	// not reached, as when a store was restored from a backup older than an index that reads it.
	ErrAhead = errors.New("store: sequence number is ahead of the collection")

	// ErrClosed is returned by every method after Close.
	ErrClosed = errors.New("store: closed")
)

// Errors of writing.
var (
	// ErrInvalid is returned for input that no state of the store would accept.
	ErrInvalid = errors.New("store: invalid input")

	// ErrDimension is returned for a vector whose length differs from that of the collection's
	// other vectors.
	ErrDimension = errors.New("store: dimension mismatch")

	// ErrExists is returned by CreateCollection when the name is taken.
	ErrExists = errors.New("store: collection exists")

	// ErrNoSpace is returned when the disk is full. Nothing was
	// written; reads go on, and writes work again once there is room.
	ErrNoSpace = errors.New("store: no space left")

	// ErrFull is returned when a collection has used up its document or slot numbers.
	ErrFull = errors.New("store: collection has used all its numbers")

	// ErrReadOnly is returned by every write after a commit failed with an unknown outcome.
	// Reads go on; close the store and open it again to write.
	ErrReadOnly = errors.New("store: read-only after a failed commit")

	// ErrOutcomeUnknown is returned by that commit itself: what it wrote may be there after the
	// next opening. It matches ErrReadOnly.
	ErrOutcomeUnknown = fmt.Errorf("%w: the outcome of this write is unknown", ErrReadOnly)
)

// ErrStop, returned by the function given to an iterator, ends the iteration without an error.
var ErrStop = errors.New("store: stop iteration")

// LostError says that a folder was in use and has no store now. Nothing in it has been changed.
type LostError struct {
	Dir   string
	Found []string // of Options.Remains
}

func (e *LostError) Error() string {
	found := strings.Join(e.Found, ", ")
	return fmt.Sprintf("store: %s has %s, but %s is missing, which holds the documents and the keys (nothing was made or deleted; put it back, "+
		"restore a backup into this folder, name a new folder, or delete %s to begin with an empty one)", e.Dir, found, fileName, found)
}

// Is reports whether target is ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// MovedError says that the file of an open store was removed or replaced. It matches ErrReadOnly.
type MovedError struct{ Path string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("store: %s was removed or replaced while it is open (nothing is written to it any more; put it back, or stop this program)", e.Path)
}

// Is reports whether target is ErrReadOnly.
func (e *MovedError) Is(target error) bool { return target == ErrReadOnly }

// DamagedError says that the file as a whole cannot be trusted. The file has not been changed.
type DamagedError struct {
	Path   string // file
	Detail string // what is wrong
	Next   string // what the operator can do; empty: restore a backup
}

func (e *DamagedError) Error() string {
	next := e.Next
	if next == "" {
		next = "restore a backup into a new folder, or copy the file away and examine it"
	}
	return fmt.Sprintf("store: %s is damaged: %s (the file was left as it is; %s)", e.Path, e.Detail, next)
}

// Is reports whether target is ErrDamaged.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// CorruptError says that one record cannot be trusted; records beside it can still be read.
type CorruptError struct {
	Bucket string // path of the bucket, for example "collection 3/vectors"
	Key    string // key in readable form; empty where the key is unknown
	Detail string // what is wrong

	kind kind
	key  []byte
}

func (e *CorruptError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("store: bucket %s is corrupt: %s", e.Bucket, e.Detail)
	}
	return fmt.Sprintf("store: bucket %s, key %s is corrupt: %s", e.Bucket, e.Key, e.Detail)
}

// Number returns the key of a record that is known by a number: a document's, or a slot.
func (e *CorruptError) Number() (n uint32, ok bool) {
	if len(e.key) != 4 || e.kind == kindIDs {
		return 0, false
	}
	return binary.BigEndian.Uint32(e.key), true
}

// OfLog reports whether the record is a change. A derived index that needs it can be made anew from
// the documents.
func (e *CorruptError) OfLog() bool { return e.kind == kindLog }

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// WriteError names the write of a batch that was refused. The whole batch was refused with it.
type WriteError struct {
	Index int    // position in the batch
	ID    string // its document id
	Err   error
}

func (e *WriteError) Error() string { return fmt.Sprintf("write %d (id %q): %v", e.Index, e.ID, e.Err) }

func (e *WriteError) Unwrap() error { return e.Err }

// CollectionsError says which collections have a damaged record. It matches ErrCorrupt.
type CollectionsError struct{ Damaged []DamagedCollection }

// DamagedCollection is a collection of which no more can be read than its number.
type DamagedCollection struct {
	ID   uint32
	Name string // empty where that cannot be read either
	Err  error
}

func (e *CollectionsError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the errors of all of them.
func (e *CollectionsError) Unwrap() error {
	var errs []error
	for _, d := range e.Damaged {
		errs = append(errs, d.Err)
	}
	return errors.Join(errs...)
}
