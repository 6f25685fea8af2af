package hnsw

import (
	"context"
	"sync/atomic"
)

// Stats are the gauges of a graph.
type Stats struct {
	Live     int // ids
	Nodes    int // rows that are alive; copies of a vector share one
	Dead     int // rows that are dead and wait for a compaction
	Layers   int
	EfSearch int // beam width of a search for ten results that names none
	Memory   Memory
	Busy     bool // compacting or calibrating
}

// Stats returns the gauges. It is cheap, but waits for the writer.
func (g *Graph) Stats() Stats {
	m := g.Memory()
	c := g.core.Load()
	dead := c.dead.Load()
	s := Stats{
		Live: int(c.live.Load()), Nodes: int(max(c.published.Load(), dead) - dead), Dead: int(dead),
		EfSearch: g.EfFor(calibrationK[0]), Memory: m, Busy: g.Busy(),
	}
	if _, top, ok := c.entryPoint(); ok {
		s.Layers = top + 1
	}
	return s
}

// Probe is the quality of a graph, measured with a sample.
type Probe struct {
	Samples     int     // 0: the graph is too small, or has no entry point
	Recall      float64 // recall@10 of searches with the default beam; 1 without samples
	Unfound     int     // samples that a walk with the default beam does not find when they are the query
	Unreachable int     // live nodes that no path from the entry point leads to
}

// Probe searches for the neighbors of at most 200 stored vectors, compares the results with scans,
// and follows all links. It costs one scan per sample, in one goroutine, and blocks no writer; a
// node that is being linked meanwhile may count as unreachable.
func (g *Graph) Probe(ctx context.Context, samples int) (Probe, error) {
	c := g.core.Load()
	limit := c.published.Load()
	p := Probe{Recall: 1, Unreachable: c.countUnreachable(limit)}
	if limit == 0 {
		return p, ctx.Err()
	}
	questions := c.stored(g.o.Seed+uint64(limit), limit)
	if step := max(1, len(questions)/max(samples, 1)); step > 1 {
		kept := questions[:0]
		for i := 0; i < len(questions) && len(kept) < samples; i += step {
			kept = append(kept, questions[i])
		}
		questions = kept
	}
	if len(questions) == 0 || samples < 1 || limit-min(limit, c.dead.Load()) < 2 { // a vector alone has no neighbors
		return p, ctx.Err()
	}
	const k = 10
	truth, err := g.truth(ctx, 1, c, questions, k)
	if err != nil {
		return p, err
	}
	if p.Recall, err = g.sampleRecall(ctx, 1, c, questions, truth, k, g.EfFor(k)); err != nil {
		return p, err
	}
	var unfound atomic.Int64
	err = g.parallel(ctx, 1, len(questions), func(s *scratch, i int) error {
		ok, err := c.readNode(ctx, s, questions[i].node)
		if !ok || err != nil {
			return err
		}
		c.from(&s.query, s.vec)
		if !c.walk(s, g.EfFor(1)) || len(s.nodesBut(questions[i].own(), len(s.beam.keys))) == len(s.beam.keys) {
			unfound.Add(1)
		}
		return nil
	})
	p.Samples, p.Unfound = len(questions), int(unfound.Load())
	return p, err
}

// countUnreachable returns the number of live nodes below limit without a path over layer 0.
// Readers and writers continue.
func (c *core) countUnreachable(limit uint32) int {
	entry, _, ok := c.entryPoint()
	if !ok || entry >= limit {
		return 0
	}
	seen := make([]bool, limit)
	seen[entry] = true
	queue := []uint32{entry}
	for len(queue) > 0 {
		rec := c.record(queue[len(queue)-1], 0)
		queue = queue[:len(queue)-1]
		for i := range rec {
			if v := atomic.LoadUint32(&rec[i]) - 1; v < limit && !seen[v] {
				seen[v] = true
				queue = append(queue, v)
			}
		}
	}
	lost := 0
	for node, ok := range seen {
		if !ok && !c.isDead(uint32(node)) {
			lost++
		}
	}
	return lost
}
