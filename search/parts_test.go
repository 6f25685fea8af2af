package search_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search"
	"example.com/searchd/search/inference"
)

// bertFolder is a copy of the small BERT, whose files a test may change.
func bertFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bert-mean")
	if err := os.CopyFS(dir, os.DirFS("../encoder/testdata/bert-mean")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCheckpointFilesChanged: vectors of two kinds never get into one collection when somebody
// edits the files of a checkpoint beside its weights.
func TestCheckpointFilesChanged(t *testing.T) {
	for name, change := range map[string]struct{ file, old, new, want string }{
		"tokenizer": {"tokenizer.json", `"lowercase": true`, `"lowercase": false`, "tokenizer"},
		"prompt":    {"config_sentence_transformers.json", "", `{"prompts":{"document":"passage: "}}`, "prompt for documents"},
		"config":    {"config.json", `1e-12`, `1e-3`, "config.json"},
		"modules":   {"1_Pooling/config.json", "{", `{"include_prompt":false,`, "modules"},
		"length":    {"sentence_bert_config.json", "", `{"max_seq_length":16}`, "maximal length (16 tokens, a passage has 64)"},
	} {
		t.Run(name, func(t *testing.T) {
			model, dir := bertFolder(t), t.TempDir()
			engine := func(said *string) *search.Engine {
				e, err := search.Open(dir, search.Options{Model: model, Notice: func(text string) { *said += text + "\n" }})
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			var said string
			e := engine(&said)
			if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
				t.Fatal(err)
			}
			put(t, e, search.Created, numbered(3)...)
			e.Close()
			edit(t, filepath.Join(model, change.file), change.old, change.new)

			e = engine(&said)
			defer e.Close()
			_, searching := e.Search(t.Context(), "docs", search.Query{Q: "word7", Mode: search.Semantic})
			_, writing := e.Ingest(t.Context(), "docs", numbered(4))
			for place, text := range map[string]string{"opening": said, "searching": fmt.Sprint(searching), "writing": fmt.Sprint(writing)} {
				for _, part := range []string{"bert-mean", change.want, "searchd reembed"} {
					if !strings.Contains(text, part) {
						t.Errorf("%s says %q, want %q in it", place, text, part)
					}
				}
			}
			if !errors.Is(searching, search.ErrModelMismatch) || !errors.Is(writing, search.ErrModelMismatch) {
				t.Errorf("%v, %v, want ErrModelMismatch", searching, writing)
			}
			task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
				t.Fatalf("re-embedding: %+v", task)
			}
			if _, err := e.Ingest(t.Context(), "docs", numbered(4)); err != nil {
				t.Errorf("after re-embedding: %v", err)
			}
		})
	}
}

// partless is a checkpoint as it was before its parts had sums.
type partless struct{ search.Embedder }

func (p partless) Model() search.ModelInfo {
	m := p.Embedder.Model()
	m.Parts = encoder.Parts{}
	return m
}

// TestCheckpointPartsAdopted: a collection that is older than the sums gets those of today, on any
// machine that has the same files.
func TestCheckpointPartsAdopted(t *testing.T) {
	model, dir := bertFolder(t), t.TempDir()
	c, err := models.Open(model, encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := openWith(t, dir, search.Options{Embedder: partless{inference.NewEmbedder(c)}})
	put(t, e, search.Created, numbered(3)...)
	was, err := e.Collection(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	if was.Model.Parts != (encoder.Parts{}) {
		t.Fatalf("the collection has parts: %+v", was.Model)
	}
	e.Close()
	elsewhere := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(elsewhere, os.DirFS(model)); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{model, elsewhere} {
		e, err := search.Open(dir, search.Options{Model: own})
		if err != nil {
			t.Fatal(err)
		}
		now, err := e.Collection(t.Context(), "docs")
		if err != nil || now.Model.Parts != c.Info().Parts {
			t.Errorf("parts %+v, %v, want those of today", now.Model.Parts, err)
		}
		now.Model.Parts = encoder.Parts{}
		if !reflect.DeepEqual(was, now) {
			t.Errorf("the collection was %+v and is %+v", was, now)
		}
		if got := find(t, e, search.Query{Q: "word2", Mode: search.Semantic, Limit: ptr(1)}); got != "n002" {
			t.Errorf("found %q", got)
		}
		put(t, e, search.Unchanged, numbered(3)...)
		e.Close()
	}
	edit(t, filepath.Join(elsewhere, "tokenizer.json"), `"lowercase": true`, `"lowercase": false`)
	e, err = search.Open(dir, search.Options{Model: elsewhere})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Ingest(t.Context(), "docs", numbered(4)); !errors.Is(err, search.ErrModelMismatch) {
		t.Errorf("%v, want ErrModelMismatch", err)
	}
}

// TestCheckpointPartsAdoptedBesideOwn is the same for a collection whose checkpoint is not the
// engine's own.
func TestCheckpointPartsAdoptedBesideOwn(t *testing.T) {
	dir := t.TempDir()
	c, err := models.Open("../encoder/testdata/bert-mean", encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var made search.Embedder = partless{inference.NewEmbedder(c)}
	o := search.Options{Embedder: &fakeEmbedder{}, Load: func(_, _, _ string) (search.Embedder, error) { return made, nil }}
	e := openWith(t, dir, o)
	put(t, e, search.Created, numbered(3)...)
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("re-embedding: %+v", task)
	}
	e.Close()
	made = inference.NewEmbedder(c)
	for range 2 {
		e := openWith(t, dir, o)
		now, err := e.Collection(t.Context(), "docs")
		if err != nil || now.Model.Parts != c.Info().Parts {
			t.Errorf("parts %+v, %v, want those of today", now.Model.Parts, err)
		}
		put(t, e, search.Unchanged, numbered(3)...)
		if got := find(t, e, search.Query{Q: "word2", Mode: search.Semantic, Limit: ptr(1)}); got != "n002" {
			t.Errorf("found %q", got)
		}
		e.Close()
	}
}

// partlessWide is a wideEmbedder with or without the sums of its parts.
type partlessWide struct {
	*wideEmbedder
	parts encoder.Parts
}

func (p partlessWide) Model() search.ModelInfo {
	m := p.wideEmbedder.Model()
	m.Parts = p.parts
	return m
}

// TestCheckpointPartsAdoptedMidway: a re-embedding that began before there were sums ends with
// those of the checkpoint that it goes on with.
func TestCheckpointPartsAdoptedMidway(t *testing.T) {
	dir := t.TempDir()
	made := partlessWide{wideEmbedder: &wideEmbedder{gate: make(chan struct{})}}
	o := search.Options{Embedder: &fakeEmbedder{}, Load: func(_, _, _ string) (search.Embedder, error) { return made, nil }}
	e := openWith(t, dir, o)
	put(t, e, search.Created, numbered(3*reembedBatch)...)
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
	if err != nil {
		t.Fatal(err)
	}
	made.gate <- struct{}{}
	made.gate <- struct{}{}
	e.Close()

	close(made.gate)
	made.parts = encoder.Parts{Tokenizer: "of today"}
	e = openWith(t, dir, o)
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("re-embedding: %+v", task)
	}
	if now, err := e.Collection(t.Context(), "docs"); err != nil || now.Model.Parts != made.parts {
		t.Errorf("parts %+v, %v, want those of today", now.Model.Parts, err)
	}
	put(t, e, search.Unchanged, numbered(3)...)
	if got := find(t, e, search.Query{Q: "word2", Mode: search.Semantic, Limit: ptr(1)}); got != "n002" {
		t.Errorf("found %q", got)
	}
	e.Close()

	made.parts.Tokenizer = "edited"
	e = openWith(t, dir, o)
	defer e.Close()
	_, err = e.Ingest(t.Context(), "docs", numbered(3*reembedBatch+1))
	if !errors.Is(err, search.ErrModelMismatch) || !strings.Contains(err.Error(), "with these: `searchd reembed --data DIR --collection docs` with --model "+wide) {
		t.Errorf("%v, want ErrModelMismatch and the way to take the checkpoint as it is now", err)
	}
}

// edit replaces old in a file; a file that is not there is made.
func edit(t *testing.T, name, old, next string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil && old != "" {
		t.Fatal(err)
	}
	text := next
	if old != "" {
		if text = strings.Replace(string(b), old, next, 1); text == string(b) {
			t.Fatalf("%s has no %s", name, old)
		}
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
