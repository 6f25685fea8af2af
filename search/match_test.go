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

	"searchd/index/lsi"
	"searchd/index/maxsim"
	"searchd/models"
	"searchd/search"
)

// fakeMatcher is a fakeEmbedder with a vector for each token: words of one meaning share a token.
type fakeMatcher struct {
	fakeEmbedder
	share  float64
	topics float64
	tokens atomic.Int64 // texts taken apart
}

const fakeVocab = 1 << 12

var _ search.Matcher = &fakeMatcher{}

func (f *fakeMatcher) Tokens(text string) (ids []int32) {
	f.tokens.Add(1)
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

func (f *fakeMatcher) Terms(string) *lsi.Terms {
	return lsi.NewTerms(fakeVocab, func(id int) string { return fmt.Sprint(id) })
}

func (f *fakeMatcher) Calibration() models.Calibration {
	return models.Calibration{CosineFloor: 0, CosineCeiling: 1, Alpha: 0.5, Match: f.share, Topics: f.topics}
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

// TestMatch: the score is the mean of cosine and match that the checkpoint wants, and the match that of the texts as they stand.
func TestMatch(t *testing.T) {
	f := &fakeMatcher{share: 0.25}
	docs := map[string][2]string{"a": {"", "the red automobile stands in the yard"}, "b": {"Cars", "a long story about a yard and a red barn"}, "c": {"", "nothing of it"}}
	e := matching(t, f)
	check := func(share float64) {
		t.Helper()
		table := f.TokenTable()
		const q = "red car"
		for _, mode := range []search.Mode{search.Semantic, search.Hybrid} {
			for round := range 2 { // the second time the tokens are known
				before := f.tokens.Load()
				r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Mode: mode, Explain: true})
				if err != nil {
					t.Fatal(err)
				}
				if took := f.tokens.Load() - before; round == 1 && took != 1 {
					t.Errorf("%s: %d texts were taken apart, want the query alone", mode, took)
				}
				if _, ok := r.TimingsMS["match"]; !ok || len(r.Hits) != len(docs) {
					t.Errorf("%s: %d hits, timings %v", mode, len(r.Hits), r.TimingsMS)
				}
				for _, h := range r.Hits {
					d, v := docs[h.ID], h.Explain.Vector
					want := table.Query(f.Tokens(q), nil).Match([]maxsim.Text{{Title: f.Tokens(d[0]), Body: f.Tokens(d[1])}})[0]
					similarity := (1-share)*v.Cosine + share*want
					if v.Match == nil || math.Abs(*v.Match-want) > 1e-9 || math.Abs(*v.Similarity-similarity) > 1e-9 {
						t.Fatalf("%s: %s has match %v, similarity %v, want %v, %v", mode, h.ID, v.Match, v.Similarity, want, similarity)
					}
					if mode == search.Semantic && h.Score != *v.Similarity || math.Abs(v.Norm-min(1, max(0, similarity))) > 1e-9 {
						t.Errorf("%s: %s has score %v, norm %v, similarity %v", mode, h.ID, h.Score, v.Norm, similarity)
					}
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
	check(0.25)
	docs["a"], docs["b"], docs["c"] = [2]string{"", "another text"}, [2]string{"Red", "vehicle"}, [2]string{"", "car red"}
	write(search.Updated)
	check(0.25)
	docs["a"], docs["b"], docs["c"] = [2]string{"", "some other text"}, [2]string{"Green", "boat"}, [2]string{"", "of no use"}
	write(search.Updated)
	check(0) // neither word is anywhere, and random vectors are not near each other
}

// TestMatchWindow: documents behind the first 50 count with the least match of those, scores fall, and pages fit together.
func TestMatchWindow(t *testing.T) {
	e := matching(t, &fakeMatcher{share: 0.5}, numbered(120)...)
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
		if v := h.Explain.Vector; v.Match == nil && math.Abs(*v.Similarity-(v.Cosine+least)/2) > 1e-9 {
			t.Errorf("%s counts with %v, want the mean of %v and %v", h.ID, *v.Similarity, v.Cosine, least)
		}
	}
	var paged []string
	for q.Offset, q.Limit = 0, ptr(30); q.Offset < 120; q.Offset += 30 {
		paged = append(paged, find(t, e, q))
	}
	if got, want := strings.Join(paged, " "), find(t, e, search.Query{Q: q.Q, Mode: q.Mode, Limit: ptr(120)}); got != want {
		t.Errorf("pages %s\nat once %s", got, want)
	}
	x, err := e.Explain(t.Context(), "docs", "n119", search.Query{Q: q.Q, Window: 60, Limit: ptr(10)})
	if err != nil {
		t.Fatal(err)
	}
	if v := x.Hit.Explain.Vector; v.Match == nil || v.Similarity == nil || math.Abs(*v.Similarity-(v.Cosine+*v.Match)/2) > 1e-9 {
		t.Errorf("a document beyond the window is explained by %+v", v)
	}
}

// TestMatchNot: keyword search, reciprocal ranks, likeness of documents and a checkpoint without a share know no match.
func TestMatchNot(t *testing.T) {
	docs := numbered(5)
	e := matching(t, &fakeMatcher{share: 0.5}, docs...)
	for _, q := range []search.Query{{Q: "common", Mode: search.Keyword, Explain: true}, {Q: "common", Fusion: search.RRF, Explain: true}} {
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
	r, err = matching(t, &fakeMatcher{}, docs...).Search(t.Context(), "docs", search.Query{Q: "common", Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Hits[0].Explain.Vector; v.Match != nil || v.Similarity != nil {
		t.Errorf("without a share: %+v", v)
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

// TestMatchTimed: the time in which the table of tokens is made, by the first search, is that of the step that wants it.
func TestMatchTimed(t *testing.T) {
	e, err := search.Open(t.TempDir(), search.Options{Embedder: &slowTable{fakeMatcher: &fakeMatcher{share: 0.25}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, doc("a", `{"text":"a red automobile"}`))
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "car"})
	if err != nil {
		t.Fatal(err)
	}
	if want := float64(tableTime.Milliseconds()); r.TimingsMS["match"] < want {
		t.Errorf("timings %v of %v ms: match has less than %v ms", r.TimingsMS, r.TookMS, want)
	}
}
