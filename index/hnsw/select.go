package hnsw

import "slices"

// picker is the memory of the neighbor selection.
type picker struct {
	query    query
	selected []key
	pruned   []key
	block    [pickBlock]key // candidates being looked at, the first n of them
	n        int
}

const pickBlock = 32 // candidates measured at a time against what has been selected

// selectNeighbors is Algorithm 4, the heuristic: of candidates, nearest first, it selects up to
// limit that are nearer to the base than to every one selected before. What is as near to a
// selected one as to the base is left out too: with a strict comparison, copies at distance 0 never
// prune one another and close up into a clique that no link leaves (qdrant#10239). If fewer than
// floor are selected, the nearest of those left out fill it up. The result is nearest first and
// lives in s.pick until the next call.
//
// Candidates are taken a block at a time: each selected node is measured against the whole rest of
// the block in one call, which costs no more distances than one candidate at a time against all
// selected, up to the last block.
func (c *core) selectNeighbors(s *scratch, candidates []key, limit, floor int) []key {
	p := &s.pick
	p.selected, p.pruned = p.selected[:0], p.pruned[:0]
	s.room(pickBlock)
	for at := 0; at < len(candidates) && len(p.selected) < limit; at += pickBlock {
		p.n = copy(p.block[:], candidates[at:])
		for _, sel := range p.selected {
			c.prune(s, sel)
		}
		for p.n > 0 && len(p.selected) < limit {
			sel := p.block[0]
			p.n = copy(p.block[:], p.block[1:p.n])
			p.selected = append(p.selected, sel)
			c.prune(s, sel)
		}
	}
	if missing := min(floor-len(p.selected), len(p.pruned)); missing > 0 {
		slices.Sort(p.pruned)
		p.selected = append(p.selected, p.pruned[:missing]...)
		slices.Sort(p.selected)
	}
	return p.selected
}

// prune moves from the block to p.pruned what is no farther from sel than from the base.
func (c *core) prune(s *scratch, sel key) {
	p := &s.pick
	if p.n == 0 {
		return
	}
	c.fromNode(&p.query, keyNode(sel))
	for i, k := range p.block[:p.n] {
		s.nodes[i] = keyNode(k)
	}
	c.distances(s, &p.query, p.n)
	kept := 0
	for i, k := range p.block[:p.n] {
		if s.dist[i] <= keyDistance(k) {
			p.pruned = append(p.pruned, k)
		} else {
			p.block[kept] = k
			kept++
		}
	}
	p.n = kept
}
