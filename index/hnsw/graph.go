package hnsw

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// Graph is a Hierarchical Navigable Small World graph over vectors that ids of the caller name. All
// methods are safe for concurrent use; searches never wait.
type Graph struct {
	o    Options // with defaults; read-only. EfSearch and TargetRecall are what ef.aim began with
	core atomic.Pointer[core]
	pool scratchPool
	ef   calibration

	snapshot   sync.Mutex // one at a time
	background background

	mu struct { // held by whoever changes the graph
		sync.Mutex
		merge   merger
		journal *journal // while a compaction runs
	}
}

// New returns an empty graph, or ErrOptions.
func New(o Options) (*Graph, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	g := newGraph(o)
	g.core.Store(newCore(&g.o, uint32(g.o.Capacity)))
	return g, nil
}

// newGraph returns a graph that has no core yet.
func newGraph(o Options) *Graph {
	g := &Graph{o: o.withDefaults(), pool: newScratchPool()}
	g.ef.aim.Store(&aim{g.o.EfSearch, g.o.TargetRecall})
	return g
}

// Dim returns the number of components of a vector.
func (g *Graph) Dim() int { return g.o.Dim }

// Len returns the number of ids in the graph.
func (g *Graph) Len() int { return int(g.core.Load().live.Load()) }

// Vector returns the vector of an id as the graph keeps it, scaled to unit length for Cosine; it
// must not be changed, and stays as it is whatever becomes of the id. Where a source holds it, an
// error of the source counts as none there.
func (g *Graph) Vector(id uint32) ([]float32, bool) {
	c := g.core.Load()
	node, ok := c.ids.lookup(id)
	if !ok {
		return nil, false
	}
	if !c.resident() {
		v, ok, err := c.readID(context.Background(), id)
		return v, ok && err == nil
	}
	return c.vector(node), true // a row is written once, before its id can be looked up
}

// Contains reports whether an id is in the graph.
func (g *Graph) Contains(id uint32) bool {
	_, ok := g.core.Load().ids.lookup(id)
	return ok
}

// levelOf draws the top layer of an id: floor(-ln(u) * mL), mL = 1/ln M, with u from the id and the
// seed, so that it does not depend on the order of insertion.
func (o *Options) levelOf(id uint32) int {
	u := (float64(mix(o.Seed^uint64(id)*0x9E3779B97F4A7C15)>>11) + 1) / (1 << 53)
	return min(int(-math.Log(u)/math.Log(float64(o.M))), maxLevel)
}
