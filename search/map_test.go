package search_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

// pets is a collection of two kinds of documents that share few words.
func pets(t *testing.T) *search.Engine {
	t.Helper()
	e := open(t, t.TempDir(), &fakeEmbedder{})
	var docs []search.Document
	for i := range 12 {
		docs = append(docs, doc(fmt.Sprintf("cat%d", i), fmt.Sprintf(`{"title":"Cats %d","text":"cat purrs whiskers cat purrs tail","kind":"animal","n":%d,"same":1,"tags":["a%d"]}`, i, i, i%3)))
		docs = append(docs, doc(fmt.Sprintf("car%d", i), fmt.Sprintf(`{"title":"Cars %d","text":"car engine wheels car engine road","kind":"machine","n":%d,"same":1,"tags":["b%d"]}`, i, i, i%3)))
	}
	put(t, e, search.Created, docs...)
	return e
}

func TestMap(t *testing.T) {
	e := pets(t)
	m, err := e.Map(t.Context(), "docs", search.MapOptions{Q: "kitten purrs", Components: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Points) != 24 || m.Total != 24 || m.Sequence == 0 || len(m.Variance) != 3 || len(m.Points[0].At) != 3 {
		t.Fatalf("%d points of %d, sequence %d, variance %v", len(m.Points), m.Total, m.Sequence, m.Variance)
	}
	if m.Variance[0] < m.Variance[1] || m.Variance[1] < m.Variance[2] || m.Variance[0] < 0.3 || m.Variance[0] > 1 {
		t.Errorf("variance %v", m.Variance)
	}
	side := func(x float32) bool { return x > 0 }
	for _, p := range m.Points {
		if side(p.At[0]) != side(m.Points[0].At[0]) && p.Values["kind"] == m.Points[0].Values["kind"] {
			t.Errorf("%s at %v is not on the side of its kind", p.ID, p.At)
		}
		if !strings.HasPrefix(p.Text, "ca") || p.Title == "" || p.End <= p.Start {
			t.Errorf("point %+v", p)
		}
	}
	var fields []string
	for _, f := range m.Fields {
		fields = append(fields, fmt.Sprintf("%s %v %d", f.Name, f.Number, f.Values))
	}
	if got, want := strings.Join(fields, ", "), "kind false 2, n true 12, tags false 6"; got != want {
		t.Errorf("fields %s, want %s", got, want)
	}
	best := m.Query.Nearest[0]
	if p := m.Points[best.Point]; p.Values["kind"] != "animal" || side(m.Query.At[0]) != side(p.At[0]) || len(m.Query.Nearest) != 10 {
		t.Errorf("the query at %v, nearest %+v with %v", m.Query.At, p, best.Cosine)
	}
	again, err := pets(t).Map(t.Context(), "docs", search.MapOptions{Q: "kitten purrs", Components: 3})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m, again) {
		t.Errorf("the same documents give another map")
	}
}

func TestMapFollowsChanges(t *testing.T) {
	e := pets(t)
	of := func(o search.MapOptions) *search.Map {
		t.Helper()
		m, err := e.Map(t.Context(), "docs", o)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	part := of(search.MapOptions{Limit: 7})
	if len(part.Points) != 7 || part.Total != 24 || part.Points[0].ID != "cat0" || len(part.Points[0].At) != 2 {
		t.Errorf("%d points of %d, the first %s", len(part.Points), part.Total, part.Points[0].ID)
	}
	kinds := map[any]int{}
	for _, p := range part.Points {
		kinds[p.Values["kind"]]++
	}
	if kinds["animal"] == 0 || kinds["machine"] == 0 {
		t.Errorf("a sample of seven holds %v", kinds)
	}
	before := of(search.MapOptions{})
	put(t, e, search.Created, doc("new", `{"title":"Boats","text":"boat sails harbour","kind":"ship"}`))
	if after := of(search.MapOptions{}); len(after.Points) != 25 || after.Sequence == before.Sequence || len(before.Points) != 24 {
		t.Errorf("after a change %d points, sequence %d", len(after.Points), after.Sequence)
	}
	if _, err := e.DeleteDocument(t.Context(), "docs", "new", nil); err != nil {
		t.Fatal(err)
	}
	if after := of(search.MapOptions{}); len(after.Points) != 24 {
		t.Errorf("after a deletion %d points", len(after.Points))
	}
}

func TestMapOfLittle(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	m, err := e.Map(t.Context(), "docs", search.MapOptions{Q: "anything"})
	if err != nil || len(m.Points) != 0 || m.Points == nil || m.Query != nil {
		t.Errorf("of an empty collection: %+v, %v", m, err)
	}
	for i := range 3 {
		put(t, e, search.Created, doc(fmt.Sprint(i), `{"text":"the same text"}`))
		m, err := e.Map(t.Context(), "docs", search.MapOptions{Q: "the same text"})
		if err != nil || len(m.Points) != i+1 || len(m.Query.Nearest) != i+1 || math.Abs(m.Query.Nearest[0].Cosine-1) > 1e-5 {
			t.Fatalf("of %d equal passages: %+v, %v", i+1, m, err)
		}
		for _, x := range m.Points[i].At {
			if x != 0 {
				t.Errorf("equal passages are apart: %v", m.Points[i].At)
			}
		}
	}
	for field, o := range map[string]search.MapOptions{
		"q": {Q: strings.Repeat("x", search.MaxQueryBytes+1)}, "limit": {Limit: 2}, "components": {Components: 33},
	} {
		var fe *search.FieldError
		if _, err := e.Map(t.Context(), "docs", o); !errors.As(err, &fe) || fe.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := e.SetAlias(t.Context(), "live", "docs"); err != nil {
		t.Fatal(err)
	}
	if m, err := e.Map(t.Context(), "live", search.MapOptions{}); err != nil || len(m.Points) != 3 {
		t.Errorf("by an alias: %+v, %v", m, err)
	}
	if _, err := e.Map(t.Context(), "none", search.MapOptions{}); !errors.Is(err, search.ErrCollectionNotFound) {
		t.Errorf("of no collection: %v", err)
	}
}

// TestMapOfLongTitles: a point has the beginning of its document's title, which ends with a
// character.
func TestMapOfLongTitles(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	docs := numbered(3)
	docs = append(docs, doc("ascii", fmt.Sprintf(`{"title":%q,"text":"common"}`, strings.Repeat("a", 500))), doc("wide", fmt.Sprintf(`{"title":%q,"text":"common"}`, "x"+strings.Repeat("語", 100))),
		doc("just", fmt.Sprintf(`{"title":%q,"text":"common"}`, strings.Repeat("b", 140))))
	put(t, e, search.Created, docs...)
	m, err := e.Map(t.Context(), "docs", search.MapOptions{})
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{}
	for _, p := range m.Points {
		titles[p.ID] = p.Title
	}
	for id, want := range map[string]string{"n000": "n000", "ascii": strings.Repeat("a", 140), "wide": "x" + strings.Repeat("語", 46), "just": strings.Repeat("b", 140)} {
		if titles[id] != want {
			t.Errorf("the title of %s is %q, want %q", id, titles[id], want)
		}
	}
}

// fetches notes which documents are read.
type fetches struct {
	backend.Backend
	asked [][]backend.Ref
}

func (f *fetches) Fetch(ctx context.Context, r backend.FetchRequest) (backend.FetchResponse, error) {
	f.asked = append(f.asked, r.Refs)
	return f.Backend.Fetch(ctx, r)
}

// TestMapOfLongDocuments: a document is read once for all of its passages, and a few documents at a
// time: each may have megabytes.
func TestMapOfLongDocuments(t *testing.T) {
	b, err := embedded.OpenContext(t.Context(), t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fetches{Backend: b}
	e := openWith(t, t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Backend: f})
	docs := numbered(50)
	for i := range 3 {
		docs = append(docs, doc(fmt.Sprint("long", i), fmt.Sprintf(`{"text":%q}`, strings.Repeat("A sentence of the long document has twelve words and ends with these. ", 100))))
	}
	put(t, e, search.Created, docs...)
	f.asked = nil
	m, err := e.Map(t.Context(), "docs", search.MapOptions{})
	if err != nil || len(m.Points) != m.Total || m.Total < 100 {
		t.Fatalf("%d points of %d, %v", len(m.Points), m.Total, err)
	}
	seen := map[backend.Ref]bool{}
	for _, refs := range f.asked {
		for _, ref := range refs {
			if seen[ref] || len(refs) > 32 {
				t.Fatalf("%d documents are read at once, %d again", len(refs), ref)
			}
			seen[ref] = true
		}
	}
	for i, p := range m.Points {
		if i > 0 && p.ID == m.Points[i-1].ID && p.Start < m.Points[i-1].End {
			t.Errorf("point %d is not in the order of the text: %+v", i, p)
		}
	}
}
