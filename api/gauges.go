package api

import (
	"context"
	"time"

	"searchd/search"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges read the server and the engine when they are asked for.
type gauges struct{ s *Server }

// gaugesTimeout bounds how long the engine may take.
const gaugesTimeout = 5 * time.Second

// desc describes a metric.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	descBuild      = desc("searchd_build_info", "1, with the version of the program and of its source.", "version", "revision")
	descStarted    = desc("searchd_start_time_seconds", "Start of the server, seconds since 1970.")
	descSlots      = desc("searchd_slots", "Requests of a kind that may run at once.", "kind")
	descInUse      = desc("searchd_slots_in_use", "Requests of a kind that run now.", "kind")
	descWaiting    = desc("searchd_waiting", "Requests of a kind that wait for a slot.", "kind")
	descRefused    = desc("searchd_refused_total", "Requests of a kind refused because all slots were in use.", "kind")
	descLimited    = desc("searchd_rate_limited_total", "Requests refused by a rate limit.")
	descBodies     = desc("searchd_bodies_bytes", "Bytes of request bodies in memory.")
	descConns      = desc("searchd_connections", "Open connections.", "state")
	descMaxConns   = desc("searchd_connections_max", "Connections that may be open at once.")
	descGaveWay    = desc("searchd_connections_gave_way_total", "Idle, silent and stalled connections closed to make room.")
	descAnswers    = desc("searchd_answers_bytes", "Bytes of answers in memory that wait to be read, beyond the first 64 KiB of each.")
	descRunning    = desc("searchd_encoder_calls", "Calls of the encoder for requests that run now.")
	descQueued     = desc("searchd_encoder_waiting_tokens", "Tokens, estimated, of requests that wait for the encoder.")
	descQueue      = desc("te_queue_size", "Requests, or parts of large ones, that wait for the encoder.")
	descBatch      = desc("te_batch_next_size", "Texts of the encoder's calls for requests.")
	descBatchTok   = desc("te_batch_next_tokens", "Tokens, estimated, of the encoder's calls for requests.")
	descHits       = desc("searchd_query_cache_hits_total", "Query vectors that were kept from before.")
	descMisses     = desc("searchd_query_cache_misses_total", "Query vectors that had to be encoded.")
	descEntries    = desc("searchd_query_cache_entries", "Query vectors that are kept.")
	descStore      = desc("searchd_store_bytes", "Bytes of the store's file.")
	descReadOnly   = desc("searchd_store_read_only", "1 after a failed commit: searches go on, writes are refused until the next start.")
	descDamaged    = desc("searchd_collections_damaged", "Collections that cannot be opened because a stored value is damaged.")
	descDocuments  = desc("searchd_collection_documents", "Documents of a collection. Of the 100 largest collections, like all that follow.", "collection")
	descPassages   = desc("searchd_collection_passages", "Passages of a collection.", "collection")
	descSpoilt     = desc("searchd_collection_damaged_documents", "Documents with a stored value that cannot be read, as far as is known.", "collection")
	descVectors    = desc("searchd_index_vectors", "Vectors in the graph; copies of one count once.", "collection")
	descTombstones = desc("searchd_index_tombstones", "Deleted vectors in the graph that wait for its compaction.", "collection")
	descUnreach    = desc("searchd_index_unreachable", "Vectors that no path of the graph leads to, as of the last probe.", "collection")
	descRecall     = desc("searchd_index_sampled_recall", "Recall at 10 of searches for some stored vectors, as of the last probe.", "collection")
	descGraph      = desc("searchd_index_graph_bytes", "Bytes of the graph in memory.", "collection")
	descWords      = desc("searchd_index_keyword_bytes", "Bytes of the keyword index on disk.", "collection")
	descLag        = desc("searchd_index_keyword_lag", "Committed changes that the keyword index has not applied.", "collection")
	descRebuilding = desc("searchd_index_rebuilding", "1 while an index is being filled.", "collection", "index")
)

// Describe implements prometheus.Collector: the metrics are checked as they are collected.
func (g *gauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	s, out := g.s, sender{to}
	out.gauge(descBuild, 1, s.o.Version, s.o.Revision)
	out.gauge(descStarted, float64(s.started.Unix()))
	for _, gt := range []*gate{s.embeds, s.tokens, s.imports, s.pdfs, s.searches, s.writes} {
		out.gauge(descSlots, float64(cap(gt.slots)), gt.name)
		out.gauge(descInUse, float64(len(gt.slots)), gt.name)
		out.gauge(descWaiting, float64(gt.waiting.Load()), gt.name)
		out.counter(descRefused, float64(gt.refusals.Load()), gt.name)
	}
	out.counter(descLimited, float64(s.limited.Load()))
	out.gauge(descBodies, float64(s.inFlight.Load()))
	if c := s.conns.Load(); c != nil {
		open, idle, evicted := c.counts()
		out.gauge(descConns, float64(open-idle), "active")
		out.gauge(descConns, float64(idle), "idle")
		out.gauge(descMaxConns, float64(c.max))
		out.counter(descGaveWay, float64(evicted))
	}
	out.gauge(descAnswers, float64(s.unsent.Load()))
	out.gauge(descReadOnly, bit(s.o.Engine.ReadOnly() != nil))
	ctx, cancel := context.WithTimeout(context.Background(), gaugesTimeout)
	defer cancel()
	stats, err := s.o.Engine.Stats(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(descStore, err)
		return
	}
	out.engine(stats)
}

// sender sends metrics to a registry.
type sender struct{ to chan<- prometheus.Metric }

func (o sender) gauge(d *prometheus.Desc, v float64, labels ...string) {
	o.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (o sender) counter(d *prometheus.Desc, v float64, labels ...string) {
	o.to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func (o sender) histogram(d *prometheus.Desc, h *search.Histogram) {
	count, sum, atMost := h.Cumulative()
	o.to <- prometheus.MustNewConstHistogram(d, count, float64(sum), atMost)
}

func (o sender) engine(s *search.Stats) {
	o.gauge(descRunning, float64(s.Encoder.Running))
	o.gauge(descQueue, float64(s.Encoder.Waiting))
	o.gauge(descQueued, float64(s.Encoder.WaitingTokens))
	o.histogram(descBatch, &s.Encoder.BatchTexts)
	o.histogram(descBatchTok, &s.Encoder.BatchTokens)
	o.counter(descHits, float64(s.Queries.Hits))
	o.counter(descMisses, float64(s.Queries.Misses))
	o.gauge(descEntries, float64(s.Queries.Entries))
	if s.StoreBytes > 0 {
		o.gauge(descStore, float64(s.StoreBytes))
	}
	o.gauge(descDamaged, float64(s.Damaged))
	for _, c := range s.Collections {
		x := c.Index
		o.gauge(descDocuments, float64(x.Documents), c.Name)
		o.gauge(descPassages, float64(x.Passages), c.Name)
		o.gauge(descSpoilt, float64(x.Damaged), c.Name)
		o.gauge(descVectors, float64(x.Graph.Nodes), c.Name)
		o.gauge(descTombstones, float64(x.Graph.Dead), c.Name)
		o.gauge(descGraph, float64(x.Graph.Bytes()), c.Name)
		o.gauge(descWords, float64(x.KeywordBytes), c.Name)
		o.gauge(descLag, float64(x.KeywordLag), c.Name)
		if !x.Graph.ProbedAt.IsZero() {
			o.gauge(descUnreach, float64(x.Graph.Unreachable), c.Name)
			o.gauge(descRecall, x.Graph.Recall, c.Name)
		}
		o.gauge(descRebuilding, bit(x.GraphRebuild), c.Name, "graph")
		o.gauge(descRebuilding, bit(x.KeywordRebuild), c.Name, "keyword")
	}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
