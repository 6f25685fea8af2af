package search_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/searchd/models"
	"example.com/searchd/search"
)

// plainEmbedder is what somebody writes who leaves out what he does not know.
type plainEmbedder struct {
	fakeEmbedder
	model       search.ModelInfo
	calibration models.Calibration
	cut         int // components that its vectors lack
	none        bool
}

func (e *plainEmbedder) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	if e.none {
		return nil, nil
	}
	r, err := e.fakeEmbedder.Embed(ctx, texts, o)
	if err != nil {
		return nil, err
	}
	for i, v := range r.Vectors {
		r.Vectors[i] = v[:len(v)-e.cut]
	}
	return &search.Embeddings{Vectors: r.Vectors}, nil
}

func (e *plainEmbedder) Model() search.ModelInfo         { return e.model }
func (e *plainEmbedder) Calibration() models.Calibration { return e.calibration }

// TestEmbedderRefused: the description of an Embedder is checked when the engine opens, its
// vectors when it returns them.
func TestEmbedderRefused(t *testing.T) {
	good := search.ModelInfo{Name: "plain", Dimension: fakeDim, MaxTokens: 32}
	for name, tc := range map[string]struct {
		e    *plainEmbedder
		want string
	}{
		"nothing":   {&plainEmbedder{}, "embedder.model.dimension: got 0, allowed: at least 1; embedder.model.max_tokens: got 0, allowed: at least 1"},
		"no length": {&plainEmbedder{model: search.ModelInfo{Dimension: fakeDim}}, "embedder.model.max_tokens: got 0"},
		"bad floor": {&plainEmbedder{model: good, calibration: models.Calibration{CosineFloor: 1}}, "cosine_floor: got 1"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := search.Open(t.TempDir(), search.Options{Embedder: tc.e})
			if err == nil {
				e.Close()
			}
			if !errors.Is(err, search.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Open = %v, want %s", err, tc.want)
			}
		})
	}
	for name, tc := range map[string]struct {
		e    *plainEmbedder
		want string
	}{
		"short vectors": {&plainEmbedder{model: good, cut: 1}, "the embedder gave a vector of 63 components, want 64"},
		"no result":     {&plainEmbedder{model: good, none: true}, "the embedder gave other than 1 vectors for 1 texts"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := search.Open(t.TempDir(), search.Options{Embedder: tc.e})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Ingest(t.Context(), "docs", []search.Document{doc("a", `{"text":"a car"}`)}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Ingest = %v, want %s", err, tc.want)
			}
			if _, err := e.Search(t.Context(), "docs", search.Query{Q: "car", Mode: search.Semantic}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Search = %v, want %s", err, tc.want)
			}
		})
	}
}

// TestOwnEmbedderIsNotTheEmbedded: an own Embedder is not taken for the embedded checkpoint, nor
// that for it.
func TestOwnEmbedderIsNotTheEmbedded(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, &fakeEmbedder{})
	put(t, e, search.Created, doc("a", `{"text":"a car"}`))
	if task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: models.Embedded}); !errors.Is(err, search.ErrUnsupported) {
		t.Errorf("Reembed with the embedded checkpoint = %+v, %v, want ErrUnsupported", task, err)
	}
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); !task.Ended() && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if task, err = e.Task(t.Context(), task.ID); err != nil {
			t.Fatal(err)
		}
	}
	if task.State != search.TaskSucceeded {
		t.Fatalf("task %+v", task)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	other := open(t, dir, &fakeEmbedder{sha256: "other"})
	_, err = other.Search(t.Context(), "docs", search.Query{Q: "car"})
	if !errors.Is(err, search.ErrModelMismatch) || strings.Contains(err.Error(), models.Embedded) {
		t.Errorf("Search with another Embedder = %v, want ErrModelMismatch without a word of the embedded checkpoint", err)
	}
}
