package shards

import (
	"context"
	"slices"
	"strings"

	"searchd/search/backend"
)

// States says how each shard is, in their order. counted: with the number of its documents.
func (b *Backend) States(ctx context.Context, counted bool) []backend.ShardState {
	list, names := make([]backend.Shard, len(b.parts)), make([]string, len(b.parts))
	for i, p := range b.parts {
		list[i], names[i] = p.Shard, p.name
	}
	return states(ctx, list, names, b.epoch, counted)
}

// StoreSize returns the bytes of the stores of all shards.
func (b *Backend) StoreSize() (n int64, err error) {
	sizes, errs := settle(b.parts, func(p *part) (int64, error) { return p.StoreSize() })
	for _, size := range sizes {
		n += size
	}
	return n, firstOf(errs)
}

// ReadOnly returns nil while all shards take writes, and otherwise why one of them does not.
func (b *Backend) ReadOnly() error {
	_, errs := settle(b.parts, func(p *part) (none, error) { return none{}, p.ReadOnly() })
	return firstOf(errs)
}

// Rebuilds shows the derived indexes that are being filled, those of all shards as one.
func (b *Backend) Rebuilds() (out []backend.Rebuild) {
	lists, _ := settle(b.parts, func(p *part) ([]backend.Rebuild, error) { return p.Rebuilds(), nil })
	for _, r := range slices.Concat(lists...) {
		i := slices.IndexFunc(out, func(o backend.Rebuild) bool { return o.Collection == r.Collection && o.Index == r.Index })
		if i < 0 {
			out = append(out, r)
			continue
		}
		out[i].Done, out[i].Total = out[i].Done+r.Done, out[i].Total+r.Total
		if r.Began.Before(out[i].Began) {
			out[i].Began = r.Began
		}
	}
	slices.SortStableFunc(out, func(a, b backend.Rebuild) int { return strings.Compare(a.Collection, b.Collection) })
	return out
}

// IndexStats returns the gauges of a collection: sums, of what is no sum the largest, the recall of all samples, and the time of the earliest probe.
func (b *Backend) IndexStats(ctx context.Context, collection string) (out backend.IndexStats, err error) {
	found, err := all(ctx, b, collection, func(ctx context.Context, p *part) (backend.IndexStats, error) { return p.IndexStats(ctx, collection) })
	if err != nil {
		return out, err
	}
	out = found[0]
	for _, s := range found[1:] {
		out.Documents, out.Passages, out.Damaged = out.Documents+s.Documents, out.Passages+s.Passages, out.Damaged+s.Damaged
		out.KeywordBytes, out.KeywordLag = out.KeywordBytes+s.KeywordBytes, out.KeywordLag+s.KeywordLag
		out.GraphRebuild, out.KeywordRebuild = out.GraphRebuild || s.GraphRebuild, out.KeywordRebuild || s.KeywordRebuild
		addGraph(&out, s)
	}
	return out, nil
}

// addGraph adds the gauges of another graph.
func addGraph(out *backend.IndexStats, s backend.IndexStats) {
	g, o := &out.Graph, s.Graph
	g.Live, g.Nodes, g.Dead = g.Live+o.Live, g.Nodes+o.Nodes, g.Dead+o.Dead
	g.Layers, g.EfSearch, g.Busy = max(g.Layers, o.Layers), max(g.EfSearch, o.EfSearch), g.Busy || o.Busy
	g.Memory.Vectors, g.Memory.Codes = g.Memory.Vectors+o.Memory.Vectors, g.Memory.Codes+o.Memory.Codes
	g.Memory.Links, g.Memory.Tables = g.Memory.Links+o.Memory.Links, g.Memory.Tables+o.Memory.Tables
	p, q := &out.Probe, s.Probe
	if n := p.Samples + q.Samples; n > 0 {
		p.Recall = (p.Recall*float64(p.Samples) + q.Recall*float64(q.Samples)) / float64(n)
	}
	p.Samples, p.Unfound, p.Unreachable = p.Samples+q.Samples, p.Unfound+q.Unfound, p.Unreachable+q.Unreachable
	if s.ProbedAt.Before(out.ProbedAt) {
		out.ProbedAt = s.ProbedAt
	}
}
