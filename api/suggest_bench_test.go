package api

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/searchd/analytics"
	"example.com/searchd/api/events"
	"example.com/searchd/search"
)

// BenchmarkSuggest completes texts of all lengths over HTTP, half of them with a typo, among
// 100,000 titles and 100,000 queries of others, and reports the 50th and the 99th percentile.
func BenchmarkSuggest(b *testing.B) {
	const titles, queries = 100_000, 100_000
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 30_000)
	for i := range words {
		w := make([]byte, 3+r.IntN(9))
		for j := range w {
			w[j] = "etaoinshrdlucmfwygpbvk"[min(r.IntN(22), r.IntN(22))]
		}
		words[i] = string(w)
	}
	pick := func() string { return words[min(r.IntN(len(words)), r.IntN(len(words)), r.IntN(len(words)))] }
	text := func() string { return strings.Join([]string{pick(), pick(), pick(), pick()}[:2+r.IntN(3)], " ") }

	e, err := search.Open(b.TempDir(), search.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(b.Context(), "docs", search.Settings{Embedder: &search.EmbedderSettings{Source: "given", Dimension: 2}}); err != nil {
		b.Fatal(err)
	}
	var known []string
	docs := make([]search.Document, titles)
	for i := range docs {
		known = append(known, text())
		docs[i] = search.Document{ID: fmt.Sprint(i), Fields: json.RawMessage(fmt.Sprintf(`{"title":%q}`, known[i]))}
	}
	for part := range slices.Chunk(docs, 5000) {
		if _, err := e.Ingest(b.Context(), "docs", part); err != nil {
			b.Fatal(err)
		}
	}
	l, err := analytics.Open(b.TempDir(), analytics.Options{MaxBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for i := range queries {
		known = append(known, text())
		for range analytics.LeastSeen + i%3 {
			l.Search(analytics.Event{Collection: "docs", Query: known[len(known)-1], Mode: "keyword", Hits: 1}, false)
		}
		if i%1000 == 0 {
			if err := l.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := l.Flush(b.Context()); err != nil || l.Stats().Dropped > 0 {
		b.Fatal(err, l.Stats())
	}
	past := events.NewPast(l)
	defer past.Close()
	s, err := New(Options{Engine: e, Inference: e.Inference(), Analytics: l, PastQueries: past, Logger: discard})
	if err != nil {
		b.Fatal(err)
	}
	ts := httptest.NewServer(s.handler)
	defer ts.Close()
	ask := func(typed string) (answer string) {
		res, err := http.Get(ts.URL + "/v1/collections/docs/suggest?q=" + url.QueryEscape(typed))
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(res.Status, err)
		}
		return string(body)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if a := ask(known[0][:3]); strings.Contains(a, `"query"`) && !strings.Contains(a, `"building"`) {
			break
		}
		if time.Now().After(deadline) {
			b.Fatal("nothing is suggested")
		}
	}
	var took []time.Duration
	for b.Loop() {
		whole := known[r.IntN(len(known))]
		typed := []byte(whole[:1+r.IntN(len(whole))])
		if r.IntN(2) == 0 && len(typed) > 3 {
			typed[1+r.IntN(len(typed)-1)] = 'e'
		}
		began := time.Now()
		ask(string(typed))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
}
