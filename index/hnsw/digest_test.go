package hnsw

import "math"

// Digest returns a hash of the whole graph: vectors, codes, ids, levels, links and their order,
// entry point. Two graphs with the same digest answer alike.
func (g *Graph) Digest() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.core.Load()
	h := mix(uint64(c.next))
	add := func(x uint64) { h = mix(h ^ x) }
	add(c.entry.Load())
	for node := range c.next {
		add(c.contentOf(node))
		if c.rotation != nil {
			add(c.digestCode(node))
		}
		for _, id := range c.appendIDs(nil, node, int(c.live.Load()), nil) {
			add(uint64(id))
		}
		add(uint64(c.level(node)))
		for layer := 0; layer <= c.level(node); layer++ {
			for _, v := range c.record(node, layer) {
				add(uint64(v))
			}
		}
	}
	return h
}

// digestCode returns a hash of a node's code.
func (c *core) digestCode(node uint32) uint64 {
	g, row := c.locate(node)
	h := uint64(math.Float32bits(g.scales[row]))
	for _, x := range g.code(row, c.rotation.width) {
		h = (h ^ uint64(uint8(x))) * 0x100000001B3 // FNV-1a
	}
	return mix(h)
}
