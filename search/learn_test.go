package search_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"searchd/index/maxsim"
	"searchd/search"
	"searchd/search/backend"
	"searchd/search/embedded"
)

// watched is a backend of which tests watch, hold up and fail what learning reads.
type watched struct {
	backend.Backend
	sample func(ctx context.Context, collection string) error // before each sample; nil: nothing

	opened func(ctx context.Context) // after each Open; nil: nothing
	names  func()                    // before names or texts of passages are read; nil: nothing

	mu struct {
		sync.Mutex
		samples int
		bytes   int           // of documents that were fetched
		refs    []backend.Ref // of them, in order
	}
}

func (w *watched) RetrieveVectors(ctx context.Context, r backend.VectorsRequest) (backend.VectorsResponse, error) {
	if r.Vector == nil {
		w.mu.Lock()
		w.mu.samples++
		w.mu.Unlock()
		if w.sample != nil {
			if err := w.sample(ctx, r.Collection); err != nil {
				return backend.VectorsResponse{}, err
			}
		}
	}
	return w.Backend.RetrieveVectors(ctx, r)
}

func (w *watched) Open(ctx context.Context, r backend.OpenRequest) (backend.OpenResponse, error) {
	out, err := w.Backend.Open(ctx, r)
	if w.opened != nil {
		w.opened(ctx)
	}
	return out, err
}

func (w *watched) Fetch(ctx context.Context, r backend.FetchRequest) (backend.FetchResponse, error) {
	if (r.Names || r.Texts) && w.names != nil {
		w.names()
	}
	out, err := w.Backend.Fetch(ctx, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, d := range out.Documents {
		w.mu.bytes += d.Size()
		w.mu.refs = append(w.mu.refs, r.Refs[i])
	}
	return out, err
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
	w := &watched{sample: func(context.Context, string) error { return errors.New("no sample today") }}
	told := make(chan string, 10)
	e := openWatched(t, w, search.Options{Embedder: &fakeMatcher{share: 0.25, topics: 0.5}, Notice: func(text string) { told <- text }}, taught()[:60], "docs")
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

// TestLearnOneByOne: no two collections are learnt at a time, however many are asked for.
func TestLearnOneByOne(t *testing.T) {
	var running, together atomic.Int64
	w := &watched{sample: func(context.Context, string) error {
		if running.Add(1) > 1 {
			together.Add(1)
		}
		time.Sleep(20 * time.Millisecond)
		running.Add(-1)
		return nil
	}}
	names := []string{"a", "b", "c"}
	e := openWatched(t, w, search.Options{Embedder: &fakeMatcher{share: 0.25, topics: 0.5}}, taught()[:60], names...)
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			if err := e.Learn(t.Context(), name); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if together.Load() > 0 || w.mu.samples != len(names) {
		t.Errorf("of %d samples %d were read beside others", w.mu.samples, together.Load())
	}
}

// TestLearnKeepsNobodyLong: a search with all the time in the world waits no longer than searches wait for what is being learnt.
func TestLearnKeepsNobodyLong(t *testing.T) {
	search.SetLessonWait(t, 20*time.Millisecond)
	e := openWatched(t, &watched{}, search.Options{Embedder: &fakeMatcher{share: 0.25, topics: 0.5}}, taught()[:60], "docs")
	release := e.HoldLessons()
	defer time.AfterFunc(5*time.Second, release).Stop()
	for range 2 {
		began := time.Now()
		r, err := e.Search(context.Background(), "docs", search.Query{Q: taughtName(1, 0), Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 2*time.Second || r.Hits[0].Explain.Vector.Topics != nil || r.Hits[0].Explain.Vector.Match == nil {
			t.Fatalf("after %v: %+v", took, r.Hits[0].Explain.Vector)
		}
	}
	release()
	if err := e.Learn(t.Context(), "docs"); err != nil {
		t.Error(err)
	}
}

// TestLearnPieces: words that stand in passages side by side are learnt together. One passage of a document has its name, the next what it is about.
func TestLearnPieces(t *testing.T) {
	e, err := search.Open(t.TempDir(), search.Options{Embedder: &fakeMatcher{share: 0.25, topics: 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{Passages: search.PassageSettings{MaxTokens: 16}}); err != nil {
		t.Fatal(err)
	}
	const subjects, texts = 40, 4
	var docs []search.Document
	for i := range subjects * texts {
		subject, round := i%subjects, i/subjects
		text := taughtName(subject, round%2) + " is what it is and that is all. Here"
		for w := range 3 {
			text += " " + taughtFact(subject, w)
		}
		docs = append(docs, doc(fmt.Sprintf("p%03d", i), fmt.Sprintf(`{"text":%q,"subject":%d}`, text+" and what it is.", subject)))
	}
	put(t, e, search.Created, docs...)
	if err := e.Learn(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	found := 0
	for subject := range subjects {
		q := search.Query{Q: taughtName(subject, 0) + " is what it is and that is all", Mode: search.Semantic, Filter: fmt.Sprintf("subject = %d", subject), Explain: true}
		r, err := e.Search(t.Context(), "docs", q)
		if err != nil || len(r.Hits) != texts || strings.Contains(r.Hits[0].Passages[0].Text, "fact") {
			t.Fatalf("%d hits, %v", len(r.Hits), err)
		}
		for _, h := range r.Hits { // those that have the other name
			if v := h.Explain.Vector; v.Topics != nil && *v.Topics > 0.5 {
				found++
			}
		}
	}
	t.Log(found)
	if found < subjects*texts*9/10 {
		t.Errorf("of %d documents %d are about the subject of the query", subjects*texts, found)
	}
}

// TestMatchOfAChange: a document that is written after it was found and before its text is read is not compared, and what is read of it is not kept for what it was.
func TestMatchOfAChange(t *testing.T) {
	var e *search.Engine
	var asked atomic.Int64
	w := &watched{names: func() {
		if asked.Add(1) == 2 { // first when it was found, then when its text is read
			put(t, e, search.Updated, doc("a", `{"text":"nothing of it"}`))
		}
	}}
	f := &fakeMatcher{share: 0.25}
	e = openWatched(t, w, search.Options{Embedder: f}, []search.Document{doc("a", `{"text":"a red automobile"}`), doc("b", `{"text":"a boat"}`)}, "docs")
	asked.Store(0)
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "red car", Mode: search.Semantic, Explain: true})
	if err != nil || asked.Load() < 2 {
		t.Fatalf("%d, %v", asked.Load(), err)
	}
	for _, h := range r.Hits {
		if v := h.Explain.Vector; (v.Match != nil) != (h.ID == "b") {
			t.Errorf("%s: match %v", h.ID, v.Match)
		}
	}
}

// longMatcher is a fakeMatcher that takes long texts.
type longMatcher struct{ *fakeMatcher }

func (l longMatcher) Model() search.ModelInfo {
	m := l.fakeMatcher.Model()
	m.MaxTokens = 1 << 20
	return m
}

// TestLongPassage: of a passage the first 1,024 tokens are compared.
func TestLongPassage(t *testing.T) {
	f := &fakeMatcher{share: 0.25}
	filler := func(n int) string { return strings.Repeat("filler ", n) }
	docs := []search.Document{doc("in", `{"text":"`+filler(1022)+`red car"}`), doc("out", `{"text":"`+filler(1024)+`red car"}`)}
	e := openWatched(t, &watched{}, search.Options{Embedder: longMatcher{f}}, docs, "docs")
	const q = "red car"
	r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Mode: search.Semantic, Explain: true})
	if err != nil || len(r.Hits) != len(docs) {
		t.Fatalf("%+v, %v", r, err)
	}
	query := f.TokenTable().Query(f.Tokens(q), nil)
	want := map[string]float64{"in": 1, "out": query.Match([]maxsim.Text{{Body: f.Tokens("filler")}})[0].Match}
	for _, h := range r.Hits {
		if got := *h.Explain.Vector.Match; math.Abs(got-want[h.ID]) > 1e-5 {
			t.Errorf("%s: match %v, want %v", h.ID, got, want[h.ID])
		}
	}
}

// TestLearnLeast: a collection of 50 passages is learnt from, one of 49 is not; and the terms of a language are asked for once.
func TestLearnLeast(t *testing.T) {
	may := make(chan struct{})
	close(may)
	f := &slowTerms{fakeMatcher: &fakeMatcher{share: 0.25, topics: 0.5}, may: may}
	w := &watched{}
	e := openWatched(t, w, search.Options{Embedder: f}, taught()[:49], "docs")
	for want := range 3 {
		if err := e.Learn(t.Context(), "docs"); err != nil || w.mu.samples != want || f.asked.Load() != int64(min(want, 1)) {
			t.Fatalf("of %d passages it was learnt %d times, the terms asked for %d times, %v", 49+want, w.mu.samples, f.asked.Load(), err)
		}
		put(t, e, search.Created, taught()[49+want])
	}
}

// TestLearnTellsNobodyAtTheEnd: that an engine is closed while a collection is learnt is no failure.
func TestLearnTellsNobodyAtTheEnd(t *testing.T) {
	held := make(chan struct{})
	w := &watched{sample: func(ctx context.Context, _ string) error {
		close(held)
		<-ctx.Done()
		return ctx.Err()
	}}
	var told atomic.Pointer[string]
	e := openWatched(t, w, search.Options{Embedder: &fakeMatcher{share: 0.25, topics: 0.5}, Notice: func(text string) { told.Store(&text) }}, taught()[:60], "docs")
	go e.Learn(t.Context(), "docs")
	<-held
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if text := told.Load(); text != nil {
		t.Errorf("told: %s", *text)
	}
}
