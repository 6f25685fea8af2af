package hnsw

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
)

// Neighbor is one result of a search.
type Neighbor struct {
	ID       uint32
	Distance float32 // 1 - dot for Cosine and Dot, the squared Euclidean distance for L2
}

// Search returns the k ids nearest to q, nearest first, equal distances by id; fewer if the graph
// holds fewer. ef is the beam width of layer 0, raised to k; 0 takes Options.EfSearch or, where
// that is 0 too, the width calibrated for Options.TargetRecall. allow, where not nil, holds the
// only ids that may be returned. The answer is exact where a scan is cheaper than a walk: in small
// graphs, for small sets, and where a walk finds fewer than it should. Distances are exact
// in any case. Where a source holds the vectors, a scan goes over the codes, and what could be
// among the k nearest for all that codes can tell is measured again.
//
// Errors: ErrDimension, ErrNotFinite, ErrZero, ErrArgument, ctx.Err(), those of the source. Safe
// for concurrent use, also with Add, AddBatch and Delete, none of which it waits for. (Algorithm
// 5.)
func (g *Graph) Search(ctx context.Context, q []float32, k, ef int, allow *roaring.Bitmap) ([]Neighbor, error) {
	if err := g.checkSearch(ctx, q, k); err != nil {
		return nil, err
	}
	if ef < 0 || ef > MaxEf {
		return nil, fmt.Errorf("%w: ef = %d, want 0 to %d", ErrArgument, ef, MaxEf)
	}
	c := g.core.Load()
	s := g.pool.take()
	defer g.pool.put(s)
	s.prepare(g, q)
	live := int(c.live.Load())
	if live == 0 {
		return nil, nil
	}
	if ef == 0 {
		ef = g.EfFor(k)
	}
	ef = max(ef, k)
	if allow != nil {
		return c.searchAllowed(ctx, s, k, ef, allow)
	}
	if live < g.o.ExactBelow || ef >= live {
		return c.scan(ctx, s, k, nil)
	}
	c.from(&s.query, s.vec)
	if c.walk(s, ef) {
		if out, err := c.results(ctx, s, k, nil); err != nil || len(out) == k {
			return out, err
		}
	}
	return c.scan(ctx, s, k, nil) // links lead one way: a walk can end in a part of the graph that nothing leaves
}

// checkSearch checks what Search and Exact have in common.
func (g *Graph) checkSearch(ctx context.Context, q []float32, k int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if k < 1 || k > MaxK {
		return fmt.Errorf("%w: k = %d, want 1 to %d", ErrArgument, k, MaxK)
	}
	return g.o.checkVector(q)
}

// prepare sets s.vec to q as the graph would keep it.
func (s *scratch) prepare(g *Graph, q []float32) {
	if len(s.vec) != len(q) {
		s.vec = make([]float32, len(q))
	}
	g.o.prepare(s.vec, q)
}

// walk descends from the entry point to layer 0 and leaves the ef nearest live nodes that s.sieve
// accepts in s.beam. It returns false if the graph has no entry point.
func (c *core) walk(s *scratch, ef int) bool {
	entry, level, ok := c.entryPoint()
	if !ok {
		return false
	}
	s.room(max(c.m0, 64))
	limit := c.published.Load()
	k := c.keyOf(s, &s.query, entry)
	for layer := level; layer > 0; layer-- {
		k = c.descend(s, &s.query, k, layer, limit)
	}
	if s.sieve.allow == nil && c.dead.Load() == 0 {
		c.searchLayer(s, &s.query, k, ef, 0, limit)
		return true
	}
	c.searchLayerLive(s, &s.query, k, ef, 0, limit)
	if len(s.beam.keys) < ef && s.visited[entry] != s.epoch {
		// The walk has ended among dead or refused nodes that no link leaves. Every live node can
		// be reached from the entry point.
		c.continueLive(s, &s.query, c.keyOf(s, &s.query, entry), 0, limit)
	}
	return true
}

func (c *core) keyOf(s *scratch, q *query, node uint32) key {
	s.nodes[0] = node
	c.distances(s, q, 1)
	return makeKey(s.dist[0], node)
}

// descend is Algorithm 2 with ef = 1: from k it moves to the nearest neighbor until none is nearer.
func (c *core) descend(s *scratch, q *query, k key, layer int, limit uint32) key {
	for {
		best := k
		n := 0
		rec := c.record(keyNode(k), layer)
		for i := range rec {
			// A free place holds 0, which wraps to a value beyond every limit.
			if v := atomic.LoadUint32(&rec[i]) - 1; v < limit {
				s.nodes[n] = v
				n++
			}
		}
		c.distances(s, q, n)
		for i, node := range s.nodes[:n] {
			best = min(best, makeKey(s.dist[i], node))
		}
		if best == k {
			return k
		}
		k = best
	}
}

// searchLayer is Algorithm 2 where every node counts: it leaves the ef nodes nearest to q, as far
// as they are found from start, in s.beam. Nodes at or after limit are not seen.
func (c *core) searchLayer(s *scratch, q *query, start key, ef, layer int, limit uint32) {
	s.visit(int(limit))
	visited := s.visited[:limit]
	if s.without > 0 {
		visited[s.without-1] = s.epoch
	}
	s.beam.reset(ef)
	s.beam.insert(start)
	visited[keyNode(start)] = s.epoch
	for at := 0; at < len(s.beam.keys); {
		k := s.beam.keys[at]
		if k&keyExpanded != 0 {
			at++
			continue
		}
		s.beam.keys[at] = k | keyExpanded
		n := s.gather(c.record(keyNode(k), layer), visited)
		at++
		if at < len(s.beam.keys) {
			// Most often the next to be expanded: its links come into the cache while distances are
			// computed.
			s.touch(c.record(keyNode(s.beam.keys[at]), layer))
		}
		c.distances(s, q, n)
		worst := s.beam.worst()
		for i, node := range s.nodes[:n] {
			if k := makeKey(s.dist[i], node); k < worst {
				at = min(at, s.beam.insert(k))
				worst = s.beam.worst()
			}
		}
	}
}

// touch reads a record so that it is in the cache when it is needed; Go has no prefetch.
func (s *scratch) touch(rec []uint32) {
	const line = 64 / 4
	for i := 0; i < len(rec); i += line {
		s.sink += atomic.LoadUint32(&rec[i])
	}
}

// gather puts the nodes of a record that were not visited yet into s.nodes and marks them. Whether
// a node was visited is practically random, so it is counted, not branched on.
func (s *scratch) gather(rec []uint32, visited []uint8) int {
	n, epoch := 0, s.epoch
	nodes := s.nodes[:len(rec)]
	for i := range rec {
		v := atomic.LoadUint32(&rec[i]) - 1
		if v >= uint32(len(visited)) {
			continue
		}
		fresh := 0
		if visited[v] != epoch {
			fresh = 1
		}
		visited[v] = epoch
		nodes[n] = v
		n += fresh
	}
	return n
}

// searchLayerLive is Algorithm 2 where only live nodes count, and of those only what s.sieve, if
// set, accepts. The search passes through the others until it has found ef that count or has
// visited all.
func (c *core) searchLayerLive(s *scratch, q *query, start key, ef, layer int, limit uint32) {
	s.visit(int(limit))
	if s.without > 0 {
		s.visited[s.without-1] = s.epoch
	}
	s.beam.reset(ef)
	s.frontier = s.frontier[:0]
	c.continueLive(s, q, start, layer, limit)
}

// continueLive continues a search of searchLayerLive from another start.
func (c *core) continueLive(s *scratch, q *query, start key, layer int, limit uint32) {
	visited := s.visited[:limit]
	visited[keyNode(start)] = s.epoch
	s.frontier.push(start)
	if s.sieve.accepts(c, keyNode(start)) {
		s.beam.insert(start)
	}
	twoHop := s.sieve.allow != nil && s.sieve.twoHop
	for len(s.frontier) > 0 {
		k := s.frontier.pop()
		if k > s.beam.worst() {
			return
		}
		n := 0
		if twoHop {
			n = c.gatherTwoHops(s, keyNode(k), layer, visited)
		} else {
			n = s.gather(c.record(keyNode(k), layer), visited)
		}
		c.distances(s, q, n)
		for i, node := range s.nodes[:n] {
			k := makeKey(s.dist[i], node)
			if k >= s.beam.worst() {
				continue
			}
			s.frontier.push(k)
			if twoHop || s.sieve.accepts(c, node) {
				s.beam.insert(k)
			}
		}
	}
}

// appendIDs appends up to limit live ids of a node that allow, if not nil, contains.
func (c *core) appendIDs(dst []uint32, node uint32, limit int, allow *roaring.Bitmap) []uint32 {
	g, row := c.locate(node)
	flags := g.flags[row].Load()
	if flags&flagDead != 0 {
		return dst
	}
	if flags&flagGroup != 0 {
		out, ok := c.copies.appendIDs(dst, node, limit, allow)
		if ok || g.flags[row].Load()&flagDead != 0 {
			return out
		}
	}
	if id := atomic.LoadUint32(&g.ids[row]); allow == nil || allow.Contains(id) {
		dst = append(dst, id)
	}
	return dst
}

// primaryID returns the first id of a node; see groups for the others.
func (c *core) primaryID(node uint32) uint32 {
	g, row := c.locate(node)
	return atomic.LoadUint32(&g.ids[row])
}

// results turns the keys of s.beam into the k best ids with exact distances.
func (c *core) results(ctx context.Context, s *scratch, k int, allow *roaring.Bitmap) ([]Neighbor, error) {
	if c.rotation != nil {
		if _, err := c.rescore(ctx, s, k); err != nil {
			return nil, err
		}
	}
	return c.expandIDs(s, k, allow), nil
}

// expandIDs turns the keys of s.beam, whose distances are exact, into the k best ids. The distance
// that a kernel finds depends in its last bit on what else is in the call; here each is measured by
// itself, as a source's vectors are, so that every way of searching reports the same number for the
// same pair.
func (c *core) expandIDs(s *scratch, k int, allow *roaring.Bitmap) []Neighbor {
	q := &query{vec: s.vec}
	out := make([]Neighbor, 0, min(k, len(s.beam.keys)))
	for i, key := range s.beam.keys {
		if len(out) >= k && keyDistance(s.beam.keys[i-1]) != keyDistance(key) {
			break
		}
		s.ids = c.appendIDs(s.ids[:0], keyNode(key), k, allow)
		if len(s.ids) == 0 {
			continue
		}
		d := keyDistance(key)
		if c.resident() {
			d = c.distance(q, keyNode(key))
		}
		for _, id := range s.ids {
			out = append(out, Neighbor{ID: id, Distance: d})
		}
	}
	slices.SortFunc(out, compareNeighbors)
	return out[:min(k, len(out))]
}

func compareNeighbors(a, b Neighbor) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
}
