package embedded

import (
	"context"
	"sync"
	"time"

	"searchd/index/hnsw"
	"searchd/search/backend"
)

// A probe of the graph costs scans: there is one a minute at most, and it takes no more than a
// hundredth of the time.
const (
	probeSamples  = 20
	probeInterval = time.Minute
	probeShare    = 100
)

// probed is the last probe of a graph.
type probed struct {
	sync.Mutex // held while probing
	probe      hnsw.Probe
	at         time.Time
	next       time.Time
}

// Stats returns the gauges of the backend, and of a collection's indexes.
func (b *Backend) Stats(ctx context.Context, r backend.StatsRequest) (out backend.StatsResponse, err error) {
	if out.StoreBytes, err = b.store.Size(); err != nil {
		return out, translate(err)
	}
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
		KeywordRebuild: c.rebuild.words.Load(),
		Damaged:        c.damage.count(),
	}
	s.Documents, s.Passages = c.slots.counts()
	var err error
	if s.KeywordBytes, err = c.words.Size(); err != nil {
		return nil, err
	}
	if applied, committed := c.words.Seq(), c.seq.Load(); committed > applied {
		s.KeywordLag = committed - applied
	}
	p := &c.probed
	p.Lock()
	defer p.Unlock()
	if now := time.Now(); !now.Before(p.next) {
		probe, err := c.graph.Probe(ctx, probeSamples)
		if err != nil {
			return nil, err
		}
		p.probe, p.at = probe, now
		p.next = now.Add(max(probeInterval, probeShare*time.Since(now)))
	}
	s.Graph.ProbedAt, s.Graph.Recall, s.Graph.Unreachable = p.at, p.probe.Recall, p.probe.Unreachable
	return s, nil
}
