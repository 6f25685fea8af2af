package search_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"searchd/index/maxsim"
	"searchd/search"
	"searchd/search/backend"
	"searchd/search/clustertest"
	"searchd/search/embedded"
)

// watched is a backend of which tests watch, hold up and fail what learning reads.
type watched struct {
	backend.Backend
	sample func(ctx context.Context, collection string) error // before each Sample; nil: nothing

	opened func(ctx context.Context) // after each Collection; nil: nothing

	mu struct {
		sync.Mutex
		samples int
		bytes   int           // of documents that were fetched
		refs    []backend.Ref // of them, in order
	}
}

func (w *watched) Sample(ctx context.Context, collection string, n int) ([]backend.PassageVector, error) {
	w.mu.Lock()
	w.mu.samples++
	w.mu.Unlock()
	if w.sample != nil {
		if err := w.sample(ctx, collection); err != nil {
			return nil, err
		}
	}
	return w.Backend.Sample(ctx, collection, n)
}

func (w *watched) Collection(ctx context.Context, name string) (backend.Collection, error) {
	c, err := w.Backend.Collection(ctx, name)
	if w.opened != nil {
		w.opened(ctx)
	}
	return c, err
}

func (w *watched) Fetch(ctx context.Context, collection string, refs []backend.Ref) ([]*backend.Document, error) {
	docs, err := w.Backend.Fetch(ctx, collection, refs)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, d := range docs {
		w.mu.bytes += d.Size()
		w.mu.refs = append(w.mu.refs, refs[i])
	}
	return docs, err
}

// openWatched opens an engine over a backend that is watched, with some collections that hold documents.
func openWatched(t *testing.T, w *watched, o search.Options, docs []search.Document, collections ...string) *search.Engine {
	t.Helper()
	b, err := embedded.OpenContext(t.Context(), t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Backend, o.Backend = b, w
	e, err := search.Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	for _, name := range collections {
		if _, err := e.CreateCollection(t.Context(), name, search.Settings{}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Ingest(t.Context(), name, docs); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// TestLearnReadsSoMuch: of large documents no more than so many bytes are read, of documents that are spread over the collection.
func TestLearnReadsSoMuch(t *testing.T) {
	const n, size, most, batch = 600, 2000, 300_000, 64
	search.SetLessonBounds(t, most, time.Minute)
	var docs []search.Document
	for i := range n {
		docs = append(docs, doc(fmt.Sprintf("d%03d", i), fmt.Sprintf(`{"text":"word%d and word%d","photo":%q}`, i, i/2, strings.Repeat("x", size))))
	}
	w := &watched{}
	e := openWatched(t, w, search.Options{Embedder: &fakeMatcher{share: 0.25, topics: 0.5}}, docs, "docs")
	if err := e.Learn(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	if w.mu.bytes < most || w.mu.bytes > most+batch*(size+200) {
		t.Errorf("%d bytes were read, want %d and not a batch more", w.mu.bytes, most)
	}
	var quarters [4]int
	for _, ref := range w.mu.refs {
		quarters[min(3, int(ref)*4/(n+1))]++
	}
	for _, read := range quarters {
		if read*4 < len(w.mu.refs)*9/10 {
			t.Errorf("of four quarters of the collection %v documents were read", quarters)
		}
	}
}

// TestLearnEnds: a collection whose sample does not come keeps no other from being learnt.
func TestLearnEnds(t *testing.T) {
	search.SetLessonBounds(t, 1<<20, 500*time.Millisecond)
	hung := make(chan struct{}, 1)
	w := &watched{sample: func(ctx context.Context, collection string) error {
		if collection != "docs" {
			return nil
		}
		hung <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}
	told := make(chan string, 1)
	e := openWatched(t, w, search.Options{Embedder: &fakeMatcher{share: 0.25, topics: 0.5}, Notice: func(text string) { told <- text }}, taught()[:60], "docs", "other")
	limited, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	first := make(chan error, 1)
	go func() { first <- e.Learn(limited, "docs") }()
	<-hung
	if err := e.Learn(limited, "other"); err != nil {
		t.Errorf("the other collection: %v", err)
	}
	if err := <-first; !errors.Is(err, context.DeadlineExceeded) || limited.Err() != nil {
		t.Errorf("the one that hangs: %v", err)
	}
	select {
	case text := <-told:
		if !strings.HasPrefix(text, "collection docs: ") || !strings.Contains(text, "not within 500ms") {
			t.Errorf("told: %s", text)
		}
	default:
		t.Error("nobody was told")
	}
}

// TestLearnAsOfLater: whoever wants to have a collection learnt as it was is content with what was learnt of it meanwhile, also while it is learnt anew.
func TestLearnAsOfLater(t *testing.T) {
	type may struct{}
	opened, held, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var hold atomic.Bool
	w := &watched{sample: func(context.Context, string) error {
		if hold.CompareAndSwap(true, false) {
			close(held)
			<-release
		}
		return nil
	}, opened: func(ctx context.Context) {
		if begin, ok := ctx.Value(may{}).(chan struct{}); ok {
			opened <- struct{}{}
			<-begin
		}
	}}
	e := openWatched(t, w, search.Options{Embedder: &fakeMatcher{share: 0.25, topics: 0.5}}, taught()[:60], "docs")
	learn := func(ctx context.Context) chan error {
		done := make(chan error, 1)
		go func() { done <- e.Learn(ctx, "docs") }()
		return done
	}
	wait := func(done chan error) {
		t.Helper()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("it is not done")
		}
	}
	var late [2]chan error
	var begin [2]chan struct{}
	for i := range late {
		begin[i] = make(chan struct{})
		late[i] = learn(context.WithValue(t.Context(), may{}, begin[i]))
		<-opened
	}
	put(t, e, search.Created, taught()[60:70]...)
	wait(learn(t.Context()))
	close(begin[0])
	wait(late[0])
	wait(learn(t.Context()))
	if w.mu.samples != 1 {
		t.Errorf("it was learnt %d times", w.mu.samples)
	}
	put(t, e, search.Created, taught()[70:80]...)
	hold.Store(true)
	again := learn(t.Context())
	<-held
	close(begin[1])
	wait(late[1])
	close(release)
	wait(again)
	if w.mu.samples != 2 {
		t.Errorf("it was learnt %d times, with a change between", w.mu.samples)
	}
}

// tableless is a checkpoint that could compare texts token by token if its tokens had vectors.
type tableless struct{ *fakeMatcher }

func (tableless) TokenTable() *maxsim.Table { return nil }

// TestLearnNothing: where a checkpoint's tokens have no vectors nothing is read, as nobody would ask for what is learnt, and no search waits for others to be learnt.
func TestLearnNothing(t *testing.T) {
	w := &watched{}
	e := openWatched(t, w, search.Options{Embedder: tableless{&fakeMatcher{share: 0.25, topics: 0.5}}}, taught()[:60], "docs")
	release := e.HoldLessons()
	limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := e.Search(limited, "docs", search.Query{Q: taughtName(1, 0), Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	if took := r.TimingsMS["match"]; took > 1000 || r.Hits[0].Explain.Vector.Match != nil {
		t.Errorf("nothing was compared in %v ms: %+v", took, r.Hits[0].Explain.Vector)
	}
	if err := e.Learn(limited, "docs"); err != nil {
		t.Error(err)
	}
	release()
	if w.mu.samples != 0 {
		t.Errorf("%d samples were read", w.mu.samples)
	}
}

// TestLearnNames: what is told of a generation names the collection as it is asked for.
func TestLearnNames(t *testing.T) {
	search.SetReembedGrace(t, time.Millisecond)
	c := clustertest.New(t, t.TempDir())
	c.Hook = func(_ context.Context, method string) error {
		if method == "Sample" {
			return errors.New("no sample today")
		}
		return nil
	}
	told := make(chan string, 10)
	e := openCluster(t, c, search.Options{Embedder: &fakeMatcher{share: 0.25, topics: 0.5}, Notice: func(text string) { told <- text }})
	put(t, e, search.Created, taught()[:60]...)
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, e, task.ID)
	if err := e.Learn(t.Context(), "docs"); err == nil {
		t.Error("it was learnt without a sample")
	}
	if text := <-told; !strings.HasPrefix(text, "collection docs: what it says") || !strings.Contains(text, "no sample today") {
		t.Errorf("told: %s", text)
	}
}
