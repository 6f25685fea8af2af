package backend

import (
	"context"
	"io"
	"time"
)

// Admin creates and drops collections, keeps the engine's own values, and reports on the backend.
type Admin interface {
	// Collections describes all collections, by name; those that cannot be opened come last.
	Collections(ctx context.Context) ([]Collection, error)
	// Configure creates a collection, or replaces the config of one.
	Configure(ctx context.Context, r ConfigureRequest) error
	// Drop removes a collection with everything in it.
	Drop(ctx context.Context, collection string) error
	// Values returns the values whose keys begin with a prefix; where some are damaged, the others
	// with a [ValuesError].
	Values(ctx context.Context, prefix string) (map[string][]byte, error)
	// SetValues sets small values of the whole backend in one transaction, for the engine's own
	// use; nil removes a key.
	SetValues(ctx context.Context, values map[string][]byte) error
	// Changes reads the change log of a collection, and keeps it from being trimmed. A backend
	// without one returns errors.ErrUnsupported.
	Changes(ctx context.Context, r ChangesRequest) (ChangesResponse, error)
	// Stats returns the gauges of the backend, and of a collection's indexes.
	Stats(ctx context.Context, r StatsRequest) (StatsResponse, error)
	// Check compares what is stored with what is indexed.
	Check(ctx context.Context, r CheckRequest) (CheckResponse, error)
	// Backup writes everything that a restore needs and returns the bytes written, or
	// errors.ErrUnsupported.
	Backup(ctx context.Context, w io.Writer) (int64, error)
	io.Closer
}

// Shared is a backend whose collections and values others change, too. It has no [Admin.Changes]
// and no [Admin.Backup].
type Shared interface {
	Backend
	// OnChange has f called, from any goroutine, when collections or values may have changed.
	OnChange(f func())
	// Leads reports whether this process is the one that does what one of them has to do for all.
	// For some seconds after one came or went, two may be, or none.
	Leads() bool
}

// ConfigureRequest asks for a collection with a config. It returns [ErrCollectionExists] where
// Create names one that is there.
type ConfigureRequest struct {
	Collection string
	Create     bool
	Config     Config
}

// ChangesRequest asks for the ids of at most Limit documents that were put or deleted after a
// sequence number. With Keep the log after that number is kept until a call with Release, or until
// the collection is opened anew; one caller at a time.
type ChangesRequest struct {
	Collection string
	After      uint64
	Limit      int // 0: only End
	Keep       bool
	Release    bool
}

// ChangesResponse answers a [ChangesRequest].
type ChangesResponse struct {
	IDs  []string // each once
	Next uint64   // sequence number to go on with; After where there are no changes
	End  uint64   // sequence number of the last change of the collection
}

// StatsRequest asks for gauges.
type StatsRequest struct {
	Collection string // whose indexes are measured, which may take as long as some searches; empty: none
}

// StatsResponse answers a [StatsRequest].
type StatsResponse struct {
	StoreBytes int64
	StoreID    string // another one after a backup was restored; empty: there is no store here
	ReadOnly   string // why writes are refused after a failed commit; empty: they are taken
	Rebuilds   []Rebuild
	Index      *IndexStats
}

// Rebuild is a derived index that is being filled in the background.
type Rebuild struct {
	Collection  string
	Index       string // vector, keyword
	Done, Total int64  // passages, documents
	Began       time.Time
}

// IndexStats are the gauges of a collection's derived indexes.
type IndexStats struct {
	Documents int
	Passages  int
	Damaged   int // documents with a value that cannot be read, as far as is known

	Graph        GraphStats
	GraphRebuild bool // passages are missing in the graph and found by a scan

	KeywordRebuild bool   // documents are missing in the keyword index
	KeywordBytes   int64  // on disk
	KeywordLag     uint64 // changes that are committed and that the keyword index has not applied
}

// GraphStats are the gauges of a graph of vectors.
type GraphStats struct {
	Nodes    int // vectors that are alive; copies of one share a node
	Dead     int // nodes that are dead and wait for a compaction
	Layers   int
	EfSearch int // beam width of a search for ten results that names none

	VectorBytes, CodeBytes, LinkBytes, TableBytes int64 // in memory

	ProbedAt    time.Time // zero: never
	Recall      float64   // recall@10 of searches for some stored vectors, as of ProbedAt
	Unreachable int       // vectors that no path leads to, as of ProbedAt
}

// Bytes returns the memory of the graph.
func (g GraphStats) Bytes() int64 { return g.VectorBytes + g.CodeBytes + g.LinkBytes + g.TableBytes }

// CheckRequest asks for a check.
type CheckRequest struct {
	Deep    bool // read every stored byte
	Stored  bool // only read each stored value, while writes go on
	Vectors bool // only look for documents with a damaged vector, and note them: writing them again repairs them
}

// CheckResponse answers a [CheckRequest].
type CheckResponse struct {
	Problems []Problem
	Vectors  map[string][]string // ids of the documents with a damaged vector, by collection
}

// Problem is a fault.
type Problem struct {
	Where string // file, collection or key
	What  string
}
