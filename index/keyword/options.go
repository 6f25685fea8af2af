package keyword

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/searchd/index/keyword/analysis"
)

// Errors of Open.
var (
	// ErrDamaged is returned for a folder without an index that can be trusted. Rename the folder
	// and build a new one.
	ErrDamaged = errors.New("keyword: index is damaged")
	// ErrMismatch is returned for an index that was built with other settings and would give wrong
	// results. Build a new one.
	ErrMismatch = errors.New("keyword: index was built with other settings")
	// ErrLocked is returned while another process, or another Index of this one, has the folder
	// open.
	ErrLocked = errors.New("keyword: index is in use")
	// ErrNoSpace is returned where the disk has no room for a new index.
	ErrNoSpace = errors.New("keyword: no space left")
)

// Errors of an open index.
var (
	// ErrBroken is returned once the index could not write to its folder. It takes no more changes,
	// but goes on answering searches. Open it again, after Release or Close, when the cause,
	// usually a full disk, has gone.
	ErrBroken = errors.New("keyword: index cannot write")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("keyword: index is closed")
	// ErrOptions is returned for options out of range.
	ErrOptions = errors.New("keyword: invalid options")
	// ErrQuery is returned for a query that no index can answer.
	ErrQuery = errors.New("keyword: invalid query")
)

// BM25 has the two parameters of the ranking formula. The zero value means K1 1.2 and B 0.75.
type BM25 struct {
	K1 float64 // how slowly repetitions of a term saturate, > 0
	B  float64 // how much longer documents are penalised, 0 to 1
}

// NoLength is the B that ignores how long documents are; 0 means the default.
const NoLength = -1

// Options are the settings of an index. The zero value is English with the usual BM25.
type Options struct {
	// Language is one of [analysis.Languages]. "" is "en".
	Language string
	BM25     BM25
	// Identity is stored in a new index and must be the same when it is opened again: the id of the
	// store that the index is derived from, for example.
	Identity string
	// OwnField reports whether a text field has a field of its own however many others there are;
	// nil: none has. See MaxTextFields.
	OwnField func(name string) bool
	// SkipVerify leaves out the checksums of the segment files when an index is opened, for which
	// they are read whole.
	SkipVerify bool
	// Caches are shared with other indexes; nil: the index has its own.
	Caches *Caches
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
	if o.Caches == nil {
		o.Caches = NewCaches()
	}
	var errs []error
	if languages := analysis.Languages(); !slices.Contains(languages, o.Language) {
		errs = append(errs, fmt.Errorf("%w: Language is %q, allowed are %v", ErrOptions, o.Language, languages))
	}
	if !(o.BM25.K1 > 0) || math.IsInf(o.BM25.K1, 0) {
		errs = append(errs, fmt.Errorf("%w: BM25.K1 is %v, must be positive and finite", ErrOptions, o.BM25.K1))
	}
	if !(o.BM25.B >= 0 && o.BM25.B <= 1) {
		errs = append(errs, fmt.Errorf("%w: BM25.B is %v, must be from 0 to 1", ErrOptions, o.BM25.B))
	}
	return o, errors.Join(errs...)
}
