package embedded

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"example.com/searchd/index/hnsw"
	"example.com/searchd/search/backend"
)

// A probe of the graph scans vectors: there is at most one per minute, and probes take no more than
// a hundredth of the time.
const (
	probeSamples  = 20
	probeInterval = time.Minute
	probeShare    = 100
)

// probe is the last probe of a graph.
type probe struct {
	sync.Mutex // held while probing
	result     hnsw.Probe
	at         time.Time
	next       time.Time
}

// Stats returns the gauges of the backend, and of a collection's indexes.
func (b *Backend) Stats(ctx context.Context, r backend.StatsRequest) (out backend.StatsResponse, err error) {
	if out.StoreBytes, err = b.store.Size(); err != nil {
		return out, translate(err)
	}
	id := b.store.ID()
	out.StoreID = hex.EncodeToString(id[:])
	if err := b.store.ReadOnly(); err != nil {
		out.ReadOnly = err.Error()
	}
	out.Rebuilds = b.rebuilds()
	if r.Collection == "" {
		return out, nil
	}
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	defer release()
	out.Index, err = c.stats(ctx)
	return out, err
}

// stats returns the gauges of the indexes.
func (c *collection) stats(ctx context.Context) (*backend.IndexStats, error) {
	g := c.graph.Stats()
	s := &backend.IndexStats{
		Graph: backend.GraphStats{
			Nodes: g.Nodes, Dead: g.Dead, Layers: g.Layers, EfSearch: g.EfSearch,
			VectorBytes: g.Memory.Vectors, CodeBytes: g.Memory.Codes, LinkBytes: g.Memory.Links, TableBytes: g.Memory.Tables,
		},
		GraphRebuild:   c.rebuild.graph.Load() != nil,
		KeywordRebuild: c.rebuild.keyword.Load(),
		Damaged:        c.damage.count(),
	}
	s.Documents, s.Passages = c.slots.counts()
	var err error
	if s.KeywordBytes, err = c.keyword.Size(); err != nil {
		return nil, err
	}
	if applied, committed := c.keyword.Seq(), c.seq.Load(); committed > applied {
		s.KeywordLag = committed - applied
	}
	p := &c.probe
	p.Lock()
	defer p.Unlock()
	if now := time.Now(); !now.Before(p.next) {
		result, err := c.graph.Probe(ctx, probeSamples)
		if err != nil {
			return nil, err
		}
		p.result, p.at = result, now
		p.next = now.Add(max(probeInterval, probeShare*time.Since(now)))
	}
	s.Graph.ProbedAt, s.Graph.Recall, s.Graph.Unreachable = p.at, p.result.Recall, p.result.Unreachable
	return s, nil
}
