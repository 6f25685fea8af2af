package embedded

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"searchd/search/backend"
	"searchd/store"
)

// What followers have not asked for yet stays in the log: each has a lease from its first request until an hour after its last one. Leases are
// kept in memory alone, so the last keptChanges of each collection stay, too, whoever follows: a restart costs no follower a whole copy.
const (
	keptChanges = 10_000
	leaseTime   = time.Hour
	maxLeases   = 64      // the one that was silent longest gives way
	newsBytes   = 4 << 20 // of one answer to a follower
)

// leases say how much of the log followers need.
type leases struct {
	now func() time.Time // nil: time.Now
	mu  struct {
		sync.Mutex
		byName map[string]*lease
	}
}

type lease struct {
	after   map[uint32]uint64 // sequence number by collection; one that is not in it: 0
	seen    time.Time
	copying int // copies that are being sent
}

func (l *leases) time() time.Time {
	if l.now != nil {
		return l.now()
	}
	return time.Now()
}

// keep notes where a follower is.
func (l *leases) keep(follower string, after map[uint32]uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(follower).after = maps.Clone(after)
}

// copy keeps the whole log until a follower has a copy, and asks for what came since.
func (l *leases) copy(follower string) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.of(follower)
	x.after = nil
	x.copying++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		x.copying--
		x.seen = l.time()
	}
}

// of returns the lease of a follower, a new one where it has none. The caller holds mu.
func (l *leases) of(follower string) *lease {
	l.expire()
	x := l.mu.byName[follower]
	if x == nil {
		if len(l.mu.byName) >= maxLeases {
			l.drop()
		}
		if x = (&lease{}); l.mu.byName == nil {
			l.mu.byName = map[string]*lease{}
		}
		l.mu.byName[follower] = x
	}
	x.seen = l.time()
	return x
}

// expire forgets the followers that have not been heard of for too long. The caller holds mu.
func (l *leases) expire() {
	now := l.time()
	maps.DeleteFunc(l.mu.byName, func(_ string, x *lease) bool { return x.copying == 0 && now.Sub(x.seen) > leaseTime })
}

// drop forgets the follower that was silent longest; one that a copy is being sent to only where there is no other. The caller holds mu.
func (l *leases) drop() {
	oldest, of := "", (*lease)(nil)
	for name, x := range l.mu.byName {
		if of == nil || (x.copying > 0) == (of.copying > 0) && x.seen.Before(of.seen) || x.copying == 0 && of.copying > 0 {
			oldest, of = name, x
		}
	}
	delete(l.mu.byName, oldest)
}

// upTo returns up to where the log of a collection is needed by no follower, at most seq.
func (l *leases) upTo(collection uint32, seq uint64) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire()
	for _, x := range l.mu.byName {
		seq = min(seq, x.after[collection])
	}
	return seq
}

func (l *leases) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire()
	return len(l.mu.byName)
}

// News returns what a follower lacks that has the changes up to after, by collection, and the names and values of a version. It returns
// [backend.ErrPlaceLost] where the follower needs a copy, and [backend.ErrReplica] where this folder follows another itself.
func (b *Backend) News(ctx context.Context, follower string, after map[uint32]uint64, version uint64) (*store.News, error) {
	if err := b.own(); err != nil {
		return nil, err
	}
	b.leases.keep(follower, after)
	n, err := b.store.News(ctx, store.Wanted{After: after, Version: version, Bytes: newsBytes, Omit: localPrefix, Begin: firstSequence,
		Damaged: func(c store.Collection, err error) {
			if b.unsent(c.ID, err) {
				b.alarm(fmt.Sprintf("a damaged value cannot be sent to followers: collection %q: %v", c.Name, err))
			}
		}})
	if errors.Is(err, store.ErrTrimmed) || errors.Is(err, store.ErrAhead) {
		err = fmt.Errorf("%w: %w", backend.ErrPlaceLost, err)
	}
	return n, translate(err)
}

// unsent reports whether a damaged value has not been told of yet.
func (b *Backend) unsent(collection uint32, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := fmt.Sprint(collection, err)
	if b.mu.unsent[key] || len(b.mu.unsent) >= 1000 {
		return false
	}
	if b.mu.unsent == nil {
		b.mu.unsent = map[string]bool{}
	}
	b.mu.unsent[key] = true
	return true
}

// firstSequence is the sequence number before the first change of a collection.
func firstSequence(c store.Collection) uint64 {
	var config backend.Config
	_ = json.Unmarshal(c.Settings, &config)
	return config.FirstSequence
}

// Followers is how many follow.
func (b *Backend) Followers() int { return b.leases.count() }

// Copy is Backup for a follower that begins.
func (b *Backend) Copy(ctx context.Context, follower string, w io.Writer) (int64, error) {
	if err := b.own(); err != nil {
		return 0, err
	}
	defer b.leases.copy(follower)()
	return b.Backup(ctx, w)
}

// StoreID names what the sequence numbers are of.
func (b *Backend) StoreID() string {
	id := b.store.ID()
	return hex.EncodeToString(id[:])
}

// Commits counts the commits since the opening. The channel is closed by the next one.
func (b *Backend) Commits() (n uint64, next <-chan struct{}) { return b.store.Commits() }
