package inference

import (
	"container/list"
	"sync"
)

// lru keeps values by key up to a budget; what was used least recently is dropped first. It is safe
// for concurrent use.
type lru[K comparable, V any] struct {
	budget int
	cost   func(K, V) int

	mu struct {
		sync.Mutex
		order *list.List // of *kept[K, V], most recent first
		byKey map[K]*list.Element
		spent int
	}
}

type kept[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](budget int, cost func(K, V) int) *lru[K, V] {
	c := &lru[K, V]{budget: budget, cost: cost}
	c.mu.order, c.mu.byKey = list.New(), map[K]*list.Element{}
	return c
}

func (c *lru[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.mu.byKey[key]
	if el == nil {
		return value, false
	}
	c.mu.order.MoveToFront(el)
	return el.Value.(*kept[K, V]).value, true
}

// put keeps a value, unless there is one of this key.
func (c *lru[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.byKey[key] != nil {
		return
	}
	c.mu.byKey[key] = c.mu.order.PushFront(&kept[K, V]{key, value})
	for c.mu.spent += c.cost(key, value); c.mu.spent > c.budget; {
		last := c.mu.order.Remove(c.mu.order.Back()).(*kept[K, V])
		delete(c.mu.byKey, last.key)
		c.mu.spent -= c.cost(last.key, last.value)
	}
}

func (c *lru[K, V]) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.order.Len()
}
