package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search"
	"example.com/searchd/search/inference"
)

// countedEmbedder counts the texts that are no queries. Its prompt is no part of what it is known
// by, as that of a checkpoint.
type countedEmbedder struct {
	search.Embedder
	prompt string
	texts  atomic.Int64
	gate   chan struct{} // not nil: each call for documents takes one
	one    sync.Mutex    // a fakeEmbedder takes one call at a time
}

func (c *countedEmbedder) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	if !o.Query {
		c.texts.Add(int64(len(texts)))
		if c.gate != nil {
			select {
			case <-c.gate:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	prompted := make([]string, len(texts))
	for i, t := range texts {
		prompted[i] = c.prompt + t
	}
	c.one.Lock()
	defer c.one.Unlock()
	return c.Embedder.Embed(ctx, prompted, o)
}

// rebuilt re-embeds docs and returns how many texts were encoded for it and how many passages the
// task says were not.
func rebuilt(t *testing.T, e *search.Engine, c *countedEmbedder, o search.ReembedOptions) (encoded, reused int) {
	t.Helper()
	before := c.texts.Load()
	task, err := e.Reembed(t.Context(), "docs", o)
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("task = %+v", task)
	}
	noProblems(t, e)
	var result struct{ Reused int }
	if err := json.Unmarshal(task.Result, &result); err != nil {
		t.Fatal(err)
	}
	return int(c.texts.Load() - before), result.Reused
}

// mixed is document i: some are cut into several passages, by some budgets, and some have a field
// that may be text or not.
func mixed(i int) search.Document {
	return doc(fmt.Sprintf("n%03d", i), fmt.Sprintf(`{"title":"title%d","text":"%s","note":"note%d"}`, i, strings.Repeat(fmt.Sprintf("Common word%d here. ", i), 1+i%8), i))
}

// TestReembedReuses changes settings one after another. What is encoded from the same text keeps
// its vector, bit by bit what it would be anew.
func TestReembedReuses(t *testing.T) {
	checkpoint, err := models.Open("../encoder/testdata/bert-mean", encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const n, batches = 150, 3
	for name, embedder := range map[string]search.Embedder{"fake": &fakeEmbedder{}, "checkpoint": inference.NewEmbedder(checkpoint)} {
		t.Run(name, func(t *testing.T) {
			c := &countedEmbedder{Embedder: embedder}
			e := openWith(t, t.TempDir(), search.Options{Embedder: c})
			docs := make([]search.Document, n)
			for i := range docs {
				docs[i] = mixed(i)
			}
			put(t, e, search.Created, docs...)
			for _, step := range []struct {
				name     string
				settings search.Settings
				all      bool // passages stay as they are
			}{
				{"language", search.Settings{Language: "de"}, true},
				{"index", search.Settings{Language: "de", Index: search.IndexSettings{M: 8, Quantize: "int8"}}, true},
				{"from int8", search.Settings{Language: "de"}, true},
				{"a field", search.Settings{Fields: fieldTypes{"note": {Type: "text"}}}, false},
				{"no field", search.Settings{}, true},
				{"passages", search.Settings{Passages: search.PassageSettings{MaxTokens: 16}}, false},
				{"titles", search.Settings{Passages: search.PassageSettings{MaxTokens: 16, NoTitle: true}}, false},
			} {
				encoded, reused := rebuilt(t, e, c, search.ReembedOptions{Settings: &step.settings})
				info, err := e.Collection(t.Context(), "docs")
				if err != nil {
					t.Fatal(err)
				}
				probes := encoded + reused - info.Passages
				if probes < 0 || probes > batches || step.all && encoded != probes {
					t.Errorf("%s: of %d passages %d were encoded and %d reused", step.name, info.Passages, encoded, reused)
				}
				got := e.Vectors(t, "docs")
				if encoded, reused := rebuilt(t, e, c, search.ReembedOptions{}); encoded != info.Passages || reused != 0 {
					t.Errorf("%s: without settings %d of %d passages were encoded and %d reused", step.name, encoded, info.Passages, reused)
				}
				if !reflect.DeepEqual(got, e.Vectors(t, "docs")) {
					t.Errorf("%s: vectors differ from those that are made anew", step.name)
				}
			}
		})
	}
}

// TestReembedReusesNothing: another checkpoint, or the same by name and sum that gives other
// vectors, encodes everything.
func TestReembedReusesNothing(t *testing.T) {
	dir := t.TempDir()
	e := openWith(t, dir, search.Options{Embedder: &countedEmbedder{Embedder: &fakeEmbedder{}}})
	put(t, e, search.Created, numbered(150)...)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	c := &countedEmbedder{Embedder: &fakeEmbedder{}, prompt: "passage: "}
	e = openWith(t, dir, search.Options{Embedder: c})
	if encoded, reused := rebuilt(t, e, c, search.ReembedOptions{Settings: &search.Settings{Language: "de"}}); encoded < 150 || reused != 0 {
		t.Errorf("with another prompt %d of 150 passages were encoded and %d reused", encoded, reused)
	}
	got := e.Vectors(t, "docs")
	rebuilt(t, e, c, search.ReembedOptions{})
	if !reflect.DeepEqual(got, e.Vectors(t, "docs")) {
		t.Error("vectors differ from those that are made anew")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	w := &wideEmbedder{}
	e, err := openWide(dir, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide, Settings: &search.Settings{Language: "fr"}})
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded || w.texts.Load() != 150 || strings.Contains(string(task.Result), "reused") {
		t.Errorf("with another checkpoint %d of 150 passages were encoded: %+v", w.texts.Load(), task)
	}
}

// TestReembedReusesWhatIsWritten writes meanwhile, to and fro: no document has the vectors of
// another version of it. The program ends in the middle.
func TestReembedReusesWhatIsWritten(t *testing.T) {
	const n = 300
	dir := t.TempDir()
	c := &countedEmbedder{Embedder: &fakeEmbedder{}, gate: make(chan struct{}, 1000)}
	free := func() {
		for len(c.gate) < cap(c.gate) {
			c.gate <- struct{}{}
		}
	}
	free()
	e := openWith(t, dir, search.Options{Embedder: c})
	put(t, e, search.Created, numbered(n)...)
	for len(c.gate) > 0 {
		<-c.gate
	}
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Settings: &search.Settings{Language: "de"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.gate <- struct{}{}
	}
	for len(c.gate) > 0 {
		time.Sleep(time.Millisecond)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	free()
	before := c.texts.Load()
	e = openWith(t, dir, search.Options{Embedder: c})
	for round := range 2 { // away from what it was, and back
		for i := range n / 10 {
			d := numbered(n)[i*10]
			if round == 0 {
				d = doc(d.ID, fmt.Sprintf(`{"text":"another text%d"}`, i))
			}
			if r, err := e.Ingest(t.Context(), "docs", []search.Document{d}); err != nil || r[0].Err != nil {
				t.Fatal(r, err)
			}
			free()
		}
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("task = %+v", task)
	}
	noProblems(t, e)
	free()
	if encoded := c.texts.Load() - before; encoded > 4*n/10+20 {
		t.Errorf("%d texts were encoded after opening again, want those that were written", encoded)
	}
	got := e.Vectors(t, "docs")
	rebuilt(t, e, c, search.ReembedOptions{})
	if len(got) != n || !reflect.DeepEqual(got, e.Vectors(t, "docs")) {
		t.Errorf("vectors of %d documents differ from those that are made anew", len(got))
	}
}
