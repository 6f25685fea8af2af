package search_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"searchd/search"
	"searchd/search/clustertest"
)

// TestReembedWhileShardIsAway: a re-embedding waits for a shard, encodes nothing twice, and what is written meanwhile is in it.
func TestReembedWhileShardIsAway(t *testing.T) {
	search.SetReembedGrace(t, time.Millisecond)
	for _, lost := range []string{"Apply", "Create", "Changed", "List", "SetValues"} {
		t.Run(lost, func(t *testing.T) {
			dir := t.TempDir()
			c, f := clustertest.New(t, dir), &fakeEmbedder{}
			var armed atomic.Int32
			c.Lose = func(method string) error { // carried out, and nobody is told
				if method == lost && armed.Add(-1) >= 0 {
					return errAway
				}
				return nil
			}
			e := openCluster(t, c, search.Options{Embedder: f})
			put(t, e, search.Created, fish(10)...)
			before := f.calls.Load()
			if lost != "SetValues" { // which stores the task, too
				armed.Store(1)
			}
			task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if lost == "SetValues" {
				armed.Store(1000)
			}
			eventually(t, "it does not end", func() bool {
				task, err = e.Task(t.Context(), task.ID)
				return err == nil && task.Ended()
			})
			if left := armed.Swap(0); left == 1 {
				t.Error("no answer was lost")
			}
			if task.State != search.TaskSucceeded || f.calls.Load()-before != 10 {
				t.Errorf("%s: %s, %d texts encoded", task.State, task.Error, f.calls.Load()-before)
			}
			put(t, e, search.Created, doc("more", `{"text":"more fish"}`))
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			again := openCluster(t, clustertest.New(t, dir), search.Options{})
			if got := strings.Fields(find(t, again, search.Query{Q: "fish", Mode: search.Keyword, Limit: new(20)})); len(got) != 11 {
				t.Errorf("opened again it has %v", got)
			}
			if list, err := again.Collections(t.Context()); err != nil || len(list) != 1 || list[0].Documents != 11 {
				t.Errorf("collections %+v, %v", list, err)
			}
		})
	}
}

// openLosing opens an engine over a cluster that loses the answers to SetValues while lose is true.
func openLosing(t *testing.T) (e *search.Engine, lose *atomic.Bool) {
	t.Helper()
	c := clustertest.New(t, t.TempDir())
	lose = new(atomic.Bool)
	c.Lose = func(method string) error {
		if method == "SetValues" && lose.Load() {
			return errAway
		}
		return nil
	}
	return openCluster(t, c, search.Options{}), lose
}

// TestReembedCanceledAfterLostAnswer: a generation that the name leads to already is not dropped with its task.
func TestReembedCanceledAfterLostAnswer(t *testing.T) {
	e, lose := openLosing(t)
	put(t, e, search.Created, fish(3)...)
	was, err := e.Collection(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lose.Store(true)
	eventually(t, "no generation takes its place", func() bool {
		now, err := e.Collection(t.Context(), "docs")
		return err == nil && now.Sequence > was.Sequence+1<<32
	})
	e.CancelTask(t.Context(), task.ID) // or it has ended
	if got := strings.Fields(find(t, e, search.Query{Q: "fish", Mode: search.Keyword})); len(got) != 3 {
		t.Errorf("it has %v", got)
	}
}

// TestLostAnswerOfNames: a change of names whose answer was lost is seen by the next request, as it is stored.
func TestLostAnswerOfNames(t *testing.T) {
	e, lose := openLosing(t)
	put(t, e, search.Created, fish(3)...)
	lose.Store(true)
	if _, err := e.SetAlias(t.Context(), "other", "docs"); !errors.Is(err, search.ErrUnavailable) {
		t.Fatalf("set: %v", err)
	}
	if _, err := e.Ingest(t.Context(), "other", fish(4)); err != nil {
		t.Errorf("a write to the alias: %v", err)
	}
	if err := e.DeleteAlias(t.Context(), "other"); !errors.Is(err, search.ErrUnavailable) {
		t.Fatalf("delete: %v", err)
	}
	if _, err := e.Search(t.Context(), "other", search.Query{Q: "fish"}); !errors.Is(err, search.ErrCollectionNotFound) {
		t.Errorf("a search of the alias that is gone: %v", err)
	}
	lose.Store(false)
	if created, err := e.SetAlias(t.Context(), "other", "docs"); err != nil || !created {
		t.Errorf("set again: %t, %v", created, err)
	}
}

// TestAliasWhileShardIsAway: a name is given to no alias where a shard does not say that no collection has it.
func TestAliasWhileShardIsAway(t *testing.T) {
	c := clustertest.New(t, t.TempDir())
	var asked atomic.Int32
	c.Hook = func(_ context.Context, method string) error {
		if method == "Collection" && asked.Add(-1) == 0 {
			return errAway
		}
		return nil
	}
	e := openCluster(t, c, search.Options{})
	another(t, e, "docs2", doc("a", `{"text":"a car"}`))
	for n := range int32(2) { // the first is for the collection that the alias would lead to
		asked.Store(n + 1)
		if err := setAlias(t, e, "docs2", "docs"); err == nil {
			t.Errorf("call %d fails: an alias has the name of a collection", n+1)
		}
	}
	asked.Store(0)
	if got := first(t, e, "docs2", "car"); got != "a" {
		t.Errorf("the collection is hidden: its first hit is %q", got)
	}
}

// TestReembedKeepsUnderAnotherName: the name under which a collection is kept is known after a lost answer, also where it is not the one that was meant at first.
func TestReembedKeepsUnderAnotherName(t *testing.T) {
	c := clustertest.New(t, t.TempDir())
	var lose atomic.Bool
	taken := make(chan struct{})
	c.Hook = func(_ context.Context, method string) error {
		if method == "Changed" {
			<-taken
		}
		return nil
	}
	c.Lose = func(method string) error {
		if method == "SetValues" && lose.Load() {
			return errAway
		}
		return nil
	}
	e := openCluster(t, c, search.Options{})
	put(t, e, search.Created, fish(3)...)
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{KeepOld: true})
	if err != nil {
		t.Fatal(err)
	}
	another(t, e, "docs-old", doc("x", `{"text":"taken"}`))
	lose.Store(true)
	close(taken)
	eventually(t, "it does not end", func() bool {
		task, err = e.Task(t.Context(), task.ID)
		return err == nil && task.Ended()
	})
	if task.State != search.TaskSucceeded || !strings.Contains(string(task.Result), `"kept":"docs-old2"`) {
		t.Errorf("%s: %s, %s", task.State, task.Error, task.Result)
	}
	if info, err := e.Collection(t.Context(), "docs-old2"); err != nil || info.Documents != 3 {
		t.Errorf("kept: %+v, %v", info, err)
	}
}
