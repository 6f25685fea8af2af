package search_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"searchd/search"
	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/search/shards"
)

// lent is a shard that whoever has it does not close.
type lent struct {
	backend.Shard
	words func() // called at the beginning of Words
}

func (lent) Close() error { return nil }

func (s lent) Words(ctx context.Context, collection string, q backend.Words, k int, sel backend.Selection) (backend.WordMatches, error) {
	s.words()
	return s.Shard.Words(ctx, collection, q, k, sel)
}

// readBeside is an engine that writes to shards, and another that reads them.
type readBeside struct {
	writer, reader *search.Engine
	shards         *shards.Backend // of the writer
}

// newBeside opens both over two shards. words is called when the reader looks for words.
func newBeside(t *testing.T, words func()) *readBeside {
	t.Helper()
	var parts, others []backend.Shard
	for i := range 2 {
		b, err := embedded.Open(filepath.Join(t.TempDir(), fmt.Sprint(i)), embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		parts, others = append(parts, lent{b, func() {}}), append(others, lent{b, words})
	}
	p := &readBeside{}
	open := func(list []backend.Shard, reads bool) (*search.Engine, *shards.Backend) {
		b, err := shards.Open(t.Context(), list, shards.Options{Reader: reads})
		if err != nil {
			t.Fatal(err)
		}
		return openWith(t, t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Backend: b, Load: func(string, string, string) (search.Embedder, error) {
			return &wideEmbedder{}, nil
		}}), b
	}
	p.writer, p.shards = open(parts, false)
	p.reader, _ = open(others, true)
	return p
}

// reembed builds docs anew with another checkpoint, and waits until what it was is gone.
func (p *readBeside) reembed(t *testing.T) {
	task, err := p.writer.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
	if err != nil {
		t.Error(err)
		return
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		task, err = p.writer.Task(t.Context(), task.ID)
		list, listErr := p.shards.Collections(t.Context())
		if gone := !slices.ContainsFunc(list, func(c backend.Collection) bool { return c.Name == "docs" }); task.Ended() && gone {
			return
		}
		if err := errors.Join(err, listErr); err != nil || time.Now().After(deadline) {
			t.Errorf("%+v, collections %v, %v", task, list, err)
			return
		}
	}
}

// ids are those of the hits of a search.
func (p *readBeside) ids(t *testing.T, collection string, mode search.Mode) (list []string) {
	t.Helper()
	r, err := p.reader.Search(t.Context(), collection, search.Query{Q: "fish", Mode: mode})
	if err != nil {
		t.Fatalf("%s: %v", collection, err)
	}
	for _, h := range r.Hits {
		list = append(list, h.ID)
	}
	return list
}

// TestRefresh changes names through one engine and looks for them with another.
func TestRefresh(t *testing.T) {
	p := newBeside(t, func() {})
	put(t, p.writer, search.Created, doc("a", `{"text":"fish"}`))
	if got := p.ids(t, "docs", search.Hybrid); !slices.Equal(got, []string{"a"}) { // a collection that is new
		t.Errorf("hits %v", got)
	}
	if _, err := p.writer.SetAlias(t.Context(), "other", "docs"); err != nil {
		t.Fatal(err)
	}
	if got := p.ids(t, "other", search.Hybrid); len(got) != 1 { // a name that leads nowhere is looked for again
		t.Errorf("hits %v", got)
	}

	// A name that leads elsewhere does so from the next Refresh on.
	if _, err := p.writer.CreateCollection(t.Context(), "empty", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.writer.SetAlias(t.Context(), "other", "empty"); err != nil {
		t.Fatal(err)
	}
	refresh := func() string {
		t.Helper()
		v, err := p.reader.Refresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := refresh()
	if got := p.ids(t, "other", search.Hybrid); len(got) != 0 {
		t.Errorf("hits %v after the alias leads elsewhere", got)
	}
	put(t, p.writer, search.Created, doc("b", `{"text":"fish"}`))
	if now := refresh(); now != before {
		t.Errorf("version %s after documents, %s before", now, before)
	}
	vault, err := p.writer.Vault()
	if err != nil {
		t.Fatal(err)
	}
	if err := vault.SetValues(t.Context(), map[string][]byte{"key/x": []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if now := refresh(); now == before {
		t.Error("an API key has not changed the version")
	}

	// What the reader must not do.
	_, ingest := p.reader.Ingest(t.Context(), "docs", []search.Document{doc("c", `{"text":"fish"}`)})
	_, create := p.reader.CreateCollection(t.Context(), "more", search.Settings{})
	_, alias := p.reader.SetAlias(t.Context(), "more", "docs")
	for what, err := range map[string]error{"Ingest": ingest, "CreateCollection": create, "SetAlias": alias, "DropCollection": p.reader.DropCollection(t.Context(), "docs")} {
		if !errors.Is(err, search.ErrReader) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := p.writer.Refresh(t.Context()); !errors.Is(err, search.ErrUnsupported) {
		t.Errorf("Refresh of the one that writes: %v", err)
	}
	if err := p.reader.Ready(); err != nil {
		t.Error(err)
	}
}

// A collection that is built anew with another checkpoint, and whose generation of before is gone, is found: the names are read again, and the checkpoint is loaded.
func TestRefreshReembedded(t *testing.T) {
	search.SetReembedGrace(t, 0)
	p := newBeside(t, func() {})
	put(t, p.writer, search.Created, fish(60)...)
	want := p.ids(t, "docs", search.Keyword)
	p.reembed(t)
	if got := p.ids(t, "docs", search.Keyword); !slices.Equal(got, want) {
		t.Errorf("hits %v, want %v", got, want)
	}
	if got := p.ids(t, "docs", search.Semantic); len(got) == 0 {
		t.Error("nothing is found by its meaning")
	}
	tasks, err := p.writer.Tasks(t.Context())
	if err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	if _, err := p.reader.Task(t.Context(), tasks[0].ID); !errors.Is(err, search.ErrTaskNotFound) {
		t.Errorf("the task of another engine: %v", err)
	}
}

// A search under which its generation goes begins again with the next one.
func TestRefreshWhileSearching(t *testing.T) {
	search.SetReembedGrace(t, 0)
	var p *readBeside
	var once sync.Once
	p = newBeside(t, func() { once.Do(func() { p.reembed(t) }) })
	put(t, p.writer, search.Created, fish(60)...)
	if got := p.ids(t, "docs", search.Keyword); len(got) == 0 {
		t.Error("nothing is found")
	}
}
