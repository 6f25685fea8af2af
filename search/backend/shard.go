package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"searchd/index/hnsw"
	"searchd/index/keyword"
)

// Errors of a backend that is made of shards.
var (
	ErrUnavailable = errors.New("shard unavailable")         // one that is needed does not answer; of a write a part may have been carried out
	ErrClaimed     = errors.New("shard claimed")             // it belongs to another cluster, or somebody else writes to it by now
	ErrPlacement   = errors.New("shards out of place")       // they are not those of the cluster, or in another order
	ErrShard       = errors.New("data folder is a shard")    // and is served as one alone
	ErrReader      = errors.New("shards are only read here") // somebody else writes to them
	ErrMoved       = fmt.Errorf("%w: its documents have moved", ErrClaimed)
)

// ErrStatistics is matched by errors about Words.Global that is not complete, or not of the words: the settings of a collection may have changed meanwhile.
var ErrStatistics = keyword.ErrStatistics

// MaxShards is the most shards of a cluster.
const MaxShards = 256

// Statistics are what the ranking by words must know of a whole collection where a backend holds a part of it, see [Shard.Statistics].
type Statistics = keyword.Statistics

// Shard is a backend that holds some of the documents of every collection; search/shards makes one backend of several. What its methods are given and
// return speaks of its own part, but for Words with Global.
type Shard interface {
	Backend
	Values
	ChangeFeed
	VectorKeeper
	HeadReader
	Gauges

	// Statistics returns what this part knows of the words of q. Whoever asks adds up what all parts say, and asks all again with the sum as
	// q.Global until that is Complete. With it as q.Global every method that takes Words scores and reads them as if this part were the whole.
	Statistics(ctx context.Context, collection string, q Words) (Statistics, error)

	// Version names what there is of collections and values: asked for before these, it is the same as long as they are.
	Version(ctx context.Context) (string, error)

	// Identity returns what the shard is of; the zero Identity before the first Claim.
	Identity(ctx context.Context) (Identity, error)
	// Claim makes the shard a part of a cluster, or, with a higher Epoch than before, gives the right to write to somebody else of the same
	// cluster. It returns [ErrClaimed] for any other, [ErrMoved] where the shard has moved and the claim says neither Moved nor Back, and [ErrReplica]
	// where it is a standby.
	Claim(ctx context.Context, id Identity) error
}

// Identity says which part of which cluster a shard is, and who writes to it.
type Identity struct {
	Cluster string `json:"cluster"` // a random name
	Index   int    `json:"index"`   // from 0
	Of      int    `json:"of"`      // shards of the cluster
	Epoch   uint64 `json:"epoch"`   // of the last that claimed it, from 1; writes with a lower one are refused

	// Complete is the last epoch, as far as was known at its claim, that all shards of the cluster had: one with a lower one is not of these any more.
	Complete uint64 `json:"complete,omitempty"`
	// Unclaimed: the folder was put in the place of the shard, by a restore or as its standby, and nobody has claimed it since. Its Epoch is of an earlier time.
	Unclaimed bool `json:"unclaimed,omitempty"`
	// Moved is where a copy of the cluster was made, which has its writes from then on; empty: nowhere.
	Moved string `json:"moved,omitempty"`
	// Back has Claim take back that the shard has moved. It is not stored.
	Back bool `json:"back,omitempty"`
	// Follows is where the shard is that this is a standby of; empty: this is the shard. It is not stored.
	Follows string `json:"follows,omitempty"`
}

// MovedError is [ErrMoved] with where a shard has moved to and the way back. Who was told once asks no more: the way back may have been gone since.
func (id Identity) MovedError() error {
	return fmt.Errorf("%w to %s; to have it take writes again: `searchd spread --back`, and once that is done start the server in front of it again", ErrMoved, id.Moved)
}

// Position is a place in the change log of a collection: a sequence number for each part that keeps a log of its own.
type Position []uint64

// Until returns how many changes there are from p to a later position of the same log.
func (p Position) Until(later Position) (n uint64) {
	for i := range min(len(p), len(later)) {
		n += later[i] - min(p[i], later[i])
	}
	return n
}

// ChangeFeed is a backend with a change log, which re-embedding needs.
type ChangeFeed interface {
	// Position returns the end of the log of a collection.
	Position(ctx context.Context, collection string) (Position, error)
	// Changed returns the ids of at most limit documents that were put or deleted after a position, each once, and the position to go on with;
	// after itself where there are none.
	Changed(ctx context.Context, collection string, after Position, limit int) (ids []string, next Position, err error)
	// Hold keeps the log after a position until release is called or the collection is opened anew. One caller at a time.
	Hold(ctx context.Context, collection string, after Position) (release func(), err error)
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
