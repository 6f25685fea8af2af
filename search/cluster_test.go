package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"searchd/search"
	"searchd/search/clustertest"
	"searchd/search/embedded"
)

// openCluster returns an engine over a cluster with a collection named docs.
func openCluster(t *testing.T, c *clustertest.Cluster, o search.Options) *search.Engine {
	t.Helper()
	if o.Embedder == nil {
		o.Embedder = &fakeEmbedder{}
	}
	o.Backend = c
	return openWith(t, t.TempDir(), o)
}

// asked are queries of every kind, with the calls that one may make over shards, but for that for the collection, which comes with what is known of the words, and
// the rounds of calls: those side by side are one.
var asked = []struct {
	name   string
	q      search.Query
	rounds int
	calls  string
}{
	{"keyword", search.Query{Q: "fish word7", Mode: search.Keyword}, 2, "Words Shown"},
	{"semantic", search.Query{Q: "fish word7", Mode: search.Semantic}, 1, "Legs Shown"}, // the legs beside the collection
	{"hybrid", search.Query{Q: "cat word7", Window: 10}, 2, "Legs Shown"},
	{"and", search.Query{Q: "fish word7", Operator: "and"}, 2, "Legs Shown"},
	{"known word", search.Query{Q: "common", Mode: search.Keyword}, 2, "Words Shown"},
	{"misspelled", search.Query{Q: "comon", Mode: search.Keyword}, 4, "Near Fetch Words Shown"},
	{"two misspelled", search.Query{Q: "comon morning fish oen", Mode: search.Keyword}, 5, "Near Near Near Fetch Words Shown"},
	{"filter", search.Query{Q: "fish word7", Filter: "n < 50"}, 3, "Select Legs Shown Lacking"},
	{"facets", search.Query{Q: "fish word7", Facets: []search.Facet{{Field: "even"}, {Field: "n"}}}, 4, "Legs Set Facets Shown Lacking"},
	{"facets of words", search.Query{Q: "fish", Mode: search.Keyword, Facets: []search.Facet{{Field: "even"}}}, 3, "Words Facets Shown Lacking"},
	{"sort", search.Query{Q: "fish", Mode: search.Keyword, Sort: []search.SortKey{{Field: "n"}}}, 3, "Words Order Shown Lacking"},
	{"boosts", search.Query{Q: "fish", Mode: search.Keyword, Boosts: []search.Boost{{Filter: "even = true", Weight: 1}, {Field: "n", Scale: 10.0, Weight: 1}, {Filter: "n > 3", Weight: 1}}}, 3, "Words Passing Passing Numbers Shown Lacking"},
	{"group", search.Query{Q: "fish", Mode: search.Keyword, Group: "even"}, 3, "Words Firsts Shown Lacking"},
	{"explain", search.Query{Q: "fish", Mode: search.Keyword, Explain: true}, 2, "Words Shown"},
	{"diverse", search.Query{Q: "fish", Mode: search.Semantic, Diversity: 0.5}, 2, "Legs Vectors Shown"},
	{"browse", search.Query{Filter: "even = true"}, 3, "Select Refs Shown Lacking"},
	{"browse sorted", search.Query{Filter: "even = true", Sort: []search.SortKey{{Field: "n", Order: "desc"}}}, 3, "Select Order Shown Lacking"},
}

// fish makes documents of which each method of asked has something to find.
func fish(n int) []search.Document {
	docs := make([]search.Document, n)
	for i := range docs {
		docs[i] = doc(fmt.Sprintf("n%03d", i), fmt.Sprintf(`{"text":"common fish word%d","n":%d,"even":%t}`, i, i, i%2 == 0))
		if i >= 40 { // nearer by meaning than by words
			docs[i] = doc(fmt.Sprintf("n%03d", i), fmt.Sprintf(`{"text":"kitten tale%d","n":%d,"even":%t}`, i, i, i%2 == 0))
		}
	}
	return docs
}

// TestClusterCalls holds how often a search asks the shards, and how many of these calls wait for others.
func TestClusterCalls(t *testing.T) {
	c := clustertest.New(t, t.TempDir())
	var slow atomic.Bool
	c.Hook = func(_ context.Context, method string) error {
		if slow.Load() && method != "States" {
			time.Sleep(20 * time.Millisecond) // calls side by side meet
		}
		return nil
	}
	e := openCluster(t, c, search.Options{})
	put(t, e, search.Created, fish(60)...)
	for _, tt := range asked {
		t.Run(tt.name, func(t *testing.T) {
			fewest := 1 << 30
			for n := 0; n < 20 && fewest > tt.rounds; n++ { // a goroutine may begin late
				slow.Store(true)
				c.Calls()
				if find(t, e, tt.q) == "" {
					t.Fatal("it finds nothing")
				}
				calls, rounds := c.Calls()
				slow.Store(false)
				if calls["Values"] > 0 { // the watch looks every two seconds whether the shards are being filled
					continue
				}
				fewest = min(fewest, rounds-calls["Collection"])
				for _, method := range strings.Fields(tt.calls) {
					calls[method]--
				}
				maps.DeleteFunc(calls, func(method string, n int) bool { return n == 0 || method == "Near" && n < 0 || method == "Collection" })
				if len(calls) > 0 {
					t.Fatalf("calls beyond %s: %v", tt.calls, calls)
				}
			}
			if fewest > tt.rounds {
				t.Errorf("%d rounds of calls, want at most %d", fewest, tt.rounds)
			}
		})
	}
}

// TestClusterKnowsWithoutAsking: what each request needs is known without a call.
func TestClusterKnowsWithoutAsking(t *testing.T) {
	c := clustertest.New(t, t.TempDir())
	e := openCluster(t, c, search.Options{})
	put(t, e, search.Created, fish(3)...)
	if _, err := e.Collections(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c.Calls()
	for range 20 {
		list, err := e.Collections(t.Context())
		if err != nil || len(list) != 1 || list[0].Documents != 3 {
			t.Fatalf("collections %v, %v", list, err)
		}
		if err := errors.Join(e.Ready(), e.ReadOnly()); err != nil {
			t.Fatal(err)
		}
	}
	calls, _ := c.Calls()
	if calls["Values"] == 1 { // the watch looks every two seconds whether the shards are being filled
		delete(calls, "Values")
	}
	if len(calls) > 0 && time.Since(began) < 500*time.Millisecond {
		t.Errorf("calls: %v", calls)
	}
	put(t, e, search.Created, doc("more", `{"text":"more"}`)) // and a write is seen at once
	if list, err := e.Collections(t.Context()); err != nil || list[0].Documents != 4 {
		t.Errorf("after a write: %v, %v", list, err)
	}
	if err := e.DropCollection(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	if list, err := e.Collections(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("after it was dropped: %v, %v", list, err)
	}
}

// TestOldAnswerIsNotKept: what a shard said of the collections before a write is not taken for what it is after it.
func TestOldAnswerIsNotKept(t *testing.T) {
	c := clustertest.New(t, t.TempDir())
	var between func() // called once, between an answer and its arrival
	c.Lose = func(method string) error {
		if f := between; method == "Collections" && f != nil {
			between = nil
			f()
		}
		return nil
	}
	e := openCluster(t, c, search.Options{})
	put(t, e, search.Created, fish(3)...)
	between = func() { put(t, e, search.Created, doc("more", `{"text":"more"}`)) }
	for _, want := range []int{3, 4} {
		if list, err := e.Collections(t.Context()); err != nil || list[0].Documents != want {
			t.Errorf("%+v, %v, want %d documents", list, err, want)
		}
	}
}

// TestClusterAnswersAsOne compares an engine over a cluster with one over a folder.
func TestClusterAnswersAsOne(t *testing.T) {
	folder, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one := openWith(t, t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Backend: folder})
	many := openCluster(t, clustertest.New(t, t.TempDir()), search.Options{})
	for _, e := range []*search.Engine{one, many} {
		put(t, e, search.Created, fish(60)...)
	}
	for _, tt := range asked {
		a, err := one.Search(t.Context(), "docs", tt.q)
		b, err2 := many.Search(t.Context(), "docs", tt.q)
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		a.TookMS, a.TimingsMS, b.TookMS, b.TimingsMS = 0, nil, 0, nil
		if !reflect.DeepEqual(a, b) {
			one, _ := json.Marshal(a)
			many, _ := json.Marshal(b)
			t.Errorf("%s: one folder\n%s, shards\n%s", tt.name, one, many)
		}
	}
}

// lines collects what an engine tells.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, text)
}

func (l *lines) count(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range l.all {
		if strings.Contains(text, part) {
			n++
		}
	}
	return n
}

// eventually waits until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// errAway is what a shard that does not answer is for those who ask it.
var errAway = fmt.Errorf("%w: %s: connection refused", search.ErrUnavailable, clustertest.Name)

// TestShardAway: what needs a shard that does not answer fails with its name, readiness says so and recovers by itself.
func TestShardAway(t *testing.T) {
	c := clustertest.New(t, t.TempDir())
	var away atomic.Bool
	c.Hook = func(context.Context, string) error {
		if away.Load() {
			return errAway
		}
		return nil
	}
	var told lines
	e := openCluster(t, c, search.Options{Notice: told.add, Alarm: told.add})
	put(t, e, search.Created, fish(3)...)
	away.Store(true)
	if _, err := e.Search(t.Context(), "docs", search.Query{Q: "fish"}); !errors.Is(err, search.ErrUnavailable) || !strings.Contains(err.Error(), clustertest.Name) {
		t.Errorf("search: %v", err)
	}
	if _, err := e.Ingest(t.Context(), "docs", fish(4)); !errors.Is(err, search.ErrUnavailable) {
		t.Errorf("ingest: %v", err)
	}
	eventually(t, "it stays ready", func() bool { return errors.Is(e.Ready(), search.ErrUnavailable) })
	var of *search.ShardError
	if err := e.Ready(); !errors.As(err, &of) || of.Shard != clustertest.Name {
		t.Errorf("ready: %v", err)
	}
	if err := e.ReadOnly(); err != nil {
		t.Errorf("read-only: %v", err)
	}
	s, err := e.Stats(t.Context())
	if err != nil || len(s.Shards) != 1 || s.Shards[0].Up || len(s.Collections) != 0 {
		t.Errorf("stats %+v, %v", s, err)
	}
	list, err := e.Shards(t.Context())
	if err != nil || len(list) != 1 || list[0].Up || !strings.Contains(list[0].Error, "refused") {
		t.Errorf("shards %+v, %v", list, err)
	}
	away.Store(false)
	eventually(t, "it does not recover", func() bool { return e.Ready() == nil })
	eventually(t, "it does not say so", func() bool { return told.count("answers again") > 0 })
	if told.count("does not answer") != 1 || told.count("answers again") != 1 {
		t.Errorf("told: %q", told.all)
	}
	list, err = e.Shards(t.Context())
	if err != nil || len(list) != 1 || !list[0].Up || list[0].Documents != 3 || list[0].StoreBytes == 0 {
		t.Errorf("shards %+v, %v", list, err)
	}
	put(t, e, search.Unchanged, fish(3)...)
}

// TestFrontReplaced: once a shard was claimed by somebody else nothing is written any more, reads go on, and the engine says that it is not ready.
func TestFrontReplaced(t *testing.T) {
	for _, seen := range []string{"Apply", "States"} { // by a write, or by the watch
		t.Run(seen, func(t *testing.T) {
			c := clustertest.New(t, t.TempDir())
			var claimed atomic.Bool
			c.Hook = func(_ context.Context, method string) error {
				if claimed.Load() && method == seen {
					return fmt.Errorf("%w: epoch 3", search.ErrClaimed)
				}
				return nil
			}
			var told lines
			e := openCluster(t, c, search.Options{Alarm: told.add})
			put(t, e, search.Created, fish(3)...)
			claimed.Store(true)
			if seen == "States" {
				eventually(t, "the watch does not see it", func() bool { return e.Ready() != nil })
			} else if _, err := e.Ingest(t.Context(), "docs", fish(4)); !errors.Is(err, search.ErrClaimed) {
				t.Fatalf("the first write: %v", err)
			}
			c.Calls()
			for what, write := range map[string]func() error{
				"ingest":    func() error { _, err := e.Ingest(t.Context(), "docs", fish(4)); return err },
				"unchanged": func() error { _, err := e.Ingest(t.Context(), "docs", fish(3)); return err },
				"not there": func() error { _, err := e.DeleteDocuments(t.Context(), "docs", []string{"none"}); return err },
				"none pass": func() error { _, err := e.DeleteByFilter(t.Context(), "docs", "n > 100", false); return err },
				"settings": func() error {
					_, err := e.ChangeSettings(t.Context(), "docs", func(s search.Settings) (search.Settings, error) { return s, nil })
					return err
				},
				"deletion":   func() error { _, err := e.DeleteDocuments(t.Context(), "docs", []string{"n000"}); return err },
				"alias":      func() error { _, err := e.SetAlias(t.Context(), "other", "docs"); return err },
				"collection": func() error { _, err := e.CreateCollection(t.Context(), "new", search.Settings{}); return err },
				"drop":       func() error { return e.DropCollection(t.Context(), "docs") },
				"re-embed":   func() error { _, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{}); return err },
			} {
				if err := write(); !errors.Is(err, search.ErrClaimed) {
					t.Errorf("%s: %v", what, err)
				}
			}
			calls, _ := c.Calls()
			for _, method := range []string{"Apply", "Create", "Update", "Drop", "SetValues"} {
				if calls[method] > 0 {
					t.Errorf("%s was tried", method)
				}
			}
			if err := e.Ready(); !errors.Is(err, search.ErrClaimed) {
				t.Errorf("ready: %v", err)
			}
			if err := e.ReadOnly(); !errors.Is(err, search.ErrClaimed) {
				t.Errorf("read-only: %v", err)
			}
			if got := find(t, e, search.Query{Q: "fish", Mode: search.Keyword}); len(strings.Fields(got)) != 3 {
				t.Errorf("reads: %s", got)
			}
			if told.count("taken over") != 1 {
				t.Errorf("told: %q", told.all)
			}
		})
	}
}

// TestShardHangs: whatever waits for a shard that does not answer ends with its context, tasks are listed meanwhile, and closing does not wait.
func TestShardHangs(t *testing.T) {
	c := clustertest.New(t, t.TempDir())
	var hangs, stores atomic.Bool
	c.Hook = func(ctx context.Context, method string) error {
		if hangs.Load() && ctx.Done() != nil || stores.Load() && method == "SetValues" {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	e, err := search.Open(t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Backend: c})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, fish(3)...)
	hangs.Store(true)
	soon := func(what string, call func(ctx context.Context) error) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := call(ctx); err == nil || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %v after %v", what, err, time.Since(began))
		}
	}
	for _, tt := range asked {
		soon(tt.name, func(ctx context.Context) error { _, err := e.Search(ctx, "docs", tt.q); return err })
	}
	soon("ingest", func(ctx context.Context) error { _, err := e.Ingest(ctx, "docs", fish(4)); return err })
	soon("similar", func(ctx context.Context) error {
		_, err := e.Similar(ctx, "docs", search.Similar{IDs: []string{"n000"}})
		return err
	})
	soon("map", func(ctx context.Context) error { _, err := e.Map(ctx, "docs", search.MapOptions{}); return err })
	hangs.Store(false)
	stores.Store(true)
	starting := make(chan error, 1)
	held, release := context.WithCancel(t.Context())
	go func() {
		_, err := e.Reembed(held, "docs", search.ReembedOptions{})
		starting <- err
	}()
	eventually(t, "no task is stored", func() bool { calls, _ := c.Calls(); return calls["SetValues"] > 0 })
	listed := make(chan error, 1)
	go func() {
		_, err := e.Tasks(t.Context())
		listed <- err
	}()
	select {
	case err := <-listed:
		if err != nil {
			t.Errorf("tasks: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("tasks are not listed while one is stored")
	}
	release()
	if err := <-starting; err == nil {
		t.Error("a task began though it could not be stored")
	}
	if list, err := e.Tasks(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("tasks %+v, %v", list, err)
	}
	hangs.Store(true)
	began := time.Now()
	if err := e.Close(); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("closing: %v after %v", err, time.Since(began))
	}
}

// TestHangingShardIsNotWaitedFor: once it is known that a shard hangs, nobody waits for it.
func TestHangingShardIsNotWaitedFor(t *testing.T) {
	c := clustertest.New(t, t.TempDir())
	var hangs atomic.Bool
	c.Hook = func(ctx context.Context, method string) error {
		if !hangs.Load() || ctx.Done() == nil {
			return nil
		}
		<-ctx.Done()
		if method == "States" {
			return fmt.Errorf("%w: it has not answered in time", search.ErrUnavailable)
		}
		return ctx.Err()
	}
	e := openCluster(t, c, search.Options{})
	put(t, e, search.Created, fish(3)...)
	hangs.Store(true)
	eventually(t, "it stays ready", func() bool { return e.Ready() != nil })
	began := time.Now()
	_, err := e.Search(t.Context(), "docs", search.Query{Q: "fish"})
	if !errors.Is(err, search.ErrUnavailable) || !strings.Contains(err.Error(), clustertest.Name) || time.Since(began) > time.Second {
		t.Errorf("search: %v after %v", err, time.Since(began))
	}
	hangs.Store(false)
	eventually(t, "it does not recover", func() bool { return e.Ready() == nil })
	find(t, e, search.Query{Q: "fish"})
}

// TestNotOverShards: what only a folder has is refused with what to do instead.
func TestNotOverShards(t *testing.T) {
	e := openCluster(t, clustertest.New(t, t.TempDir()), search.Options{})
	for what, call := range map[string]func() error{
		"snapshots":       func() error { _, err := e.Snapshots(t.Context()); return err },
		"snapshot":        func() error { _, err := e.CreateSnapshot(t.Context()); return err },
		"open snapshot":   func() error { _, _, err := e.OpenSnapshot(t.Context(), "a"); return err },
		"delete snapshot": func() error { return e.DeleteSnapshot(t.Context(), "a") },
		"backup":          func() error { _, err := e.Backup(t.Context(), nil); return err },
		"copy":            func() error { _, err := e.Copy(t.Context(), "a", nil); return err },
		"changes":         func() error { _, err := e.News(t.Context(), "a", nil, 0); return err },
	} {
		if err := call(); !errors.Is(err, search.ErrUnsupported) || !strings.Contains(err.Error(), "back up each") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if id, n := e.StoreID(), e.Followers(); id != "" || n != 0 || e.Marker() != nil {
		t.Errorf("store %q, %d followers", id, n)
	}
}
