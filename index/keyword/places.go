package keyword

import (
	"hash/maphash"
	"slices"
	"sync"
)

// place is where a term is in a text. Terms are told apart by 64 bits of a keyed hash.
type place struct {
	term            uint64
	position, start uint32
}

const (
	placeBytes   = 16
	placesBudget = 32 << 20                       // bytes of places kept of texts that were looked through for phrases, of all indexes
	placesMost   = placesBudget / 16 / placeBytes // of one text; those of longer ones are not kept
)

// placesKey names a text and its analysis by what they are, so that nothing that is kept can be out of date.
type placesKey struct {
	language string
	text     uint64
	length   int
}

var (
	placesSeed = maphash.MakeSeed()
	placesKept placesCache
)

// placesCache keeps places of texts in two generations: when one has half of the budget, the one before it is dropped. Its zero value is empty.
type placesCache struct {
	mu          sync.Mutex
	spent       int // bytes of now
	now, before map[placesKey][]place
}

func (c *placesCache) get(key placesKey) ([]place, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.now[key]; ok {
		return p, true
	}
	p, ok := c.before[key]
	if ok {
		c.add(key, p)
	}
	return p, ok
}

func (c *placesCache) put(key placesKey, p []place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.now[key]; !ok {
		c.add(key, p)
	}
}

// add puts p into now, with the lock held.
func (c *placesCache) add(key placesKey, p []place) {
	const overhead = 100 // of the key and its place in the map
	n := placeBytes*len(p) + overhead
	if c.now == nil || c.spent+n > placesBudget/2 {
		c.now, c.before, c.spent = map[placesKey][]place{}, c.now, 0
	}
	c.now[key] = p
	c.spent += n
}

// eachPlace calls f with the places of all terms of text, in order.
func (a analyzer) eachPlace(text string, f func(p place)) {
	key := placesKey{a.language, maphash.String(placesSeed, text), len(text)}
	if kept, ok := placesKept.get(key); ok {
		for _, p := range kept {
			f(p)
		}
		return
	}
	all := make([]place, 0, min(len(text)/6, placesMost)+1) // of an English text there are about as many
	a.each(text, func(t token) bool {
		p := place{maphash.String(placesSeed, t.term), uint32(t.position), uint32(t.start)}
		if len(all) <= placesMost {
			all = append(all, p)
		}
		f(p)
		return true
	})
	if len(all) <= placesMost {
		placesKept.put(key, slices.Clone(all))
	}
}
