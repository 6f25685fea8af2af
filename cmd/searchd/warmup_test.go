package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/searchd/internal/porttest"
	"example.com/searchd/search"
)

// fakeSearcher records the searches that it gets.
type fakeSearcher struct {
	list   []search.CollectionInfo
	asked  []string
	answer func(ctx context.Context) // nil: at once
}

func (f *fakeSearcher) Collections(context.Context) ([]search.CollectionInfo, error) {
	return f.list, nil
}

func (f *fakeSearcher) Search(ctx context.Context, collection string, q search.Query) (*search.Response, error) {
	f.asked = append(f.asked, fmt.Sprintf("%s %s", collection, q.Mode))
	if f.answer != nil {
		f.answer(ctx)
	}
	return nil, errors.New("no answer")
}

// TestWarmUp searches in every mode, whatever errors there are, the largest collection first, and
// neither one that is empty nor one that is damaged.
func TestWarmUp(t *testing.T) {
	var remote search.Settings // another server's vectors cost money
	if err := json.Unmarshal([]byte(`{"embedder":{"source":"openai"}}`), &remote); err != nil {
		t.Fatal(err)
	}
	f := &fakeSearcher{list: []search.CollectionInfo{
		{Name: "small", Documents: 3}, {Name: "empty"}, {Name: "broken", Documents: 70, Damaged: "it cannot be read"}, {Name: "large", Documents: 50},
		{Name: "remote", Documents: 2, Settings: remote},
	}}
	synctest.Test(t, func(t *testing.T) { warmUp(t.Context(), f)() })
	want := []string{"large semantic", "large hybrid", "large keyword", "small semantic", "small hybrid", "small keyword", "remote keyword"}
	if !slices.Equal(f.asked, want) {
		t.Errorf("asked %q, want %q", f.asked, want)
	}
}

func TestWarmUpOfManyCollections(t *testing.T) {
	var list []search.CollectionInfo
	for i := range 100 {
		list = append(list, search.CollectionInfo{Name: fmt.Sprint(i), Documents: i})
	}
	if got := toWarmUp(list); len(got) != maxWarmUps || got[0].Name != "99" {
		t.Errorf("toWarmUp = %v, want the %d largest", got, maxWarmUps)
	}
}

// TestWarmUpDoesNotHoldUp a server whose searches take long: they go on after it has become ready,
// and stop waits for the one under way.
func TestWarmUpDoesNotHoldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		f := &fakeSearcher{list: []search.CollectionInfo{{Name: "docs", Documents: 1}}, answer: func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(time.Second) // as a step that does not look at the context
			ended = true
		}}
		began := time.Now()
		stop := warmUp(t.Context(), f)
		if took := time.Since(began); took != warmUpLimit {
			t.Errorf("ready after %s, want %s", took, warmUpLimit)
		}
		stop()
		if !ended || len(f.asked) != 1 {
			t.Errorf("after stop the search has ended: %t; searches: %q, want one", ended, f.asked)
		}
	})
}

// TestWarmUpEnds with the context: a server that is stopped while it opens does not wait.
func TestWarmUpEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fakeSearcher{list: []search.CollectionInfo{{Name: "docs", Documents: 1}}, answer: func(ctx context.Context) { <-ctx.Done() }}
		time.AfterFunc(time.Millisecond, cancel)
		began := time.Now()
		warmUp(ctx, f)()
		if took := time.Since(began); took != time.Millisecond {
			t.Errorf("returned after %s, want 1ms", took)
		}
	})
}

// TestServeWarmsUp: a server encodes a query that nobody sent.
func TestServeWarmsUp(t *testing.T) {
	dir, addr := t.TempDir(), porttest.Free(t)
	file, data := filepath.Join(dir, "note.txt"), filepath.Join(dir, "data")
	if err := os.WriteFile(file, []byte("Bread rises near the oven."), 0o600); err != nil {
		t.Fatal(err)
	}
	mustCommand(t, "ingest", "--data", data, file)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		root := newRootCommand()
		root.SetArgs([]string{"serve", "--data", data, "--addr", addr})
		ended <- root.ExecuteContext(ctx)
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	}()
	for began := time.Now(); !encodedOne(addr); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("the server encodes no query by itself")
		}
	}
}

// encodedOne reports whether the server's metrics count one encoded query.
func encodedOne(addr string) bool {
	r, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		return false // it does not listen
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	return strings.Contains(string(b), "\nsearchd_query_cache_misses_total 1\n")
}
