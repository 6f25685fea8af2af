package search_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

// hookEmbedder calls hook with each text that it encodes for a document.
type hookEmbedder struct {
	fakeEmbedder
	hook func(text string)
}

func (h *hookEmbedder) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	if !o.Query {
		for _, t := range texts {
			h.hook(t)
		}
	}
	return h.fakeEmbedder.Embed(ctx, texts, o)
}

// behindSlowWriter begins a re-embedding of a collection that somebody writes to; finish lets the
// writer end.
func behindSlowWriter(t *testing.T) (e *search.Engine, task search.Task, finish func()) {
	t.Helper()
	slow, entered := make(chan struct{}), make(chan struct{})
	h := &hookEmbedder{hook: func(text string) {
		if strings.Contains(text, "slow") {
			close(entered)
			<-slow
		}
	}}
	e, err := search.Open(t.TempDir(), search.Options{Embedder: h, Load: func(_, _, _ string) (search.Embedder, error) { return &wideEmbedder{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, doc("a", `{"text":"x"}`))
	written := make(chan error, 1)
	go func() {
		_, err := e.Ingest(context.Background(), "docs", []search.Document{doc("s", `{"text":"slow"}`)})
		written <- err
	}()
	<-entered
	if task, err = e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide}); err != nil {
		t.Fatal(err)
	}
	return e, task, func() {
		close(slow)
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
}

// TestWritersWaitNoLongerThanTheyMay has a re-embedding wait for a slow writer, and others wait for
// both.
func TestWritersWaitNoLongerThanTheyMay(t *testing.T) {
	e, task, finish := behindSlowWriter(t)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) { // until the change waits for the slow writer, and all others for it
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := e.Ingest(ctx, "docs", []search.Document{doc("a", `{"text":"x"}`)})
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("writers are never stopped: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := e.DeleteDocument(ctx, "docs", "a", nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 5*time.Second {
		t.Errorf("a deletion that may take 50 ms came back after %v: %v", time.Since(began), err)
	}
	finish()
	if got := ended(t, e, task.ID); got.State != search.TaskSucceeded {
		t.Errorf("%+v", got)
	}
	if got := find(t, e, search.Query{Q: "slow", Mode: search.Keyword}); got != "s" {
		t.Errorf("after the change %q is found", got)
	}
}

// TestCancelOfAWaitingChange cancels a re-embedding that waits for a writer.
func TestCancelOfAWaitingChange(t *testing.T) {
	e, task, finish := behindSlowWriter(t)
	time.Sleep(100 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := e.CancelTask(ctx, task.ID); err != nil {
		t.Error(err)
	}
	if got := ended(t, e, task.ID); got.State != search.TaskCanceled {
		t.Errorf("%+v", got)
	}
	finish()
}

// TestDropSoonAfterReembedding drops a collection while the generation that was replaced is still
// there: neither does that one come back, nor does its end take what has been written under the
// name since.
func TestDropSoonAfterReembedding(t *testing.T) {
	search.SetReembedGrace(t, 200*time.Millisecond)
	dir := t.TempDir()
	reembedded := func(e *search.Engine) {
		t.Helper()
		put(t, e, search.Created, doc("a", `{"text":"old secret"}`))
		task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
		if err != nil {
			t.Fatal(err)
		}
		if got := ended(t, e, task.ID); got.State != search.TaskSucceeded {
			t.Fatalf("%+v", got)
		}
		if err := e.DropCollection(t.Context(), "docs"); err != nil {
			t.Fatal(err)
		}
		if info, err := e.Collection(t.Context(), "docs"); !errors.Is(err, search.ErrCollectionNotFound) {
			t.Errorf("after it was dropped: %+v, %v", info, err)
		}
	}
	e, err := openWide(dir, &wideEmbedder{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, created, err := e.EnsureCollection(t.Context(), "docs", search.Settings{}); err != nil || !created {
			t.Fatal(created, err)
		}
		reembedded(e)
	}
	if _, created, err := e.EnsureCollection(t.Context(), "docs", search.Settings{}); err != nil || !created {
		t.Fatal(created, err)
	}
	put(t, e, search.Created, doc("new", `{"text":"acknowledged"}`))
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := e.Document(t.Context(), "docs", "new"); err != nil {
			t.Fatalf("an acknowledged document is gone: %v", err)
		}
	}
	if err := e.DropCollection(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	reembedded(e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if e, err = openWide(dir, &wideEmbedder{}, nil); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if list, err := e.Collections(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("after another opening: %+v, %v", list, err)
	}
}

// holding tries to write before it holds the log.
type holding struct {
	*embedded.Backend
	write func() error
	err   error
}

func (h *holding) Changes(ctx context.Context, r backend.ChangesRequest) (backend.ChangesResponse, error) {
	if r.Keep {
		h.err = h.write()
	}
	return h.Backend.Changes(ctx, r)
}

// TestReembedHoldsFirst lets nobody write between the sequence number from which a re-embedding
// follows the log and the log being held: a commit there could trim it.
func TestReembedHoldsFirst(t *testing.T) {
	b, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := &holding{Backend: b}
	e, err := search.Open(t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Backend: h})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, numbered(3)...)
	h.write = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := e.DeleteDocuments(ctx, "docs", []string{"n000"})
		return err
	}
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Settings: &search.Settings{Language: "de"}})
	for ; err == nil && !task.Ended(); time.Sleep(time.Millisecond) {
		task, err = e.Task(t.Context(), task.ID)
	}
	if err != nil || task.State != search.TaskSucceeded {
		t.Fatalf("%+v, %v", task, err)
	}
	if !errors.Is(h.err, context.DeadlineExceeded) {
		t.Errorf("a write before the log is held: %v, want it to wait", h.err)
	}
}
