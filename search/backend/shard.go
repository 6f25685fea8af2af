package backend

import (
	"context"
	"time"

	"searchd/index/hnsw"
	"searchd/index/keyword"
)

// ErrStatistics is matched by errors about Words.Global that is not complete, or not of the words: the settings of a collection may have changed meanwhile.
var ErrStatistics = keyword.ErrStatistics

// Statistics are what the ranking by words must know of a whole collection where a backend holds a part of it.
type Statistics = keyword.Statistics

// ChangeFeed is a backend with a change log, which re-embedding needs.
type ChangeFeed interface {
	// Position returns the end of the log of a collection.
	Position(ctx context.Context, collection string) (uint64, error)
	// Changed returns the ids of at most limit documents that were put or deleted after a position, each once, and the position to go on with;
	// after itself where there are none.
	Changed(ctx context.Context, collection string, after uint64, limit int) (ids []string, next uint64, err error)
	// Hold keeps the log after a position until release is called or the collection is opened anew. One caller at a time.
	Hold(ctx context.Context, collection string, after uint64) (release func(), err error)
}

// VectorKeeper is a backend that can tell what the vectors of a document belong to.
type VectorKeeper interface {
	// Encoded returns a document without its fields and the vectors of its passages, as one moment has them; nil where there is none, or one
	// of them cannot be read.
	Encoded(ctx context.Context, collection, id string) (*Document, [][]float32, error)
	// DamagedVectors returns the ids of the documents with a damaged vector, by collection, and takes note of them: written again they are whole.
	DamagedVectors(ctx context.Context) (map[string][]string, error)
}

// Head tells what a document holds from what it held before: its content is the same where the hash is, and how it was cut where the number of passages is.
type Head struct {
	ID       string
	Hash     [32]byte
	Passages int
}

// HeadReader is a backend that tells what documents there are without reading what they hold.
type HeadReader interface {
	// Heads returns the heads of documents in the order of List, and takes and returns cursors of its own.
	Heads(ctx context.Context, collection, cursor string, limit int) (heads []Head, next string, err error)
	// LookupHeads returns heads by id; the zero Head where there is no such document.
	LookupHeads(ctx context.Context, collection string, ids []string) ([]Head, error)
}

// Gauges is a backend that tells how it is.
type Gauges interface {
	StoreSize() (int64, error)
	ReadOnly() error // nil while writes are taken
	Rebuilds() []Rebuild
	IndexStats(ctx context.Context, collection string) (IndexStats, error)
}

// IndexStats are the gauges of a collection's derived indexes.
type IndexStats struct {
	Documents      int
	Passages       int
	Damaged        int // documents with a value that cannot be read, as far as is known
	Graph          hnsw.Stats
	Probe          hnsw.Probe // as of ProbedAt
	ProbedAt       time.Time  // zero: never
	GraphRebuild   bool       // passages are missing in the graph and found by a scan
	KeywordRebuild bool       // documents are missing in the keyword index
	KeywordBytes   int64      // on disk
	KeywordLag     uint64     // changes that are committed and that the keyword index has not applied
}
