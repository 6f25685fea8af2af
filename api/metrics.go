package api

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"example.com/searchd/search"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// durationBounds are the bucket bounds of durations, in seconds.
var durationBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// metrics are in their own registry. Labels come from the route table, the engine's stages and the
// names of collections, never from a request, so their number is bounded. Those that begin with te_
// are named as in text-embeddings-inference.
type metrics struct {
	handler http.Handler

	requests  *prometheus.HistogramVec // method, route, status
	stages    *prometheus.HistogramVec // stage
	degraded  prometheus.Counter
	texts     prometheus.Counter
	tokens    prometheus.Counter
	truncated prometheus.Counter

	te teiMetrics
}

// teiMetrics are of the encoding routes.
type teiMetrics struct {
	count, success, failure *prometheus.CounterVec
	duration                prometheus.Histogram
	queue, tokens           prometheus.Histogram
	inference               prometheus.Histogram
	length                  prometheus.Histogram
	embeds, predicts        prometheus.Counter
}

func newMetrics(s *Server) *metrics {
	r := prometheus.NewRegistry()
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		r.MustRegister(c)
		return c
	}
	histograms := func(name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: durationBounds}, labels)
		r.MustRegister(h)
		return h
	}
	fine := func(name, help string, bounds []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds})
		r.MustRegister(h)
		return h
	}
	seconds, sizes := prometheus.ExponentialBuckets(1e-5, 1.5, 35), prometheus.ExponentialBuckets(1, 2, 20)
	m := &metrics{
		requests:  histograms("searchd_request_duration_seconds", "Requests by method, route and status.", "method", "route", "status"),
		stages:    histograms("searchd_stage_duration_seconds", "Stages of searches.", "stage"),
		degraded:  counter("searchd_degraded_searches_total", "Searches answered without one of their retrievers or without the requested re-ranking."),
		texts:     counter("searchd_embedded_texts_total", "Texts of embedding and re-ranking requests."),
		tokens:    counter("searchd_embedded_tokens_total", "Tokens of embedding and re-ranking requests."),
		truncated: counter("searchd_truncated_texts_total", "Texts of embedding and re-ranking requests that were truncated to the model's limit."),
		te: teiMetrics{
			count:     counters("te_request_count", "Encoding requests by method: single, batch; unknown for those that failed.", "method"),
			success:   counters("te_request_success", "Encoding requests that were answered, by method.", "method"),
			failure:   counters("te_request_failure", "Encoding requests that failed, by cause.", "err"),
			duration:  fine("te_request_duration", "Encoding requests, seconds.", seconds),
			queue:     fine("te_request_queue_duration", "Seconds that encoding requests waited in the queue.", seconds),
			tokens:    fine("te_request_tokenization_duration", "Seconds spent tokenizing the texts of encoding requests.", seconds),
			inference: fine("te_request_inference_duration", "Seconds spent encoding the tokens of encoding requests.", seconds),
			length:    fine("te_request_input_length", "Tokens of encoding requests.", sizes),
			embeds:    counter("te_embed_count", "Texts encoded for requests."),
			predicts:  counter("te_predict_count", "Pairs scored for requests."),
		},
	}
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &gauges{s})
	r.MustRegister(s.o.Collectors...)
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError, // a collection that cannot be described hides nothing else
		MaxRequestsInFlight: 2,
	})
	return m
}

func (s *Server) metricsText(w http.ResponseWriter, r *http.Request) error {
	s.metrics.handler.ServeHTTP(w, r)
	return nil
}

// encodingRoute reports whether te_request_* count a route.
func encodingRoute(route string) bool {
	return teiPaths[route] || route == "/v1/embeddings" || route == "/v1/rerank" || route == "/v2/rerank"
}

func (m *metrics) observeRequest(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
	if !encodingRoute(route) || method != http.MethodPost {
		return
	}
	m.te.duration.Observe(took.Seconds())
	if status < 400 {
		return
	}
	m.te.count.WithLabelValues("unknown").Inc()
	m.te.failure.WithLabelValues(teiFailure(status)).Inc()
}

func teiFailure(status int) string {
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return "overloaded"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "unauthorized"
	case status < 500:
		return "validation"
	}
	return "inference"
}

func (m *metrics) observeCost(c cost) {
	method := "batch"
	if c.texts == 1 {
		method = "single"
	}
	m.te.count.WithLabelValues(method).Inc()
	m.te.success.WithLabelValues(method).Inc()
	m.te.queue.Observe(c.queue.Seconds())
	m.te.tokens.Observe(c.tokenization.Seconds())
	m.te.inference.Observe(c.inference.Seconds())
	m.te.length.Observe(float64(c.tokens))
	if c.pairs {
		m.te.predicts.Add(float64(c.texts))
	} else {
		m.te.embeds.Add(float64(c.texts))
	}
	m.texts.Add(float64(c.texts))
	m.tokens.Add(float64(c.tokens))
	m.truncated.Add(float64(c.truncated))
}

func (m *metrics) observeSearch(res *search.Response) {
	for stage, ms := range res.TimingsMS {
		m.stages.WithLabelValues(stage).Observe(ms / 1000)
	}
	if res.Degraded {
		m.degraded.Inc()
	}
}
