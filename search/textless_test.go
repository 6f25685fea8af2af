package search_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/embedded"
)

// catalogue is a shelf of goods, of which only the lamp has a text.
func catalogue() []search.Document {
	return []search.Document{
		doc("bolt", `{"price":0.5,"tags":["steel","fastener"],"stock":true}`),
		doc("lamp", `{"price":40,"tags":["steel"],"text":"A lamp of brushed steel for the desk."}`),
		doc("nut", `{"price":0.2,"tags":["brass","fastener"],"stock":false}`),
		doc("pipe", `{"price":7}`),
	}
}

// TestDocumentsWithoutText are found by values and by the words of lists, beside those with a text,
// and by meaning by nobody.
func TestDocumentsWithoutText(t *testing.T) {
	f := &fakeEmbedder{}
	e := open(t, t.TempDir(), f)
	put(t, e, search.Created, catalogue()...)
	put(t, e, search.Unchanged, catalogue()...)
	if f.calls.Load() != 1 {
		t.Errorf("%d texts encoded, want 1", f.calls.Load())
	}
	if info, err := e.Collection(t.Context(), "docs"); err != nil || info.Documents != 4 || info.Passages != 1 {
		t.Errorf("%d documents with %d passages, %v", info.Documents, info.Passages, err)
	}
	if d, err := e.Document(t.Context(), "docs", "pipe"); err != nil || len(d.Passages) != 0 || string(d.Fields) != `{"price":7}` {
		t.Errorf("Document = %+v, %v", d, err)
	}
	price := []search.SortKey{{Field: "price"}}
	for _, tc := range []struct {
		name string
		q    search.Query
		want string
	}{
		{"browse", search.Query{}, "bolt lamp nut pipe"},
		{"browse by filter", search.Query{Filter: "price < 10"}, "bolt nut pipe"},
		{"browse by absence", search.Query{Filter: "NOT tags EXISTS"}, "pipe"},
		{"browse in order", search.Query{Sort: price}, "nut bolt pipe lamp"},
		{"browse semantic", search.Query{Mode: search.Semantic, Sort: price, Filter: "tags = 'fastener'"}, "nut bolt"},
		{"browse by groups", search.Query{Group: "stock"}, "bolt lamp nut pipe"},
		{"browse by exclusion", search.Query{Q: "-brass"}, "bolt lamp pipe"},
		{"words", search.Query{Q: "fastener", Mode: search.Keyword}, "bolt nut"},
		{"words of both", search.Query{Q: "steel", Mode: search.Keyword}, "bolt lamp"},
		{"words in order", search.Query{Q: "steel", Mode: search.Keyword, Sort: price}, "bolt lamp"},
		{"hybrid", search.Query{Q: "steel"}, "bolt lamp"},
		{"hybrid by rank", search.Query{Q: "steel", Fusion: search.RRF}, "lamp bolt"},
		{"hybrid and filter", search.Query{Q: "brass", Filter: "price < 1"}, "nut"},
		{"hybrid in order", search.Query{Q: "fastener", Sort: price}, "nut bolt lamp"},
		{"hybrid, diverse", search.Query{Q: "fastener", Diversity: 0.5, Filter: "price < 1"}, "bolt nut"},
		{"hybrid with sentences", search.Query{Q: "brass fastener", Filter: "price < 1", Sentences: true}, "nut bolt"},
		{"a phrase", search.Query{Q: `"brass"`}, "nut"},
		{"meaning", search.Query{Q: "steel", Mode: search.Semantic}, "lamp"},
		{"meaning of none", search.Query{Q: "steel", Mode: search.Semantic, Filter: "price < 10"}, ""},
	} {
		tc.q.Explain = tc.q.Q != "" && tc.q.Q[0] != '-'
		if got := find(t, e, tc.q); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "brass", Explain: true, Facets: []search.Facet{{Field: "tags"}}, Filter: "price < 10"})
	if err != nil || len(r.Hits) != 1 || r.Total.Value != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	h := r.Hits[0]
	if h.Passages == nil || len(h.Passages) != 0 || h.Highlights["tags"][0] != "<mark>brass</mark>\nfastener" || h.Explain.Keyword == nil || h.Explain.Vector != nil || h.Score <= 0 {
		t.Errorf("hit %+v, explained %+v", h, h.Explain)
	}
	if r, err = e.Search(t.Context(), "docs", search.Query{Limit: ptr(0), Facets: []search.Facet{{Field: "tags"}}}); err != nil || r.Total.Value != 4 || r.Facets["tags"].Values[0].Count != 2 || r.Facets["tags"].Missing != 1 {
		t.Errorf("facets %+v of %+v, %v", r.Facets, r.Total, err)
	}
	if m, err := e.Map(t.Context(), "docs", search.MapOptions{Q: "steel"}); err != nil || len(m.Points) != 1 || m.Total != 1 {
		t.Errorf("map %+v, %v", m, err)
	}
	if d, err := e.DeleteByFilter(t.Context(), "docs", "price < 1", false); err != nil || d.Deleted != 2 {
		t.Errorf("DeleteByFilter = %+v, %v", d, err)
	}
	if got := find(t, e, search.Query{}); got != "lamp pipe" {
		t.Errorf("left: %s", got)
	}
	noProblems(t, e)
}

// TestLikeNothing asks what is like documents that have no text, and why they rank where they do.
func TestLikeNothing(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, catalogue()...)
	for field, q := range map[string]search.Similar{
		"ids[1]":          {IDs: []string{"lamp", "bolt"}},
		"negative_ids[0]": {IDs: []string{"lamp"}, NegativeIDs: []string{"bolt"}},
	} {
		_, err := e.Similar(t.Context(), "docs", q)
		if list := fieldErrorsOf(err); len(list) != 1 || list[0].Field != field || list[0].Value != "bolt" || !strings.Contains(list[0].Allowed, "documents with searchable text") {
			t.Errorf("Similar(%+v) = %v, want a FieldError for %s", q, err, field)
		}
	}
	for _, tc := range []struct {
		id     string
		mode   search.Mode
		rank   int
		reason string
	}{
		{"bolt", search.Keyword, 1, ""}, {"bolt", search.Hybrid, 1, ""}, {"bolt", search.Semantic, 0, search.ReasonPassages},
		{"pipe", search.Keyword, 0, search.ReasonWords}, {"pipe", search.Hybrid, 0, search.ReasonPassages}, {"pipe", search.Semantic, 0, search.ReasonPassages},
	} {
		x, err := e.Explain(t.Context(), "docs", tc.id, search.Query{Q: "steel", Mode: tc.mode})
		if err != nil || x.Rank != tc.rank || x.Reason != tc.reason || x.Hit.ID != tc.id {
			t.Errorf("Explain(%s, %s) = %+v, %v", tc.id, tc.mode, x, err)
		}
	}
	for _, q := range []search.Query{{Q: "x"}, {Q: "steel", Mode: search.Semantic}} { // nobody has a text
		if _, err := e.DeleteDocuments(t.Context(), "docs", []string{"lamp"}); err != nil {
			t.Fatal(err)
		}
		if got := find(t, e, q); got != "" {
			t.Errorf("%+v finds %s", q, got)
		}
	}
	if m, err := e.Map(t.Context(), "docs", search.MapOptions{Q: "steel"}); err != nil || len(m.Points) != 0 {
		t.Errorf("map %+v, %v", m, err)
	}
}

// TestRerankWithoutText gives a cross-encoder the words of what has no text.
func TestRerankWithoutText(t *testing.T) {
	r := &fakeReranker{}
	e := openReranked(t, r)
	put(t, e, search.Created, doc("e", `{"tags":["pancake","grade 2.5"],"n":1}`), doc("f", `{"tags":["other"],"n":1}`))
	for _, mode := range []search.Mode{search.Keyword, search.Hybrid} {
		if got := find(t, e, search.Query{Q: "pancake", Mode: mode, Rerank: true}); got != "b e d a c" {
			t.Errorf("%s: %s, want b e d a c", mode, got)
		}
	}
	if _, err := e.Search(t.Context(), "docs", search.Query{Q: "pancake", Mode: search.Keyword, Rerank: true, Filter: "n = 1"}); err != nil || r.pairs[len(r.pairs)-1] != [2]string{"pancake", "pancake\ngrade 2.5\n"} {
		t.Errorf("pairs %q, %v", r.pairs, err)
	}
}

// state is what a collection answers about its documents, with and without text.
func state(t *testing.T, e *search.Engine) string {
	t.Helper()
	info, err := e.Collection(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	list, _ := contents(t, e, "docs")
	out := fmt.Sprintf("%d documents, %d passages: %s\n", info.Documents, info.Passages, strings.Join(list, " "))
	for _, q := range []search.Query{{}, {Filter: "price < 10"}, {Q: "fastener"}, {Q: "steel", Mode: search.Keyword}, {Q: "lamp desk", Mode: search.Semantic}} {
		out += find(t, e, q) + "\n"
	}
	return out
}

// TestTextComesAndGoes replaces text by none and back, in one call and in several, with vectors in
// memory and with codes.
func TestTextComesAndGoes(t *testing.T) {
	for _, index := range []search.IndexSettings{{}, {Quantize: "int8"}} {
		dir := t.TempDir()
		e := open(t, dir, &fakeEmbedder{})
		if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Index: index}); err != nil {
			t.Fatal(err)
		}
		with, without := doc("bolt", `{"price":1,"text":"A bolt of steel for the lamp."}`), catalogue()[0]
		put(t, e, search.Created, catalogue()...)
		start := state(t, e)
		check := func(when, want string) {
			t.Helper()
			if got := state(t, e); got != want {
				t.Errorf("%s: %s\nwant %s", when, got, want)
			}
			noProblems(t, e)
		}
		put(t, e, search.Updated, with)
		if got := find(t, e, search.Query{Q: "bolt", Mode: search.Semantic}); got != "bolt lamp" {
			t.Errorf("with a text: %s", got)
		}
		if info, err := e.Collection(t.Context(), "docs"); err != nil || info.Documents != 4 || info.Passages != 2 {
			t.Errorf("with a text: %+v, %v", info, err)
		}
		noProblems(t, e)
		put(t, e, search.Updated, without)
		check("without again", start)
		put(t, e, search.Updated, with, without) // one call
		check("to and fro", start)
		put(t, e, search.Updated, doc("bolt", `{"price":3}`), with)
		put(t, e, search.Updated, without)
		put(t, e, search.Updated, doc("bolt", `{"price":3}`)) // none to none
		put(t, e, search.Updated, without)
		check("none to none", start)
		if _, err := e.DeleteDocuments(t.Context(), "docs", []string{"bolt", "pipe"}); err != nil {
			t.Fatal(err)
		}
		if got := find(t, e, search.Query{}); got != "lamp nut" {
			t.Errorf("after deletion: %s", got)
		}
		noProblems(t, e)
	}
}

// TestTextlessFolder opens, backs up, restores, re-embeds and compacts a folder of documents
// without text, and one of nothing else.
func TestTextlessFolder(t *testing.T) {
	for _, docs := range [][]search.Document{catalogue(), {catalogue()[0], catalogue()[2], catalogue()[3]}} {
		dir := t.TempDir()
		w := &wideEmbedder{}
		e := mustOpenWide(t, dir, w)
		put(t, e, search.Created, docs...)
		want := state(t, e)
		reopen := func(when string) {
			t.Helper()
			var told []string
			var err error
			if e, err = openWide(dir, w, func(s string) { told = append(told, s) }); err != nil {
				t.Fatal(err)
			}
			if got := state(t, e); got != want {
				t.Errorf("%s: %s\nwant %s", when, got, want)
			}
			if when == "reopened" && len(told) > 0 {
				t.Errorf("told %q", told)
			}
			noProblems(t, e)
		}
		closed := func() {
			t.Helper()
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
		closed()
		if saved, _ := filepath.Glob(filepath.Join(dir, "indexes", "*", "graph.hnsw")); len(saved) != 1 {
			t.Errorf("the graph is not saved, so the log is kept: %v", saved)
		}
		reopen("reopened")
		var backup bytes.Buffer
		if _, err := e.Backup(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}
		closed()
		if _, _, err := embedded.Compact(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if _, err := embedded.QuarantineIndexes(dir); err != nil {
			t.Fatal(err)
		}
		reopen("compacted, indexes made anew")
		closed()
		dir = filepath.Join(t.TempDir(), "restored")
		if err := embedded.Restore(t.Context(), &backup, dir, nil); err != nil {
			t.Fatal(err)
		}
		reopen("restored")
		task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide})
		if err != nil {
			t.Fatal(err)
		}
		if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
			t.Fatalf("task %+v", task)
		}
		if info, err := e.Collection(t.Context(), "docs"); err != nil || info.Model.Name != wide || info.Documents != len(docs) {
			t.Errorf("re-embedded: %+v, %v", info, err)
		}
		if got := state(t, e); got != want {
			t.Errorf("re-embedded: %s\nwant %s", got, want)
		}
		noProblems(t, e)
		closed()
		reopen("reopened after re-embedding")
		closed()
	}
}

// TestTextlessReplay opens a folder as a process leaves it that is killed: the indexes follow the
// log.
func TestTextlessReplay(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, &fakeEmbedder{})
	put(t, e, search.Created, catalogue()...)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, &fakeEmbedder{})
	put(t, e, search.Created, doc("new", `{"tags":["fastener"],"price":3}`), doc("brief", `{"price":3}`))
	put(t, e, search.Updated, doc("lamp", `{"price":41}`), doc("nut", `{"price":0.3,"text":"A nut of steel for the desk."}`))
	if _, err := e.DeleteDocuments(t.Context(), "docs", []string{"bolt", "brief"}); err != nil {
		t.Fatal(err)
	}
	want := state(t, e)
	left := filepath.Join(t.TempDir(), "left")
	for err := error(fs.ErrNotExist); err != nil; err = os.CopyFS(left, os.DirFS(dir)) { // a segment that was merged meanwhile is gone: again
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.RemoveAll(left); err != nil {
			t.Fatal(err)
		}
	}
	killed := open(t, left, &fakeEmbedder{})
	if got := state(t, killed); got != want {
		t.Errorf("replayed: %s\nwant %s", got, want)
	}
	noProblems(t, killed)
}

// TestTextDeclaredAway gives a collection settings under which a document has no text.
func TestTextDeclaredAway(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, noted(1, 0), doc("bare", `{"title":"only a title"}`))
	s := search.Settings{Fields: fieldTypes{"title": {Type: "filter"}}}
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Settings: &s})
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Errorf("task = %+v", task)
	}
	info, err := e.Collection(t.Context(), "docs")
	if err != nil || info.Documents != 2 || !reflect.DeepEqual(info.Settings.Fields, s.Fields) {
		t.Errorf("the collection is %+v, %v", info, err)
	}
	if got := find(t, e, search.Query{Filter: "title = 'only a title'"}); got != "bare" {
		t.Errorf("found %q", got)
	}
	if _, err := e.Similar(t.Context(), "docs", search.Similar{IDs: []string{"bare"}}); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("similar: %v", err)
	}
	noProblems(t, e)
}

// TestWarningOfWhatIsNoText: a warning names each field that would be searched if its value were
// text, and no other.
func TestWarningOfWhatIsNoText(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	for name, fields := range map[string]fieldTypes{"set": {"note": {Type: "text"}, "title": {Type: "filter"}}, "row": nil} {
		if _, err := e.CreateCollection(t.Context(), name, search.Settings{Fields: fields}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ collection, fields, want string }{
		{"docs", `{"title":5}`, `"title"`},
		{"docs", `{"title":5,"tags":["a"],"text":null}`, `"title"`},
		{"docs", `{"title":5,"name":true,"body":1,"text":2,"answer":3}`, `"title", "name", "text" and 2 more`},
		{"docs", `{"title":5,"text":"a cat"}`, ""},
		{"docs", `{"title":["a"],"year":5}`, ""},
		{"docs", `{"title":5,"town":"Rome"}`, ""},
		{"set", `{"note":5}`, ""},
		{"set", `{"title":5}`, ""},
		{"row", `{"title":5}`, `"title"`},
	} {
		if tt.want != "" {
			tt.want = "no searchable text, only filters can find this document; not text:  " + tt.want
		}
		for _, status := range []search.Status{search.Created, search.Unchanged} {
			results, err := e.Ingest(t.Context(), tt.collection, []search.Document{doc("", tt.fields)})
			if err != nil || results[0].Status != status || results[0].Warning != tt.want {
				t.Errorf("%s: %+v, %v, want %s and warning %q", tt.fields, results, err, status, tt.want)
			}
		}
	}
	absent := doc("none", `{"title":5}`)
	absent.IfRevision = new(uint64)
	*absent.IfRevision = 7
	if results, err := e.Ingest(t.Context(), "docs", []search.Document{absent}); err != nil || results[0].Err == nil || results[0].Warning != "" {
		t.Errorf("a document that is refused: %+v, %v", results, err)
	}
	if _, _, err := e.EnsureCollection(t.Context(), "row", search.Settings{Fields: fieldTypes{"title": {Type: "filter"}}}); err != nil {
		t.Errorf("a type that changes nothing but the warning: %v", err)
	}
}

// TestNumbersAsText: what a field holds that the settings declare text is searched as it is
// written, and a value as before.
func TestNumbersAsText(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Fields: fieldTypes{"part": {Type: "text"}}}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, doc("number", `{"part":4711}`), doc("list", `{"part":["steel",47.50,true],"town":"Rome"}`), doc("string", `{"part":"4711 b"}`), doc("value", `{"size":4711}`))
	for _, tt := range []struct {
		q    search.Query
		want string
	}{
		{search.Query{Q: "4711", Mode: search.Keyword}, "number string"},
		{search.Query{Q: "47.50", Mode: search.Keyword}, "list"},
		{search.Query{Q: "steel true", Mode: search.Keyword, Operator: "and"}, "list"},
		{search.Query{Q: `"steel 47.50"`}, ""},
		{search.Query{Filter: "part = 4711"}, "number"},
		{search.Query{Filter: "part > 47"}, "number list"},
		{search.Query{Q: "x", Mode: search.Semantic, Sort: []search.SortKey{{Field: "_score"}}, Filter: "part EXISTS"}, "number list string"},
	} {
		got := strings.Fields(find(t, e, tt.q))
		slices.Sort(got)
		want := strings.Fields(tt.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", tt.q, got, want)
		}
	}
	if d, err := e.Document(t.Context(), "docs", "number"); err != nil || len(d.Passages) != 1 || d.Passages[0].Text != "4711" || string(d.Fields) != `{"part":4711}` {
		t.Errorf("Document = %+v, %v", d, err)
	}
	if problems, err := e.Check(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("check: %v, %v", problems, err)
	}
}
