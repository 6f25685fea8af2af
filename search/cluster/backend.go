package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/searchd/search/backend"
)

// withStatistics returns q with the statistics of all partitions, which are asked for once for each
// query.
func (n *Backend) withStatistics(ctx context.Context, c *collection, parts []partition, q *backend.Words) (*backend.Words, error) {
	if q == nil || q.Statistics != nil || len(parts) == 1 {
		return q, nil
	}
	words := []any{c.ID, c.revision, q.Text, q.Exact}
	for _, f := range q.Fields {
		words = append(words, f.Name)
	}
	key, err := json.Marshal(words)
	if err != nil {
		return nil, err
	}
	out := *q
	out.Statistics, err = backend.Once(ctx, string(key), func() (*backend.Statistics, error) { return statistics(ctx, parts, c.Name, *q) })
	if err != nil {
		return nil, err
	}
	return &out, nil
}

// query runs f with the partitions of a collection and with the statistics of words, which may be
// nil. Where these do not fit, as the settings were changed in between, they are asked for anew,
// not for the whole query.
func query[T any](ctx context.Context, n *Backend, name string, words *backend.Words, f func(parts []partition, words *backend.Words) (T, error)) (out T, err error) {
	for again := false; ; again = true {
		c, err := n.collection(ctx, name)
		if err != nil {
			return out, err
		}
		parts := without(ctx, n.partitions(c))
		q, err := n.withStatistics(ctx, c, parts, words)
		if err != nil {
			return out, err
		}
		out, err = f(parts, q)
		if again || !errors.Is(err, backend.ErrStatistics) {
			return out, err
		}
		ctx = backend.WithQuery(ctx)
	}
}

// Open describes a collection.
func (n *Backend) Open(ctx context.Context, r backend.OpenRequest) (out backend.OpenResponse, err error) {
	c, err := n.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	parts := without(ctx, n.partitions(c))
	if out.Collection, err = n.describe(ctx, c, parts); err != nil || r.Words == nil {
		return out, err
	}
	out.Statistics, err = statistics(ctx, parts, r.Collection, *r.Words)
	return out, err
}

// describe adds up what the partitions are.
func (n *Backend) describe(ctx context.Context, c *collection, parts []partition) (backend.Collection, error) {
	out := backend.Collection{Name: c.Name, Config: c.Config, Origin: n.origin}
	list, err := each(ctx, parts, func(ctx context.Context, p partition) (backend.OpenResponse, error) {
		return p.Open(ctx, backend.OpenRequest{Collection: c.Name})
	})
	if err != nil {
		return out, err
	}
	for _, p := range list {
		out.Documents += p.Collection.Documents
		out.Passages += p.Collection.Passages
		out.DamagedDocuments += p.Collection.DamagedDocuments
		out.Sequence += p.Collection.Sequence
	}
	return out, nil
}

// Collections describes all collections, by name. One without a replica of each partition comes
// with what is known of it.
func (n *Backend) Collections(ctx context.Context) ([]backend.Collection, error) {
	if n.closed() {
		return nil, backend.ErrClosed
	}
	n.catalogue.mu.Lock()
	var all []*collection
	for _, c := range n.catalogue.mu.collections {
		all = append(all, c)
	}
	n.catalogue.mu.Unlock()
	slices.SortFunc(all, func(a, b *collection) int { return cmp.Compare(a.Name, b.Name) })
	var out []backend.Collection
	for _, c := range all {
		one, err := n.describe(ctx, c, n.partitions(c))
		if errors.Is(err, backend.ErrCollectionNotFound) {
			continue
		}
		if err != nil && !errors.Is(err, backend.ErrUnavailable) {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// Select implements [backend.Storage].
func (n *Backend) Select(ctx context.Context, r backend.SelectRequest) (*backend.Selection, error) {
	var words *backend.Words
	if len(r.With)+len(r.Without) > 0 && r.Rank.Text != "" {
		words = &r.Rank
	}
	return query(ctx, n, r.Collection, words, func(parts []partition, words *backend.Words) (*backend.Selection, error) {
		if words != nil {
			r.Rank = *words
		}
		return choose(ctx, parts, r)
	})
}

// RetrieveWords implements [backend.Storage].
func (n *Backend) RetrieveWords(ctx context.Context, r backend.WordsRequest) (backend.WordsResponse, error) {
	return query(ctx, n, r.Collection, &r.Words, func(parts []partition, words *backend.Words) (backend.WordsResponse, error) {
		own := r
		own.Words = *words
		return retrieveWords(ctx, parts, own)
	})
}

// RetrieveVectors implements [backend.Storage].
func (n *Backend) RetrieveVectors(ctx context.Context, r backend.VectorsRequest) (backend.VectorsResponse, error) {
	return query(ctx, n, r.Collection, nil, func(parts []partition, _ *backend.Words) (backend.VectorsResponse, error) {
		return retrieveVectors(ctx, parts, r)
	})
}

// Aggregate implements [backend.Storage].
func (n *Backend) Aggregate(ctx context.Context, r backend.AggregateRequest) (backend.AggregateResponse, error) {
	var words *backend.Words
	if r.Order != nil {
		words = r.Order.Words
	}
	return query(ctx, n, r.Collection, words, func(parts []partition, words *backend.Words) (backend.AggregateResponse, error) {
		own := r
		if words != nil {
			order := *r.Order
			order.Words = words
			own.Order = &order
		}
		return aggregate(ctx, parts, own)
	})
}

// Fetch implements [backend.Storage].
func (n *Backend) Fetch(ctx context.Context, r backend.FetchRequest) (backend.FetchResponse, error) {
	return query(ctx, n, r.Collection, r.Words, func(parts []partition, words *backend.Words) (backend.FetchResponse, error) {
		own := r
		own.Words = words
		return fetch(ctx, parts, own)
	})
}

// Suggest implements [backend.Storage].
func (n *Backend) Suggest(ctx context.Context, r backend.SuggestRequest) (backend.SuggestResponse, error) {
	return query(ctx, n, r.Collection, r.Expand, func(parts []partition, words *backend.Words) (backend.SuggestResponse, error) {
		own := r
		own.Expand = words
		return suggest(ctx, parts, own)
	})
}

// Lookup implements [backend.Storage]. It is not older than the call: a barrier in the log of each
// partition that it reads comes first.
func (n *Backend) Lookup(ctx context.Context, r backend.LookupRequest) ([]*backend.Document, error) {
	c, err := n.collection(ctx, r.Collection)
	if err != nil {
		return nil, err
	}
	parts := without(ctx, n.partitions(c))
	shares := share(parts, r.IDs, func(id string) (int, string) { return partitionOf(id, len(parts)), id })
	_, err = eachShare(ctx, shares, func(ctx context.Context, k keys[string]) (struct{}, error) {
		if len(k.own) == 0 {
			return struct{}{}, nil
		}
		m := backend.GapsOf(ctx)
		if m.Has(k.index) {
			return struct{}{}, nil
		}
		at, err := n.barrierAt(ctx, c.ID, k.index)
		if err == nil {
			err = n.settle(ctx, c, k.index, at)
		}
		if errors.Is(err, backend.ErrUnavailable) && m.Add(k.index, c.Partitions) {
			err = nil
		}
		return struct{}{}, err
	})
	if err != nil {
		return nil, err
	}
	return lookup(ctx, parts, r)
}

// List implements [backend.Storage].
func (n *Backend) List(ctx context.Context, r backend.ListRequest) (backend.ListResponse, error) {
	return query(ctx, n, r.Collection, nil, func(parts []partition, _ *backend.Words) (backend.ListResponse, error) {
		return list(ctx, parts, r)
	})
}

// Changes is not offered: tasks that need it are refused in a cluster.
func (n *Backend) Changes(ctx context.Context, r backend.ChangesRequest) (out backend.ChangesResponse, err error) {
	if _, err := n.collection(ctx, r.Collection); err != nil {
		return out, err
	}
	return out, fmt.Errorf("%w: a cluster cannot re-embed a collection yet: migrate it to a folder, re-embed it there and migrate it back", errors.ErrUnsupported)
}

// Stats returns the gauges of this node, and of a collection's replicas, one for each partition.
func (n *Backend) Stats(ctx context.Context, r backend.StatsRequest) (backend.StatsResponse, error) {
	if n.closed() {
		return backend.StatsResponse{}, backend.ErrClosed
	}
	out, err := n.local.Stats(ctx, backend.StatsRequest{})
	if err != nil || r.Collection == "" {
		return out, err
	}
	c, err := n.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	list, err := each(ctx, n.partitions(c), func(ctx context.Context, p partition) (backend.StatsResponse, error) {
		got, err := p.Storage.(routed).ask(ctx, call{Stats: &backend.StatsRequest{}})
		return answerOf(got, err, func(o reply) *backend.StatsResponse { return o.Stats })
	})
	if err != nil {
		return out, err
	}
	out.Index = &backend.IndexStats{Graph: backend.GraphStats{Recall: math.Inf(1)}}
	for _, s := range list {
		if s.Index != nil {
			addStats(out.Index, *s.Index)
		}
	}
	if math.IsInf(out.Index.Graph.Recall, 1) {
		out.Index.Graph.Recall = 0
	}
	return out, nil
}

// addStats adds the gauges of a partition: sums, and of what is no sum the worst.
func addStats(out *backend.IndexStats, s backend.IndexStats) {
	out.Documents, out.Passages, out.Damaged = out.Documents+s.Documents, out.Passages+s.Passages, out.Damaged+s.Damaged
	out.GraphRebuild, out.KeywordRebuild = out.GraphRebuild || s.GraphRebuild, out.KeywordRebuild || s.KeywordRebuild
	out.KeywordBytes, out.KeywordLag = out.KeywordBytes+s.KeywordBytes, out.KeywordLag+s.KeywordLag
	g, o := &out.Graph, s.Graph
	g.Nodes, g.Dead, g.Unreachable = g.Nodes+o.Nodes, g.Dead+o.Dead, g.Unreachable+o.Unreachable
	g.Layers, g.EfSearch = max(g.Layers, o.Layers), max(g.EfSearch, o.EfSearch)
	g.VectorBytes, g.CodeBytes = g.VectorBytes+o.VectorBytes, g.CodeBytes+o.CodeBytes
	g.LinkBytes, g.TableBytes = g.LinkBytes+o.LinkBytes, g.TableBytes+o.TableBytes
	if !o.ProbedAt.IsZero() {
		if g.Recall = min(g.Recall, o.Recall); g.ProbedAt.IsZero() || o.ProbedAt.Before(g.ProbedAt) {
			g.ProbedAt = o.ProbedAt
		}
	}
}

// Check compares what the replicas of this node store with what they index.
func (n *Backend) Check(ctx context.Context, r backend.CheckRequest) (backend.CheckResponse, error) {
	if n.closed() {
		return backend.CheckResponse{}, backend.ErrClosed
	}
	out, err := n.local.Check(ctx, r)
	if r.Vectors { // a document is repaired by a replica of its own, not by a write
		out.Vectors = nil
	}
	return out, err
}

// Backup is not offered.
func (n *Backend) Backup(context.Context, io.Writer) (int64, error) {
	return 0, fmt.Errorf("%w: a cluster has no backup in one file: migrate it to a folder", errors.ErrUnsupported)
}

// NodeStatus is a node as another sees it.
type NodeStatus struct {
	Name    string `json:"name"`
	State   string `json:"state"`   // up, silent, gone, away, drained, removing
	Serving int    `json:"serving"` // replicas
}

// PartitionStatus is a partition of a collection.
type PartitionStatus struct {
	Collection string   `json:"collection"`
	Partition  int      `json:"partition"`
	Placed     []string `json:"placed"`  // nodes that should have a replica
	Serving    []string `json:"serving"` // nodes whose replica serves
	Leader     string   `json:"leader"`  // of the log; empty: none
	Messages   uint64   `json:"messages"`
	Last       uint64   `json:"last"`            // place of the last message
	Fault      string   `json:"fault,omitempty"` // of the log, which takes no writes
}

// Status describes the cluster.
type Status struct {
	Cluster    string            `json:"cluster"`
	Node       string            `json:"node"`
	InContact  bool              `json:"in_contact"` // with a majority of the nodes
	Nodes      []NodeStatus      `json:"nodes"`
	Partitions []PartitionStatus `json:"partitions"`
}

// Status returns the state of the cluster as this node sees it.
func (n *Backend) Status(ctx context.Context) (out Status) {
	out = Status{Cluster: n.o.Cluster, Node: n.name, InContact: n.inContact(), Nodes: []NodeStatus{}, Partitions: []PartitionStatus{}}
	for _, r := range n.removing() {
		out.Nodes = append(out.Nodes, NodeStatus{Name: r.Name, State: "removing"})
	}
	for name, r := range n.nodes() {
		s := NodeStatus{Name: name, State: "up"}
		silent := name != n.name && n.silent(name)
		s.Serving = n.servingOn(name)
		switch {
		case r.Away:
			s.State = "away"
		case r.Drained && !silent:
			s.State = "drained"
		case silent && n.gone(name):
			s.State = "gone"
		case silent:
			s.State = "silent"
		}
		out.Nodes = append(out.Nodes, s)
	}
	slices.SortFunc(out.Nodes, func(a, b NodeStatus) int { return strings.Compare(a.Name, b.Name) })
	n.catalogue.mu.Lock()
	var all []*collection
	for _, c := range n.catalogue.mu.collections {
		all = append(all, c)
	}
	n.catalogue.mu.Unlock()
	slices.SortFunc(all, func(a, b *collection) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range all {
		for p := range c.Partitions {
			s := PartitionStatus{Collection: c.Name, Partition: p, Placed: n.placed(c, p), Serving: routed{n, c, p}.candidates()}
			log := n.log(c.ID, p)
			if s.Fault = log.fault(); s.Fault == "" {
				s.Fault = n.diverged(c.ID, p)
			}
			within, cancel := context.WithTimeout(ctx, 2*time.Second)
			if stream, err := n.js.Stream(within, n.streamName(c.ID, p, log.Generation)); err == nil {
				info := stream.CachedInfo()
				s.Messages, s.Last = info.State.Msgs, info.State.LastSeq
				if s.Leader = n.name; info.Cluster != nil {
					s.Leader = info.Cluster.Leader
				}
			} else if errors.Is(err, jetstream.ErrStreamNotFound) {
				s.Leader = ""
			}
			cancel()
			slices.Sort(s.Serving)
			if s.Serving == nil {
				s.Serving = []string{}
			}
			if s.Placed == nil {
				s.Placed = []string{}
			}
			out.Partitions = append(out.Partitions, s)
		}
	}
	return out
}
