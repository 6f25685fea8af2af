package hnsw

import (
	"context"
	"fmt"
)

// AddBatch inserts vectors under ids with the given number of goroutines; 0 or less: GOMAXPROCS.
// The resulting graph is the same for any number.
//
// Vectors go in by steps: each step searches the graph as the step before left it, with as many
// goroutines as there are, and measures its own vectors against one another, so that they can
// become neighbors too; then all links are merged in a fixed order. Steps grow with the graph.
// Other writers may come in between two steps, and ctx is checked there. (After faiss#5486 and
// ParlayANN, arXiv:2305.04359.)
//
// All vectors are checked first: ErrDimension, ErrNotFinite, ErrZero and ErrArgument leave the
// graph unchanged. On ErrExists, ErrFull and ctx.Err() a prefix of ids is in.
func (g *Graph) AddBatch(ctx context.Context, ids []uint32, vectors [][]float32, workers int) error {
	if len(ids) != len(vectors) {
		return fmt.Errorf("%w: %d ids with %d vectors", ErrArgument, len(ids), len(vectors))
	}
	for i, v := range vectors {
		if err := g.o.checkVector(v); err != nil {
			return fmt.Errorf("id %d: %w", ids[i], err)
		}
	}
	given := len(ids)
	b := &batch{g: g, scratches: g.pool.takeMany(workers, len(ids))}
	defer g.pool.put(b.scratches...)
	for len(ids) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := b.step(ids, vectors)
		if err != nil {
			return err
		}
		ids, vectors = ids[n:], vectors[n:]
	}
	if given >= int(g.core.Load().published.Load()/2) && g.calibrationDue() {
		// Little against what was just done. Where the source fails, it is tried again in the
		// background.
		if g.Calibrate(ctx, len(b.scratches)) != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	g.calibrateIfDue()
	return nil
}

const maxWorkers = 256

// batch is the memory of AddBatch.
type batch struct {
	g         *Graph
	scratches []*scratch
	plans     []*plan
}

// Steps grow with the graph up to stepMax: a vector does not see the others of its step through the
// graph, only by measuring them all, which costs more than it gains where a step is large against
// the graph or in itself.
const (
	stepShare = 16
	stepMax   = 256
)

// step inserts a prefix of ids and returns its length.
func (b *batch) step(ids []uint32, vectors [][]float32) (int, error) {
	g := b.g
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.core.Load()
	if c.next == 0 && uint32(len(ids)) > c.first {
		// The graph is empty: one segment for all vectors of the batch.
		c = newCore(&g.o, uint32(len(ids)))
		g.core.Store(c)
	}
	taken, n, err := b.allocate(c, ids, vectors)
	if n > 0 {
		b.link(c, n)
	}
	return taken, err
}

// allocate writes the rows of the next step and returns how many ids it has dealt with and how many
// rows are new.
func (b *batch) allocate(c *core, ids []uint32, vectors [][]float32) (taken, n int, err error) {
	size := int(min(max(c.next/stepShare, 1), stepMax))
	if err := c.reserve(min(size, len(ids))); err != nil {
		return 0, 0, err
	}
	s := b.scratches[0]
	for taken < len(ids) && n < size {
		id := ids[taken]
		s.prepare(b.g, vectors[taken])
		s.hash = digest(s.vec)
		c.from(&s.query, s.vec)
		done, err := c.attach(s, id)
		if err != nil {
			return taken, n, err
		}
		taken++
		if done {
			b.g.noteCopy(c, id)
			continue
		}
		if n == len(b.plans) {
			b.plans = append(b.plans, new(plan))
		}
		p := b.plans[n]
		p.id, p.node, p.level = id, c.next, b.g.o.levelOf(id)
		c.allocate(s, p)
		b.g.mu.journal.note(id, p.node)
		c.ids.set(id, p.node) // so that a duplicate in the same step is found
		n++
	}
	return taken, n, nil
}

// link plans the first n of b.plans on the graph as it is and links them.
func (b *batch) link(c *core, n int) {
	plans := b.plans[:n]
	first := plans[0].node
	parallel(b.scratches, n, func(s *scratch, i int) {
		p := plans[i]
		c.fromNode(&s.query, p.node)
		c.plan(s, p)
		if n > 1 {
			c.addRange(s, p, first, c.next)
		}
		c.choose(s, p)
	})
	m := &b.g.mu.merge
	m.begin()
	for _, p := range plans {
		m.add(p)
	}
	m.run(c, b.scratches)
	c.publish(plans)
	c.verify(b.scratches[0])
}
