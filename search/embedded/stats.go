package embedded

import (
	"context"
	"sync"
	"time"

	"searchd/index/hnsw"
	"searchd/search/backend"
)

// A probe of the graph costs scans: there is one a minute at most, and it takes no more than a hundredth of the time.
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

// StoreSize returns the bytes of the store's file.
func (b *Backend) StoreSize() (int64, error) {
	n, err := b.store.Size()
	return n, translate(err)
}

// ReadOnly returns nil while writes are taken, and ErrReadOnly with its cause after a failed commit.
func (b *Backend) ReadOnly() error { return translate(b.store.ReadOnly()) }

// IndexStats returns the gauges of a collection. It may take as long as some searches.
func (b *Backend) IndexStats(ctx context.Context, name string) (backend.IndexStats, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return backend.IndexStats{}, err
	}
	defer release()
	s := backend.IndexStats{
		Graph:          c.graph.Stats(),
		GraphRebuild:   c.rebuild.graph.Load() != nil,
		KeywordRebuild: c.rebuild.words.Load(),
	}
	s.Documents, s.Passages = c.slots.counts()
	s.Damaged = c.damage.count()
	if s.KeywordBytes, err = c.words.Size(); err != nil {
		return s, err
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
			return s, err
		}
		p.probe, p.at = probe, now
		p.next = now.Add(max(probeInterval, probeShare*time.Since(now)))
	}
	s.Probe, s.ProbedAt = p.probe, p.at
	return s, nil
}
