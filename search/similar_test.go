package search_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/searchd/search"
)

// music has three documents about pianos, two about cars, one of both and one of neither.
func music(t *testing.T) *search.Engine {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created,
		doc("p1", `{"text":"piano music lesson","n":1}`), doc("p2", `{"text":"piano music concert","n":2}`), doc("p3", `{"text":"piano music shop","n":3}`),
		doc("c1", `{"text":"car engine oil","n":4}`), doc("c2", `{"text":"automobile engine tyre","n":5}`),
		doc("both", `{"text":"piano music in the car engine","n":6}`), doc("none", `{"text":"cheese","n":7}`))
	return e
}

func TestSimilar(t *testing.T) {
	e := music(t)
	ids := func(q search.Similar) []string {
		t.Helper()
		r, err := e.Similar(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for i, h := range r.Hits {
			if i > 0 && q.Sort == nil && h.Score > r.Hits[i-1].Score {
				t.Errorf("%+v: scores rise at %d: %v", q, i, r.Hits)
			}
			out = append(out, h.ID)
		}
		return out
	}
	sorted := func(s []string) string { slices.Sort(s); return strings.Join(s, " ") }
	for _, tc := range []struct {
		name  string
		q     search.Similar
		first string // the first hits, sorted
	}{
		{"one", search.Similar{IDs: []string{"p1"}}, "p2 p3"},
		{"two", search.Similar{IDs: []string{"p1", "p2"}}, "p3"},
		{"unlike", search.Similar{IDs: []string{"both"}, NegativeIDs: []string{"c1"}}, "p1 p2 p3"},
		{"unlike the other", search.Similar{IDs: []string{"both"}, NegativeIDs: []string{"p1"}}, "c1 c2"},
		{"text", search.Similar{Text: "a vehicle with an engine"}, "c1 c2"},
		{"text and document", search.Similar{IDs: []string{"p1"}, Text: "car engine"}, "both"},
		{"filter", search.Similar{IDs: []string{"p1"}, Filter: "n > 2"}, "p3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ids(tc.q)
			if n := len(strings.Fields(tc.first)); len(got) < n || sorted(slices.Clone(got[:n])) != tc.first {
				t.Errorf("found %v, want first %s", got, tc.first)
			}
			for _, id := range append(tc.q.IDs, tc.q.NegativeIDs...) {
				if slices.Contains(got, id) {
					t.Errorf("%s is among the hits", id)
				}
			}
		})
	}
	if got := ids(search.Similar{IDs: []string{"p1", "p2"}, Limit: ptr(2), Offset: 1, Sort: []search.SortKey{{Field: "n"}}}); strings.Join(got, " ") != "c1 c2" {
		t.Errorf("sorted by n from the second on: %v, want c1 c2", got)
	}
	for _, tc := range []struct {
		name, field string
		q           search.Similar
	}{
		{"nothing", "ids", search.Similar{}},
		{"negative alone", "ids", search.Similar{NegativeIDs: []string{"p1"}}},
		{"many", "ids", search.Similar{IDs: make([]string, 101)}},
		{"bad id", "negative_ids[0]", search.Similar{IDs: []string{"p1"}, NegativeIDs: []string{"\x00"}}},
		{"white space", "text", search.Similar{Text: " \n"}},
		{"limit", "limit", search.Similar{Text: "x", Limit: ptr(-1)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := e.Similar(t.Context(), "docs", tc.q); !errors.Is(err, search.ErrInvalid) || !strings.Contains(err.Error(), tc.field) {
				t.Errorf("%v, want an error about %s", err, tc.field)
			}
		})
	}
	if _, err := e.Similar(t.Context(), "docs", search.Similar{IDs: []string{"p1", "gone"}}); !errors.Is(err, search.ErrDocumentNotFound) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("an id that is not there: %v", err)
	}
}

// TestSimilarTextOfDocument: a text is like a document of it, also where passages are shorter than
// what the checkpoint takes.
func TestSimilarTextOfDocument(t *testing.T) {
	for _, passageTokens := range []int{0, 16} {
		t.Run(fmt.Sprint(passageTokens), func(t *testing.T) {
			e := open(t, t.TempDir(), &fakeEmbedder{passageTokens: passageTokens})
			text := strings.TrimSpace(strings.Repeat("one two three four five six seven eight. ", 2) + strings.Repeat("car ", 9))
			put(t, e, search.Created, doc("a", fmt.Sprintf(`{"text":%q}`, text)), doc("b", `{"text":"one car"}`), doc("c", `{"text":"two cars"}`))
			scores := func(q search.Similar) map[string]float64 {
				r, err := e.Similar(t.Context(), "docs", q)
				if err != nil {
					t.Fatal(err)
				}
				out := map[string]float64{}
				for _, h := range r.Hits {
					out[h.ID] = math.Round(h.Score*1e5) / 1e5
				}
				return out
			}
			got, want := scores(search.Similar{Text: text}), scores(search.Similar{IDs: []string{"a"}})
			if delete(got, "a"); !reflect.DeepEqual(got, want) || len(want) != 2 {
				t.Errorf("like its text %v, like the document %v", got, want)
			}
		})
	}
}

// aimless gives the word nowhere no direction.
type aimless struct{ *fakeEmbedder }

func (a aimless) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	r, err := a.fakeEmbedder.Embed(ctx, texts, o)
	for i, text := range texts {
		if text == "nowhere" {
			clear(r.Vectors[i])
		}
	}
	return r, err
}

// TestSimilarWithoutDirection: the error names what has none.
func TestSimilarWithoutDirection(t *testing.T) {
	e := openWith(t, t.TempDir(), search.Options{Embedder: aimless{&fakeEmbedder{}}})
	put(t, e, search.Created, doc("a", `{"text":"one"}`))
	var wrong *search.FieldError
	if _, err := e.Similar(t.Context(), "docs", search.Similar{Text: "nowhere"}); !errors.As(err, &wrong) || wrong.Field != "text" {
		t.Errorf("a text: %v", err)
	}
	if _, err := e.Similar(t.Context(), "docs", search.Similar{Text: "nowhere", NegativeIDs: []string{"a"}}); err != nil {
		t.Errorf("unlike a document: %v", err)
	}
}

// counting counts the calls that encode queries.
type counting struct {
	*fakeEmbedder
	calls atomic.Int64
}

func (c *counting) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	if o.Query {
		c.calls.Add(1)
	}
	return c.fakeEmbedder.Embed(ctx, texts, o)
}

// TestSearchBatchDegrades: hybrid queries whose texts are not encoded in time are answered by
// words, all of a batch.
func TestSearchBatchDegrades(t *testing.T) {
	e := openWith(t, t.TempDir(), search.Options{Embedder: slow{&fakeEmbedder{}}})
	put(t, e, search.Created, numbered(30)...)
	var queries []search.Query
	for i := range 30 {
		queries = append(queries, search.Query{Q: fmt.Sprint("word", i)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	results, err := e.SearchBatch(ctx, "docs", queries)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil || !r.Response.Degraded || !strings.Contains(r.Response.Reason, "took too long") || len(r.Response.Hits) != 1 {
			t.Fatalf("query %d: %+v, %v", i, r.Response, r.Err)
		}
	}
}

// lingering encodes queries in 1.5 seconds, if it has as long.
type lingering struct{ *fakeEmbedder }

func (s lingering) Embed(ctx context.Context, texts []string, o search.EmbedOptions) (*search.Embeddings, error) {
	if o.Query {
		select {
		case <-time.After(1500 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.fakeEmbedder.Embed(ctx, texts, o)
}

// TestSearchBatchBySemantics: where no query of a batch can do without its vector, encoding them
// may take all the time there is.
func TestSearchBatchBySemantics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := openWith(t, t.TempDir(), search.Options{Embedder: lingering{&fakeEmbedder{}}})
		put(t, e, search.Created, numbered(3)...)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		results, err := e.SearchBatch(ctx, "docs", []search.Query{{Q: "word1", Mode: search.Semantic}, {Q: "word2", Mode: search.Semantic}})
		if err != nil || results[0].Err != nil || results[1].Err != nil {
			t.Errorf("SearchBatch = %+v, %v", results, err)
		}
	})
}

func TestSearchBatch(t *testing.T) {
	f := &counting{fakeEmbedder: &fakeEmbedder{}}
	e, err := search.Open(t.TempDir(), search.Options{Embedder: f})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	put(t, e, search.Created, numbered(30)...)
	queries := []search.Query{{Q: "word1"}, {Q: "word2 -word3"}, {Q: "word4", Limit: ptr(-1)}, {Q: "word5", Mode: search.Keyword}, {Q: "word1", Mode: search.Semantic}, {Q: "", Explain: true}, {Q: "\xff"}, {Q: " "}, {Q: "comon word7"}, {Q: "Comon", Mode: search.Semantic}}
	results, err := e.SearchBatch(t.Context(), "docs", queries)
	if err != nil || len(results) != len(queries) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if n := f.calls.Load(); n != 1 {
		t.Errorf("%d calls of the encoder, want 1", n)
	}
	for i, res := range results {
		single, err := e.Search(t.Context(), "docs", queries[i])
		if (err == nil) != (res.Err == nil) || (i == 2 || i == 5 || i == 6) != (res.Err != nil) {
			t.Errorf("query %d: %v in the batch, %v alone", i, res.Err, err)
			continue
		}
		if err != nil {
			continue
		}
		if len(single.Hits) != len(res.Response.Hits) || single.Total != res.Response.Total {
			t.Errorf("query %d: %d hits in the batch, %d alone", i, len(res.Response.Hits), len(single.Hits))
			continue
		}
		if !reflect.DeepEqual(single.Query, res.Response.Query) || (i >= 8) != (single.Query != nil && len(single.Query.Respelled) == 1) {
			t.Errorf("query %d: read as %+v in the batch, as %+v alone", i, res.Response.Query, single.Query)
		}
		for j := range single.Hits {
			if single.Hits[j].ID != res.Response.Hits[j].ID || single.Hits[j].Score != res.Response.Hits[j].Score {
				t.Errorf("query %d, hit %d: %s in the batch, %s alone", i, j, res.Response.Hits[j].ID, single.Hits[j].ID)
			}
		}
	}
	queries = nil
	for i := range search.MaxBatch {
		queries = append(queries, search.Query{Q: fmt.Sprintf("word%d", i%30), Mode: search.Keyword})
	}
	if results, err = e.SearchBatch(t.Context(), "docs", queries); err != nil || len(results) != len(queries) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, res := range results {
		if want := fmt.Sprintf("n%03d", i%30); res.Err != nil || len(res.Response.Hits) != 1 || res.Response.Hits[0].ID != want {
			t.Errorf("query %d: %+v, want %s", i, res, want)
		}
	}
	for _, n := range []int{0, search.MaxBatch + 1} {
		if _, err := e.SearchBatch(t.Context(), "docs", make([]search.Query, n)); !errors.Is(err, search.ErrInvalid) {
			t.Errorf("%d queries: %v, want ErrInvalid", n, err)
		}
	}
}

// TestExplainEqualsSearch explains every document: those of the results have the rank and score
// that the search gives them.
func TestExplainEqualsSearch(t *testing.T) {
	e := shelf(t)
	for _, tc := range []struct {
		name   string
		q      search.Query
		reason func(i int) string // of those that are not found
	}{
		{"hybrid", search.Query{Q: "red number7"}, nil},
		{"small window", search.Query{Q: "red number7", Window: 3, Limit: ptr(3)}, func(int) string { return search.ReasonWindow }},
		{"keyword", search.Query{Q: "red number7", Mode: search.Keyword}, func(int) string { return search.ReasonWords }},
		{"filter", search.Query{Q: "red", Filter: "n < 10"}, func(int) string { return search.ReasonFilter }},
		{"exclusion", search.Query{Q: "book -red", Filter: "n < 30"}, func(i int) string {
			if i >= 30 {
				return search.ReasonFilter
			}
			return search.ReasonText
		}},
		{"similarity", search.Query{Q: "red number7", Mode: search.Semantic, MinSimilarity: 0.5}, func(int) string { return search.ReasonSimilarity }},
		{"sorted", search.Query{Q: "red", Mode: search.Keyword, Sort: []search.SortKey{{Field: "n", Order: "desc"}}}, func(int) string { return search.ReasonWords }},
		{"grouped", search.Query{Q: "red number7", Group: "lang"}, func(int) string { return search.ReasonGroup }},
		{"diverse", search.Query{Q: "red number7", Diversity: 0.5}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := tc.q
			if all.Limit == nil {
				all.Limit = ptr(100)
			}
			r, err := e.Search(t.Context(), "docs", all)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]int{}
			for i, h := range r.Hits {
				found[h.ID] = i
			}
			for i, d := range shelfIDs() {
				x, err := e.Explain(t.Context(), "docs", d, tc.q)
				if err != nil {
					t.Fatal(err)
				}
				at, ok := found[d]
				switch {
				case ok && (x.Rank != at+1 || x.Reason != "" || x.Hit.Score != r.Hits[at].Score || x.Hit.ID != d):
					t.Errorf("%s: rank %d, %q, score %v, want %d and %v", d, x.Rank, x.Reason, x.Hit.Score, at+1, r.Hits[at].Score)
				case !ok && x.Rank > 0 && x.Rank <= len(r.Hits):
					t.Errorf("%s: rank %d, and the search does not have it", d, x.Rank)
				case !ok && x.Rank == 0 && (tc.reason == nil || x.Reason != tc.reason(i)):
					t.Errorf("%s: reason %q", d, x.Reason)
				}
				if x.Hit.Explain == nil || x.Total != r.Total {
					t.Errorf("%s: %+v, total %+v, want %+v", d, x.Hit.Explain, x.Total, r.Total)
				}
				if tc.q.Mode != search.Keyword && x.Hit.Explain.Vector == nil || tc.q.Mode != search.Semantic && x.Hit.Explain.Keyword == nil {
					t.Errorf("%s: a retriever is not explained: %+v", d, x.Hit.Explain)
				}
			}
		})
	}
	if _, err := e.Explain(t.Context(), "docs", "gone", search.Query{Q: "x"}); !errors.Is(err, search.ErrDocumentNotFound) {
		t.Errorf("a document that is not there: %v", err)
	}
	if _, err := e.Explain(t.Context(), "docs", "b00", search.Query{}); !errors.Is(err, search.ErrInvalid) {
		t.Errorf("no query: %v", err)
	}
}

func shelfIDs() (ids []string) {
	for i := range 40 {
		ids = append(ids, "b"+string(rune('0'+i/10))+string(rune('0'+i%10)))
	}
	return ids
}
