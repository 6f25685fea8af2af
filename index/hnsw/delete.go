package hnsw

import (
	"slices"
	"sync/atomic"
)

// Delete removes an id and reports whether it was there. Its vector stays as a signpost, out of
// every result, until a fifth of the graph is dead and a compaction in the background drops all
// that are; its neighbors are linked past it at once. Safe for concurrent use.
func (g *Graph) Delete(id uint32) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.core.Load()
	s := g.pool.take()
	defer g.pool.put(s)
	if !c.remove(s, id) {
		return false
	}
	g.mu.journal.note(id, noNode)
	if c.live.Load() == 0 {
		g.mu.journal = nil // a compaction has nothing left to do
		g.core.Store(newCore(&g.o, uint32(g.o.Capacity)))
		return true
	}
	g.compactIfDue(c)
	return true
}

// remove takes an id out and reports whether it was there.
func (c *core) remove(s *scratch, id uint32) bool {
	node, ok := c.ids.lookup(id)
	if !ok {
		return false
	}
	c.ids.remove(id)
	c.live.Add(-1)
	seg, row := c.locate(node)
	group := seg.flags[row].Load()&flagGroup != 0
	if group {
		switch left, one := c.copies.remove(node, id); left {
		case 0: // a snapshot may hold groups of one
		case 1:
			c.ungroup(node, one)
			return true
		default:
			return true
		}
	}
	seg.flags[row].Or(flagDead)
	if group {
		c.copies.drop(node)
	}
	c.dead.Add(1)
	c.dedup.remove(c.contentOf(node), node)
	if entry, _, _ := c.entryPoint(); entry == node {
		c.moveEntry()
	}
	c.bypass(s, node)
	return true
}

// ungroup makes a node with one id left one like any other: a group takes hundreds of bytes. A
// reader that still sees a group finds none, and then takes the id of the row.
func (c *core) ungroup(node, id uint32) {
	seg, row := c.locate(node)
	atomic.StoreUint32(&seg.ids[row], id)
	seg.flags[row].And(^uint32(flagGroup))
	c.copies.drop(node)
}

// moveEntry makes the first live node of the highest level the entry point, or clears it if no node
// is live.
func (c *core) moveEntry() {
	best, level := uint32(0), -1
	for node := range c.next {
		if l := c.level(node); l > level && !c.isDead(node) {
			best, level = node, l
		}
	}
	if level < 0 {
		c.entry.Store(0)
		return
	}
	c.setEntry(best, level)
}

// bypass relinks the nodes around a dead one that lead to it, as far as they are within two links
// of it: links are one-way and nothing records who leads to a node, but most of those that do are
// close by. The others find it, and its own links, until the compaction.
func (c *core) bypass(s *scratch, dead uint32) {
	s.touched = s.touched[:0]
	for layer := 0; layer <= c.level(dead); layer++ {
		around := s.around[:0]
		for _, u := range c.record(dead, layer) {
			if u == 0 {
				continue
			}
			around = append(around, u-1)
			for _, w := range c.record(u-1, layer) {
				if w != 0 {
					around = append(around, w-1)
				}
			}
		}
		slices.Sort(around)
		around = slices.Compact(around)
		s.around = around
		for _, u := range around {
			if u != dead && !c.isDead(u) && slices.Contains(c.record(u, layer), dead+1) {
				c.relink(s, u, layer, c.record(dead, layer))
			}
		}
	}
	c.unchecked++
	c.adoptLonely(s, s.touched)
	c.verify(s)
}

// relink chooses the links of a node again, without dead ones, from its own and those in more.
func (c *core) relink(s *scratch, node uint32, layer int, more []uint32) {
	rec := c.record(node, layer)
	s.keys = s.keys[:0]
	c.fromNode(&s.query, node)
	c.appendLinks(s, &s.query, rec)
	c.appendLinks(s, &s.query, more)
	slices.Sort(s.keys)
	s.keys = slices.DeleteFunc(slices.Compact(s.keys), func(k key) bool { return keyNode(k) == node })
	s.keys = append(s.keys[:0], c.selectNeighbors(s, s.keys, len(rec), len(rec)/2)...)
	c.dropOthers(s, rec, layer)
	c.place(rec, s.keys, layer)
}
