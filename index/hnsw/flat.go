package hnsw

import (
	"context"

	"github.com/RoaringBitmap/roaring/v2"
)

// Exact returns the k ids nearest to q by measuring the distance to every vector, in float32. It is
// the oracle of Search: same order, same errors, no ef. allow, where not nil, holds the only ids
// that may be returned.
func (g *Graph) Exact(ctx context.Context, q []float32, k int, allow *roaring.Bitmap) ([]Neighbor, error) {
	if err := g.checkSearch(ctx, q, k); err != nil {
		return nil, err
	}
	c := g.core.Load()
	s := g.pool.take()
	defer g.pool.put(s)
	s.prepare(g, q)
	switch {
	case !c.resident():
		if err := c.scanSource(ctx, s, k, &sieve{allow: allow}); err != nil {
			return nil, err
		}
		return c.expandIDs(s, k, allow), nil
	case allow == nil:
		return c.scan(ctx, s, k, nil)
	default:
		return c.scanAllowed(ctx, s, k, allow)
	}
}

const scanBlock = 256 // rows per kernel call of a scan

// scan measures from s.vec to all live nodes that hold an id of allow, if that is not nil.
func (c *core) scan(ctx context.Context, s *scratch, k int, allow *roaring.Bitmap) ([]Neighbor, error) {
	if err := c.nearest(ctx, s, k, allow); err != nil {
		return nil, err
	}
	return c.expandIDs(s, k, allow), nil
}

// nearest leaves the k nearest nodes of a scan in s.beam.
func (c *core) nearest(ctx context.Context, s *scratch, k int, allow *roaring.Bitmap) error {
	if c.resident() {
		c.scanKeys(s, &query{vec: s.vec}, k, allow)
		return nil
	}
	c.from(&s.query, s.vec)
	return c.rescoreScan(ctx, s, k, func(width int) { c.scanKeys(s, &s.query, width, allow) })
}

// scanKeys leaves the k nodes nearest to q in s.beam.
func (c *core) scanKeys(s *scratch, q *query, k int, allow *roaring.Bitmap) {
	sieve := sieve{allow: allow}
	limit := c.published.Load()
	s.room(scanBlock)
	s.beam.reset(k)
	worst := s.beam.worst()
	for lo := uint32(0); lo < limit; {
		n := 0
		for ; lo < limit && n < scanBlock; lo++ {
			if sieve.accepts(c, lo) {
				s.nodes[n] = lo
				n++
			}
		}
		worst = c.offer(s, q, n, worst)
	}
	s.beam.settle()
}

// scanAllowed measures from s.vec to the nodes of the ids in allow, or to all nodes where those are
// fewer.
func (c *core) scanAllowed(ctx context.Context, s *scratch, k int, allow *roaring.Bitmap) ([]Neighbor, error) {
	if allow.GetCardinality() > uint64(c.published.Load()) {
		return c.scan(ctx, s, k, allow)
	}
	if c.resident() {
		c.scanIDs(s, &query{vec: s.vec}, k, allow)
		return c.expandIDs(s, k, allow), nil
	}
	c.from(&s.query, s.vec)
	err := c.rescoreScan(ctx, s, k, func(width int) { c.scanIDs(s, &s.query, width, allow) })
	if err != nil {
		return nil, err
	}
	return c.expandIDs(s, k, allow), nil
}

// scanIDs leaves the k nodes of the ids in allow that are nearest to q in s.beam.
func (c *core) scanIDs(s *scratch, q *query, k int, allow *roaring.Bitmap) {
	limit := c.published.Load()
	s.room(scanBlock)
	s.visit(int(limit))
	s.beam.reset(k)
	worst := s.beam.worst()
	n := 0
	for it := allow.Iterator(); it.HasNext(); {
		node, ok := c.ids.lookup(it.Next())
		if !ok || node >= limit || s.visited[node] == s.epoch {
			continue
		}
		s.visited[node] = s.epoch
		s.nodes[n] = node
		if n++; n == scanBlock {
			worst = c.offer(s, q, n, worst)
			n = 0
		}
	}
	c.offer(s, q, n, worst)
	s.beam.settle()
}

// offer measures from q to the n nodes in s.nodes, on codes where there is nothing else, collects
// them in s.beam and returns its new bound.
func (c *core) offer(s *scratch, q *query, n int, worst key) key {
	c.measure(s, q, n, !c.resident())
	for i, node := range s.nodes[:n] {
		if k := makeKey(s.dist[i], node); k < worst {
			worst = s.beam.collect(k, worst)
		}
	}
	return worst
}
