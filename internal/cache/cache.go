// Package cache keeps values within a budget of bytes.
package cache

import "sync"

// Cache maps keys to values in two generations: when the current one has half of the budget, it
// replaces the previous one, whose values are dropped unless they were read since. It is safe for
// concurrent use; New makes one.
type Cache[K comparable, V any] struct {
	budget int

	mu struct {
		sync.Mutex
		bytes             int // of current
		current, previous map[K]entry[V]
	}
}

type entry[V any] struct {
	value V
	bytes int
}

// overhead is about what a key and its place in a map take.
const overhead = 128

// New returns an empty cache that holds about so many bytes.
func New[K comparable, V any](budget int) *Cache[K, V] { return &Cache[K, V]{budget: budget} }

// Get returns the value of a key.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.mu.current[key]; ok {
		return e.value, true
	}
	e, ok := c.mu.previous[key]
	if ok {
		delete(c.mu.previous, key)
		c.add(key, e)
	}
	return e.value, ok
}

// Put keeps a value of the given size, unless the key has one or the value takes more than half of
// the budget.
func (c *Cache[K, V]) Put(key K, value V, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.mu.current[key]; ok || bytes+overhead > c.budget/2 {
		return
	}
	delete(c.mu.previous, key)
	c.add(key, entry[V]{value, bytes + overhead})
}

// Len returns the number of values.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mu.current) + len(c.mu.previous)
}

// Bytes returns the size of the values and their keys.
func (c *Cache[K, V]) Bytes() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range []map[K]entry[V]{c.mu.current, c.mu.previous} {
		for _, e := range m {
			n += e.bytes
		}
	}
	return n
}

// add puts e into the current generation. The caller holds mu.
func (c *Cache[K, V]) add(key K, e entry[V]) {
	if c.mu.current == nil || c.mu.bytes+e.bytes > c.budget/2 {
		c.mu.current, c.mu.previous, c.mu.bytes = map[K]entry[V]{}, c.mu.current, 0
	}
	c.mu.current[key] = e
	c.mu.bytes += e.bytes
}
