package hnsw

import "slices"

// Reachability is verified when more than one part in checkShare of the graph is new, and after
// every change while it is small: a pass over all links then costs about a hundredth of what the
// changes did, or a few microseconds.
const (
	checkShare  = 32
	checkAlways = 512 // nodes
)

// verify repairs the graph if it is time to look.
func (c *core) verify(s *scratch) {
	if c.unchecked > c.next/checkShare || c.unchecked > 0 && c.next <= checkAlways {
		c.repair(s)
	}
}

// reach is a breadth-first search over layer 0 from the entry point.
type reach struct {
	seen   []bool
	parent []uint32 // of seen nodes: the node whose link found it
	queue  []uint32
}

func (c *core) newReach() *reach {
	r := &reach{seen: make([]bool, c.next), parent: make([]uint32, c.next), queue: make([]uint32, 0, c.next)}
	if entry, _, ok := c.entryPoint(); ok {
		r.from(c, entry, noNode)
	}
	return r
}

// from marks node, found through a link of parent, and all that it leads to.
func (r *reach) from(c *core, node, parent uint32) {
	r.seen[node], r.parent[node] = true, parent
	r.queue = append(r.queue[:0], node)
	for len(r.queue) > 0 {
		u := r.queue[len(r.queue)-1]
		r.queue = r.queue[:len(r.queue)-1]
		for _, v := range c.record(u, 0) {
			if v != 0 && !r.seen[v-1] {
				r.seen[v-1], r.parent[v-1] = true, u
				r.queue = append(r.queue, v-1)
			}
		}
	}
}

// repair makes every live node reachable from the entry point over layer 0 and returns how many
// were not. It costs one pass over the links and one search per part that was cut off: the nearest
// reachable node that has a free place, or a link that the tree of the pass does not need, takes a
// link to it. Links of the tree stay, so that nothing is cut off instead.
func (c *core) repair(s *scratch) int {
	c.unchecked = 0
	r := c.newReach()
	lost := 0
	for node := uint32(0); node < c.next; node++ {
		if r.seen[node] || c.isDead(node) {
			continue
		}
		lost++
		c.reconnect(s, r, node)
	}
	return lost
}

// reconnect links to a node that cannot be reached from a near one that can.
func (c *core) reconnect(s *scratch, r *reach, node uint32) {
	c.fromNode(&s.query, node)
	if !c.walk(s, c.o.EfConstruction) {
		return
	}
	near := slices.Clone(s.beam.keys)
	for _, k := range near {
		if u := keyNode(k); u != node && r.seen[u] && c.spare(r, u, node) {
			r.from(c, node, u)
			return
		}
	}
	for u := uint32(0); u < c.next; u++ { // all around are full of tree links: any will do
		if r.seen[u] && !c.isDead(u) && c.spare(r, u, node) {
			r.from(c, node, u)
			return
		}
	}
}

// spare gives node a place in the record of u: a free one, or else that of the link which the tree
// does not need and whose node most others lead to.
func (c *core) spare(r *reach, u, node uint32) bool {
	rec := c.record(u, 0)
	best, most := -1, uint32(0)
	for i, v := range rec {
		if v == 0 {
			best = i
			break
		}
		if d := *c.inDegree(v - 1); r.parent[v-1] != u && d > most {
			best, most = i, d
		}
	}
	if best < 0 {
		return false
	}
	c.turn(&rec[best], node)
	return true
}

// Repair makes every live node reachable now, not only when a thirty-second part of the graph is
// new, and returns how many were not.
func (g *Graph) Repair() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.pool.take()
	defer g.pool.put(s)
	return g.core.Load().repair(s)
}
