package hnsw

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
)

const noNode = math.MaxUint32

// plan is the result of the search for the place of a new node.
type plan struct {
	id     uint32
	node   uint32
	level  int
	layers [maxLevel + 1][]key // candidates per layer, then the neighbors selected from them; nearest first
}

// Add inserts a vector under an id. The search for its place runs beside other writers and readers;
// only linking is exclusive. An id that is there with the same vector is left as it is.
//
// Errors: ErrDimension, ErrNotFinite, ErrZero, ErrExists, ErrFull; the graph is unchanged then.
// (Algorithm 1.)
func (g *Graph) Add(id uint32, v []float32) error {
	if err := g.o.checkVector(v); err != nil {
		return fmt.Errorf("id %d: %w", id, err)
	}
	s := g.pool.take()
	defer g.pool.put(s)
	s.prepare(g, v)
	s.hash = digest(s.vec)
	c := g.core.Load()
	p := &s.plan
	p.id, p.node, p.level = id, noNode, g.o.levelOf(id)
	c.from(&s.query, s.vec)
	seen := c.plan(s, p)

	g.mu.Lock()
	defer g.mu.Unlock()
	if g.core.Load() != c || c.next-seen > replanAfter {
		c = g.core.Load()
		c.from(&s.query, s.vec)
		seen = c.plan(s, p)
	}
	if done, err := c.attach(s, id); done || err != nil {
		if err == nil {
			g.noteCopy(c, id)
		}
		return err
	}
	if err := c.reserve(1); err != nil {
		return err
	}
	c.refresh(s, p, seen)
	c.insert(s, p, &g.mu.merge)
	g.mu.journal.note(id, p.node)
	g.calibrateIfDue()
	return nil
}

// noteCopy notes that id has been made one of a node that was there.
func (g *Graph) noteCopy(c *core, id uint32) {
	if node, ok := c.ids.lookup(id); ok {
		g.mu.journal.note(id, node)
	}
}

// replanAfter is the number of nodes linked since a plan was made from which on it is made again,
// under the lock; fewer are measured one by one.
const replanAfter = 128

// attach answers for an id or a vector, that of s.query, that is there already: it reports true if
// nothing is left to do.
func (c *core) attach(s *scratch, id uint32) (bool, error) {
	if node, ok := c.ids.lookup(id); ok {
		if c.holds(node, s) {
			return true, nil
		}
		return true, fmt.Errorf("%w: %d", ErrExists, id)
	}
	node, ok := c.dedup.find(s.hash, func(node uint32) bool { return c.holds(node, s) })
	if !ok {
		return false, nil
	}
	c.attachTo(node, id)
	return true, nil
}

// holds reports whether a node holds the vector of s.query. Without the vectors at hand it goes by
// the tag, which is drawn from all bits of the vector, and the code: two that differ and have both
// in common differ by a thousandth at most and occur once in 2^31 such pairs.
func (c *core) holds(node uint32, s *scratch) bool {
	if c.resident() {
		return equalBits(c.vector(node), s.vec)
	}
	g, row := c.locate(node)
	return g.tags[row] == uint32(s.hash>>33) && g.scales[row] == s.query.scale &&
		slices.Equal(g.code(row, c.rotation.width), s.query.code)
}

// contentOf returns the digest of a node's vector, as far as the table of contents looks at it.
func (c *core) contentOf(node uint32) uint64 {
	if c.resident() {
		return digest(c.vector(node))
	}
	g, row := c.locate(node)
	return uint64(g.tags[row]) << 33
}

// attachTo makes id one of the ids of a node.
func (c *core) attachTo(node, id uint32) {
	g, row := c.locate(node)
	if g.flags[row].Load()&flagGroup != 0 {
		c.copies.add(node, id)
	} else {
		c.copies.add(node, atomic.LoadUint32(&g.ids[row]), id)
		g.flags[row].Or(flagGroup)
	}
	c.ids.set(id, node)
	c.live.Add(1)
}

// plan fills p.layers with the candidates for s.query among the nodes that are published, and
// returns their number.
func (c *core) plan(s *scratch, p *plan) uint32 {
	for layer := range p.layers {
		p.layers[layer] = p.layers[layer][:0]
	}
	entry, top, ok := c.entryPoint()
	limit := c.published.Load() // after the entry point, which is published last
	if !ok {
		return limit
	}
	s.room(max(c.m0, 64))
	k := c.keyOf(s, &s.query, entry)
	for layer := top; layer > p.level; layer-- {
		k = c.descend(s, &s.query, k, layer, limit)
	}
	live := c.dead.Load() == 0
	for layer := min(top, p.level); layer >= 0; layer-- {
		if live {
			c.searchLayer(s, &s.query, k, c.o.EfConstruction, layer, limit)
		} else {
			c.searchLayerLive(s, &s.query, k, c.o.EfConstruction, layer, limit)
		}
		for _, b := range s.beam.keys {
			p.layers[layer] = append(p.layers[layer], b&^keyExpanded)
		}
		if len(s.beam.keys) > 0 {
			k = s.beam.keys[0] &^ keyExpanded
		}
	}
	return limit
}

// refresh brings a plan up to date with what happened since it was made: nodes from seen on become
// candidates, dead nodes no longer are. Where none is left the plan is made again: a node without
// links could not be found.
func (c *core) refresh(s *scratch, p *plan, seen uint32) {
	if c.dead.Load() > 0 {
		for layer := 0; layer <= p.level; layer++ {
			p.layers[layer] = slices.DeleteFunc(p.layers[layer], func(k key) bool { return c.isDead(keyNode(k)) })
		}
		if len(p.layers[0]) == 0 {
			seen = c.plan(s, p)
		}
	}
	if seen < c.next {
		c.addRange(s, p, seen, c.next)
	}
}

// addRange makes the nodes from lo to hi, but for the planned one, candidates of p.
func (c *core) addRange(s *scratch, p *plan, lo, hi uint32) {
	s.room(scanBlock)
	for lo < hi {
		n := 0
		for ; lo < hi && n < scanBlock; lo++ {
			if lo != p.node && !c.isDead(lo) {
				s.nodes[n] = lo
				n++
			}
		}
		c.distances(s, &s.query, n)
		for i, node := range s.nodes[:n] {
			for layer := 0; layer <= min(p.level, c.level(node)); layer++ {
				p.layers[layer] = append(p.layers[layer], makeKey(s.dist[i], node))
			}
		}
	}
	c.trim(p)
}

// trim sorts the candidates of p and cuts them to EfConstruction.
func (c *core) trim(p *plan) {
	for layer := 0; layer <= p.level; layer++ {
		slices.Sort(p.layers[layer])
		if len(p.layers[layer]) > c.o.EfConstruction {
			p.layers[layer] = p.layers[layer][:c.o.EfConstruction]
		}
	}
}

// insert appends the row of a planned id and links it; s.vec is its vector. Room is reserved.
func (c *core) insert(s *scratch, p *plan, m *merger) {
	p.node = c.next
	c.allocate(s, p)
	c.choose(s, p)
	m.begin()
	m.add(p)
	m.run(c, []*scratch{s})
	c.publish([]*plan{p})
	c.verify(s)
}

// allocate writes the row of p.node, the next one: vector and code of s.query, id, and an empty
// record for the layers above 0.
func (c *core) allocate(s *scratch, p *plan) {
	g, row := c.locate(p.node)
	if c.resident() {
		copy(c.vector(p.node), s.vec)
	} else {
		g.tags[row] = uint32(s.hash >> 33)
	}
	c.putCode(&s.query, p.node)
	atomic.StoreUint32(&g.ids[row], p.id)
	if p.level > 0 {
		g.upper[row] = c.upper.allocate(p.level, c.m)
	}
	c.dedup.add(s.hash, p.node)
	c.next++
}

// choose selects the neighbors of a planned node on each layer and writes its own records. Nothing
// links to it yet.
func (c *core) choose(s *scratch, p *plan) {
	for layer := 0; layer <= p.level; layer++ {
		if len(p.layers[layer]) == 0 {
			continue
		}
		picked := c.selectNeighbors(s, p.layers[layer], c.m, c.m/2)
		p.layers[layer] = append(p.layers[layer][:0], picked...)
		rec := c.record(p.node, layer)
		for i, k := range picked {
			atomic.StoreUint32(&rec[i], keyNode(k)+1)
			if layer == 0 {
				atomic.AddUint32(c.inDegree(keyNode(k)), 1)
			}
		}
	}
}

// publish makes nodes that are linked visible: first to scans, then by their ids, then as entry
// point.
func (c *core) publish(plans []*plan) {
	c.published.Store(c.next)
	_, top, ok := c.entryPoint()
	for _, p := range plans {
		c.ids.set(p.id, p.node)
		if !ok || p.level > top {
			c.setEntry(p.node, p.level)
			top, ok = p.level, true
		}
	}
	c.live.Add(int64(len(plans)))
	c.unchecked += uint32(len(plans))
}
