package search_test

import (
	"context"
	"reflect"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
	"example.com/searchd/search/projection"
)

// onePage answers one document at a time, as a backend does of documents that are large enough.
type onePage struct{ *embedded.Backend }

func (p *onePage) Lookup(ctx context.Context, r backend.LookupRequest) ([]*backend.Document, error) {
	r.IDs = r.IDs[:min(len(r.IDs), 1)]
	return p.Backend.Lookup(ctx, r)
}

func (p *onePage) Fetch(ctx context.Context, r backend.FetchRequest) (backend.FetchResponse, error) {
	if r.Documents {
		r.Refs = r.Refs[:min(len(r.Refs), 1)]
	}
	return p.Backend.Fetch(ctx, r)
}

func (p *onePage) List(ctx context.Context, r backend.ListRequest) (backend.ListResponse, error) {
	r.Limit = min(r.Limit, 1)
	return p.Backend.List(ctx, r)
}

// TestShortPages: whatever the engine reads it reads to the end, also where a page has one
// document.
func TestShortPages(t *testing.T) {
	type answers struct {
		IDs     []string
		Search  string
		Similar string
		Spelled string
		Points  []projection.Point
		Looks   string
		Deleted search.Deletion
		Rest    []string
	}
	var all [2]answers
	for i := range all {
		b, err := embedded.OpenContext(t.Context(), t.TempDir(), embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		o := search.Options{Embedder: &fakeEmbedder{}, Reranker: &fakeReranker{}, Backend: b}
		if i == 1 {
			o.Backend = &onePage{b}
		}
		e := openWith(t, t.TempDir(), o)
		a := &all[i]
		put(t, e, search.Created, numbered(30)...)
		put(t, e, search.Unchanged, numbered(30)...)
		ids := func() (out []string) {
			for cursor, more := "", true; more; more = cursor != "" {
				docs, next, err := e.Documents(t.Context(), "docs", cursor, 7)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range docs {
					out = append(out, d.ID)
				}
				cursor = next
			}
			return out
		}
		a.IDs = ids()
		a.Search = find(t, e, search.Query{Q: "common word7", Rerank: true, Limit: ptr(20)})
		a.Spelled = find(t, e, search.Query{Q: "comon word3", Mode: search.Keyword, Limit: ptr(20)})
		similar, err := e.Similar(t.Context(), "docs", search.Similar{IDs: []string{"n003", "n007", "n011"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range similar.Hits {
			a.Similar += h.ID + " "
		}
		m, err := e.Map(t.Context(), "docs", search.MapOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a.Points = m.Points
		l, err := e.Language(t.Context(), "docs")
		if err != nil {
			t.Fatal(err)
		}
		a.Looks = l.LooksLike
		task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
			t.Fatalf("re-embedding: %+v", task)
		}
		if a.Deleted, err = e.DeleteByFilter(t.Context(), "docs", "even = true", false); err != nil {
			t.Fatal(err)
		}
		a.Rest = ids()
	}
	if len(all[0].IDs) != 30 || len(all[0].Rest) != 15 || len(all[0].Points) != 30 || !all[0].Deleted.Complete {
		t.Fatalf("the whole pages have %+v", all[0])
	}
	for i := range reflect.TypeFor[answers]().NumField() {
		if want, got := reflect.ValueOf(all[0]).Field(i).Interface(), reflect.ValueOf(all[1]).Field(i).Interface(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s, a document at a time: %+v\nwant %+v", reflect.TypeFor[answers]().Field(i).Name, got, want)
		}
	}
}
