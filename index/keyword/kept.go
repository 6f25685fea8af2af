package keyword

import "sync"

// kept keeps values in two generations: when one has half of the budget, the one before it is
// dropped. It begins empty.
type kept[K comparable, V any] struct {
	budget int // bytes

	mu          sync.Mutex
	spent       int // bytes of now
	now, before map[K]sized[V]
}

type sized[V any] struct {
	value V
	bytes int
}

func (c *kept[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.now[key]; ok {
		return v.value, true
	}
	v, ok := c.before[key]
	if ok {
		c.add(key, v)
	}
	return v.value, ok
}

// put keeps a value that takes so many bytes.
func (c *kept[K, V]) put(key K, value V, bytes int) {
	const overhead = 128 // of the key and its place in the map
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.now[key]; !ok {
		c.add(key, sized[V]{value, bytes + overhead})
	}
}

// add puts v into now, with the lock held.
func (c *kept[K, V]) add(key K, v sized[V]) {
	if c.now == nil || c.spent+v.bytes > c.budget/2 {
		c.now, c.before, c.spent = map[K]sized[V]{}, c.now, 0
	}
	c.now[key] = v
	c.spent += v.bytes
}
