package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

func ptr[T any](v T) *T { return &v }

func TestIngestStatuses(t *testing.T) {
	f := &fakeEmbedder{}
	e := open(t, t.TempDir(), f)
	put(t, e, search.Created, doc("a", `{"title":"Cats","text":"A kitten sleeps."}`), doc("b", `{"text":"A car drives."}`))
	calls := f.calls.Load()
	put(t, e, search.Unchanged, doc("a", `{"text":"A kitten sleeps.", "title":"Cats"}`))
	if f.calls.Load() != calls {
		t.Errorf("an unchanged document was encoded again")
	}
	put(t, e, search.Updated, doc("a", `{"title":"Cats","text":"A kitten wakes."}`))
	if got := find(t, e, search.Query{Q: "sleeps", Mode: search.Keyword}); got != "" {
		t.Errorf("the old text is still found: %q", got)
	}
	if got := find(t, e, search.Query{Q: "wakes", Mode: search.Keyword}); got != "a" {
		t.Errorf("the new text is not found: %q", got)
	}
	d, err := e.Document(t.Context(), "docs", "a")
	if err != nil || d.Revision < 2 || len(d.Passages) != 1 || d.Passages[0].Text != "A kitten wakes." {
		t.Errorf("Document(a) = %+v, %v", d, err)
	}
	results, err := e.DeleteDocuments(t.Context(), "docs", []string{"a", "zz"})
	if err != nil || results[0].Status != search.Deleted || !errors.Is(results[1].Err, search.ErrDocumentNotFound) {
		t.Errorf("DeleteDocuments = %+v, %v", results, err)
	}
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		if got := find(t, e, search.Query{Q: "kitten", Mode: mode}); strings.Contains(got, "a") {
			t.Errorf("%s finds the deleted document: %q", mode, got)
		}
	}
}

func TestIngestSameIDTwice(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	results, err := e.Ingest(t.Context(), "docs", []search.Document{
		doc("a", `{"text":"one"}`), doc("a", `{"text":"two"}`), doc("a", `{"text":"one"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := []search.Status{search.Created, search.Updated, search.Updated}
	for i, r := range results {
		if r.Status != want[i] {
			t.Errorf("write %d = %s, want %s", i, r.Status, want[i])
		}
	}
	if got := find(t, e, search.Query{Q: "one"}); got != "a" {
		t.Errorf("found %q, want the last text of a", got)
	}
	problems, err := e.Check(t.Context(), true)
	if err != nil || len(problems) != 0 {
		t.Errorf("Check = %v, %v", problems, err)
	}
}

// TestIngestManyCommits puts more into one call than one commit holds.
func TestIngestManyCommits(t *testing.T) {
	f := &fakeEmbedder{}
	e := open(t, t.TempDir(), f)
	docs := append(numbered(1500), doc("n000", `{"text":"the last word on n000"}`))
	results, err := e.Ingest(t.Context(), "docs", docs)
	if err != nil || len(results) != len(docs) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		want := search.Created
		if i == len(docs)-1 {
			want = search.Updated
		}
		if r.Status != want || r.ID != docs[i].ID {
			t.Fatalf("result %d = %+v, want %s of %s", i, r, want, docs[i].ID)
		}
	}
	f.limit = f.calls.Load() + 1100 // the second commit of the next call fails
	for i := range docs {
		docs[i] = doc(fmt.Sprintf("again%d", i), `{"text":"again"}`)
	}
	results, err = e.Ingest(t.Context(), "docs", docs)
	if err == nil || len(results) == 0 || len(results) == len(docs) {
		t.Fatalf("%d results, %v, want those of the first commit and an error", len(results), err)
	}
	info, err := e.Collection(t.Context(), "docs")
	if err != nil || info.Documents != 1500+len(results) {
		t.Errorf("%d documents stored, %d answered, %v", info.Documents, len(results), err)
	}
	if problems, err := e.Check(t.Context(), true); err != nil || len(problems) != 0 {
		t.Errorf("Check = %v, %v", problems, err)
	}
}

func TestIngestRefuses(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	for _, tc := range []struct{ name, id, fields, want string }{
		{"no object", "a", `[1]`, "JSON object"},
		{"null", "a", `null`, "JSON object"},
		{"broken", "a", `{"text":`, "JSON object"},
		{"two objects", "a", `{"text":"x"} {"text":"y"}`, "a single JSON object"},
		{"a bracket too many", "a", `{"text":"x"}}`, "a single JSON object"},
		{"empty", "a", `{}`, "at least one field"},
		{"white space", "a", `{"text":"  \n ","tags":["\t",null],"meta":{}}`, "at least one field"},
		{"control character in id", "a\x00b", `{"text":"x"}`, "control characters"},
		{"long id", strings.Repeat("x", 513), `{"text":"x"}`, "512"},
		{"deep", "a", strings.Repeat(`{"a":`, 30) + "1" + strings.Repeat("}", 30), "deeper than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			results, err := e.Ingest(t.Context(), "docs", []search.Document{doc(tc.id, tc.fields), doc("good", `{"text":"fine"}`)})
			if err != nil {
				t.Fatal(err)
			}
			if r := results[0]; r.Status != search.Failed || !errors.Is(r.Err, search.ErrInvalid) || !strings.Contains(r.Err.Error(), tc.want) {
				t.Errorf("got %s, %v, want an error with %q", r.Status, r.Err, tc.want)
			}
			if results[1].Status == search.Failed {
				t.Errorf("the good document failed with it: %v", results[1].Err)
			}
		})
	}
	if _, err := e.Ingest(t.Context(), "nowhere", nil); !errors.Is(err, search.ErrCollectionNotFound) {
		t.Errorf("unknown collection: %v", err)
	}
}

func TestRevisions(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	first := doc("a", `{"text":"one"}`)
	first.IfRevision = ptr(uint64(0))
	put(t, e, search.Created, first)
	second := doc("a", `{"text":"two"}`)
	second.IfRevision = ptr(uint64(7))
	results, err := e.Ingest(t.Context(), "docs", []search.Document{second})
	if err != nil || !errors.Is(results[0].Err, search.ErrConflict) {
		t.Errorf("a stale revision: %+v, %v", results, err)
	}
}

// explained returns the score of a hybrid search that an explanation makes.
func explained(x *search.Explain) float64 {
	a := x.Fusion.Alpha
	return 1 / (1 + math.Exp(-x.Fusion.Scale*(a*x.Vector.Norm+(1-a)*x.Keyword.Norm)-x.Fusion.Prior))
}

func TestSearchModes(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created,
		doc("car", `{"title":"Driving","text":"The automobile needs fuel."}`),
		doc("cat", `{"title":"Pets","text":"A feline likes milk."}`),
		doc("pancake", `{"title":"Breakfast","text":"Flip the pancake with milk."}`))
	if got := find(t, e, search.Query{Q: "vehicle", Mode: search.Keyword}); got != "" {
		t.Errorf("keyword finds %q for a word that does not occur", got)
	}
	if got := find(t, e, search.Query{Q: "vehicle", Mode: search.Semantic}); !strings.HasPrefix(got, "car") {
		t.Errorf("semantic finds %q, want car first", got)
	}
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "kitten milk", Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Hits[0].ID != "cat" {
		t.Fatalf("hybrid finds %s first, want cat", r.Hits[0].ID)
	}
	for _, h := range r.Hits {
		x := h.Explain
		if want := explained(x); !near(h.Score, want) {
			t.Errorf("%s: score %v, but the explanation makes %v", h.ID, h.Score, want)
		}
		sum := 0.0
		for _, term := range x.Keyword.Terms {
			sum += term.Score
		}
		if !near(sum, x.Keyword.Score) {
			t.Errorf("%s: terms make %v, BM25 is %v", h.ID, sum, x.Keyword.Score)
		}
		if *h.Passages[0].Score != x.Vector.Cosine {
			t.Errorf("%s: best passage has cosine %v, the retriever %v", h.ID, *h.Passages[0].Score, x.Vector.Cosine)
		}
	}
	if got := r.Hits[0].Highlights["text"]; len(got) != 1 || got[0] != "A feline likes <mark>milk</mark>." {
		t.Errorf("highlights = %q", got)
	}
	rrf, err := e.Search(t.Context(), "docs", search.Query{Q: "kitten milk", Fusion: search.RRF})
	if err != nil || rrf.Hits[0].ID != "cat" {
		t.Errorf("rrf = %+v, %v", rrf, err)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func TestHighlightsAreEscaped(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("x", `{"text":"<script>alert(1)</script> & milk"}`))
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "milk"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Hits[0].Passages[0].Marked, "&lt;script&gt;alert(1)&lt;/script&gt; &amp; <mark>milk</mark>"; got != want {
		t.Errorf("Marked = %q, want %q", got, want)
	}
}

func TestFilter(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, numbered(300)...)
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: "common", Mode: mode, Filter: "n >= 290 AND even = true", Limit: ptr(50)})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) != 5 || r.Total.Value != 5 {
			t.Errorf("%s: %d hits of %d, want 5 of 5", mode, len(r.Hits), r.Total.Value)
		}
	}
}

func TestPagesAreStable(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, numbered(300)...)
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		all := strings.Fields(find(t, e, search.Query{Q: "common word7", Mode: mode, Limit: ptr(200)}))
		for offset := 0; offset < 200; offset += 20 {
			got := find(t, e, search.Query{Q: "common word7", Mode: mode, Limit: ptr(20), Offset: offset})
			if want := strings.Join(all[offset:offset+20], " "); got != want {
				t.Fatalf("%s: page at %d differs from the whole:\n%s\n%s", mode, offset, got, want)
			}
		}
	}
}

func TestManyPassagesOfOneDocument(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	long := strings.Repeat("The kitten plays with one more ball of red wool today. ", 200)
	put(t, e, search.Created, append(numbered(20), doc("long", fmt.Sprintf(`{"text":%q}`, long)))...)
	got := strings.Fields(find(t, e, search.Query{Q: "kitten ball wool", Mode: search.Semantic, Limit: ptr(21), Window: 21}))
	if len(got) != 21 || got[0] != "long" {
		t.Errorf("found %d documents, first %s; want all 21, long first", len(got), got[0])
	}
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "kitten ball wool", Passages: ptr(3), Limit: ptr(1)})
	if err != nil || len(r.Hits[0].Passages) != 3 {
		t.Fatalf("passages: %+v, %v", r, err)
	}
	for _, p := range r.Hits[0].Passages {
		if long[p.Start:p.End] != p.Text {
			t.Errorf("offsets [%d, %d) do not give the passage's text", p.Start, p.End)
		}
	}
}

func TestMinSimilarity(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("near", `{"text":"kitten"}`), doc("far", `{"text":"steel bridge"}`))
	if got := find(t, e, search.Query{Q: "cat", Mode: search.Semantic, MinSimilarity: 0.5}); got != "near" {
		t.Errorf("semantic finds %q, want near", got)
	}
	if got := find(t, e, search.Query{Q: "bridge cat", MinSimilarity: 0.9}); !strings.Contains(got, "far") {
		t.Errorf("hybrid finds %q: a document found by words must stay", got)
	}
}

func TestDegraded(t *testing.T) {
	f := &fakeEmbedder{}
	e := open(t, t.TempDir(), f)
	put(t, e, search.Created, doc("a", `{"text":"milk"}`))
	f.fail = errors.New("encoder is broken")
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "milk"})
	if err != nil || !r.Degraded || r.Reason == "" || len(r.Hits) != 1 {
		t.Errorf("hybrid = %+v, %v, want a degraded answer", r, err)
	}
	if _, err := e.Search(t.Context(), "docs", search.Query{Q: "milk", Mode: search.Semantic}); err == nil {
		t.Error("semantic: want an error")
	}
}

// faulty is a backend one of whose methods panics.
type faulty struct {
	backend.Backend
	method string
}

func (f *faulty) in(method string) {
	if f.method == method {
		panic(method)
	}
}

func (f *faulty) RetrieveWords(ctx context.Context, r backend.WordsRequest) (backend.WordsResponse, error) {
	f.in("words")
	return f.Backend.RetrieveWords(ctx, r)
}

func (f *faulty) Apply(ctx context.Context, r backend.ApplyRequest) ([]backend.Outcome, error) {
	f.in("apply")
	return f.Backend.Apply(ctx, r)
}

// deep notes the functions of the stack when the backend is asked for the nearest vectors.
type deep struct {
	backend.Backend
	calls []string
}

func (d *deep) RetrieveVectors(ctx context.Context, r backend.VectorsRequest) (backend.VectorsResponse, error) {
	d.calls = nil
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		if d.calls = append(d.calls, f.Function); !more || strings.HasSuffix(f.Function, "Engine).Search") {
			return d.Backend.RetrieveVectors(ctx, r)
		}
	}
}

// TestCallDepth: few calls lie between a search and the backend, in one goroutine.
func TestCallDepth(t *testing.T) {
	b, err := embedded.OpenContext(t.Context(), t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &deep{Backend: b}
	e := openWith(t, t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Backend: d})
	put(t, e, search.Created, doc("a", `{"text":"milk"}`))
	find(t, e, search.Query{Q: "milk"})
	if n := len(d.calls); n == 0 || n > 6 || !strings.HasSuffix(d.calls[n-1], "Engine).Search") {
		t.Errorf("%d calls, want at most 6: %q", n, d.calls)
	}
}

// TestPanicOfBackend: a fault in a goroutine of the engine's own ends the request, and not the
// process.
func TestPanicOfBackend(t *testing.T) {
	b, err := embedded.OpenContext(t.Context(), t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{Backend: b}
	e := openWith(t, t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Backend: f})
	put(t, e, search.Created, doc("a", `{"text":"milk"}`))
	f.method = "words"
	if _, err := e.Search(t.Context(), "docs", search.Query{Q: "milk"}); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("a search: %v", err)
	}
	f.method = "apply"
	if _, err := e.Ingest(t.Context(), "docs", []search.Document{doc("b", `{"text":"bread"}`)}); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("an ingest: %v", err)
	}
	f.method = ""
	put(t, e, search.Created, doc("b", `{"text":"bread"}`))
	if got := find(t, e, search.Query{Q: "bread"}); !strings.HasPrefix(got, "b") {
		t.Errorf("after that it finds %q", got)
	}
}

func TestQueryRefuses(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	for _, tc := range []struct {
		name  string
		q     search.Query
		field string
	}{
		{"not UTF-8", search.Query{Q: "\xff"}, "q"},
		{"long", search.Query{Q: strings.Repeat("x", 40<<10)}, "q"},
		{"mode", search.Query{Q: "x", Mode: "fuzzy"}, "mode"},
		{"fusion", search.Query{Q: "x", Fusion: "sum"}, "fusion"},
		{"alpha", search.Query{Q: "x", Alpha: ptr(1.5)}, "alpha"},
		{"limit -1", search.Query{Q: "x", Limit: ptr(-1)}, "limit"},
		{"limit 1e9", search.Query{Q: "x", Limit: ptr(1_000_000_000)}, "limit"},
		{"offset", search.Query{Q: "x", Offset: -1}, "offset"},
		{"beyond the window", search.Query{Q: "x", Offset: 195}, "limit"},
		{"window", search.Query{Q: "x", Window: 20000}, "window"},
		{"window -1", search.Query{Q: "x", Window: -1}, "window"},
		{"filter", search.Query{Q: "x", Filter: "lang = "}, "filter"},
		{"operator", search.Query{Q: "x", Operator: "not"}, "operator"},
		{"fields", search.Query{Q: "x", Fields: []string{"title^zero"}}, "fields"},
		{"passages", search.Query{Q: "x", Passages: ptr(1000)}, "passages"},
		{"min_similarity", search.Query{Q: "x", MinSimilarity: 2}, "min_similarity"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := e.Search(t.Context(), "docs", tc.q)
			var field *search.FieldError
			if !errors.As(err, &field) || field.Field != tc.field || strings.Contains(err.Error(), "; limit: ") {
				t.Errorf("Search = %v, want a FieldError for %s", err, tc.field)
			}
		})
	}
	for _, v := range []json.Unmarshaler{&search.Facet{}, &search.Fields{}, &search.SortKey{}} {
		if v.UnmarshalJSON(nil) == nil {
			t.Errorf("%T of nothing: no error", v)
		}
	}
	if _, err := e.Search(t.Context(), "nowhere", search.Query{Q: "x"}); !errors.Is(err, search.ErrCollectionNotFound) {
		t.Errorf("unknown collection: %v", err)
	}
}

func TestEmptyCollection(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: "anything", Mode: mode})
		if err != nil || len(r.Hits) != 0 || r.Total.Value != 0 {
			t.Errorf("%s = %+v, %v", mode, r, err)
		}
	}
}

func TestCollections(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); !errors.Is(err, search.ErrCollectionExists) {
		t.Errorf("a second one of the name: %v", err)
	}
	for _, name := range []string{"", "../x", "a b", "-a", strings.Repeat("a", 65)} {
		if _, err := e.CreateCollection(t.Context(), name, search.Settings{}); !errors.Is(err, search.ErrInvalid) {
			t.Errorf("CreateCollection(%q) = %v, want ErrInvalid", name, err)
		}
	}
	for _, s := range []search.Settings{
		{Language: "klingon"}, {Passages: search.PassageSettings{MaxTokens: 5}}, {Index: search.IndexSettings{M: 1000}},
		{Index: search.IndexSettings{TargetRecall: 98}}, {Index: search.IndexSettings{TargetRecall: 0.4}}, {Index: search.IndexSettings{TargetRecall: 0.9, EfSearch: 64}},
		{Fields: map[string]search.FieldSettings{"a": {Type: "vector"}}},
	} {
		if _, err := e.CreateCollection(t.Context(), "other", s); !errors.Is(err, search.ErrInvalid) {
			t.Errorf("settings %+v: %v, want ErrInvalid", s, err)
		}
	}
	info, created, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Index: search.IndexSettings{EfSearch: 100}})
	if err != nil || created || info.Settings.Index.EfSearch != 100 {
		t.Errorf("EnsureCollection = %+v, %t, %v", info, created, err)
	}
	put(t, e, search.Created, doc("a", `{"text":"milk"}`))
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Passages: search.PassageSettings{MaxTokens: 20}}); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("other passages with documents in it: %v, want ErrInvalid", err)
	}
	if err := e.DropCollection(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Collection(t.Context(), "docs"); !errors.Is(err, search.ErrCollectionNotFound) {
		t.Errorf("after the drop: %v", err)
	}
}

func TestFieldMapping(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	if _, err := e.CreateCollection(t.Context(), "mapped", search.Settings{Fields: map[string]search.FieldSettings{
		"note": {Type: "text"}, "secret": {Type: "stored"}, "text": {Type: "filter"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ingest(t.Context(), "mapped", []search.Document{doc("a", `{"note":"milk","secret":"honey","text":"bread"}`)}); err != nil {
		t.Fatal(err)
	}
	for q, want := range map[string]int{"milk": 1, "honey": 0, "bread": 0} {
		r, err := e.Search(t.Context(), "mapped", search.Query{Q: q, Mode: search.Keyword})
		if err != nil || len(r.Hits) != want {
			t.Errorf("%s: %+v, %v, want %d hits", q, r, err, want)
		}
	}
}

// TestQuantize switches a collection to int8 and back, with the same best answers.
func TestQuantize(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, &fakeEmbedder{})
	put(t, e, search.Created, numbered(300)...)
	q := search.Query{Q: "common word7", Mode: search.Semantic, Limit: ptr(1)}
	want := find(t, e, q)
	for _, quantize := range []string{"int8", "none"} {
		info, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Index: search.IndexSettings{Quantize: quantize}})
		if err != nil || info.Settings.Index.Quantize != quantize {
			t.Fatalf("%s: %+v, %v", quantize, info, err)
		}
		if got := find(t, e, q); got != want {
			t.Errorf("%s: best is %q, want %q", quantize, got, want)
		}
		put(t, e, search.Updated, doc("n299", `{"text":"`+quantize+`"}`))
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = open(t, dir, &fakeEmbedder{})
		if got := find(t, e, q); got != want {
			t.Errorf("%s, opened again: best is %q, want %q", quantize, got, want)
		}
		if problems, err := e.Check(t.Context(), true); err != nil || len(problems) != 0 {
			t.Errorf("%s: Check = %v, %v", quantize, problems, err)
		}
	}
	if _, err := e.CreateCollection(t.Context(), "other", search.Settings{Index: search.IndexSettings{Quantize: "int4"}}); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("int4: %v", err)
	}
}

// TestLanguage looks for a text by a query, composed and decomposed both, and compares what is
// marked.
func TestLanguage(t *testing.T) {
	for _, tc := range []struct{ name, language, text, q, marked string }{
		{"stem", "de", "Die Häuser der Stadt.", "Haus", "Die <mark>Häuser</mark> der Stadt."},
		{"French", "fr", "Un Café noir.", "café", "Un <mark>Café</mark> noir."},
		{"phrase", "fr", "Un Café noir.", `"café noir" -thé`, "Un <mark>Café</mark> <mark>noir</mark>."},
		{"Korean", "cjk", "한국어 검색 엔진입니다", "엔진", "한국어 검색 <mark>엔진</mark>입니다"},
		{"Korean phrase", "cjk", "서울에서 김치를 먹었다", `"김치를 먹었다"`, "서울에서 <mark>김치를</mark> <mark>먹었다</mark>"},
		{"Japanese", "cjk", "私は東京都に住む", "東京都", "私は<mark>東京都</mark>に住む"},
		{"one character", "cjk", "黒い猫の目", "猫", "黒い<mark>猫</mark>の目"},
		{"one syllable", "cjk", "책입니다", "책", "<mark>책</mark>입니다"},
		{"digits and a character", "cjk", "2024年の冬", `"2024年" -雨`, "<mark>2024</mark><mark>年</mark>の冬"},
		{"pairs beside one", "cjk", "黒い猫の目", "猫 黒い", "<mark>黒い</mark><mark>猫</mark>の目"},
		{"Thai letter", "en", "the รถไฟ", "ถ", "the ร<mark>ถ</mark>ไฟ"},
		{"digits", "cjk", "電話は１２３です", "123", "電話は<mark>１２３</mark>です"},
		{"signs", "en", "A C++ course.", `"C++ course" -C# -".NET"`, "A <mark>C++</mark> <mark>course</mark>."},
		{"hyphens", "en", "Free Wi-Fi here.", "wifi", "Free <mark>Wi-Fi</mark> here."},
		{"no hyphens", "en", "The GPT4 model.", "gpt-4", "The <mark>GPT4</mark> model."},
		{"soft hyphens", "de", "Die Donau\u00addampf\u00adfahrt.", "donaudampffahrt", "Die <mark>Donau\u00addampf\u00adfahrt</mark>."},
		{"elision", "it", "La casa di quest’anno.", "anno", "La casa di <mark>quest’anno</mark>."},
		{"joiners", "fa", "می‌خواهم کتاب‌ها", "کتاب", "می‌خواهم <mark>کتاب</mark>‌ها"},
	} {
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			t.Run(tc.name, func(t *testing.T) {
				e := open(t, t.TempDir(), &fakeEmbedder{})
				if _, err := e.CreateCollection(t.Context(), "c", search.Settings{Language: tc.language}); err != nil {
					t.Fatal(err)
				}
				if _, err := e.Ingest(t.Context(), "c", []search.Document{doc("a", fmt.Sprintf(`{"text":%q}`, form.String(tc.text)))}); err != nil {
					t.Fatal(err)
				}
				for _, typed := range []norm.Form{norm.NFC, norm.NFD} {
					r, err := e.Search(t.Context(), "c", search.Query{Q: typed.String(tc.q), Mode: search.Keyword})
					if err != nil || len(r.Hits) != 1 || r.Hits[0].Passages[0].Marked != form.String(tc.marked) {
						t.Errorf("%+q in %+q: %+v, %v", typed.String(tc.q), form.String(tc.text), r, err)
					}
				}
			})
		}
	}
}

// TestExcludedCharacter: what a character excludes need not stand alone.
func TestExcludedCharacter(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	if _, err := e.CreateCollection(t.Context(), "c", search.Settings{Language: "cjk"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ingest(t.Context(), "c", []search.Document{doc("rain", `{"text":"大雨の冬"}`), doc("snow", `{"text":"大雪の冬"}`)}); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		r, err := e.Search(t.Context(), "c", search.Query{Q: "冬 -雨", Mode: mode})
		if err != nil || len(r.Hits) != 1 || r.Hits[0].ID != "snow" {
			t.Errorf("%s: %+v, %v, want snow alone", mode, r, err)
		}
	}
}

// TestMarksOfPairs marks a long run of pairs whole, and shows the place of it.
func TestMarksOfPairs(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	if _, err := e.CreateCollection(t.Context(), "c", search.Settings{Language: "cjk"}); err != nil {
		t.Fatal(err)
	}
	var run strings.Builder
	for i := range 200 {
		run.WriteRune(rune('一' + i*7))
	}
	text := strings.Repeat("あ い う ", 60) + run.String() + strings.Repeat(" え お", 60)
	if _, err := e.Ingest(t.Context(), "c", []search.Document{doc("a", fmt.Sprintf(`{"text":%q}`, text))}); err != nil {
		t.Fatal(err)
	}
	q := string([]rune(run.String())[:60])
	r, err := e.Search(t.Context(), "c", search.Query{Q: q, Mode: search.Keyword})
	if err != nil || len(r.Hits) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := r.Hits[0].Highlights["text"]; len(got) != 1 || !strings.Contains(got[0], "<mark>"+q+"</mark>") {
		t.Errorf("highlights of %s are %q", q, got)
	}
	r, err = e.Search(t.Context(), "c", search.Query{Q: run.String()[:600], Mode: search.Keyword})
	if err != nil || len(r.Hits) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	plain := strings.NewReplacer("<mark>", "", "</mark>", "", "… ", "", " …", "")
	for _, s := range r.Hits[0].Highlights["text"] {
		if !strings.Contains(text, plain.Replace(s)) || !strings.Contains(s, "<mark>") {
			t.Errorf("snippet %q", s)
		}
	}
}

func TestFieldWeights(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	fields := map[string]search.FieldSettings{"title": {Type: "text", Weight: 5}, "text": {Type: "text"}}
	if _, err := e.CreateCollection(t.Context(), "weighted", search.Settings{Fields: fields}); err != nil {
		t.Fatal(err)
	}
	docs := []search.Document{
		doc("body", `{"title":"bread and butter","text":"milk milk bread"}`), doc("title", `{"title":"milk and butter","text":"bread bread bread"}`)}
	for _, c := range []string{"docs", "weighted"} {
		if _, err := e.Ingest(t.Context(), c, docs); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		collection, want string
		fields           []string
	}{{"docs", "body", nil}, {"weighted", "title", nil}, {"docs", "title", []string{"title^5", "text"}}, {"weighted", "body", []string{"text"}}} {
		r, err := e.Search(t.Context(), tc.collection, search.Query{Q: "milk", Mode: search.Keyword, Fields: tc.fields})
		if err != nil || r.Hits[0].ID != tc.want {
			t.Errorf("%s, fields %q: %+v, %v, want %s first", tc.collection, tc.fields, r, err, tc.want)
		}
	}
}

func TestListing(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, numbered(25)...)
	var ids []string
	for cursor := ""; ; {
		docs, next, err := e.Documents(t.Context(), "docs", cursor, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			ids = append(ids, d.ID)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if len(ids) != 25 || ids[0] != "n000" || ids[24] != "n024" {
		t.Errorf("listed %d: %v", len(ids), ids)
	}
	if _, _, err := e.Documents(t.Context(), "docs", "nonsense", 10); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("a wrong cursor: %v", err)
	}
}

func TestModelMismatch(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, &fakeEmbedder{})
	put(t, e, search.Created, doc("a", `{"text":"milk"}`))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	other := open(t, dir, &fakeEmbedder{sha256: "other"})
	if _, err := other.Ingest(t.Context(), "docs", []search.Document{doc("b", `{"text":"x"}`)}); !errors.Is(err, search.ErrModelMismatch) {
		t.Errorf("Ingest = %v", err)
	}
	if got := find(t, other, search.Query{}); got != "a" {
		t.Errorf("without a query: %q", got)
	}
	if _, err := other.Search(t.Context(), "docs", search.Query{Q: "milk"}); !errors.Is(err, search.ErrModelMismatch) {
		t.Errorf("Search = %v", err)
	}
	if got := find(t, other, search.Query{Q: "milk", Mode: search.Keyword}); got != "a" {
		t.Errorf("keyword needs no vectors, but finds %q", got)
	}
}

func TestResponseShape(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "x"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(b), `{"hits":[],"total":{"value":0,"relation":"eq","of":"union"}`) {
		t.Errorf("an empty answer is %s", b)
	}
}

// How long passages are: the settings say it, or else the checkpoint, or else what it takes.
func TestPassageLength(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("One two three four five six seven eight nine ten. ", 12)) // 120 tokens
	for _, tt := range []struct {
		name                string
		checkpoint, setting int
		passages            int
	}{
		{"what the checkpoint takes", 0, 0, 6}, // 29 tokens hold two sentences
		{"what suits the checkpoint", 16, 0, 12},
		{"the settings go first", 16, 32, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := search.Open(t.TempDir(), search.Options{Embedder: &fakeEmbedder{passageTokens: tt.checkpoint}})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{Passages: search.PassageSettings{MaxTokens: tt.setting}}); err != nil {
				t.Fatal(err)
			}
			put(t, e, search.Created, doc("a", fmt.Sprintf(`{"text":%q}`, text)))
			if c, err := e.Collection(t.Context(), "docs"); err != nil || c.Passages != tt.passages {
				t.Errorf("%d passages, %v, want %d", c.Passages, err, tt.passages)
			}
		})
	}
}
