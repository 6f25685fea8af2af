package search_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search"
	"example.com/searchd/search/inference"
)

// reembedded re-embeds a collection with the engine's own checkpoint, and closes the engine.
func reembedded(t *testing.T, e *search.Engine, name string) {
	t.Helper()
	task, err := e.Reembed(t.Context(), name, search.ReembedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("re-embedding: %+v", task)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// scores are the cosines of a query with the documents of a collection, with all digits.
func scores(t *testing.T, e *search.Engine, name string) (out []float64) {
	t.Helper()
	r, err := e.Search(t.Context(), name, search.Query{Q: "word7 common", Mode: search.Semantic, Limit: ptr(50)})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Hits {
		out = append(out, h.Score)
	}
	return out
}

// TestPoolingOfCollections: collections with other poolings than the engine's are searched and
// written with their own, from whatever folder it is started.
func TestPoolingOfCollections(t *testing.T) {
	model, dir := bertFolder(t), t.TempDir()
	open := func(pooling string) *search.Engine {
		e, err := search.Open(dir, search.Options{Model: model, Encoder: encoder.Options{Pooling: pooling}})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := open("max")
	for _, name := range []string{"made", "moved"} {
		if _, err := e.CreateCollection(t.Context(), name, search.Settings{}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Ingest(t.Context(), name, numbered(20)); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]float64{"made": scores(t, e, "made")}
	e.Close()
	e = open("cls")
	want["moved"] = nil
	reembedded(t, e, "moved")
	e = open("cls")
	want["moved"] = scores(t, e, "moved")
	e.Close()

	for _, pooling := range []string{"", "cls", "max", "mean"} {
		e := open(pooling)
		for name, was := range want {
			if got := scores(t, e, name); !nearAll(got, was) {
				t.Errorf("started with %q: scores of %s %v, want %v", pooling, name, got, was)
			}
			results, err := e.Ingest(t.Context(), name, numbered(20))
			if err != nil || results[0].Status != search.Unchanged {
				t.Errorf("started with %q: writing %s: %+v, %v", pooling, name, results, err)
			}
		}
		if m := e.Inference().Model(); pooling == "" && m.Pooling != "mean" || pooling != "" && m.Pooling != pooling {
			t.Errorf("the engine's own has %q, asked for %q", m.Pooling, pooling)
		}
		e.Close()
	}

	e = open("")
	task, err := e.Reembed(t.Context(), "moved", search.ReembedOptions{Settings: &search.Settings{Language: "de"}})
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded || !strings.Contains(string(task.Result), `"pooling":"cls"`) {
		t.Errorf("other settings: %+v", task)
	}
	e.Close()
}

// TestStaticCheckpoint: a collection of a static checkpoint, which takes texts of any length and
// pools by the mean alone, is served by it and beside another.
func TestStaticCheckpoint(t *testing.T) {
	const rows, dim = 818, 8
	table := make([]byte, 4*rows*dim)
	for i := range rows * dim {
		binary.LittleEndian.PutUint32(table[4*i:], math.Float32bits(float32(math.Sin(float64(i)))))
	}
	header := fmt.Sprintf(`{"embedding.weight":{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,%d]}}`, rows, dim, len(table))
	bert, model, dir := bertFolder(t), t.TempDir(), t.TempDir()
	tokenizer, err := os.ReadFile(filepath.Join(bert, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"modules.json":      []byte(`[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.StaticEmbedding"}]`),
		"model.safetensors": slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header), table),
		"tokenizer.json":    tokenizer,
	} {
		if err := os.WriteFile(filepath.Join(model, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, err := search.Open(dir, search.Options{Model: bert})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateCollection(t.Context(), "static", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ingest(t.Context(), "static", numbered(20)); err != nil {
		t.Fatal(err)
	}
	task, err := e.Reembed(t.Context(), "static", search.ReembedOptions{Model: model})
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("re-embedding: %+v", task)
	}
	want := scores(t, e, "static")
	e.Close()
	for _, own := range []string{bert, model} {
		if e, err = search.Open(dir, search.Options{Model: own}); err != nil {
			t.Fatal(err)
		}
		if got := scores(t, e, "static"); !nearAll(got, want) {
			t.Errorf("started with %s: scores %v, want %v", own, got, want)
		}
		e.Close()
	}
}

func nearAll(a, b []float64) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	for i := range a {
		if d := a[i] - b[i]; d > 1e-6 || d < -1e-6 {
			return false
		}
	}
	return true
}

// TestTwinCheckpointsWithoutParts: two folders with the same weights and other tokenizers are two
// checkpoints also for collections that know the weights alone.
func TestTwinCheckpointsWithoutParts(t *testing.T) {
	dir, folders := t.TempDir(), map[string]string{"lower": bertFolder(t), "upper": bertFolder(t)}
	edit(t, filepath.Join(folders["upper"], "tokenizer.json"), `"lowercase": true`, `"lowercase": false`)
	known := false
	load := func(source, precision, pooling string) (search.Embedder, error) {
		c, err := models.Open(source, encoder.Options{Pooling: pooling})
		if err != nil || known {
			return inference.NewEmbedder(c), err
		}
		return partless{inference.NewEmbedder(c)}, nil
	}
	o := search.Options{Embedder: &fakeEmbedder{}, Load: load}
	e, err := search.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, folder := range folders {
		if _, err := e.CreateCollection(t.Context(), name, search.Settings{}); err != nil {
			t.Fatal(err)
		}
		task, err := e.Reembed(t.Context(), name, search.ReembedOptions{Model: folder})
		if err != nil {
			t.Fatal(err)
		}
		if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
			t.Fatalf("re-embedding: %+v", task)
		}
	}
	e.Close()

	known = true
	if e, err = search.Open(dir, o); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, folder := range folders {
		c, err := models.Open(folder, encoder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if info, err := e.Collection(t.Context(), name); err != nil || info.Model.Parts != c.Info().Parts {
			t.Errorf("%s is said to have %+v, %v, want %+v", name, info.Model.Parts, err, c.Info().Parts)
		}
	}
}

// gated waits for its gate before each batch.
type gated struct {
	search.Embedder
	gate chan struct{}
}

func (g gated) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	select {
	case <-g.gate:
		return g.Embedder.Embed(ctx, texts, o)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestPoolingOfTask: a re-embedding that began with a pooling goes on with it when the engine is
// started without.
func TestPoolingOfTask(t *testing.T) {
	dir, model := t.TempDir(), "../encoder/testdata/bert-mean"
	load := func(_, _, pooling string) (search.Embedder, error) {
		c, err := models.Open(model, encoder.Options{Pooling: pooling})
		return inference.NewEmbedder(c), err
	}
	own := func(pooling string) search.Embedder {
		e, err := load("", "", pooling)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := openWith(t, dir, search.Options{Embedder: own(""), Load: load})
	put(t, e, search.Created, numbered(3*reembedBatch)...)
	e.Close()

	stopped := gated{own("cls"), make(chan struct{}, 1)}
	e = openWith(t, dir, search.Options{Embedder: stopped, Load: load})
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stopped.gate <- struct{}{}
	e.Close()

	e = openWith(t, dir, search.Options{Embedder: own(""), Load: load})
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("re-embedding: %+v", task)
	}
	if c, err := e.Collection(t.Context(), "docs"); err != nil || c.Model.Pooling != "cls" {
		t.Errorf("the collection has %+v, %v, want cls", c.Model, err)
	}
}
