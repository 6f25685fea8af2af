package migrate

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/searchd/api"
	"example.com/searchd/api/apitest"
	"example.com/searchd/client"
	"example.com/searchd/search"
	"example.com/searchd/search/cluster"
)

// side is a server over an engine of its own.
type side struct {
	t      *testing.T
	engine *apitest.Engine
	client *client.Client

	before atomic.Pointer[func(r *http.Request)] // called before each request, if not nil
}

// watch has f called before each request that writes documents of a copy.
func (s *side) watch(f func(r *http.Request)) {
	g := func(r *http.Request) {
		if strings.Contains(r.URL.Path, "/copy/") && strings.HasSuffix(r.URL.Path, "/documents") {
			f(r)
		}
	}
	s.before.Store(&g)
}

func newSide(t *testing.T, e *apitest.Engine) *side {
	t.Helper()
	s, err := api.New(api.Options{Engine: e, Inference: e, Copies: search.CopiesOf(e.Engine), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	out := &side{t: t, engine: e}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := out.before.Load(); f != nil {
			(*f)(r)
		}
		s.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	if out.client, err = client.New(server.URL, client.Options{Retries: -1}); err != nil {
		t.Fatal(err)
	}
	return out
}

// fill makes a collection of n documents with several passages and an alias.
func (s *side) fill(n int) {
	s.t.Helper()
	ctx := s.t.Context()
	settings := search.Settings{Synonyms: []string{"tv => television"}, Passages: search.PassageSettings{MaxTokens: 16}, Fields: map[string]search.FieldSettings{"year": {Type: "filter"}},
		Rules: []search.Rule{{ID: "r", Queries: []string{"word3"}, Pin: []string{"d7"}}}}
	if _, err := s.engine.CreateCollection(ctx, "docs", settings); err != nil {
		s.t.Fatal(err)
	}
	var docs []search.Document
	for i := range n {
		text := ""
		for k := range 3 + i%9 {
			text += fmt.Sprintf("word%d ", (i*i+k*7)%20)
		}
		docs = append(docs, s.document(fmt.Sprint("d", i), text))
	}
	s.put(docs...)
	if _, err := s.engine.SetAlias(ctx, "live", "docs"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *side) document(id, text string) search.Document {
	return search.Document{ID: id, Fields: []byte(fmt.Sprintf(`{"title":"about %s","text":%q,"year":%d}`, id, text, len(text)))}
}

func (s *side) put(docs ...search.Document) {
	s.t.Helper()
	results, err := s.engine.Ingest(s.t.Context(), "docs", docs)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			s.t.Fatal(r.Err)
		}
	}
}

// answers are the scores of the hits of some searches, by mode, query and id.
func (s *side) answers(modes ...search.Mode) map[string]float64 {
	s.t.Helper()
	limit, all := 100, map[string]float64{}
	for _, mode := range modes {
		for i := range 6 {
			q := search.Query{Q: fmt.Sprintf("word%d word%d", i, 3*i), Mode: mode, Limit: &limit}
			r, err := s.engine.Search(s.t.Context(), "live", q)
			if err != nil {
				s.t.Fatal(err)
			}
			for _, h := range r.Hits {
				all[fmt.Sprint(mode, " ", q.Q, " ", h.ID)] = h.Score
			}
		}
	}
	return all
}

// same compares answers. In a cluster sums have another order of their terms, by which the last
// digits may differ.
func same(t *testing.T, got, want map[string]float64) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%d hits, want %d", len(got), len(want))
	}
	for hit, score := range want {
		if d := got[hit] - score; !(d < 1e-9 && d > -1e-9) {
			t.Errorf("%s: score %v, want %v", hit, got[hit], score)
		}
	}
}

const pageSize = 16

// migrate copies all collections and returns what was reported.
func migrate(from, to *side) ([]string, error) {
	var said []string
	err := Migration{From: from.client, To: to.client, Done: func(text string) { said = append(said, text) }, Progress: func(int64, int64) {}, Page: pageSize}.Run(from.t.Context())
	return said, err
}

// TestThereAndBack copies a folder to a cluster and from there to another folder: each answers as
// the first, with the same scores.
func TestThereAndBack(t *testing.T) {
	b, err := cluster.Open(t.Context(), t.TempDir(), cluster.Options{Cluster: "test", Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	folder, many, back := newSide(t, apitest.New(t)), newSide(t, apitest.NewOver(t, b)), newSide(t, apitest.New(t))
	folder.fill(24)
	info, err := folder.engine.Collection(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf("docs: 24 documents, %d passages, the same on both sides with their vectors", info.Passages), "live: an alias of docs"}
	for _, to := range []*side{many, back} {
		from := folder
		if to == back {
			from = many
		}
		if said, err := migrate(from, to); err != nil || !slices.Equal(said, want) {
			t.Fatalf("said %q, %v, want %q", said, err, want)
		}
		same(t, to.answers("keyword", "hybrid", "semantic"), folder.answers("keyword", "hybrid", "semantic"))
	}
	if said, err := migrate(back, folder); err != nil || !strings.Contains(said[0], "the same on both sides already") {
		t.Errorf("to the folder where they came from: %q, %v", said, err)
	}
}

// TestUnderAnotherName copies a collection of a server to another one of the same server.
func TestUnderAnotherName(t *testing.T) {
	s := newSide(t, apitest.New(t))
	s.fill(10)
	m := Migration{From: s.client, To: s.client, As: "docs2", Done: func(string) {}, Progress: func(int64, int64) {}}
	if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "--as: got \"docs2\" with 0 collections") {
		t.Errorf("of all collections: %v", err)
	}
	if m.Collections = []string{"docs"}; m.Run(t.Context()) != nil {
		t.Fatal(m.Run(t.Context()))
	}
	want := s.answers("hybrid")
	if _, err := s.engine.SetAlias(t.Context(), "live", "docs2"); err != nil {
		t.Fatal(err)
	}
	same(t, s.answers("hybrid"), want)
}

// TestInterrupted: a run that ended in the middle is continued, and copies the rest; what has
// changed at the source since is copied, and what was deleted is deleted.
func TestInterrupted(t *testing.T) {
	from, to := newSide(t, apitest.New(t)), newSide(t, apitest.New(t))
	from.fill(pageSize + 10)
	var writes atomic.Int64
	to.watch(func(*http.Request) {
		if writes.Add(1) == 2 {
			panic(http.ErrAbortHandler) // the connection is cut
		}
	})
	if _, err := migrate(from, to); err == nil {
		t.Fatal("no error of a run that was cut off")
	}
	if info, err := to.engine.Collection(t.Context(), "docs"); err != nil || info.CopyOf == "" || info.Documents == 0 || info.Documents > pageSize {
		t.Fatalf("afterwards the copy is %+v, %v", info, err)
	}
	from.put(from.document("d3", "another text"), from.document("late", "it came later"))
	if _, err := from.engine.DeleteDocuments(t.Context(), "docs", []string{"d4", "d5"}); err != nil {
		t.Fatal(err)
	}
	var sent, all atomic.Int64
	to.watch(func(r *http.Request) { sent.Add(r.ContentLength) })
	if _, err := migrate(from, to); err != nil {
		t.Fatal(err)
	}
	whole := newSide(t, apitest.New(t))
	whole.watch(func(r *http.Request) { all.Add(r.ContentLength) })
	if _, err := migrate(from, whole); err != nil {
		t.Fatal(err)
	}
	if sent.Load() == 0 || sent.Load() > all.Load()*3/4 {
		t.Errorf("the second run sent %d bytes, a whole one sends %d", sent.Load(), all.Load())
	}
	same(t, to.answers("keyword", "hybrid"), from.answers("keyword", "hybrid"))
}

// TestWrittenMeanwhile: a document that is written to the source while others are copied is copied,
// too.
func TestWrittenMeanwhile(t *testing.T) {
	from, to := newSide(t, apitest.New(t)), newSide(t, apitest.New(t))
	from.fill(20)
	var written atomic.Int64
	to.watch(func(*http.Request) {
		if n := written.Add(1); n <= 3 {
			from.put(from.document("d1", fmt.Sprint("version ", n)))
			if _, err := from.engine.DeleteDocuments(t.Context(), "docs", []string{fmt.Sprint("d", 10+n)}); err != nil {
				t.Error(err)
			}
		}
	})
	if said, err := migrate(from, to); err != nil || written.Load() < 3 || !strings.HasPrefix(said[0], "docs: 17 documents,") {
		t.Fatalf("%q, %v after %d writes", said, err, written.Load())
	}
	same(t, to.answers("keyword"), from.answers("keyword"))
	restless := newSide(t, apitest.New(t))
	restless.watch(func(*http.Request) {
		from.put(from.document("d1", fmt.Sprint("restless ", written.Add(1))))
	})
	if _, err := migrate(from, restless); err == nil || !strings.Contains(err.Error(), "stop who writes to it") {
		t.Errorf("from a source that never rests: %v", err)
	}
}

// TestRefused: what the target has is left as it is, and the error says what is in the way.
func TestRefused(t *testing.T) {
	from, to := newSide(t, apitest.New(t)), newSide(t, apitest.New(t))
	if _, err := migrate(from, to); err == nil || !strings.Contains(err.Error(), "there is no collection") {
		t.Errorf("of nothing: %v", err)
	}
	from.fill(5)
	to.fill(5)
	to.put(to.document("d2", "something else"), to.document("own", "its own"))
	before := to.answers("keyword")
	if _, err := migrate(from, to); err == nil || !strings.Contains(err.Error(), "collection docs: --to: it is there and differs in 2 documents") {
		t.Errorf("to a collection with others: %v", err)
	}
	same(t, to.answers("keyword"), before)
	m := Migration{From: from.client, To: to.client, Collections: []string{"docs", "more"}}
	if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `--collection: got "more", allowed: docs`) {
		t.Errorf("a collection that is not there: %v", err)
	}
	if _, err := to.engine.CreateCollection(t.Context(), "second", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := to.engine.SetAlias(t.Context(), "live", "second"); err != nil {
		t.Fatal(err)
	}
	if _, err := migrate(from, to); err == nil || !strings.Contains(err.Error(), "alias live leads to second there") {
		t.Errorf("another alias: %v", err)
	}
	unfinished := newSide(t, apitest.New(t))
	o, err := client.CopiesOf(from.client, "docs").Original(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := client.CopiesOf(unfinished.client, "docs").Begin(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := migrate(unfinished, newSide(t, apitest.New(t))); err == nil || !strings.Contains(err.Error(), "a copy that has not ended") {
		t.Errorf("from an unfinished copy: %v", err)
	}
	if err := client.CopiesOf(to.client, "docs").End(t.Context(), o.Of); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("the end of no copy: %v", err)
	}
}
