package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"searchd/search"
	"searchd/search/clustertest"
)

// TestGuess: while the shards say how the collection is, a search looks for the nearest passages and for the documents of its filter; where that fails it asks again.
func TestGuess(t *testing.T) {
	for name, q := range map[string]search.Query{"nearest": {Q: "fish word7", Mode: search.Semantic}, "filter": {Q: "fish word7", Mode: search.Keyword, Filter: "n < 50"}, "both": {Q: "fish word7", Mode: search.Semantic, Filter: "n < 50"}} {
		first := "Legs"
		if q.Filter != "" {
			first = "Select"
		}
		t.Run(name, func(t *testing.T) {
			c := clustertest.New(t, t.TempDir())
			var ahead atomic.Pointer[chan struct{}] // closed when what is guessed is asked for
			var fails atomic.Bool
			c.Hook = func(ctx context.Context, method string) error {
				begun := ahead.Load()
				switch {
				case begun == nil:
				case method == "Collection":
					select {
					case <-*begun:
					case <-time.After(20 * time.Second):
						t.Error("nothing was asked for meanwhile")
					}
				case method == first && ahead.CompareAndSwap(begun, nil):
					close(*begun)
					if fails.Load() {
						return errAway
					}
				}
				return nil
			}
			e := openCluster(t, c, search.Options{})
			put(t, e, search.Created, fish(60)...)
			want := find(t, e, q)
			for _, failing := range []bool{false, true} {
				fails.Store(failing)
				c.Calls()
				ahead.Store(new(make(chan struct{})))
				if got := find(t, e, q); got != want || got == "" {
					t.Errorf("failing: %t: %q, want %q", failing, got, want)
				}
				asked := 1
				if failing {
					asked = 2
				}
				if calls, _ := c.Calls(); calls[first] != asked {
					t.Errorf("failing: %t: calls %v, want %d of %s", failing, calls, asked, first)
				}
			}
		})
	}
}

// TestGuessOfBatch: the texts of a batch over shards are encoded together, and when a batch ends nothing that was begun with one of its searches is under way.
func TestGuessOfBatch(t *testing.T) {
	c := clustertest.New(t, t.TempDir())
	var batched atomic.Bool
	var selects, running atomic.Int32
	c.Hook = func(ctx context.Context, method string) error {
		if !batched.Load() {
			return nil
		}
		switch method {
		case "Collection":
			for selects.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			return errAway
		case "Select":
			running.Add(1)
			defer running.Add(-1)
			selects.Add(1)
			<-ctx.Done()
			time.Sleep(20 * time.Millisecond)
			return ctx.Err()
		}
		return nil
	}
	f := &counting{fakeEmbedder: &fakeEmbedder{}}
	e := openCluster(t, c, search.Options{Embedder: f})
	put(t, e, search.Created, fish(60)...)
	queries := make([]search.Query, 20)
	for i := range queries {
		queries[i] = search.Query{Q: fmt.Sprintf("fish word%d", i), Mode: []search.Mode{search.Hybrid, search.Semantic}[i%2], Filter: "n < 50"}
	}
	got, err := e.SearchBatch(t.Context(), "docs", queries)
	if err != nil {
		t.Fatal(err)
	}
	if n := f.calls.Load(); n != 1 {
		t.Errorf("%d calls of the encoder, want 1", n)
	}
	for i, q := range queries {
		want, err := e.Search(t.Context(), "docs", q)
		if err != nil || got[i].Err != nil || len(want.Hits) == 0 || !slices.EqualFunc(got[i].Response.Hits, want.Hits, func(a, b search.Hit) bool { return a.ID == b.ID && a.Score == b.Score }) {
			t.Errorf("%q: %v, %v in the batch, otherwise alone", q.Q, err, got[i].Err)
		}
	}
	batched.Store(true)
	defer batched.Store(false)
	if got, err = e.SearchBatch(t.Context(), "docs", queries[:1]); err != nil || !errors.Is(got[0].Err, errAway) || running.Load() != 0 {
		t.Errorf("%v, %+v, and %d calls are under way", err, got, running.Load())
	}
}

// TestGuessEnds: with a search that fails, what was begun with it has ended.
func TestGuessEnds(t *testing.T) {
	c := clustertest.New(t, t.TempDir())
	var away atomic.Bool
	var running atomic.Int32
	c.Hook = func(ctx context.Context, method string) error {
		switch {
		case !away.Load():
		case method == "Collection":
			for running.Load() == 0 {
				time.Sleep(time.Millisecond)
			}
			return errAway
		case method == "Legs":
			running.Add(1)
			defer running.Add(-1)
			<-ctx.Done()
			time.Sleep(20 * time.Millisecond)
			return ctx.Err()
		}
		return nil
	}
	e := openCluster(t, c, search.Options{})
	put(t, e, search.Created, fish(10)...)
	away.Store(true)
	defer away.Store(false)
	if _, err := e.Search(t.Context(), "docs", search.Query{Q: "fish", Mode: search.Semantic}); !errors.Is(err, errAway) || running.Load() != 0 {
		t.Errorf("%v, and %d calls are under way", err, running.Load())
	}
}
