package search_test

import (
	"context"
	"reflect"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

// scoring counts the documents whose BM25 is fetched. With more set, each search by words says that
// it matched more documents than it found.
type scoring struct {
	*embedded.Backend
	more    bool
	fetched int
}

func (s *scoring) RetrieveWords(ctx context.Context, r backend.WordsRequest) (backend.WordsResponse, error) {
	have, err := s.Backend.RetrieveWords(ctx, r)
	if s.more {
		have.Total++
	}
	return have, err
}

func (s *scoring) Fetch(ctx context.Context, r backend.FetchRequest) (backend.FetchResponse, error) {
	if r.Scores {
		s.fetched += len(r.Refs)
	}
	return s.Backend.Fetch(ctx, r)
}

// TestFillKnownWords: where keyword search found all documents with words of the query, the BM25 of
// the others is 0 and is not computed.
func TestFillKnownWords(t *testing.T) {
	b, err := embedded.OpenContext(t.Context(), t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &scoring{Backend: b}
	e := openWith(t, t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Backend: s})
	put(t, e, search.Created, append(numbered(30), doc("bread", `{"text":"bread rises overnight"}`))...)
	ask := func() []search.Hit {
		res, err := e.Search(t.Context(), "docs", search.Query{Q: "bread rises", Limit: new(31)})
		if err != nil || len(res.Hits) < 20 {
			t.Fatalf("%d hits, %v", len(res.Hits), err)
		}
		return res.Hits
	}
	quick := ask()
	if s.fetched > 0 {
		t.Errorf("the BM25 of %d documents was computed", s.fetched)
	}
	s.more = true
	slow := ask()
	if s.fetched == 0 {
		t.Error("the BM25 of no document was computed")
	}
	if !reflect.DeepEqual(quick, slow) {
		t.Errorf("with all documents known %+v, computed %+v", quick, slow)
	}
}
