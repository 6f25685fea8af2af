package hnsw

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
)

// idTable maps ids to nodes: a radix tree of four levels, so that readers need no lock, dense ids
// cost four bytes each and one far from all others 2.5 KB. One writer.
type idTable struct {
	root [1 << 11]atomic.Pointer[idTrunk]
}

type (
	idTrunk  [1 << 7]atomic.Pointer[idBranch]
	idBranch [1 << 7]atomic.Pointer[idLeaf]
	idLeaf   [1 << 7]atomic.Uint32 // node+1, 0: none
)

// leaf returns the leaf for an id, or nil.
func (t *idTable) leaf(id uint32) *idLeaf {
	if trunk := t.root[id>>21].Load(); trunk != nil {
		if branch := trunk[id>>14&127].Load(); branch != nil {
			return branch[id>>7&127].Load()
		}
	}
	return nil
}

func (t *idTable) lookup(id uint32) (node uint32, ok bool) {
	l := t.leaf(id)
	if l == nil {
		return 0, false
	}
	n := l[id&127].Load()
	return n - 1, n != 0
}

func (t *idTable) set(id, node uint32) {
	branch := grown(&grown(&t.root[id>>21])[id>>14&127])
	grown(&branch[id>>7&127])[id&127].Store(node + 1)
}

func (t *idTable) remove(id uint32) {
	if l := t.leaf(id); l != nil {
		l[id&127].Store(0)
	}
}

// grown returns what p points to, which it makes if there is nothing yet.
func grown[T any](p *atomic.Pointer[T]) *T {
	if v := p.Load(); v != nil {
		return v
	}
	v := new(T)
	p.Store(v)
	return v
}

// groups holds the ids of the nodes that have more than one, all of them.
type groups struct {
	mu  sync.RWMutex
	ids map[uint32]*roaring.Bitmap
}

func (g *groups) add(node uint32, ids ...uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.ids[node]
	if b == nil {
		if g.ids == nil {
			g.ids = make(map[uint32]*roaring.Bitmap)
		}
		b = roaring.New()
		g.ids[node] = b
	}
	b.AddMany(ids)
}

// remove takes an id out of a group and returns the number that is left, and one of those.
func (g *groups) remove(node, id uint32) (left uint64, one uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.ids[node]
	b.Remove(id)
	if left = b.GetCardinality(); left > 0 {
		one = b.Minimum()
	}
	return left, one
}

// drop forgets a group.
func (g *groups) drop(node uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.ids, node)
}

// appendIDs appends up to limit ids of a group, smallest first, leaving out what allow, where not
// nil, does not hold. ok is false where the group is one no more.
func (g *groups) appendIDs(dst []uint32, node uint32, limit int, allow *roaring.Bitmap) (_ []uint32, ok bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	b := g.ids[node]
	if b == nil {
		return dst, false
	}
	for it := b.Iterator(); limit > 0 && it.HasNext(); {
		if id := it.Next(); allow == nil || allow.Contains(id) {
			dst = append(dst, id)
			limit--
		}
	}
	return dst, true
}

// allowed reports whether allow holds an id of the group. ok is false where the group is one no
// more.
func (g *groups) allowed(node uint32, allow *roaring.Bitmap) (allowed, ok bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	b := g.ids[node]
	return b != nil && b.Intersects(allow), b != nil
}

// digests finds the node that holds a vector: open addressing over (tag, node) with linear probing.
// The tag, 31 bits of the digest, also determines where a search begins, so that growing reads no
// vector.
// For the writer.
type digests struct {
	slots []uint64 // tag<<32 | node+1; 0: free; digestRemoved: the node has left
	used  int      // slots that are not free
}

const digestRemoved = 1 << 63

func (t *digests) init() { t.slots = make([]uint64, 256) }

// digest returns a hash of the bits of v.
func digest(v []float32) uint64 {
	h := uint64(len(v)) * 0x9E3779B97F4A7C15
	i := 0
	for ; i+2 <= len(v); i += 2 {
		w := uint64(math.Float32bits(v[i])) | uint64(math.Float32bits(v[i+1]))<<32
		hi, lo := bits.Mul64(h^w, 0x9FB21C651E98DF25)
		h = hi ^ lo ^ w
	}
	if i < len(v) {
		hi, lo := bits.Mul64(h^uint64(math.Float32bits(v[i])), 0x9FB21C651E98DF25)
		h = hi ^ lo
	}
	return mix(h)
}

// mix is the finalizer of splitmix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>27) * 0x94D049BB133111EB
	return h ^ h>>31
}

// find returns a node with the digest h that same accepts.
func (t *digests) find(h uint64, same func(node uint32) bool) (uint32, bool) {
	mask := uint64(len(t.slots) - 1)
	for i := h >> 33 & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if s := t.slots[i]; s>>32 == h>>33 && uint32(s) != 0 && same(uint32(s)-1) {
			return uint32(s) - 1, true
		}
	}
	return 0, false
}

func (t *digests) add(h uint64, node uint32) {
	if (t.used+1)*4 > len(t.slots)*3 {
		t.grow()
	}
	t.place(h>>33<<32 | uint64(node+1))
	t.used++
}

func (t *digests) place(slot uint64) {
	mask := uint64(len(t.slots) - 1)
	i := slot >> 32 & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = slot
}

func (t *digests) remove(h uint64, node uint32) {
	mask := uint64(len(t.slots) - 1)
	for i := h >> 33 & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if uint32(t.slots[i]) == node+1 {
			t.slots[i] = digestRemoved
			return
		}
	}
}

// grow doubles the table, or only cleans it where removed slots make up half of it.
func (t *digests) grow() {
	old, live := t.slots, 0
	for _, s := range old {
		if uint32(s) != 0 {
			live++
		}
	}
	size := len(old)
	if live*2 > size {
		size *= 2
	}
	t.slots, t.used = make([]uint64, size), live
	for _, s := range old {
		if uint32(s) != 0 {
			t.place(s)
		}
	}
}

func equalBits(a, b []float32) bool {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return false
		}
	}
	return true
}
