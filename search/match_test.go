package search_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/index/maxsim"
	"example.com/searchd/search"
)

// fakeMatcher is a fakeEmbedder with a vector for each token: words of one meaning share a token.
type fakeMatcher struct {
	fakeEmbedder
	tokens atomic.Int64 // texts taken apart
	bytes  atomic.Int64 // of them
}

const fakeVocab = 1 << 12

var _ search.Matcher = &fakeMatcher{}

func (f *fakeMatcher) Tokens(text string) (ids []int32) {
	f.tokens.Add(1)
	f.bytes.Add(int64(len(text)))
	for _, w := range strings.Fields(strings.ToLower(text)) {
		w = strings.Trim(w, ".,!?")
		if m := sameMeaning[w]; m != "" {
			w = m
		}
		h := fnv.New32a()
		h.Write([]byte(w))
		ids = append(ids, int32(h.Sum32()%fakeVocab))
	}
	return ids
}

func (f *fakeMatcher) TokenTable() *maxsim.Table {
	return maxsim.NewTable(fakeVocab, 64, func(dst []float32, id int) {
		rng := rand.New(rand.NewPCG(uint64(id), 1))
		for i := range dst {
			dst[i] = float32(rng.NormFloat64())
		}
	})
}

// matching returns an engine whose checkpoint compares texts token by token, with docs in it.
func matching(t *testing.T, f *fakeMatcher, docs ...search.Document) *search.Engine {
	t.Helper()
	e, err := search.Open(t.TempDir(), search.Options{Embedder: f})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, docs...)
	return e
}

// share is that of the match in the similarity that v explains.
func share(v *search.VectorExplain) float64 { return 5 * v.Deviation / (1 + 5*v.Deviation) }

// TestMatch: the similarity is the mean of cosine and match, and the match that of the texts as
// they are now.
func TestMatch(t *testing.T) {
	f := &fakeMatcher{}
	docs := map[string][2]string{"a": {"", "the red automobile stands in the yard"}, "b": {"Cars", "a long story about a yard and a red barn"}, "c": {"", "nothing of it"}}
	e := matching(t, f)
	check := func() {
		t.Helper()
		table := f.TokenTable()
		const q = "red car"
		for round := range 2 { // the second time the tokens are cached
			before := f.tokens.Load()
			r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Mode: search.Semantic, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			if took := f.tokens.Load() - before; round == 1 && took != 1 {
				t.Errorf("%d texts were tokenised, want the query alone", took)
			}
			if _, ok := r.TimingsMS["match"]; !ok || len(r.Hits) != len(docs) {
				t.Errorf("%d hits, timings %v", len(r.Hits), r.TimingsMS)
			}
			for _, h := range r.Hits {
				d, v := docs[h.ID], h.Explain.Vector
				want := table.Query(f.Tokens(q)).Match([]maxsim.Text{{Title: f.Tokens(d[0]), Body: f.Tokens(d[1])}})[0]
				similarity := (1-share(v))*v.Cosine + share(v)*want
				if v.Match == nil || math.Abs(*v.Match-want) > 1e-9 || math.Abs(*v.Similarity-similarity) > 1e-9 || math.Abs(v.Norm-similarity) > 1e-9 {
					t.Fatalf("%s: match %v, similarity %v, norm %v, want %v, %v", h.ID, v.Match, v.Similarity, v.Norm, want, similarity)
				}
			}
		}
	}
	write := func(want search.Status) {
		t.Helper()
		for id, d := range docs {
			put(t, e, want, doc(id, fmt.Sprintf(`{"title":%q,"text":%q}`, d[0], d[1])))
		}
	}
	write(search.Created)
	check()
	docs["a"], docs["b"], docs["c"] = [2]string{"", "another text"}, [2]string{"Red", "vehicle"}, [2]string{"", "car red"}
	write(search.Updated)
	check()
}

// TestLongTitle: of a title of any length the first tokens count, and no more of it is taken apart
// than they need.
func TestLongTitle(t *testing.T) {
	f := &fakeMatcher{}
	long := strings.Repeat("word ", 39) + "car " + strings.Repeat("red ", 50_000)
	e := matching(t, f, doc("long", fmt.Sprintf(`{"title":%q,"text":"it stands in the yard"}`, long)))
	before := f.bytes.Load()
	const q = "red car"
	r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Mode: search.Semantic, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	title, body := f.Tokens(strings.Repeat("word ", 39)+"car"), f.Tokens("it stands in the yard")
	want := f.TokenTable().Query(f.Tokens(q)).Match([]maxsim.Text{{Title: title, Body: body}})[0]
	if v := r.Hits[0].Explain.Vector; v.Match == nil || math.Abs(*v.Match-want) > 1e-9 {
		t.Errorf("match %v, want %v", v.Match, want)
	}
	if read := f.bytes.Load() - before; read > 8<<10 {
		t.Errorf("%d bytes were taken apart", read)
	}
}

// TestMatchWindow: documents behind the first 50 count with the least match of those, scores fall,
// and pages fit together.
func TestMatchWindow(t *testing.T) {
	e := matching(t, &fakeMatcher{}, numbered(120)...)
	q := search.Query{Q: "common word7", Mode: search.Semantic, Explain: true, Limit: ptr(120)}
	r, err := e.Search(t.Context(), "docs", q)
	if err != nil {
		t.Fatal(err)
	}
	compared, least := 0, math.Inf(1)
	for i, h := range r.Hits {
		if i > 0 && h.Score > r.Hits[i-1].Score {
			t.Errorf("hit %d has %v, the one before it %v", i, h.Score, r.Hits[i-1].Score)
		}
		if m := h.Explain.Vector.Match; m != nil {
			compared, least = compared+1, min(least, *m)
		}
	}
	if compared != 50 || len(r.Hits) != 120 || r.Hits[0].ID != "n007" {
		t.Errorf("%d of %d were compared, first %s", compared, len(r.Hits), r.Hits[0].ID)
	}
	for _, h := range r.Hits {
		if v := h.Explain.Vector; v.Match == nil && math.Abs(*v.Similarity-(1-share(v))*v.Cosine-share(v)*least) > 1e-9 {
			t.Errorf("%s counts with %v, want a mean of %v and %v", h.ID, *v.Similarity, v.Cosine, least)
		}
	}
	var paged []string
	for q.Offset, q.Limit = 0, ptr(30); q.Offset < 120; q.Offset += 30 {
		paged = append(paged, find(t, e, q))
	}
	if got, want := strings.Join(paged, " "), find(t, e, search.Query{Q: q.Q, Mode: q.Mode, Limit: ptr(120)}); got != want {
		t.Errorf("pages %s\nat once %s", got, want)
	}
	x, err := e.Explain(t.Context(), "docs", "n119", search.Query{Q: q.Q, Mode: search.Semantic, Window: 60, Limit: ptr(10)})
	if err != nil {
		t.Fatal(err)
	}
	if v := x.Hit.Explain.Vector; v.Match == nil || v.Similarity == nil || math.Abs(*v.Similarity-(1-share(v))*v.Cosine-share(v)**v.Match) > 1e-9 {
		t.Errorf("a document beyond the window is explained by %+v", v)
	}
}

// TestMatchNot: keyword and hybrid search and documents like a document have no match.
func TestMatchNot(t *testing.T) {
	docs := numbered(5)
	e := matching(t, &fakeMatcher{}, docs...)
	for _, q := range []search.Query{{Q: "common", Mode: search.Keyword, Explain: true}, {Q: "common", Explain: true}, {Q: "common", Fusion: search.RRF, Explain: true}} {
		r, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Hits[0].Explain.Vector; v != nil && (v.Match != nil || v.Similarity != nil) {
			t.Errorf("%+v: %+v", q, v)
		}
	}
	r, err := e.Similar(t.Context(), "docs", search.Similar{IDs: []string{"n001"}, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.TimingsMS["match"]; ok || r.Hits[0].Explain.Vector.Match != nil {
		t.Errorf("similar: %+v, timings %v", r.Hits[0].Explain.Vector, r.TimingsMS)
	}
	if got := find(t, e, search.Query{Q: "?", Mode: search.Semantic}); len(strings.Fields(got)) != len(docs) {
		t.Errorf("a query that is one strange token finds %s", got)
	}
}

// slowTable is a fakeMatcher whose table of tokens takes its time.
type slowTable struct {
	*fakeMatcher
	made sync.Once
}

const tableTime = 50 * time.Millisecond

func (s *slowTable) TokenTable() *maxsim.Table {
	s.made.Do(func() { time.Sleep(tableTime) })
	return s.fakeMatcher.TokenTable()
}

// TestMatchTimed: the time in which the table of tokens is made, by the first search, is that of
// the step that wants it.
func TestMatchTimed(t *testing.T) {
	e, err := search.Open(t.TempDir(), search.Options{Embedder: &slowTable{fakeMatcher: &fakeMatcher{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, doc("a", `{"text":"a red automobile"}`))
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "car", Mode: search.Semantic})
	if err != nil {
		t.Fatal(err)
	}
	if want := float64(tableTime.Milliseconds()); r.TimingsMS["match"] < want {
		t.Errorf("timings %v of %v ms: match has less than %v ms", r.TimingsMS, r.TookMS, want)
	}
}
