// Package shards makes one backend of several, each of which holds some of the documents of every collection: by words, by vector, by filter and by
// facet it finds, counts, scores and orders what one backend with all of the documents would.
//
// Invariants:
//  1. A document lives on the shard that its id names, see [Place], and on no other. The number of shards of a cluster never changes.
//  2. A write is acknowledged when every shard that it touches has committed it. One that failed may have been committed by some; made again, it ends
//     with the same.
//  3. A collection is there when the first shard has it: it is the last to make one and the first to drop one. What the others have beside that is
//     never shown, unless it holds documents that nobody dropped: then the collection is damaged, and nothing of it is removed unasked.
//  4. The first shard decides what the settings of a collection are. Others that have not taken them yet get them before the collection is searched again,
//     or from the next opening.
//  5. The values, which no document has, are the first shard's.
//  6. What needs a shard that does not answer fails, and names it: an answer is never of a part of the documents without saying so.
//  7. What is kept between two calls, statistics and settings, is not older than the last write of this process, nor than what the parts were last seen to
//     have of the collection, nor than a second.
//  8. A reader changes nothing. What somebody else makes or drops part by part while it looks is looked at again, so that it is there whole or not at all.
package shards

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"searchd/search/backend"
)

// Options of [Open]. The zero value is the documented default.
type Options struct {
	Names  []string          // of the shards in messages, such as their addresses; default: shard 1, shard 2 and so on
	Notice func(text string) // told of repairs, from any goroutine; default: nobody
	Alarm  func(text string) // told of what an operator must look at; default: Notice
	Reader bool              // somebody else writes to the shards: they are neither claimed nor changed

	// Standbys has a reader take standbys in the place of shards: what it reads of these is of a moment ago.
	Standbys bool
	// Moved has shards claimed too whose documents have moved. They stay so, see [Backend.Move].
	Moved bool
}

// Backend spreads documents over shards by their ids. It is safe for concurrent use.
type Backend struct {
	parts  []*part
	reader bool
	name   string // of the cluster
	epoch  uint64 // with which the parts have been claimed; of a reader more than any
	notice func(text string)
	alarm  func(text string)

	changes   chan struct{} // one token: what makes, changes or drops a collection
	dropping  names         // collections that the first shard has dropped and others may not have
	differing names         // collections of which others may have other settings than the first shard

	writes     atomic.Uint64 // calls that changed something, or may have
	changed    atomic.Uint64 // of these, those that changed a collection
	stands     stands        // of collections
	statistics fresh[*backend.Statistics]
	configs    fresh[backend.Config] // of collections
	readings   readings

	closed atomic.Bool
}

var _ backend.Cluster = (*Backend)(nil)

// Open makes a backend of shards, which it closes with itself; where it fails they stay open. New ones become those of a new cluster in the order given;
// those of a cluster must come in its order, all of them, or the error matches [backend.ErrPlacement]. It takes the right to write from whoever had it, and
// ends what changes of collections were interrupted; it returns [backend.ErrMoved] where the documents are elsewhere by now. A reader does neither, and returns
// [backend.ErrUnavailable] where nobody has claimed the shards yet.
func Open(ctx context.Context, list []backend.Shard, o Options) (*Backend, error) {
	if len(list) == 0 || len(list) > backend.MaxShards {
		return nil, fmt.Errorf("%w: %d shards, allowed are 1 to %d", backend.ErrPlacement, len(list), backend.MaxShards)
	}
	if len(o.Names) != 0 && len(o.Names) != len(list) {
		return nil, fmt.Errorf("%w: %d names for %d shards", backend.ErrInvalid, len(o.Names), len(list))
	}
	b := &Backend{reader: o.Reader, notice: o.Notice, alarm: o.Alarm, changes: make(chan struct{}, 1)}
	if b.notice == nil {
		b.notice = func(string) {}
	}
	if b.alarm == nil {
		b.alarm = b.notice
	}
	for i, s := range list {
		p := &part{Shard: s, index: i, name: fmt.Sprintf("shard %d", i+1)}
		if len(o.Names) > 0 {
			p.name = o.Names[i]
		}
		b.parts = append(b.parts, p)
	}
	if b.reader {
		if err := b.join(ctx, o.Standbys); err != nil {
			return nil, err
		}
		return b, nil
	}
	if err := b.claim(ctx, o.Moved); err != nil {
		return nil, err
	}
	if err := b.repair(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Close closes the shards. Calls after the first do nothing.
func (b *Backend) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	_, errs := settle(b.parts, func(p *part) (none, error) { return none{}, p.Close() })
	return errors.Join(errs...)
}

// names is a set of names. It is safe for concurrent use.
type names struct {
	mu struct {
		sync.Mutex
		set map[string]bool
	}
}

func (n *names) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.set == nil {
		n.mu.set = map[string]bool{}
	}
	n.mu.set[name] = true
}

// replace makes the set one of other names.
func (n *names) replace(list []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.set = make(map[string]bool, len(list))
	for _, name := range list {
		n.mu.set[name] = true
	}
}

func (n *names) remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.mu.set, name)
}

func (n *names) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.set[name]
}
