package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/searchd/models"
	"example.com/searchd/search"
)

// fakeEmbedder hashes words into dimensions: texts that share words are near, and words of one
// meaning share a dimension.
type fakeEmbedder struct {
	fail   error // returned for queries
	sha256 string
	calls  atomic.Int64 // texts encoded that were not queries
	limit  int64        // texts after which encoding fails; 0: never
	notice func(string)

	passageTokens int
}

const fakeDim = 64

var sameMeaning = map[string]string{"automobile": "car", "vehicle": "car", "feline": "cat", "kitten": "cat"}

func (f *fakeEmbedder) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	if f.fail != nil && o.Query {
		return nil, f.fail
	}
	if !o.Query {
		if calls := f.calls.Add(int64(len(texts))); f.limit > 0 && calls > f.limit {
			return nil, errors.New("the encoder had enough")
		}
	}
	r := &search.Embeddings{Truncated: make([]bool, len(texts))}
	for _, t := range texts {
		v := make([]float32, fakeDim)
		v[0] = 0.1 // no text is without a direction
		for _, w := range strings.Fields(strings.ToLower(t)) {
			w = strings.Trim(w, ".,!?")
			if m := sameMeaning[w]; m != "" {
				w = m
			}
			h := fnv.New32a()
			h.Write([]byte(w))
			v[1+h.Sum32()%(fakeDim-1)]++
		}
		r.Vectors = append(r.Vectors, v)
		r.Tokens += len(strings.Fields(t))
	}
	return r, nil
}

func (f *fakeEmbedder) CountTokens(text string) int { return len(strings.Fields(text)) }

func (f *fakeEmbedder) Model() search.ModelInfo {
	sum := f.sha256
	if sum == "" {
		sum = "fake"
	}
	return search.ModelInfo{Name: "fake", SHA256: sum, Dimension: fakeDim, Pooling: "mean", MaxTokens: 32, PassageTokens: f.passageTokens}
}

func (f *fakeEmbedder) Calibration() models.Calibration {
	return models.Calibration{}
}

// open returns an engine over dir with a collection named docs.
func open(t testing.TB, dir string, f *fakeEmbedder) *search.Engine {
	t.Helper()
	return openWith(t, dir, search.Options{Embedder: f, Notice: f.notice})
}

func openWith(t testing.TB, dir string, o search.Options) *search.Engine {
	t.Helper()
	e, err := search.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil && !errors.Is(err, search.ErrCollectionExists) {
		t.Fatal(err)
	}
	return e
}

// doc makes a document of a JSON object.
func doc(id, fields string) search.Document {
	return search.Document{ID: id, Fields: json.RawMessage(fields)}
}

// put ingests documents and wants the same status of all of them.
func put(t testing.TB, e *search.Engine, want search.Status, docs ...search.Document) {
	t.Helper()
	results, err := e.Ingest(t.Context(), "docs", docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Status != want {
			t.Fatalf("Ingest(%s) = %s, %v, want %s", r.ID, r.Status, r.Err, want)
		}
	}
}

// find searches and returns the ids of the hits, joined by spaces.
func find(t testing.TB, e *search.Engine, q search.Query) string {
	t.Helper()
	r, err := e.Search(t.Context(), "docs", q)
	if err != nil {
		t.Fatalf("Search(%+v): %v", q, err)
	}
	ids := make([]string, len(r.Hits))
	for i, h := range r.Hits {
		ids[i] = h.ID
	}
	return strings.Join(ids, " ")
}

// numbered makes n documents that share a word and differ in one.
func numbered(n int) []search.Document {
	docs := make([]search.Document, n)
	for i := range docs {
		docs[i] = doc(fmt.Sprintf("n%03d", i), fmt.Sprintf(`{"text":"common word%d","n":%d,"even":%t}`, i, i, i%2 == 0))
	}
	return docs
}
