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
	title  float64
	topics float64
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

func (f *fakeMatcher) Terms(string) *lsi.Terms {
	return lsi.NewTerms(fakeVocab, func(id int) string { return fmt.Sprint(id) })
}

func (f *fakeMatcher) Calibration() models.Calibration {
	return models.Calibration{CosineFloor: 0, CosineCeiling: 1, Alpha: 0.5, Match: f.share, Title: f.title, Topics: f.topics}
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
					want := table.Query(f.Tokens(q), nil).Match([]maxsim.Text{{Title: f.Tokens(d[0]), Body: f.Tokens(d[1])}})[0].Match
					similarity := (1-share)*v.Cosine + share*want
					if v.Match == nil || v.Title != nil || math.Abs(*v.Match-want) > 1e-9 || math.Abs(*v.Similarity-similarity) > 1e-9 {
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

// TestMatchOfManyTokens: that three tokens are like others by chance says nothing, that three of thirty are there and all others that much like some does, and
// between them the share rises with the best match times the root of 1 + the number of tokens.
func TestMatchOfManyTokens(t *testing.T) {
	const share = 0.25
	text := func(first, n int) (words string) {
		for i := range n {
			words += fmt.Sprintf(" word%d", first+i)
		}
		return words
	}
	f := &fakeMatcher{share: share}
	e := matching(t, f, doc("a", fmt.Sprintf(`{"text":%q}`, text(0, 10))), doc("b", `{"text":"nothing of it"}`))
	for _, tc := range []struct {
		q           string
		least, most float64 // the share of the match is between them
	}{{text(30, 3), 0, 0}, {text(8, 5), 0.1 * share, 0.9 * share}, {text(7, 30), share, share}} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: tc.q, Mode: search.Semantic, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(-1)
		for _, h := range r.Hits {
			best = max(best, *h.Explain.Vector.Match)
		}
		said := best * math.Sqrt(1+f.TokenTable().Query(f.Tokens(tc.q), nil).Breadth())
		want := share * min(1, max(0, (said-0.9)/(1.4-0.9)))
		if want < tc.least || want > tc.most {
			t.Errorf("%d words have a share of %v, want one from %v to %v", len(strings.Fields(tc.q)), want, tc.least, tc.most)
		}
		for _, h := range r.Hits {
			v := h.Explain.Vector
			if want := (1-want)*v.Cosine + want**v.Match; math.Abs(*v.Similarity-want) > 1e-9 {
				t.Errorf("%d words: %s has similarity %v, want %v: cosine %v, match %v", len(strings.Fields(tc.q)), h.ID, *v.Similarity, want, v.Cosine, *v.Match)
			}
		}
	}
}

// TestTitle: a title like the query raises the cosine, one that is not leaves it, and so does none.
func TestTitle(t *testing.T) {
	const q = "red car"
	f := &fakeMatcher{share: 0.25, title: 0.5}
	docs := map[string][2]string{
		"titled": {"A red automobile", "it stands in the yard"}, "again": {"Red car", "Red car: it stands in the yard"}, "cut": {"Red", "Redcar"},
		"other": {"Of boats", "a red car"}, "none": {"", "a red car"},
	}
	e := matching(t, f)
	for id, d := range docs {
		put(t, e, search.Created, doc(id, fmt.Sprintf(`{"title":%q,"text":%q}`, d[0], d[1])))
	}
	find := func(e *search.Engine, mode search.Mode) (out []search.Hit) {
		t.Helper()
		r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Mode: mode, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		return r.Hits
	}
	query, raised := f.TokenTable().Query(f.Tokens(q), nil), 0
	for _, mode := range []search.Mode{search.Semantic, search.Hybrid} {
		for _, h := range find(e, mode) {
			d, v := docs[h.ID], h.Explain.Vector
			text := d[1]
			if h.ID == "again" {
				text = ": it stands in the yard"
			}
			like, cosine := query.Match([]maxsim.Text{{Title: f.Tokens(d[0]), Body: f.Tokens(text)}})[0], v.Cosine
			if (v.Title != nil) != (d[0] != "") || v.Title != nil && math.Abs(*v.Title-like.Title) > 1e-9 || math.Abs(*v.Match-like.Match) > 1e-9 {
				t.Fatalf("%s: %s has title %v, match %v, want %+v", mode, h.ID, v.Title, *v.Match, like)
			}
			if like.Titled && like.Title > 0.1 {
				raised++
				cosine += f.title * (like.Title - 0.1) * (1 - cosine)
			}
			if want := 0.75*cosine + 0.25*like.Match; math.Abs(*v.Similarity-want) > 1e-9 {
				t.Errorf("%s: %s has similarity %v, want %v: cosine %v, %+v", mode, h.ID, *v.Similarity, want, v.Cosine, like)
			}
		}
	}
	if raised != 6 {
		t.Errorf("%d titles raised a cosine, want 3 in each mode", raised)
	}
	x, err := e.Explain(t.Context(), "docs", "titled", search.Query{Q: q, Window: 1, Limit: ptr(1)})
	if err != nil {
		t.Fatal(err)
	}
	if v := x.Hit.Explain.Vector; x.Rank != 0 || v.Title == nil {
		t.Errorf("a document beyond the window has rank %d and is explained by %+v", x.Rank, v)
	}
	without, err := search.Open(t.TempDir(), search.Options{Embedder: f})
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close()
	if _, err := without.CreateCollection(t.Context(), "docs", search.Settings{Passages: search.PassageSettings{NoTitle: true}}); err != nil {
		t.Fatal(err)
	}
	put(t, without, search.Created, doc("titled", `{"title":"Of boats","text":"a red car"}`))
	for _, h := range find(without, search.Semantic) {
		if h.Explain.Vector.Title != nil {
			t.Errorf("where titles are not encoded: %+v", h.Explain.Vector)
		}
	}
}

// TestTitleAlone: a document that is a title and nothing else has it compared as one, and is not behind another with the same title over a text.
func TestTitleAlone(t *testing.T) {
	e := matching(t, &fakeMatcher{share: 0.25, title: 0.5},
		doc("alone", `{"title":"car repair"}`), doc("over", `{"title":"car repair","text":"it stands in the yard"}`), doc("text", `{"text":"car repair"}`))
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "repair of a car", Mode: search.Semantic, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Hits[0].ID != "alone" {
		t.Errorf("%s is first", r.Hits[0].ID)
	}
	for _, h := range r.Hits {
		if v := h.Explain.Vector; (v.Title != nil) != (h.ID != "text") {
			t.Errorf("%s: title %v", h.ID, v.Title)
		}
	}
}

// TestLongTitle: of a title of any length the first tokens count, and no more of it is taken apart than they need.
func TestLongTitle(t *testing.T) {
	f := &fakeMatcher{share: 0.25, title: 0.5}
	long := strings.Repeat("word ", 39) + "car " + strings.Repeat("red ", 50_000)
	e := matching(t, f, doc("long", fmt.Sprintf(`{"title":%q,"text":"it stands in the yard"}`, long)))
	before := f.bytes.Load()
	const q = "red car"
	r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Mode: search.Semantic, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	want := f.TokenTable().Query(f.Tokens(q), nil).Match([]maxsim.Text{{Title: f.Tokens(strings.Repeat("word ", 39) + "car")}})[0].Title
	if v := r.Hits[0].Explain.Vector; v.Title == nil || math.Abs(*v.Title-want) > 1e-9 {
		t.Errorf("title %v, want %v", v.Title, want)
	}
	if read := f.bytes.Load() - before; read > 8<<10 {
		t.Errorf("%d bytes were taken apart", read)
	}
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
