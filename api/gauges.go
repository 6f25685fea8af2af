package api

import (
	"context"
	"slices"
	"time"

	"example.com/searchd/search"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges reads the server and the engine when metrics are collected.
type gauges struct{ s *Server }

// gaugesTimeout bounds the time of the engine.
const gaugesTimeout = 5 * time.Second

// Describe implements prometheus.Collector: the metrics are checked as they are collected.
func (g *gauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	s, out := g.s, sender{to}
	out.gauge("searchd_build_info", "Always 1, labelled with version and commit.", 1, "version", s.o.Version, "revision", s.o.Revision)
	out.gauge("searchd_start_time_seconds", "Start of the server, seconds since 1970.", float64(s.started.Unix()))
	for _, gt := range []*gate{s.embeds, s.tokens, s.tokenize, s.imports, s.pdfs, s.searches, s.writes} {
		out.gauge("searchd_slots", "Limit on concurrent requests of a kind.", float64(cap(gt.slots)), "kind", gt.name)
		out.gauge("searchd_slots_in_use", "Requests of a kind running now.", float64(len(gt.slots)), "kind", gt.name)
		out.gauge("searchd_waiting", "Requests of a kind waiting for a slot.", float64(gt.waiting.Load()), "kind", gt.name)
		out.counter("searchd_refused_total", "Requests of a kind rejected because all slots were in use.", float64(gt.refusals.Load()), "kind", gt.name)
	}
	out.counter("searchd_rate_limited_total", "Requests rejected by a rate limit.", float64(s.limited.Load()))
	out.gauge("searchd_bodies_bytes", "Bytes of request bodies in memory.", float64(s.inFlight.Load()))
	if c := s.conns.Load(); c != nil {
		open, idle, evicted := c.Counts()
		out.gauge("searchd_connections", "Open connections.", float64(open-idle), "state", "active")
		out.gauge("searchd_connections", "Open connections.", float64(idle), "state", "idle")
		out.gauge("searchd_connections_max", "Limit on open connections.", float64(c.Max))
		out.counter("searchd_connections_gave_way_total", "Idle, silent and stalled connections closed to make room.", float64(evicted))
	}
	if g := s.o.Generator; g != nil {
		n := g.Model.Stats()
		out.gauge("searchd_generations", "Texts being generated now.", float64(n.Requests))
		out.gauge("searchd_generations_waiting", "Requests for text waiting for memory.", float64(n.Waiting))
		out.gauge("searchd_generation_cache_bytes", "Bytes of the caches of texts being generated.", float64(n.CacheBytes))
		out.counter("searchd_generated_tokens_total", "Tokens generated.", float64(n.Tokens))
	}
	out.gauge("searchd_answers_bytes", "Bytes of unread responses in memory, beyond the first 64 KiB of each.", float64(s.unsent.Load()))
	out.gauge("searchd_store_read_only", "1 after a failed commit: searches continue, writes are rejected until a restart.", bit(s.o.Engine.ReadOnly() != nil))
	ctx, cancel := context.WithTimeout(context.Background(), gaugesTimeout)
	defer cancel()
	stats, err := s.o.Engine.Stats(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(prometheus.NewDesc("searchd_store_bytes", "", nil, nil), err)
		return
	}
	out.engine(stats)
}

// sender sends metrics to a registry. Labels are pairs of name and value.
type sender struct{ to chan<- prometheus.Metric }

func describeMetric(name, help string, pairs []string) (*prometheus.Desc, []string) {
	var names, values []string
	for pair := range slices.Chunk(pairs, 2) {
		names, values = append(names, pair[0]), append(values, pair[1])
	}
	return prometheus.NewDesc(name, help, names, nil), values
}

func (o sender) gauge(name, help string, v float64, labels ...string) {
	d, values := describeMetric(name, help, labels)
	o.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, values...)
}

func (o sender) counter(name, help string, v float64, labels ...string) {
	d, values := describeMetric(name, help, labels)
	o.to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, values...)
}

func (o sender) histogram(name, help string, h *search.Histogram) {
	count, sum, atMost := h.Cumulative()
	o.to <- prometheus.MustNewConstHistogram(prometheus.NewDesc(name, help, nil, nil), count, float64(sum), atMost)
}

func (o sender) engine(s *search.Stats) {
	o.gauge("searchd_encoder_calls", "Encoder calls running now for requests.", float64(s.Encoder.Running))
	o.gauge("te_queue_size", "Requests, or parts of large ones, waiting for the encoder.", float64(s.Encoder.Waiting))
	o.gauge("searchd_encoder_waiting_tokens", "Estimated tokens of requests waiting for the encoder.", float64(s.Encoder.WaitingTokens))
	o.histogram("te_batch_next_size", "Texts in encoder calls for requests.", &s.Encoder.BatchTexts)
	o.histogram("te_batch_next_tokens", "Estimated tokens in encoder calls for requests.", &s.Encoder.BatchTokens)
	o.counter("searchd_query_cache_hits_total", "Query vectors found in the cache.", float64(s.Queries.Hits))
	o.counter("searchd_query_cache_misses_total", "Query vectors that were not in the cache.", float64(s.Queries.Misses))
	o.gauge("searchd_query_cache_entries", "Query vectors in the cache.", float64(s.Queries.Entries))
	if s.StoreBytes > 0 {
		o.gauge("searchd_store_bytes", "Bytes of the store's file.", float64(s.StoreBytes))
	}
	o.gauge("searchd_collections_damaged", "Collections that cannot be opened because a stored value is damaged.", float64(s.Damaged))
	for _, c := range s.Collections {
		x := c.Index
		o.gauge("searchd_collection_documents", "Documents of a collection. This and the following metrics cover the 100 largest collections.", float64(x.Documents), "collection", c.Name)
		o.gauge("searchd_collection_passages", "Passages of a collection.", float64(x.Passages), "collection", c.Name)
		o.gauge("searchd_collection_damaged_documents", "Documents known to have a stored value that cannot be read.", float64(x.Damaged), "collection", c.Name)
		o.gauge("searchd_index_vectors", "Vectors in the graph; duplicates count once.", float64(x.Graph.Nodes), "collection", c.Name)
		o.gauge("searchd_index_tombstones", "Deleted vectors that compaction has not yet removed from the graph.", float64(x.Graph.Dead), "collection", c.Name)
		o.gauge("searchd_index_graph_bytes", "Bytes of the graph in memory.", float64(x.Graph.Bytes()), "collection", c.Name)
		o.gauge("searchd_index_keyword_bytes", "Bytes of the keyword index on disk.", float64(x.KeywordBytes), "collection", c.Name)
		o.gauge("searchd_index_keyword_lag", "Committed changes that the keyword index has not applied.", float64(x.KeywordLag), "collection", c.Name)
		if !x.Graph.ProbedAt.IsZero() {
			o.gauge("searchd_index_unreachable", "Vectors unreachable in the graph, as of the last probe.", float64(x.Graph.Unreachable), "collection", c.Name)
			o.gauge("searchd_index_sampled_recall", "Recall at 10 for a sample of stored vectors, as of the last probe.", x.Graph.Recall, "collection", c.Name)
		}
		o.gauge("searchd_index_rebuilding", "1 while an index is being filled.", bit(x.GraphRebuild), "collection", c.Name, "index", "graph")
		o.gauge("searchd_index_rebuilding", "1 while an index is being filled.", bit(x.KeywordRebuild), "collection", c.Name, "index", "keyword")
	}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
