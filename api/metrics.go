package api

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"searchd/search"
)

// durationBounds are the upper bounds of the buckets of all histograms, in seconds.
var durationBounds = [...]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

type histogram struct {
	buckets [len(durationBounds)]uint64 // not cumulative
	count   uint64
	sum     float64
}

func (h *histogram) observe(seconds float64) {
	h.count++
	h.sum += seconds
	if i, _ := slices.BinarySearch(durationBounds[:], seconds); i < len(durationBounds) {
		h.buckets[i]++
	}
}

// metrics are the server's counters, answered in the text format of Prometheus (version 0.0.4). Labels come from the
// route table and from the engine's stages, never from a request, so that their number is bounded.
type metrics struct {
	mu struct {
		sync.Mutex
		requests map[requestLabels]*histogram
		stages   map[string]*histogram
		degraded uint64
		texts    uint64
		tokens   uint64
	}
}

type requestLabels struct {
	method, route string
	status        int
}

func newMetrics() *metrics {
	m := &metrics{}
	m.mu.requests = map[requestLabels]*histogram{}
	m.mu.stages = map[string]*histogram{}
	return m
}

func (m *metrics) observeRequest(method, route string, status int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	observe(m.mu.requests, requestLabels{method, route, status}, took.Seconds())
}

func (m *metrics) observeSearch(res *search.Response) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for stage, ms := range res.TimingsMS {
		observe(m.mu.stages, stage, ms/1000)
	}
	if res.Degraded {
		m.mu.degraded++
	}
}

func (m *metrics) observeEmbedding(texts, tokens int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.texts += uint64(texts)
	m.mu.tokens += uint64(tokens)
}

func observe[K comparable](hs map[K]*histogram, key K, seconds float64) {
	h := hs[key]
	if h == nil {
		h = &histogram{}
		hs[key] = h
	}
	h.observe(seconds)
}

func (s *Server) metricsText(w http.ResponseWriter, r *http.Request) error {
	var b bytes.Buffer
	s.metrics.write(&b)
	head(&b, "searchd_slots_in_use", "gauge", "Requests of a kind that run now.")
	for _, g := range s.gates() {
		fmt.Fprintf(&b, "searchd_slots_in_use{kind=%q} %d\n", g.name, len(g.slots))
	}
	head(&b, "searchd_slots", "gauge", "Requests of a kind that may run at once.")
	for _, g := range s.gates() {
		fmt.Fprintf(&b, "searchd_slots{kind=%q} %d\n", g.name, cap(g.slots))
	}
	head(&b, "searchd_refused_total", "counter", "Requests of a kind refused because all slots were in use.")
	for _, g := range s.gates() {
		fmt.Fprintf(&b, "searchd_refused_total{kind=%q} %d\n", g.name, g.refusals.Load())
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	head(&b, "go_memstats_heap_inuse_bytes", "gauge", "Heap in use.")
	fmt.Fprintf(&b, "go_memstats_heap_inuse_bytes %d\n", mem.HeapInuse)
	head(&b, "go_goroutines", "gauge", "Goroutines.")
	fmt.Fprintf(&b, "go_goroutines %d\n", runtime.NumGoroutine())
	head(&b, "process_start_time_seconds", "gauge", "Start of the server, seconds since 1970.")
	fmt.Fprintf(&b, "process_start_time_seconds %d\n", s.started.Unix())
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, err := w.Write(b.Bytes())
	return err
}

func (s *Server) gates() []*gate { return []*gate{s.embeds, s.imports, s.searches, s.writes} }

func (m *metrics) write(b *bytes.Buffer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	head(b, "searchd_request_duration_seconds", "histogram", "Requests by method, route and status.")
	keys := slices.SortedFunc(maps.Keys(m.mu.requests), func(a, c requestLabels) int {
		if d := strings.Compare(a.route+a.method, c.route+c.method); d != 0 {
			return d
		}
		return a.status - c.status
	})
	for _, k := range keys {
		m.mu.requests[k].write(b, "searchd_request_duration_seconds", fmt.Sprintf("method=%q,route=%q,status=\"%d\"", k.method, k.route, k.status))
	}
	head(b, "searchd_stage_duration_seconds", "histogram", "Stages of searches.")
	for _, stage := range slices.Sorted(maps.Keys(m.mu.stages)) {
		m.mu.stages[stage].write(b, "searchd_stage_duration_seconds", fmt.Sprintf("stage=%q", stage))
	}
	for _, c := range []struct {
		name, help string
		value      uint64
	}{
		{"searchd_degraded_searches_total", "Searches answered without one of their legs.", m.mu.degraded},
		{"searchd_embedded_texts_total", "Texts of embedding requests.", m.mu.texts},
		{"searchd_embedded_tokens_total", "Tokens of embedding requests.", m.mu.tokens},
	} {
		head(b, c.name, "counter", c.help)
		fmt.Fprintf(b, "%s %d\n", c.name, c.value)
	}
}

func head(b *bytes.Buffer, name, kind, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (h *histogram) write(b *bytes.Buffer, name, labels string) {
	var sum uint64
	for i, n := range h.buckets {
		sum += n
		fmt.Fprintf(b, "%s_bucket{%s,le=%q} %d\n", name, labels, strconv.FormatFloat(durationBounds[i], 'g', -1, 64), sum)
	}
	fmt.Fprintf(b, "%s_bucket{%s,le=\"+Inf\"} %d\n", name, labels, h.count)
	fmt.Fprintf(b, "%s_sum{%s} %s\n", name, labels, strconv.FormatFloat(h.sum, 'g', -1, 64))
	fmt.Fprintf(b, "%s_count{%s} %d\n", name, labels, h.count)
}
