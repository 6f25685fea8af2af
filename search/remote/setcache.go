package remote

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"

	"searchd/search/backend"
)

// A search sends the set of documents that it may find with each of its steps. A large one crosses the wire once: the shard remembers the last of them by
// a hash of their documents, which says all that the set is.

// Bounds of what is remembered.
const (
	largeSet     = 4 << 10     // bytes of a set from which on it is
	maxSetsBytes = 128 << 20   // of all of them
	setCost      = 4           // what a set takes in memory, by its bytes on the wire: its documents, and their passages
	setTime      = time.Minute // that one which nobody uses is remembered
)

// setKey is what a set that is remembered is.
type setKey struct {
	collection       string
	digest           [sha256.Size]byte
	partial, vectors bool
}

// setCache remembers the sets that were used last, as the shard itself has them. One that is not used for about setTime is forgotten, and so are those of a
// collection that is dropped or changed: they hold on to what it has in memory.
type setCache struct {
	mu struct {
		sync.Mutex
		byKey map[setKey]*list.Element // of *setEntry
		last  *list.List               // the one used last in front
		bytes int
		sweep *time.Timer // nil while nothing is remembered
	}
}

type setEntry struct {
	key   setKey
	set   backend.Selection
	bytes int
	used  time.Time
}

func (c *setCache) get(key setKey) (backend.Selection, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.byKey[key]
	if !ok {
		return nil, false
	}
	c.mu.last.MoveToFront(e)
	entry := e.Value.(*setEntry)
	entry.used = time.Now()
	return entry.set, true
}

// put remembers a set that takes n bytes on the wire.
func (c *setCache) put(key setKey, set backend.Selection, n int) {
	n *= setCost
	if n > maxSetsBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.byKey == nil {
		c.mu.byKey, c.mu.last = map[setKey]*list.Element{}, list.New()
	}
	if e, ok := c.mu.byKey[key]; ok {
		c.remove(e)
	}
	for c.mu.bytes+n > maxSetsBytes {
		c.remove(c.mu.last.Back())
	}
	c.mu.byKey[key] = c.mu.last.PushFront(&setEntry{key, set, n, time.Now()})
	c.mu.bytes += n
	if c.mu.sweep == nil {
		c.mu.sweep = time.AfterFunc(setTime, c.forgetUnused)
	}
}

// remove forgets one. The caller holds mu.
func (c *setCache) remove(e *list.Element) {
	entry := c.mu.last.Remove(e).(*setEntry)
	delete(c.mu.byKey, entry.key)
	c.mu.bytes -= entry.bytes
}

// forgetUnused forgets what has not been used for a while, and looks again later where something is left.
func (c *setCache) forgetUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.mu.last.Back(); e != nil && time.Since(e.Value.(*setEntry).used) >= setTime; e = c.mu.last.Back() {
		c.remove(e)
	}
	if c.mu.sweep = nil; c.mu.last.Len() > 0 {
		c.mu.sweep = time.AfterFunc(setTime, c.forgetUnused)
	}
}

// forget forgets the sets of a collection.
func (c *setCache) forget(collection string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.mu.byKey {
		if key.collection == collection {
			c.remove(e)
		}
	}
}
