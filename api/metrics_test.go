package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// metric returns the value of a time series, or fails.
func metric(t *testing.T, text, series string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Errorf("metrics lack %s", series)
		return 0
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Errorf("%s: %v", series, err)
	}
	return v
}

func wantMetrics(t *testing.T, text string, want map[string]float64) {
	t.Helper()
	for series, v := range want {
		if got := metric(t, text, series); got != v {
			t.Errorf("%s = %v, want %v", series, got, v)
		}
	}
}

func TestMetricsOfEncodingRequests(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("POST", "/embed", `{"inputs":"one text"}`).want(200, nil)
	f.do("POST", "/embed", `{"inputs":["two","texts"]}`).want(200, nil)
	f.do("POST", "/v1/embeddings", `{"input":["three","more","texts"]}`).want(200, nil)
	f.do("POST", "/rerank", `{"query":"q","texts":["a","b"]}`).want(200, nil)
	f.do("POST", "/embed", `{"inputs":""`).want(422, nil)
	f.engine.Hook = func(_ context.Context, method string) error {
		if method == "Embed" {
			return fmt.Errorf("%w", search.ErrBusy)
		}
		return nil
	}
	f.do("POST", "/embed", `{"inputs":"x"}`).want(429, nil)
	f.engine.Hook = func(_ context.Context, method string) error {
		if method == "Embed" {
			return errors.New("a fault")
		}
		return nil
	}
	f.do("POST", "/embed", `{"inputs":"x"}`).want(500, nil)
	text := f.do("GET", "/metrics", "").want(200, nil).Body.String()
	wantMetrics(t, text, map[string]float64{
		`te_request_count{method="single"}`: 1, `te_request_count{method="batch"}`: 3, `te_request_count{method="unknown"}`: 3,
		`te_request_success{method="single"}`: 1, `te_request_success{method="batch"}`: 3,
		`te_request_failure{err="validation"}`: 1, `te_request_failure{err="overloaded"}`: 1, `te_request_failure{err="inference"}`: 1,
		`te_request_duration_count`: 7, `te_request_inference_duration_count`: 4, `te_request_tokenization_duration_count`: 4, `te_request_queue_duration_count`: 4, `te_request_input_length_count`: 4,
		`te_embed_count`: 6, `te_predict_count`: 2, `searchd_embedded_texts_total`: 8,
		`searchd_request_duration_seconds_count{method="POST",route="/embed",status="429"}`: 1,
	})
}

func TestMetricsOverTheEngine(t *testing.T) {
	f := overEngine(t, Options{Version: "v1", Revision: "abc"})
	e := f.server.o.Engine
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	docs := make([]search.Document, 7)
	for i := range docs {
		docs[i].Fields = json.RawMessage(fmt.Sprintf(`{"text":"document number %d of some"}`, i))
	}
	if _, err := e.Ingest(t.Context(), "docs", docs); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f.do("POST", "/v1/collections/docs/search", `{"q":"number"}`).want(200, nil)
	}
	f.do("POST", "/embed", `{"inputs":["a","b","c","d","e"]}`).want(200, nil)
	text := f.do("GET", "/metrics", "").want(200, nil).Body.String()
	wantMetrics(t, text, map[string]float64{
		`searchd_build_info{revision="abc",version="v1"}`: 1,
		`searchd_collection_documents{collection="docs"}`: 7, `searchd_collection_passages{collection="docs"}`: 7, `searchd_index_vectors{collection="docs"}`: 7,
		`searchd_index_tombstones{collection="docs"}`: 0, `searchd_index_unreachable{collection="docs"}`: 0, `searchd_index_sampled_recall{collection="docs"}`: 1,
		`searchd_index_keyword_lag{collection="docs"}`: 0, `searchd_index_rebuilding{collection="docs",index="graph"}`: 0,
		`searchd_query_cache_hits_total`: 2, `searchd_query_cache_misses_total`: 1, `searchd_query_cache_entries`: 1,
		`te_queue_size`: 0, `te_batch_next_size_count`: 2, `te_batch_next_size_sum`: 6, `te_batch_next_size_bucket{le="1"}`: 1, `te_batch_next_size_bucket{le="4"}`: 1, `te_batch_next_size_bucket{le="8"}`: 2,
		`searchd_stage_duration_seconds_count{stage="embed"}`: 3, `searchd_stage_duration_seconds_count{stage="tokenize"}`: 1, `searchd_stage_duration_seconds_count{stage="vector"}`: 3, `searchd_degraded_searches_total`: 0,
		`searchd_waiting{kind="search"}`: 0, `searchd_rate_limited_total`: 0,
	})
	for _, series := range []string{"searchd_store_bytes", "te_request_tokenization_duration_sum", `searchd_index_graph_bytes{collection="docs"}`, `searchd_index_keyword_bytes{collection="docs"}`, "go_goroutines"} {
		if metric(t, text, series) <= 0 {
			t.Errorf("%s is not positive", series)
		}
	}
}

// What one part of the server cannot say hides nothing of the others.
func TestMetricsOfAnEngineThatFails(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("GET", "/v1/collections", "").want(200, nil)
	f.engine.Hook = func(_ context.Context, method string) error {
		if method == "Stats" {
			return errors.New("disk on fire")
		}
		return nil
	}
	text := f.do("GET", "/metrics", "").want(200, nil).Body.String()
	metric(t, text, `searchd_request_duration_seconds_count{method="GET",route="/v1/collections",status="200"}`)
	metric(t, text, `searchd_slots{kind="write"}`)
	if !strings.Contains(f.log.String(), "disk on fire") {
		t.Error("the log does not say what failed")
	}
}
