// Package apitest has what tests of whatever stands on api.Engine share: the engine itself, small
// and with a hook, and a place for keys.
package apitest

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/encoder"
	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/inference"
)

// Engine is a search.Engine whose calls can be watched, held up and failed.
type Engine struct {
	*search.Engine
	*inference.Service
	// Hook, where not nil, is called at the beginning of the methods in methods.go, with their
	// name. Tests block, panic and fail in it.
	Hook func(ctx context.Context, method string) error
	// NotReady, where not nil, is what Ready returns.
	NotReady error
}

// New returns an engine over an empty folder, which is closed at the end of the test. It has
// everything that an engine can have, its checkpoint is so small that its vectors mean nothing, its
// re-ranker counts words in common.
func New(t testing.TB) *Engine {
	t.Helper()
	return NewOver(t, nil)
}

// NewOver is New over a backend, nil for a folder.
func NewOver(t testing.TB, b backend.Backend) *Engine {
	t.Helper()
	e, err := search.Open(t.TempDir(), search.Options{Backend: b, Model: tinyModel(t), Reranker: overlap{}, Sparse: lengths{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return &Engine{Engine: e, Service: e.Inference()}
}

// tinyModel returns the path of a checkpoint of the repository, which a test of any package reaches
// by walking up to go.mod.
func tinyModel(t testing.TB) string {
	t.Helper()
	for dir := ".."; len(dir) < 64; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "encoder/testdata/bert-mean")
		}
	}
	t.Fatal("no go.mod above the working directory")
	return ""
}

// Ready implements api.Engine.
func (e *Engine) Ready() error {
	if e.NotReady != nil {
		return e.NotReady
	}
	return e.Engine.Ready()
}

func (e *Engine) enter(ctx context.Context, method string) error {
	if e.Hook != nil {
		if err := e.Hook(ctx, method); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// hooked calls f when the hook has been called.
func hooked[T any](ctx context.Context, e *Engine, method string, f func() (T, error)) (result T, err error) {
	if err := e.enter(ctx, method); err != nil {
		return result, err
	}
	return f()
}

// overlap is a re-ranker by the number of the query's words in a text, less one.
type overlap struct{}

func (o overlap) Score(_ context.Context, pairs [][2]string) (*encoder.Scores, error) {
	s := &encoder.Scores{Logits: make([]float32, len(pairs)), Truncated: make([]bool, len(pairs))}
	for i, p := range pairs {
		s.Logits[i] = -1
		words, most := strings.Fields(p[1]), o.Model().MaxTokens
		for _, w := range strings.Fields(p[0]) {
			if slices.Contains(words, w) {
				s.Logits[i]++
			}
		}
		s.Tokens += min(len(words), most)
		s.Truncated[i] = len(words) > most
	}
	return s, nil
}

func (overlap) Relevance(logit float32) float64 { return 1 / (1 + math.Exp(-float64(logit))) }

func (overlap) Model() search.RerankerInfo {
	return search.RerankerInfo{Name: "overlap", MaxTokens: 64, Sigmoid: true}
}

// lengths is a sparse encoder that counts the words of each length, in the first 16 of a text.
type lengths struct{}

func (lengths) EncodeSparse(_ context.Context, texts []string, _ encoder.EncodeOptions) (*encoder.SparseResult, error) {
	r := &encoder.SparseResult{Vectors: make([][]encoder.TokenWeight, len(texts)), Truncated: make([]bool, len(texts)), MaxTokens: 16}
	for i, text := range texts {
		count := map[int32]float32{}
		words := strings.Fields(text)
		r.Truncated[i] = len(words) > r.MaxTokens
		for _, w := range words[:min(len(words), r.MaxTokens)] {
			count[int32(len(w))]++
		}
		for _, id := range slices.Sorted(maps.Keys(count)) {
			r.Vectors[i] = append(r.Vectors[i], encoder.TokenWeight{ID: id, Weight: count[id]})
		}
	}
	return r, nil
}
