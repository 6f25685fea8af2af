// Package shards makes one backend of several, each of which holds some of the documents of every collection: by words, by vector, by filter and by
// facet it finds, counts, scores and orders what one backend with all of the documents would.
package shards

import (
	"context"
	"errors"

	"searchd/search/backend"
)

// Options of [Open]. The zero value is the documented default.
type Options struct {
	Names  []string          // of the shards in messages, such as their addresses; default: shard 1, shard 2 and so on
	Notice func(text string) // told of repairs, from any goroutine; default: nobody
	Alarm  func(text string) // told of what an operator must look at; default: Notice
}

// Backend spreads documents over shards by their ids. It is safe for concurrent use.
type Backend struct {
	backend.Shard
}

// Open makes a backend of shards, which it closes with itself. New ones become those of a new cluster in the order given; those of a cluster must come in
// its order, all of them. It takes the right to write from whoever had it.
func Open(ctx context.Context, list []backend.Shard, o Options) (*Backend, error) {
	return nil, errors.ErrUnsupported
}
