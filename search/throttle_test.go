package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/models"
)

// longestPause is the longest that bulk work pauses for searches.
const longestPause = 2 * time.Second

// slowEmbedder gives each text a vector, and counts its calls.
type slowEmbedder struct{ batches atomic.Int64 }

func (s *slowEmbedder) Embed(_ context.Context, texts []string, _ EmbedOptions) (*Embeddings, error) {
	s.batches.Add(1)
	r := &Embeddings{}
	for _, t := range texts {
		r.Vectors = append(r.Vectors, []float32{float32(len(t)), float32(t[0])})
	}
	return r, nil
}

func (s *slowEmbedder) CountTokens(text string) int     { return len(text) }
func (s *slowEmbedder) Model() ModelInfo                { return ModelInfo{MaxTokens: 512, Dimension: 2} }
func (s *slowEmbedder) Calibration() models.Calibration { return models.Calibration{} }

// sluggish is an embedder that takes its time.
type sluggish struct{ slowEmbedder }

func (s *sluggish) Embed(ctx context.Context, texts []string, o EmbedOptions) (*Embeddings, error) {
	time.Sleep(300 * time.Millisecond)
	return s.slowEmbedder.Embed(ctx, texts, o)
}

// openSluggish returns an engine with an empty collection named docs.
func openSluggish(t *testing.T) (*Engine, *sluggish) {
	s := &sluggish{}
	e, err := Open(t.TempDir(), Options{Embedder: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if _, err := e.CreateCollection(t.Context(), "docs", Settings{}); err != nil {
		t.Fatal(err)
	}
	return e, s
}

// A single document does not wait for searches, and the next one pauses for it.
func TestSingleWritesDoNotPause(t *testing.T) {
	e, _ := openSluggish(t)
	put := func(id string) time.Duration {
		began := time.Now()
		if _, err := e.Ingest(t.Context(), "docs", []Document{{ID: id, Fields: []byte(`{"text":"some words"}`)}}); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	defer e.throttle.Begin()()
	first := put("a")
	if second := put("b"); first >= longestPause || second < longestPause/2 {
		t.Errorf("the first took %s, want no pause; the second %s, want at least %s", first, second, longestPause/2)
	}
}

// A single document waits for no import that gives way to searches.
func TestSingleWritesPassImports(t *testing.T) {
	e, slow := openSluggish(t)
	defer e.throttle.Begin()()
	var many []Document
	for i := range 50 {
		many = append(many, Document{ID: fmt.Sprint(i), Fields: []byte(`{"text":"` + strings.Repeat("some words ", 40) + fmt.Sprint(i) + `"}`)})
	}
	ctx, stop := context.WithCancel(t.Context())
	imported := make(chan error, 1)
	go func() {
		_, err := e.Ingest(ctx, "docs", many)
		imported <- err
	}()
	for slow.batches.Load() == 0 { // until the import has encoded its first part
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	if _, err := e.Ingest(t.Context(), "docs", []Document{{ID: "one", Fields: []byte(`{"text":"some words"}`)}}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took >= longestPause {
		t.Errorf("a single document took %s amid an import", took)
	}
	stop()
	if err := <-imported; !errors.Is(err, context.Canceled) {
		t.Errorf("the import had ended: %v", err)
	}
}

// observer is an embedder that tells whether a search counted while its query was encoded.
type observer struct {
	slowEmbedder
	engine  *Engine
	counted []bool
}

func (o *observer) Embed(ctx context.Context, texts []string, opts EmbedOptions) (*Embeddings, error) {
	if o.engine != nil {
		o.counted = append(o.counted, o.engine.throttle.Searches() > 0)
	}
	return o.slowEmbedder.Embed(ctx, texts, opts)
}

// Every kind of search makes bulk work give way while it runs.
func TestEverySearchCounts(t *testing.T) {
	o := &observer{}
	e, err := Open(t.TempDir(), Options{Embedder: o})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := t.Context()
	if _, err := e.CreateCollection(ctx, "docs", Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ingest(ctx, "docs", []Document{{ID: "a", Fields: []byte(`{"text":"some words"}`)}}); err != nil {
		t.Fatal(err)
	}
	o.engine = e
	for name, ask := range map[string]func() error{
		"search":  func() error { _, err := e.Search(ctx, "docs", Query{Q: "one"}); return err },
		"batch":   func() error { _, err := e.SearchBatch(ctx, "docs", []Query{{Q: "two"}}); return err },
		"similar": func() error { _, err := e.Similar(ctx, "docs", Similar{Text: "three"}); return err },
		"explain": func() error { _, err := e.Explain(ctx, "docs", "a", Query{Q: "four"}); return err },
	} {
		o.counted = nil
		if err := ask(); err != nil || len(o.counted) == 0 || !o.counted[0] {
			t.Errorf("%s: counted %v, %v", name, o.counted, err)
		}
		if n := e.throttle.Searches(); n != 0 {
			t.Errorf("%s: %d searches count after it", name, n)
		}
	}
}
