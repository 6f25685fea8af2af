package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"searchd/api"
	"searchd/internal/version"
	"searchd/search"
	"searchd/search/embedded"
)

// shardMetrics are those of a shard, in a registry of their own. What a shard has in common with a server has the same name.
type shardMetrics struct {
	backend  *embedded.Backend
	state    func() api.Following // how far it is; nil: it follows nobody
	key      [sha256.Size]byte    // its sum
	open     bool                 // no key is needed
	requests *prometheus.HistogramVec
	known    sync.Map // methods that have succeeded: a name that the sender made up becomes no label
	handler  http.Handler
}

// Bounds of what the gauges tell of collections: each becomes several time series.
const (
	statsTimeout = 5 * time.Second
)

func newShardMetrics(b *embedded.Backend, state func() api.Following, key string, log *slog.Logger) *shardMetrics {
	m := &shardMetrics{backend: b, state: state, key: sha256.Sum256([]byte(key)), open: key == ""}
	m.requests = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "searchd_shard_request_duration_seconds", Help: "Requests by method of the shard and status.", Buckets: prometheus.ExponentialBuckets(1e-4, 2, 18),
	}, []string{"method", "status"})
	r := prometheus.NewRegistry()
	r.MustRegister(m.requests, m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 2,
	})
	return m
}

// over answers /metrics, and counts what next answers.
func (m *shardMetrics) over(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			m.answer(w, r)
			return
		}
		began, c := time.Now(), &countedAnswer{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			method, ok := strings.CutPrefix(r.URL.Path, "/shard/v1/")
			if ok && c.status == http.StatusOK {
				m.known.Store(method, true)
			}
			if _, known := m.known.Load(method); !ok || !known {
				method = "other"
			}
			m.requests.WithLabelValues(method, strconv.Itoa(c.status)).Observe(time.Since(began).Seconds())
		}()
		next.ServeHTTP(c, r)
	})
}

func (m *shardMetrics) answer(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(token))
	if !m.open && subtle.ConstantTimeCompare(sum[:], m.key[:]) != 1 {
		w.Header().Set("WWW-Authenticate", "Bearer")
		answerProbe(w, http.StatusUnauthorized, "the key of the shard is missing, or another one")
		return
	}
	m.handler.ServeHTTP(w, r)
}

// countedAnswer remembers the status of an answer.
type countedAnswer struct {
	http.ResponseWriter
	status int
}

func (c *countedAnswer) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (c *countedAnswer) Unwrap() http.ResponseWriter { return c.ResponseWriter }

var (
	descShardBuild    = prometheus.NewDesc("searchd_build_info", "1, with the version of the program and of its source.", []string{"version", "revision"}, nil)
	descShardReadOnly = prometheus.NewDesc("searchd_store_read_only", "1 after a failed commit: searches go on, writes are refused until the next start.", nil, nil)
	descShardIndex    = prometheus.NewDesc("searchd_shard_index", "Place of the shard in its cluster, from 0; missing before a server has claimed it.", nil, nil)
	descShardEpoch    = prometheus.NewDesc("searchd_shard_epoch", "Grows each time that a server claims the right to write to the shard.", nil, nil)
)

// Describe implements prometheus.Collector: the metrics are checked as they are collected.
func (m *shardMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *shardMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	v, revision := version.Read()
	gauge(descShardBuild, 1, v, revision)
	readOnly := 0.0
	if m.backend.ReadOnly() != nil {
		readOnly = 1
	}
	gauge(descShardReadOnly, readOnly)
	api.CollectFollowing(to, m.backend.Followers(), m.state)
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	if id, err := m.backend.Identity(ctx); err != nil {
		to <- prometheus.NewInvalidMetric(descShardIndex, err)
	} else if id.Cluster != "" {
		gauge(descShardIndex, float64(id.Index))
		gauge(descShardEpoch, float64(id.Epoch))
	}
	stats, err := m.stats(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(descShardIndex, err)
		return
	}
	api.CollectStored(to, stats)
}

// stats are the gauges of the store and of the collections, as they are stored.
func (m *shardMetrics) stats(ctx context.Context) (*search.Stats, error) {
	bytes, err := m.backend.StoreSize()
	if err != nil {
		return nil, err
	}
	s := &search.Stats{StoreBytes: bytes}
	s.Collections, s.Damaged, err = search.StatsOf(ctx, m.backend, m.backend, func(stored string) (string, bool) { return stored, true })
	return s, err
}
