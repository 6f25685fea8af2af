package hnsw

import (
	"context"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
)

// searchAllowed answers a search within allow by the cheapest of three ways; s.vec is the query.
//
// A scan of the set costs one distance per id of it. A walk must pass about ef/selectivity nodes to
// find ef that are allowed and measures some walkFanOut new nodes at each: below selectiveBelow it
// looks through refused nodes at their neighbors instead of measuring them (two hops, as in
// ACORN-1), which stays on allowed nodes but finds fewer of the bridges. A walk that ends before it
// has found ef is followed by the scan.
func (c *core) searchAllowed(ctx context.Context, s *scratch, k, ef int, allow *roaring.Bitmap) ([]Neighbor, error) {
	size, live := float64(allow.GetCardinality()), float64(c.live.Load())
	if size == 0 {
		return nil, nil
	}
	if live < float64(c.o.ExactBelow) || size <= scanAlways || size*size <= walkFanOut*float64(ef)*live {
		return c.scanAllowed(ctx, s, k, allow)
	}
	c.from(&s.query, s.vec)
	s.sieve.set(allow, uint64(live))
	s.sieve.twoHop = size < selectiveBelow*live
	found := c.walk(s, ef) && len(s.beam.keys) == ef
	s.sieve.allow = nil
	if found {
		if out, err := c.results(ctx, s, k, allow); err != nil || len(out) == k {
			return out, err
		}
	}
	return c.scanAllowed(ctx, s, k, allow)
}

const (
	scanAlways     = 1000 // a set no larger is scanned
	walkFanOut     = 10   // new nodes per expanded node
	selectiveBelow = 0.25 // share of the graph
)

// sieve is a filter prepared for a walk.
type sieve struct {
	allow  *roaring.Bitmap
	dense  []uint64 // one bit per id; empty where the ids are too far apart
	twoHop bool
}

// set prepares the sieve for allow. A walk tests thousands of ids, and a bit is tested in a
// tenth of the time that the bitmap takes; ids of a graph of n vectors that has seen no more than
// sieveSpread*n are worth it.
func (v *sieve) set(allow *roaring.Bitmap, n uint64) {
	v.allow, v.dense = allow, v.dense[:0]
	if uint64(allow.Maximum()) > sieveSpread*n {
		return
	}
	if words := int(allow.DenseSize()); cap(v.dense) < words {
		v.dense = make([]uint64, words)
	} else {
		v.dense = v.dense[:words]
		clear(v.dense)
	}
	allow.WriteDenseTo(v.dense)
}

const sieveSpread = 64

func (v *sieve) holds(id uint32) bool {
	if len(v.dense) > 0 {
		return int(id>>6) < len(v.dense) && v.dense[id>>6]>>(id&63)&1 != 0
	}
	return v.allow.Contains(id)
}

// accepts reports whether a node has a live id that the filter, if any, contains.
func (v *sieve) accepts(c *core, node uint32) bool {
	g, row := c.locate(node)
	flags := g.flags[row].Load()
	switch {
	case flags&flagDead != 0:
		return false
	case v.allow == nil:
		return true
	case flags&flagGroup != 0:
		if allowed, ok := c.copies.allowed(node, v.allow); ok || g.flags[row].Load()&flagDead != 0 {
			return allowed
		}
	}
	return v.holds(atomic.LoadUint32(&g.ids[row]))
}

// gatherTwoHops puts into s.nodes up to two records' worth of nodes not visited yet that the sieve
// accepts: neighbors of a node, and neighbors of the neighbors that it does not accept.
func (c *core) gatherTwoHops(s *scratch, node uint32, layer int, visited []uint8) int {
	rec := c.record(node, layer)
	limit := 2 * len(rec)
	s.room(limit)
	n := 0
	s.around = s.around[:0]
	for i := range rec {
		v := atomic.LoadUint32(&rec[i]) - 1
		if v >= uint32(len(visited)) || visited[v] == s.epoch {
			continue
		}
		visited[v] = s.epoch
		if s.sieve.accepts(c, v) {
			s.nodes[n] = v
			n++
		} else {
			s.around = append(s.around, v)
		}
	}
	for _, u := range s.around {
		rec := c.record(u, layer)
		for i := range rec {
			v := atomic.LoadUint32(&rec[i]) - 1
			if v >= uint32(len(visited)) || visited[v] == s.epoch || !s.sieve.accepts(c, v) {
				continue
			}
			visited[v] = s.epoch
			s.nodes[n] = v
			if n++; n == limit {
				return n
			}
		}
	}
	return n
}
