package search_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"searchd/index/lsi"
	"searchd/search"
	"searchd/search/backend"
	"searchd/search/embedded"
)

const taughtSubjects, taughtTexts, taughtGroup = 90, 8, 6 // a group is what is compared of one search

// taught makes documents about some subjects. Half of those of a subject call it by one name, half by another, beside the same further words.
func taught() (docs []search.Document) {
	for i := range taughtSubjects * taughtTexts {
		subject, round := i%taughtSubjects, i/taughtSubjects
		text := taughtName(subject, round%2)
		for w := range 9 {
			if (w+round)%3 > 0 {
				text += " " + taughtFact(subject, w)
			}
		}
		docs = append(docs, doc(fmt.Sprintf("t%03d", i), fmt.Sprintf(`{"text":%q,"group":%d,"subject":%d}`, text, subject/taughtGroup, subject)))
	}
	return docs
}

func taughtName(subject, which int) string { return fmt.Sprintf("name%dx%d", subject, which) }
func taughtFact(subject, which int) string { return fmt.Sprintf("fact%dx%d", subject, which) }

// TestTopics: documents that call by another name what a query asks for are found by topics.
func TestTopics(t *testing.T) {
	for _, mode := range []search.Mode{search.Semantic, search.Hybrid} {
		found := map[float64]int{}
		for _, topics := range []float64{0, 0.8} {
			e := matching(t, &fakeMatcher{share: 0.25, topics: topics}, taught()...)
			for subject := range taughtSubjects {
				q := search.Query{Q: taughtName(subject, 0), Mode: mode, Limit: ptr(taughtTexts), Filter: fmt.Sprintf("group = %d", subject/taughtGroup)}
				for id := range strings.FieldsSeq(find(t, e, q)) {
					if n, err := strconv.Atoi(id[1:]); err == nil && n%taughtSubjects == subject {
						found[topics]++
					}
				}
			}
		}
		if all := taughtSubjects * taughtTexts; found[0.8] < all*3/4 || found[0] > all*3/5 {
			t.Errorf("%s: of %d documents %d were found with topics, %d without", mode, all, found[0.8], found[0])
		}
	}
}

// TestTopicsExplained: the similarity is the mean that the shares of the checkpoint want, and the score follows from it.
func TestTopicsExplained(t *testing.T) {
	const match = 0.25
	f := &fakeMatcher{share: match, topics: 0.5}
	e := matching(t, f, taught()...)
	words := taughtName(7, 0)
	for w := range 9 {
		words += " " + taughtFact(7, w)
	}
	for mode, topics := range map[search.Mode]float64{search.Semantic: f.topics * f.Calibration().Alpha, search.Hybrid: f.topics} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: words, Mode: mode, Limit: ptr(100), Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.TimingsMS["topics"]; !ok {
			t.Errorf("%s: timings %v", mode, r.TimingsMS)
		}
		compared, least := 0, math.Inf(1)
		for _, h := range r.Hits {
			if v := h.Explain.Vector; v.Topics != nil {
				compared, least = compared+1, min(least, *v.Topics)
				if *v.Topics < 0 || *v.Topics > 1 { // else what is opposite would be alike, as it is squared
					t.Errorf("%s: %s has topics %v", mode, h.ID, *v.Topics)
				}
			}
		}
		if compared != 50 {
			t.Errorf("%s: %d of %d were compared", mode, compared, len(r.Hits))
		}
		for _, h := range r.Hits {
			v, about := h.Explain.Vector, least
			if v.Topics != nil {
				about = *v.Topics
			}
			if v.Match == nil {
				continue // counts with the least match, which TestMatchWindow looks at
			}
			if want := (1-topics)*((1-match)*v.Cosine+match**v.Match) + topics*about*about; math.Abs(*v.Similarity-want) > 1e-9 || math.Abs(v.Norm-min(1, max(0, want))) > 1e-9 {
				t.Fatalf("%s: %s has similarity %v, norm %v, want %v: cosine %v, match %v, topics %v", mode, h.ID, *v.Similarity, v.Norm, want, v.Cosine, *v.Match, about)
			}
			if mode == search.Semantic && h.Score != *v.Similarity {
				t.Errorf("%s has score %v, similarity %v", h.ID, h.Score, *v.Similarity)
			}
		}
	}
}

// TestTopicsBehindThoseCompared: documents behind the first 50 count with the least topics of these, and of a query of which little lies in the topics their share
// is less.
func TestTopicsBehindThoseCompared(t *testing.T) {
	const match, most = 0.25, 0.5
	docs, words := taught(), taughtName(7, 0)
	for w := range 9 {
		words += " " + taughtFact(7, w)
	}
	for i := range 60 {
		docs = append(docs, doc(fmt.Sprintf("alike%02d", i), fmt.Sprintf(`{"text":"%s other%d","group":1000}`, words, i)))
	}
	e := matching(t, &fakeMatcher{share: match, topics: most}, docs...)
	for _, tc := range []struct {
		strangers int // words of the query that no document has
		whole     bool
	}{{0, true}, {90, false}} {
		q := words
		for i := range tc.strangers {
			q += fmt.Sprintf(" stranger%d", i)
		}
		r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Filter: "group = 1000", Limit: ptr(100), Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		compared, least, leastMatch := 0, math.Inf(1), math.Inf(1)
		for _, h := range r.Hits {
			if v := h.Explain.Vector; v.Match != nil {
				leastMatch = min(leastMatch, *v.Match)
				if v.Topics != nil {
					compared, least = compared+1, min(least, *v.Topics)
				}
			}
		}
		if compared != 50 || len(r.Hits) != 60 || least < 0.1 {
			t.Fatalf("%d strangers: %d of %d were compared, least topics %v", tc.strangers, compared, len(r.Hits), least)
		}
		share := math.NaN() // the same of all
		for _, h := range r.Hits {
			v, alike, about := h.Explain.Vector, leastMatch, least
			if v.Match != nil {
				alike, about = *v.Match, *v.Topics
			}
			without := (1-match)*v.Cosine + match*alike
			if math.IsNaN(share) {
				share = (*v.Similarity - without) / (about*about - without)
			}
			if want := (1-share)*without + share*about*about; math.Abs(*v.Similarity-want) > 1e-9 {
				t.Errorf("%d strangers: %s has similarity %v, want %v: %+v", tc.strangers, h.ID, *v.Similarity, want, v)
			}
		}
		if math.Abs(share-most) < 1e-9 != tc.whole || share < 0.01 || share > most+1e-9 {
			t.Errorf("%d strangers: topics have a share of %v, whole: %v", tc.strangers, share, tc.whole)
		}
	}
}

// TestTopicsNot: keyword search, reciprocal ranks, likeness of documents, a query whose words no document has, and a small collection know no topics.
func TestTopicsNot(t *testing.T) {
	e := matching(t, &fakeMatcher{share: 0.25, topics: 0.5}, taught()...)
	for _, q := range []search.Query{{Q: taughtName(1, 0), Mode: search.Keyword}, {Q: taughtName(1, 0), Fusion: search.RRF}, {Q: "stranger", Mode: search.Semantic}} {
		q.Explain = true
		r, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Hits[0].Explain.Vector; v != nil && v.Topics != nil {
			t.Errorf("%+v: %+v", q, v)
		}
	}
	r, err := e.Similar(t.Context(), "docs", search.Similar{IDs: []string{"t001"}, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Hits[0].Explain.Vector; v.Topics != nil {
		t.Errorf("similar: %+v", v)
	}
	e = matching(t, &fakeMatcher{share: 0.25, topics: 0.5}, taught()[:49]...)
	if r, err = e.Search(t.Context(), "docs", search.Query{Q: taughtName(1, 0), Explain: true}); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.TimingsMS["topics"]; ok || r.Hits[0].Explain.Vector.Topics != nil {
		t.Errorf("49 documents: %+v, timings %v", r.Hits[0].Explain.Vector, r.TimingsMS)
	}
}

// TestTopicsOfOne: a document behind the candidates is explained as they are.
func TestTopicsOfOne(t *testing.T) {
	e := matching(t, &fakeMatcher{share: 0.25, topics: 0.5}, taught()...)
	q := search.Query{Q: taughtName(3, 0), Limit: ptr(10), Window: 60}
	x, err := e.Explain(t.Context(), "docs", "t719", q)
	if err != nil {
		t.Fatal(err)
	}
	if v := x.Hit.Explain.Vector; x.Rank != 0 || v.Topics == nil {
		t.Errorf("rank %d, %+v", x.Rank, v)
	}
}

// slowTerms is a fakeMatcher that counts how often it is learnt from, and waits each time until it may go on.
type slowTerms struct {
	*fakeMatcher
	asked atomic.Int64
	may   chan struct{}
}

func (s *slowTerms) Terms(language string) *lsi.Terms {
	s.asked.Add(1)
	<-s.may
	return s.fakeMatcher.Terms(language)
}

// TestTopicsAreLearntOnce: many searches at once have it learnt once, and one that has little time goes on without.
func TestTopicsAreLearntOnce(t *testing.T) {
	search.SetLessonWait(t, time.Minute)
	s := &slowTerms{fakeMatcher: &fakeMatcher{share: 0.25, topics: 0.5}, may: make(chan struct{})}
	e := openTaught(t, s)
	hasTopics := func(ctx context.Context) bool {
		r, err := e.Search(ctx, "docs", search.Query{Q: taughtName(1, 0), Explain: true})
		if err != nil {
			t.Error(err)
			return false
		}
		return r.Hits[0].Explain.Vector.Topics != nil
	}
	hurried, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if hasTopics(hurried) {
		t.Errorf("a search had topics before they were learnt")
	}
	answers := make(chan bool)
	for range 4 {
		go func() { answers <- hasTopics(t.Context()) }()
	}
	time.Sleep(20 * time.Millisecond)
	close(s.may)
	for range 4 {
		if !<-answers {
			t.Errorf("a search did not wait for topics")
		}
	}
	if n := s.asked.Load(); n != 1 {
		t.Errorf("terms were asked for %d times", n)
	}
}

// openTaught opens an engine with the documents of taught.
func openTaught(t *testing.T, f search.Embedder) *search.Engine {
	t.Helper()
	e := openWith(t, t.TempDir(), search.Options{Embedder: f})
	put(t, e, search.Created, taught()...)
	return e
}

// TestLearn waits, and ends with its context and with the engine.
func TestLearn(t *testing.T) {
	s := &slowTerms{fakeMatcher: &fakeMatcher{share: 0.25, topics: 0.5}, may: make(chan struct{})}
	e := openTaught(t, s)
	ended, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := e.Learn(ended, "docs"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it is learnt: %v", err)
	}
	close(s.may)
	if err := e.Learn(t.Context(), "docs"); err != nil {
		t.Error(err)
	}
	if err := e.Learn(t.Context(), "nowhere"); !errors.Is(err, search.ErrCollectionNotFound) {
		t.Errorf("of no collection: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := e.Learn(t.Context(), "docs"); !errors.Is(err, search.ErrClosed) {
		t.Errorf("of a closed engine: %v", err)
	}
}

// TestTopicsOfADroppedCollection: it is forgotten, and where it was just being learnt nobody is told that it could not be.
func TestTopicsOfADroppedCollection(t *testing.T) {
	s := &slowTerms{fakeMatcher: &fakeMatcher{share: 0.25, topics: 0.5}, may: make(chan struct{})}
	var told atomic.Pointer[string]
	e := openWith(t, t.TempDir(), search.Options{Embedder: s, Notice: func(text string) {
		if strings.Contains(text, "learnt") {
			told.Store(&text)
		}
	}})
	put(t, e, search.Created, taught()...)
	if _, err := e.CreateCollection(t.Context(), "other", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ingest(t.Context(), "other", taught()); err != nil {
		t.Fatal(err)
	}
	hurried, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := e.Search(hurried, "docs", search.Query{Q: taughtName(1, 0)}); err != nil {
		t.Fatal(err)
	}
	if n := e.Lessons(); n != 1 {
		t.Errorf("%d lessons of one collection", n)
	}
	if err := e.DropCollection(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	if n := e.Lessons(); n != 0 {
		t.Errorf("%d lessons of no collection", n)
	}
	close(s.may)
	if err := e.Learn(t.Context(), "other"); err != nil { // after what was being learnt
		t.Fatal(err)
	}
	if text := told.Load(); text != nil {
		t.Errorf("told: %s", *text)
	}
}

// unsampled is a backend that gives no sample.
type unsampled struct {
	backend.Backend
	failed atomic.Int64
}

func (u *unsampled) RetrieveVectors(ctx context.Context, r backend.VectorsRequest) (backend.VectorsResponse, error) {
	if r.Vector != nil {
		return u.Backend.RetrieveVectors(ctx, r)
	}
	u.failed.Add(1)
	return backend.VectorsResponse{}, errors.New("no sample today")
}

// TestTopicsThatCannotBeLearnt: searches do without, it is told once, and not tried with every search.
func TestTopicsThatCannotBeLearnt(t *testing.T) {
	b, err := embedded.OpenContext(t.Context(), t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	u := &unsampled{Backend: b}
	var told atomic.Int64
	e, err := search.Open("", search.Options{Backend: u, Embedder: &fakeMatcher{share: 0.25, topics: 0.5}, Notice: func(text string) {
		if strings.Contains(text, "no sample today") {
			told.Add(1)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, taught()...)
	for range 3 {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: taughtName(1, 0), Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Hits[0].Explain.Vector; v.Topics != nil || v.Match == nil {
			t.Errorf("%+v", v)
		}
	}
	if u.failed.Load() != 1 || told.Load() != 1 {
		t.Errorf("tried %d times, told %d times", u.failed.Load(), told.Load())
	}
}

// TestTopicsOfAChange: documents that came later are found by topics once it has been learnt anew, which the next opening does at once.
func TestTopicsOfAChange(t *testing.T) {
	dir, f := t.TempDir(), &fakeMatcher{share: 0.25, topics: 0.5}
	cosine := func(e *search.Engine, id string) *float64 {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: "fresh0", Mode: search.Semantic, Limit: ptr(50), Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Hits, func(h search.Hit) bool { return h.ID == id })
		if i < 0 {
			return nil
		}
		return r.Hits[i].Explain.Vector.Topics
	}
	e := openWith(t, dir, search.Options{Embedder: f})
	put(t, e, search.Created, taught()...)
	if v := cosine(e, "f0"); v != nil {
		t.Fatalf("before there is such a document: %v", *v)
	}
	for i := range 12 {
		put(t, e, search.Created, doc(fmt.Sprintf("f%d", i), fmt.Sprintf(`{"text":"fresh%d news paper ink press"}`, i%2)))
	}
	if v := cosine(e, "f0"); v != nil { // what was learnt before knows none of the words
		t.Errorf("before it is learnt anew: %v", *v)
	}
	if err := e.Learn(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	if v := cosine(e, "f0"); v == nil || *v < 0.5 {
		t.Errorf("after it was learnt anew: %v", v)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openWith(t, dir, search.Options{Embedder: f})
	if v := cosine(e, "f0"); v == nil || *v < 0.5 {
		t.Errorf("after the next opening: %v", v)
	}
}

// TestTopicsWithoutRoom: where there is no room for more a collection that has grown goes by what was learnt before, and it is learnt anew when there is.
func TestTopicsWithoutRoom(t *testing.T) {
	e := matching(t, &fakeMatcher{share: 0.25, topics: 0.5}, taught()...)
	if _, err := e.CreateCollection(t.Context(), "other", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ingest(t.Context(), "other", taught()); err != nil {
		t.Fatal(err)
	}
	learn := func() {
		t.Helper()
		for _, name := range []string{"docs", "other"} {
			if err := e.Learn(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	has := func(q string) bool {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Mode: search.Semantic, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		return r.Hits[0].Explain.Vector.Topics != nil
	}
	fresh := func(round int) (docs []search.Document) {
		for i := range 12 {
			docs = append(docs, doc(fmt.Sprintf("f%d-%d", round, i), fmt.Sprintf(`{"text":"fresh%d news paper ink press"}`, i%2)))
		}
		return docs
	}
	learn()
	search.SetLessonsBudget(t, 1)
	put(t, e, search.Created, fresh(0)...)
	learn()
	if has("fresh0") || !has(taughtName(1, 0)) || e.Lessons() != 2 {
		t.Errorf("where there is no room: new words have topics %v, old ones %v, of %d collections", has("fresh0"), has(taughtName(1, 0)), e.Lessons())
	}
	search.SetLessonsBudget(t, 64<<20)
	put(t, e, search.Created, fresh(1)...)
	learn()
	if !has("fresh0") || !has(taughtName(1, 0)) {
		t.Error("it was not learnt anew when there was room")
	}
}
