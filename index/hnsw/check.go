package hnsw

import (
	"fmt"
	"slices"
)

// Check verifies the invariants of the graph and returns what is wrong, in words; at most a hundred
// findings. It costs one pass over all links and keeps writers waiting meanwhile. A node that the
// last few deletes have cut off is found by Repair, and does not count as wrong until the graph
// should have found it by itself.
func (g *Graph) Check() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.core.Load()
	var found findings
	c.checkEntry(&found)
	c.checkLinks(&found)
	c.checkIDs(&found)
	if c.unchecked > 0 {
		return found
	}
	r := c.newReach()
	for node := range c.next {
		if !r.seen[node] && !c.isDead(node) {
			found.add("node %d (id %d): not reachable from the entry point", node, c.primaryID(node))
		}
	}
	return found
}

type findings []string

func (f *findings) add(format string, args ...any) {
	if len(*f) < 100 {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

func (c *core) checkEntry(f *findings) {
	entry, level, ok := c.entryPoint()
	if !ok {
		if c.live.Load() > 0 {
			f.add("no entry point in a graph of %d ids", c.live.Load())
		}
		return
	}
	if entry >= c.next {
		f.add("entry point %d is outside of %d nodes", entry, c.next)
		return
	}
	if c.level(entry) != level {
		f.add("entry point %d: level %d, published as %d", entry, c.level(entry), level)
	}
	if c.isDead(entry) && c.live.Load() > 0 {
		f.add("entry point %d is dead", entry)
	}
	for node := range c.next {
		if l := c.level(node); l > level && !c.isDead(node) {
			f.add("node %d: level %d is above the entry point's %d", node, l, level)
		}
	}
}

// checkLinks verifies ranges, layers, doubles, and the counts of links that lead to a node.
func (c *core) checkLinks(f *findings) {
	in := make([]uint32, c.next)
	for node := range c.next {
		for layer := 0; layer <= c.level(node); layer++ {
			var seen []uint32
			for _, v := range c.record(node, layer) {
				switch {
				case v == 0:
					continue
				case v-1 >= c.next:
					f.add("node %d, layer %d: link to %d, outside of %d nodes", node, layer, v-1, c.next)
					continue
				case v-1 == node:
					f.add("node %d, layer %d: link to itself", node, layer)
				case slices.Contains(seen, v):
					f.add("node %d, layer %d: two links to %d", node, layer, v-1)
				case c.level(v-1) < layer:
					f.add("node %d, layer %d: link to %d, whose level is %d", node, layer, v-1, c.level(v-1))
				}
				seen = append(seen, v)
				if layer == 0 {
					in[v-1]++
				}
			}
		}
	}
	entry, _, _ := c.entryPoint()
	for node, n := range in {
		if got := *c.inDegree(uint32(node)); got != n {
			f.add("node %d: %d links lead to it, counted as %d", node, n, got)
		}
		if n == 0 && uint32(node) != entry && !c.isDead(uint32(node)) {
			f.add("node %d: no link leads to it", node)
		}
	}
}

// equal reports whether two nodes hold the same vector, as far as the graph can tell.
func (c *core) equal(a, b uint32) bool {
	if c.resident() {
		return equalBits(c.vector(a), c.vector(b))
	}
	g, i := c.locate(a)
	h, j := c.locate(b)
	w := c.rotation.width
	return g.tags[i] == h.tags[j] && g.scales[i] == h.scales[j] && slices.Equal(g.code(i, w), h.code(j, w))
}

// checkIDs verifies that ids and nodes agree, and that no two live nodes hold the same vector.
func (c *core) checkIDs(f *findings) {
	var ids int64
	dead := uint32(0)
	for node := range c.next {
		if c.isDead(node) {
			dead++
			continue
		}
		list := c.appendIDs(nil, node, int(c.live.Load())+1, nil)
		ids += int64(len(list))
		if len(list) == 0 {
			f.add("node %d: alive without an id", node)
		}
		for _, id := range list {
			if n, ok := c.ids.lookup(id); !ok || n != node {
				f.add("node %d: id %d leads to node %d, %v", node, id, n, ok)
			}
		}
		if n, ok := c.dedup.find(c.contentOf(node), func(other uint32) bool { return c.equal(node, other) }); !ok || n != node {
			f.add("node %d: its vector leads to node %d, %v", node, n, ok)
		}
	}
	if ids != c.live.Load() {
		f.add("%d ids in the nodes, %d counted", ids, c.live.Load())
	}
	if dead != c.dead.Load() {
		f.add("%d dead nodes, %d counted", dead, c.dead.Load())
	}
}
