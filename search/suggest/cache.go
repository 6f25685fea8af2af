package suggest

import (
	"context"
	"sync"
	"time"
)

const (
	// firstWait is how long a question waits for the first index of a collection.
	firstWait = 500 * time.Millisecond
	// leastRest is the pause between two builds of an index, and restFactor that beside the time
	// that a build took.
	leastRest  = 2 * time.Second
	restFactor = 20
	maxIndexes = 8 // those asked for last
)

// Reader reads what an index is made of.
type Reader struct {
	Version uint64                                              // changes with the documents
	Read    func(ctx context.Context, add func(Document)) error // calls add with all of them
	Stop    func(word string) bool                              // reports whether a word, in lower case, means nothing by itself
}

// Cache keeps the indexes of collections.
type Cache struct {
	mu struct {
		sync.Mutex
		indexes map[string]*slot
		closed  bool
		uses    int
	}
	stop   chan struct{} // closed to end builds, which outlive a request
	builds sync.WaitGroup
}

// slot is the index of a collection.
type slot struct {
	index    *Index
	version  uint64 // of the collection that index was made of
	building bool
	built    chan struct{} // closed once there is an index, or an error
	err      error
	rest     time.Time // no build before
	used     int
}

// NewCache returns a cache, which [Cache.Close] ends.
func NewCache() *Cache {
	c := &Cache{stop: make(chan struct{})}
	c.mu.indexes = map[string]*slot{}
	return c
}

// Close ends builds and waits for them.
func (c *Cache) Close() {
	c.mu.Lock()
	if !c.mu.closed {
		close(c.stop)
	}
	c.mu.closed = true
	c.mu.Unlock()
	c.builds.Wait()
}

// Index returns the index of a collection; nil while the first one is built. One of another version
// is returned while the next is built in the background.
func (c *Cache) Index(ctx context.Context, collection string, r Reader) (*Index, error) {
	c.mu.Lock()
	s := c.mu.indexes[collection]
	if s == nil {
		s = &slot{built: make(chan struct{})}
		c.mu.indexes[collection] = s
		c.evict(collection)
	}
	c.mu.uses++
	s.used = c.mu.uses
	if (s.index == nil || s.version != r.Version) && !s.building && !c.mu.closed && !time.Now().Before(s.rest) {
		s.building = true
		c.builds.Add(1)
		go c.build(s, r)
	}
	index := s.index
	c.mu.Unlock()
	if index != nil {
		return index, nil
	}
	wait := time.NewTimer(firstWait)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
		return nil, nil
	case <-s.built:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.index, s.err
}

// evict drops the index that was not asked for longest. The caller holds the lock.
func (c *Cache) evict(but string) {
	if len(c.mu.indexes) <= maxIndexes {
		return
	}
	oldest := ""
	for name, s := range c.mu.indexes {
		if name != but && (oldest == "" || s.used < c.mu.indexes[oldest].used) {
			oldest = name
		}
	}
	delete(c.mu.indexes, oldest)
}

// build makes the index of a slot.
func (c *Cache) build(s *slot, r Reader) {
	defer c.builds.Done()
	began := time.Now()
	b := newBuilder(r.Stop)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-c.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := r.Read(ctx, b.add)
	var x *Index
	if err == nil {
		x = b.index()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.building, s.err = false, err
	s.rest = time.Now().Add(max(leastRest, restFactor*time.Since(began)))
	if err == nil {
		s.index, s.version = x, r.Version
	} else if s.index != nil {
		s.err = nil // the old one serves on
	}
	select {
	case <-s.built:
	default:
		close(s.built)
	}
}
