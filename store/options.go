package store

import "fmt"

// Limits of what one store accepts. They bound the memory of one call and keep every number inside
// its field on disk.
const (
	MaxIDBytes         = 512       // length of a document id
	MaxNameBytes       = 128       // length of a collection name
	MaxFieldNameBytes  = 512       // length of a field name in a passage
	MaxSettingsBytes   = 1 << 20   // settings of one collection
	MaxFieldsBytes     = 64 << 20  // fields of one document
	MaxPassages        = 1 << 16   // passages of one document
	MaxStructureBytes  = 16 << 20  // structure of one document
	MaxDim             = 1 << 16   // components of one vector
	MaxBatchWrites     = 1 << 16   // writes of one Apply
	MaxBatchBytes      = 256 << 20 // bytes of fields and vectors of one Apply
	MaxValueBytes      = 1 << 20   // one value of SetValue
	defaultPageSize    = 16 << 10
	defaultVerifyLimit = 1 << 30
)

// Options tunes Open. The zero value is the default.
type Options struct {
	// MustExist makes Open fail with ErrNoStore where there is no store yet, instead of creating
	// the folder and the file.
	MustExist bool

	// Remains are names that only the use of a store leaves in the folder. Where there is one of
	// them and no store, Open returns a *LostError instead of creating the file: what the others
	// belong to is missing.
	Remains []string

	// PageSize is the page size of a new file in bytes, a power of two from 4096 to 65536; an
	// existing file keeps its own. 0: 16384, with which files of vectors with 256 to 1024
	// components are 3 to 36 % smaller than with 4096 and scans a tenth faster, while single
	// updates write up to three times as many bytes.
	PageSize int

	// VerifyLimit is the largest file in bytes whose pages Open checks one by one; of a larger file
	// it checks the inner pages only, and Check does the rest. 0: 1 GiB. Negative: inner pages
	// only, always.
	VerifyLimit int64

	// AcceptRollback opens a file whose newest header page is damaged at the transaction before,
	// which loses the last commit. The store gets a new ID, so that derived indexes rebuild.
	// Without it Open returns a *DamagedError. See [Store.RolledBack].
	AcceptRollback bool
}

func (o Options) validate() error {
	if o.PageSize != 0 && (o.PageSize < 4096 || o.PageSize > 65536 || o.PageSize&(o.PageSize-1) != 0) {
		return fmt.Errorf("%w: Options.PageSize is %d: want 0 or a power of two from 4096 to 65536", ErrInvalid, o.PageSize)
	}
	return nil
}

// withDefaults fills the fields that are zero.
func (o Options) withDefaults() Options {
	if o.PageSize == 0 {
		o.PageSize = defaultPageSize
	}
	if o.VerifyLimit == 0 {
		o.VerifyLimit = defaultVerifyLimit
	}
	return o
}
