package backend

import (
	"context"
	"fmt"
)

// Cluster is a backend that is made of shards. A call that needs a shard which does not answer returns [ErrUnavailable]; a write of somebody else than the
// last to claim the shards [ErrClaimed].
type Cluster interface {
	Backend
	Joined
	Values
	ChangeFeed
	VectorKeeper
	HeadReader
	Gauges
	// Opened describes a collection for a search by q: what has to be known of these words before anything is found comes with it.
	Opened(ctx context.Context, name string, q Words) (Collection, error)
	// Stands reports whether a word of q is known to stand for Near and Beginning, which need not be asked then; false says nothing.
	Stands(ctx context.Context, collection string, q Words, word string) (bool, error)
	// Name is that of the cluster: servers that have another one have other shards.
	Name() string
	// Reader says whether somebody else writes to the shards: what would change them returns [ErrReader].
	Reader() bool
	// Version names what there is of collections and values: asked for before these, it is the same as long as they are.
	Version(ctx context.Context) (string, error)
	// States says how each shard is, in their order, as far as that is told before ctx ends. counted: with the number of its documents, which costs more.
	States(ctx context.Context, counted bool) []ShardState
}

// ShardError says of which shard an error is.
type ShardError struct {
	Shard string
	Err   error
}

func (e *ShardError) Error() string { return fmt.Sprintf("%s: %v", e.Shard, e.Err) }

// Unwrap returns the error of the shard.
func (e *ShardError) Unwrap() error { return e.Err }

// ShardState says how a shard is.
type ShardState struct {
	Name       string
	Err        error // nil: it answers. Of one that somebody else has claimed since it matches [ErrClaimed], and the rest is there
	ReadOnly   error // nil while it takes writes
	StoreBytes int64
	Documents  int // of all collections, where they were counted
}
