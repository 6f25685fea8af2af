package hnsw

import (
	"context"
	"fmt"
	"math"

	"example.com/searchd/internal/simd"
)

// Source holds the vectors of a graph that has only codes in memory. The graph reads the best of a
// search, to measure them in float32, and samples; it is built, repaired and saved from the codes
// alone.
type Source interface {
	// Read calls each, in any order, for every index i of an id that the source has. v [Dim] is the
	// vector that was given for the id, valid until each returns. The source must have an id from
	// before it is added to the graph until it is deleted; vectors without such an id are left out
	// of results. Safe for concurrent use.
	Read(ctx context.Context, ids []uint32, each func(i int, v []float32)) error
}

// sourceBlock is the number of ids that a scan reads at once.
const sourceBlock = 1024

// liveID returns an id of a node that lives; false for a dead node.
func (c *core) liveID(node uint32) (uint32, bool) {
	var one [1]uint32
	ids := c.appendIDs(one[:0], node, 1, nil)
	return one[0], len(ids) == 1
}

// readKeys replaces the distances of keys by exact ones from s.vec to the vectors in the source.
// Keys of dead nodes, and of nodes without an id in the source, are left out.
func (c *core) readKeys(ctx context.Context, s *scratch, keys []key) ([]key, error) {
	s.read.ids, s.read.nodes = s.read.ids[:0], s.read.nodes[:0]
	for _, k := range keys {
		if id, ok := c.liveID(keyNode(k)); ok {
			s.read.ids = append(s.read.ids, id)
			s.read.nodes = append(s.read.nodes, keyNode(k))
		}
	}
	out := keys[:0]
	err := c.readDistances(ctx, s, s.read.ids, func(i int, distance float32) {
		out = append(out, makeKey(distance, s.read.nodes[i]))
		s.read.nodes[i] = noNode
	})
	if err != nil {
		return nil, err
	}
	for _, node := range s.read.nodes {
		if node == noNode {
			continue
		}
		// Its id may have been deleted since it was looked up; the node lives while it has another.
		distance, ok, err := c.readCopy(ctx, s, node)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, makeKey(distance, node))
		}
	}
	return out, nil
}

// readCopy returns the distance from s.vec to the vector of a node by its newest id in the source.
func (c *core) readCopy(ctx context.Context, s *scratch, node uint32) (distance float32, ok bool, err error) {
	s.ids = c.appendIDs(s.ids[:0], node, math.MaxInt, nil)
	for at := len(s.ids) - 1; at >= 0 && !ok && err == nil; at-- {
		err = c.readDistances(ctx, s, s.ids[at:at+1], func(_ int, d float32) { distance, ok = d, true })
	}
	return distance, ok, err
}

// readDistances calls each with the distance from s.vec to the vector of every id in the source.
func (c *core) readDistances(ctx context.Context, s *scratch, ids []uint32, each func(i int, distance float32)) error {
	wrong := 0
	s.measured += len(ids)
	err := c.o.Source.Read(ctx, ids, func(i int, v []float32) {
		if len(v) != c.o.Dim {
			wrong = len(v)
			return
		}
		each(i, c.o.distance(s, v))
	})
	if err == nil && wrong > 0 {
		err = fmt.Errorf("%w: the source gave %d components, want %d", ErrDimension, wrong, c.o.Dim)
	}
	return err
}

// distance measures from s.vec to a vector as it was given to Add.
func (o *Options) distance(s *scratch, v []float32) float32 {
	switch o.Metric {
	case L2:
		return simd.SquaredL2(s.vec, v)
	case Cosine:
		if n := simd.Dot(v, v); math.Abs(float64(n)-1) > 1e-6 {
			if len(s.read.vec) != o.Dim {
				s.read.vec = make([]float32, o.Dim)
			}
			o.prepare(s.read.vec, v)
			v = s.read.vec
		}
	}
	return 1 - simd.Dot(s.vec, v)
}

// readNode sets s.vec to the vector of a node and reports whether it is there.
func (c *core) readNode(ctx context.Context, s *scratch, node uint32) (bool, error) {
	if c.resident() {
		s.vec = append(s.vec[:0], c.vector(node)...)
		return true, nil
	}
	id, ok := c.liveID(node)
	if !ok {
		return false, nil
	}
	v, ok, err := c.readID(ctx, id)
	if ok {
		s.vec = v
	}
	return ok, err
}

// readID returns the vector of an id, from the source, as the graph would keep it.
func (c *core) readID(ctx context.Context, id uint32) (v []float32, ok bool, err error) {
	err = c.o.Source.Read(ctx, []uint32{id}, func(_ int, given []float32) {
		if len(given) == c.o.Dim {
			v, ok = make([]float32, c.o.Dim), true
			c.o.prepare(v, given)
		}
	})
	return v, ok, err
}

// scanSource leaves the k nearest nodes that the sieve accepts in s.beam, by the vectors in
// the source, all of them.
func (c *core) scanSource(ctx context.Context, s *scratch, k int, sieve *sieve) error {
	s.beam.reset(k)
	worst := s.beam.worst()
	limit := c.published.Load()
	keys := make([]key, 0, sourceBlock)
	for lo := uint32(0); lo < limit; {
		keys = keys[:0]
		for ; lo < limit && len(keys) < sourceBlock; lo++ {
			if sieve.accepts(c, lo) {
				keys = append(keys, makeKey(0, lo))
			}
		}
		exact, err := c.readKeys(ctx, s, keys)
		if err != nil {
			return err
		}
		for _, k := range exact {
			if k < worst {
				worst = s.beam.collect(k, worst)
			}
		}
	}
	s.beam.settle()
	return nil
}
