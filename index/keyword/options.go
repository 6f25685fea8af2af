package keyword

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Errors of Open.
var (
	// ErrDamaged says that the folder does not hold an index that can be trusted. Set the folder
	// aside, build a new one.
	ErrDamaged = errors.New("keyword: index is damaged")
	// ErrMismatch says that the index was built with other settings, so that it would answer
	// wrongly. Build a new one.
	ErrMismatch = errors.New("keyword: index was built with other settings")
	// ErrLocked says that another process, or another Index of this one, has the folder open.
	ErrLocked = errors.New("keyword: index is in use")
	// ErrNoSpace says that the disk has no room for a new index, and nothing about one that is
	// there.
	ErrNoSpace = errors.New("keyword: no space left")
)

// Errors of an open index.
var (
	// ErrBroken says that the index could not write to its folder and takes no more changes.
	// Searches go on over what it held. Open it again, after Release or Close, once the cause,
	// usually a full disk, has gone.
	ErrBroken = errors.New("keyword: index cannot write")
	// ErrClosed says that Close was called.
	ErrClosed = errors.New("keyword: index is closed")
	// ErrOptions is matched by the error of Open about options out of range.
	ErrOptions = errors.New("keyword: invalid options")
	// ErrQuery is matched by errors about a query that cannot be answered, whatever the index
	// holds.
	ErrQuery = errors.New("keyword: invalid query")
)

// BM25 has the two parameters of the ranking formula. The zero value means K1 1.2 and B 0.75.
type BM25 struct {
	K1 float64 // how slowly repetitions of a term saturate, > 0
	B  float64 // how much a long document is held against it, 0 to 1
}

// NoLength is the B that ignores how long documents are; 0 means the default.
const NoLength = -1

// Options are the settings of an index. The zero value is English with the usual BM25.
type Options struct {
	// Language names the analyzer of text fields: one of Languages. "" is "en".
	Language string
	BM25     BM25
	// Identity is bound into a new index and must be the same when it is opened again: the id of
	// the store that the index is derived from, for example.
	Identity string
	// OwnField names text fields that have a field of their own however many others there are; nil:
	// none. See MaxTextFields.
	OwnField func(name string) bool
	// SkipVerify leaves out the checksums of the segment files when an index is opened. They are
	// read whole otherwise.
	SkipVerify bool
}

// withDefaults returns o with every zero value replaced, or an error that names all values out of
// range.
func (o Options) withDefaults() (Options, error) {
	if o.Language == "" {
		o.Language = "en"
	}
	if o.BM25.K1 == 0 {
		o.BM25.K1 = 1.2
	}
	switch o.BM25.B {
	case 0:
		o.BM25.B = 0.75
	case NoLength:
		o.BM25.B = 0
	}
	var errs []error
	if !slices.Contains(Languages(), o.Language) {
		errs = append(errs, fmt.Errorf("%w: Language is %q, allowed are %v", ErrOptions, o.Language, Languages()))
	}
	if !(o.BM25.K1 > 0) || math.IsInf(o.BM25.K1, 0) {
		errs = append(errs, fmt.Errorf("%w: BM25.K1 is %v, must be positive and finite", ErrOptions, o.BM25.K1))
	}
	if !(o.BM25.B >= 0 && o.BM25.B <= 1) {
		errs = append(errs, fmt.Errorf("%w: BM25.B is %v, must be from 0 to 1", ErrOptions, o.BM25.B))
	}
	return o, errors.Join(errs...)
}
