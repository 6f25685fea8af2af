package search_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/searchd/search"
)

var boostNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// goods makes notes of different age and popularity, some of them without, of which some are
// official.
func goods() []search.Document {
	var docs []search.Document
	for i := range 36 {
		fields := map[string]any{"text": fmt.Sprintf("red lamp %s grade %d", strings.Repeat("lamp ", i%4), i%5-2), "kind": []string{"faq", "page", "post"}[i%3]}
		if i%4 > 0 {
			fields["published"] = boostNow.Add(-time.Duration(i*i) * 7 * time.Hour).Format(time.RFC3339)
		}
		if i%6 == 5 {
			fields["published"] = []any{"2001-01-01", "2027-01-01", "soon"}
		}
		if i%5 > 0 {
			fields["stars"] = 40 * (i % 7)
		}
		if i%9 == 0 {
			fields["stars"] = []any{-5, 3, 700.5}
		}
		b, _ := json.Marshal(fields)
		docs = append(docs, doc(fmt.Sprintf("g%02d", i), string(b)))
	}
	return docs
}

var goodsBoosts = []search.Boost{
	{Filter: "kind = 'faq' AND NOT stars EXISTS", Weight: 0.6},
	{Field: "published", Origin: "now", Scale: "30d", Weight: 1.5},
	{Field: "stars", Scale: 100, Weight: 0.4},
	{Field: "stars", Origin: 80.0, Scale: 20, Weight: -0.3},
	{Filter: "kind = 'post'", Weight: -1},
}

// goodsValues are the values of goodsBoosts, from the document as it is written.
func goodsValues(document json.RawMessage) (values []float64) {
	var d struct {
		Kind             string
		Published, Stars any
	}
	if err := json.Unmarshal(document, &d); err != nil {
		panic(err)
	}
	is := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	best := func(x any, f func(x any) float64) (v float64) {
		list, ok := x.([]any)
		if !ok {
			list = []any{x}
		}
		for _, x := range list {
			if x != nil {
				v = max(v, f(x))
			}
		}
		return v
	}
	return []float64{
		is(d.Kind == "faq" && d.Stars == nil),
		best(d.Published, func(x any) float64 {
			for _, layout := range []string{time.RFC3339, time.DateOnly} {
				if at, err := time.Parse(layout, x.(string)); err == nil {
					return math.Pow(0.5, math.Abs(boostNow.Sub(at).Hours())/(30*24))
				}
			}
			return 0
		}),
		best(d.Stars, func(x any) float64 { return max(0, x.(float64)/(x.(float64)+100)) }),
		best(d.Stars, func(x any) float64 { return math.Pow(0.5, math.Abs(x.(float64)-80)/20) }),
		is(d.Kind == "post"),
	}
}

// TestBoosts compares scores and order with those made of the answer without boosts and of the
// documents.
func TestBoosts(t *testing.T) {
	e := openWith(t, t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Reranker: &fakeReranker{}})
	put(t, e, search.Created, goods()...)
	put(t, e, search.Created, doc("other", `{"text":"zebra","kind":"faq","published":"2026-03-01T12:00:00Z"}`))
	for _, q := range []search.Query{
		{Mode: search.Keyword}, {Mode: search.Semantic}, {}, {Fusion: search.RRF}, {Rerank: true, RerankWindow: 40}, {Mode: search.Semantic, MinSimilarity: -1, Window: 20}, {Filter: "stars > 50"},
	} {
		q.Q, q.Explain = "red lamp", true
		q.Now = boostNow
		name := fmt.Sprintf("%s %s rerank %t filter %q", q.Mode, q.Fusion, q.Rerank, q.Filter)
		q.Limit = ptr(max(q.Window, 40))
		if q.Window == 20 {
			q.Limit = ptr(20)
		}
		plain, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		factors, want := map[string]float64{}, map[string]float64{}
		for _, h := range plain.Hits {
			f := 1.0
			for i, v := range goodsValues(h.Document) {
				f += goodsBoosts[i].Weight * v
			}
			factors[h.ID] = max(0, f)
			want[h.ID] = h.Score * factors[h.ID]
		}
		q.Boosts = goodsBoosts
		got, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Hits) != len(plain.Hits) || got.Total != plain.Total || len(got.Hits) < 20 {
			t.Fatalf("%s: %d hits, total %+v; without boosts %d, %+v", name, len(got.Hits), got.Total, len(plain.Hits), plain.Total)
		}
		var ids []string
		for i, h := range got.Hits {
			ids = append(ids, h.ID)
			b := h.Explain.Boost
			if math.Abs(h.Score-want[h.ID]) > 1e-9 || math.Abs(b.Factor-factors[h.ID]) > 1e-9 || len(b.Values) != len(goodsBoosts) || math.Abs(b.Relevance*b.Factor-h.Score) > 1e-9 {
				t.Errorf("%s: %s has the score %g by %+v, want %g", name, h.ID, h.Score, b, want[h.ID])
			}
			for k, v := range goodsValues(h.Document) {
				if math.Abs(b.Values[k].Value-v) > 1e-9 || b.Values[k].Of != goodsBoosts[k].Filter+goodsBoosts[k].Field {
					t.Errorf("%s: %s has %+v by boost %d, want %g", name, h.ID, b.Values[k], k, v)
				}
			}
			if !q.Rerank && plain.Hits[b.RankBefore-1].ID != h.ID {
				t.Errorf("%s: %s was not at rank %d", name, h.ID, b.RankBefore)
			}
			if i > 0 && h.Score > got.Hits[i-1].Score {
				t.Errorf("%s: %s with %g is behind %g", name, h.ID, h.Score, got.Hits[i-1].Score)
			}
			x, err := e.Explain(t.Context(), "docs", h.ID, q)
			if err != nil || x.Rank != i+1 || x.Hit.Score != h.Score {
				t.Errorf("%s: Explain(%s) = rank %d with %g, %v; want %d with %g", name, h.ID, x.Rank, x.Hit.Score, err, i+1, h.Score)
			}
		}
		if slices.Equal(ids, idsOf(plain)) {
			t.Errorf("%s: nothing has moved", name)
		}
		var paged []string
		page := q
		for page.Offset, page.Limit = 0, ptr(7); page.Offset < len(ids); page.Offset += 7 {
			page.Limit = ptr(min(7, *q.Limit-page.Offset))
			paged = append(paged, strings.Fields(find(t, e, page))...)
		}
		if !slices.Equal(paged, ids) {
			t.Errorf("%s: pages %v, at once %v", name, paged, ids)
		}
		if !q.Rerank {
			var first []string
			seen := map[string]bool{}
			for _, h := range got.Hits {
				var d struct{ Kind string }
				if json.Unmarshal(h.Document, &d); !seen[d.Kind] {
					first = append(first, h.ID)
				}
				seen[d.Kind] = true
			}
			q.Group = "kind"
			if hits := strings.Fields(find(t, e, q)); !slices.Equal(hits, first) {
				t.Errorf("%s: grouped %v, want %v", name, hits, first)
			}
		}
	}
}

func idsOf(r *search.Response) (ids []string) {
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// logits is a re-ranker whose relevance is its raw output, mostly below 0.
type logits struct{ fakeReranker }

func (*logits) Relevance(x float32) float64 { return float64(x) - 1.5 }

// TestBoostsOfNegativeRelevance: a boost raises what it is given for whatever the sign of the
// relevance, and takes at most as much again away.
func TestBoostsOfNegativeRelevance(t *testing.T) {
	e := openWith(t, t.TempDir(), search.Options{Embedder: &fakeEmbedder{}, Reranker: &logits{}})
	put(t, e, search.Created, doc("a", `{"text":"lamp grade 1"}`), doc("b", `{"text":"lamp grade 1","k":1}`), doc("c", `{"text":"lamp grade 2","k":1}`), doc("d", `{"text":"lamp grade 2"}`))
	q := search.Query{Q: "lamp", Rerank: true, Explain: true}
	for weight, want := range map[float64]string{0.5: "c 0.75 d 0.5 b -0.25 a -0.5", 3: "c 2 b 1 d 0.5 a -0.5", -1: "d 0.5 c 0 a -0.5 b -1"} {
		q.Boosts = []search.Boost{{Filter: "k = 1", Weight: weight}}
		r, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range r.Hits {
			got = append(got, fmt.Sprintf("%s %g", h.ID, h.Score))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("weight %g: %v, want %s", weight, got, want)
		}
	}
	q.Boosts = []search.Boost{{Filter: "k = 1", Weight: -1}, {Filter: "k EXISTS", Weight: -1}}
	r, err := e.Search(t.Context(), "docs", q)
	if err != nil {
		t.Fatal(err)
	}
	if h := r.Hits[3]; h.ID != "b" || h.Score != -1 || h.Explain.Boost.Factor != 0 {
		t.Errorf("two boosts of -1: %s %g %+v", h.ID, h.Score, h.Explain.Boost)
	}
}

// TestBoostsElsewhere: what a search does with boosts, similar documents, batches and explanations
// of documents that are not found do.
func TestBoostsElsewhere(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, goods()...)
	put(t, e, search.Created, doc("far", `{"text":"zebra","stars":100}`))
	similar := search.Similar{IDs: []string{"g00"}, Limit: ptr(50), Explain: true}
	plain, err := e.Similar(t.Context(), "docs", similar)
	if err != nil {
		t.Fatal(err)
	}
	similar.Boosts = []search.Boost{{Field: "stars", Scale: 100, Weight: 2}}
	got, err := e.Similar(t.Context(), "docs", similar)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(plain.Hits, func(a, b search.Hit) int {
		return cmp.Compare(b.Score*(1+2*goodsValues(b.Document)[2]), a.Score*(1+2*goodsValues(a.Document)[2]))
	})
	if !slices.Equal(idsOf(got), idsOf(plain)) || len(got.Hits) < 30 {
		t.Errorf("similar %v, want %v", idsOf(got), idsOf(plain))
	}

	q := search.Query{Q: "lamp", Mode: search.Semantic, Boosts: similar.Boosts, Diversity: 0.5, Explain: true}
	alone, err := e.Search(t.Context(), "docs", q)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range alone.Hits {
		if r := h.Explain.Diversity.Relevance; r < 0 || r > 1 {
			t.Errorf("diversity takes the relevance of %s for %g", h.ID, r)
		}
	}
	batch, err := e.SearchBatch(t.Context(), "docs", []search.Query{q, {Q: "x", Boosts: make([]search.Boost, 9)}})
	if err != nil || !slices.Equal(idsOf(batch[0].Response), idsOf(alone)) || batch[1].Err == nil {
		t.Errorf("batch: %v, %v", batch, err)
	}

	put(t, e, search.Created, doc("new", `{"text":"lamp","published":"`+time.Now().Format(time.RFC3339Nano)+`"}`))
	soon := search.Query{Q: "lamp", Mode: search.Keyword, Boosts: []search.Boost{{Field: "published", Origin: "now", Scale: "0.0001h", Weight: 10}}}
	batch, err = e.SearchBatch(t.Context(), "docs", []search.Query{soon, soon})
	if err != nil || batch[0].Response.Hits[0].ID != "new" || batch[1].Response.Hits[0].Score != batch[0].Response.Hits[0].Score {
		t.Errorf("one instant for a batch: %v, %v", batch, err)
	}

	q.Diversity, q.Mode = 0, search.Keyword
	x, err := e.Explain(t.Context(), "docs", "far", q)
	if err != nil || x.Rank != 0 || x.Reason != search.ReasonWords || x.Hit.Score != 0 || x.Hit.Explain.Boost.Factor != 2 {
		t.Errorf("Explain of a document without the words: %+v, %v", x, err)
	}
	q.Boosts[0].Scale = 50 // at 100 it is 2/3
	q.Mode, q.Window, q.Limit = search.Semantic, 5, ptr(5)
	x, err = e.Explain(t.Context(), "docs", "far", q)
	if err != nil || x.Reason != search.ReasonWindow || math.Abs(x.Hit.Explain.Boost.Factor-7.0/3) > 1e-12 || x.Hit.Score != x.Hit.Explain.Boost.Relevance*x.Hit.Explain.Boost.Factor {
		t.Errorf("Explain of a document beyond the window: %+v, %v", x, err)
	}
}

func TestBoostErrors(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("a", `{"text":"lamp","year":2020}`))
	ok := search.Boost{Filter: "a = 1", Weight: 1}
	for _, tc := range []struct {
		boost search.Boost
		want  string
	}{
		{search.Boost{Filter: "a = 1"}, `boosts[1].weight: got 0, allowed: -1 to 10, and not 0`},
		{search.Boost{Filter: "a = 1", Weight: 11}, `boosts[1].weight: got 11`},
		{search.Boost{Filter: "a = 1", Weight: -1.1}, `boosts[1].weight: got -1.1`},
		{search.Boost{Filter: "a = 1", Weight: math.NaN()}, `boosts[1].weight: got NaN`},
		{search.Boost{Weight: 1}, `boosts[1].filter: got "", allowed: a filter, or in its place a field`},
		{search.Boost{Filter: "a = 1", Field: "a", Weight: 1}, `boosts[1].filter: got "a = 1", allowed: a filter, or in its place a field`},
		{search.Boost{Filter: "a =", Weight: 1}, `boosts[1].filter: got "a =", allowed: filter: at byte 3`},
		{search.Boost{Filter: "a = 1", Scale: 3, Origin: "now", Weight: 1}, `boosts[1].origin: got "now", allowed: left out with a filter, whose value is 1 or 0; boosts[1].scale: got 3`},
		{search.Boost{Field: "a", Weight: 1}, `boosts[1].scale: got "none", allowed: a number above 0, as there is no origin; dates want an origin`},
		{search.Boost{Field: "a", Scale: "30d", Weight: 1}, `boosts[1].scale: got "30d", allowed: a number above 0, as there is no origin`},
		{search.Boost{Field: "a", Scale: 0, Weight: 1}, `boosts[1].scale: got 0`},
		{search.Boost{Field: "a", Scale: math.Inf(1), Weight: 1}, `boosts[1].scale: got +Inf`},
		{search.Boost{Field: "a", Scale: []any{3.0}, Weight: 1}, `boosts[1].scale: got [3]`},
		{search.Boost{Field: "a", Origin: "now", Scale: 30, Weight: 1}, `boosts[1].scale: got 30, allowed: a span above 0 and up to 100 years in hours, days or weeks, such as 12h, 30d or 2w, as the origin is a date`},
		{search.Boost{Field: "a", Origin: "now", Scale: "30", Weight: 1}, `boosts[1].scale: got "30"`},
		{search.Boost{Field: "a", Origin: "now", Scale: "", Weight: 1}, `boosts[1].scale: got ""`},
		{search.Boost{Field: "a", Origin: "now", Scale: "-3d", Weight: 1}, `boosts[1].scale: got "-3d"`},
		{search.Boost{Field: "a", Origin: "now", Scale: "NaNd", Weight: 1}, `boosts[1].scale: got "NaNd"`},
		{search.Boost{Field: "a", Origin: "now", Scale: "36526d", Weight: 1}, `boosts[1].scale: got "36526d"`},
		{search.Boost{Field: "a", Origin: "2024-01-01", Weight: 1}, `boosts[1].scale: got "none"`},
		{search.Boost{Field: "a", Origin: 3, Scale: "3d", Weight: 1}, `boosts[1].scale: got "3d", allowed: a number above 0, as the origin is a number`},
		{search.Boost{Field: "a", Origin: "today", Scale: "3d", Weight: 1}, `boosts[1].origin: got "today", allowed: now, a date as RFC 3339 or YYYY-MM-DD, a number, or a point`},
		{search.Boost{Field: "a", Origin: true, Scale: "3d", Weight: 1}, `boosts[1].origin: got true`},
		{search.Boost{Field: "a", Origin: []any{3.0}, Scale: 3, Weight: 1}, `boosts[1].origin: got [3]`},
		{search.Boost{Field: "a\xff", Scale: 3, Weight: 1}, `boosts[1].field: got`},
	} {
		_, err := e.Search(t.Context(), "docs", search.Query{Q: "lamp", Boosts: []search.Boost{ok, tc.boost}})
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %s", tc.boost, err, tc.want)
		}
	}
	for _, tc := range []struct {
		q    search.Query
		want string
	}{
		{search.Query{Q: "lamp", Sort: []search.SortKey{{Field: "year"}}}, "boosts: got 1, allowed: none together with sort"},
		{search.Query{}, "boosts: got 1, allowed: none unless q has a word or phrase, as there is no relevance to boost; use sort instead"},
		{search.Query{Q: "-lamp"}, "boosts: got 1, allowed: none unless q has a word"},
	} {
		tc.q.Boosts = []search.Boost{ok}
		if _, err := e.Search(t.Context(), "docs", tc.q); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %s", tc.q, err, tc.want)
		}
	}
	q := search.Query{Q: "lamp", Boosts: make([]search.Boost, 9)}
	if _, err := e.Search(t.Context(), "docs", q); err == nil || err.Error() != "boosts: got 9, allowed: at most 8" {
		t.Errorf("nine boosts: %v", err)
	}

	q.Boosts = []search.Boost{
		{Field: "year", Origin: "now", Scale: "1w", Weight: 1}, {Field: "yaer", Scale: 3, Weight: 1}, {Filter: "kidn = 'a'", Weight: 1},
		{Field: "year", Origin: 2020, Scale: json.Number("3"), Weight: 1}, {Filter: "id = 'a'", Weight: 1},
	}
	q.Explain = true
	r, err := e.Search(t.Context(), "docs", q)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`boosts: no document found has a date in "year", but other values`, `boosts: no document has a field "yaer"; the nearest name is "year"`, `boosts: no document has a field "kidn"`}
	if !slices.Equal(r.Warnings, want) || r.Hits[0].Explain.Boost.Factor != 3 {
		t.Errorf("warnings %q, want %q; %+v", r.Warnings, want, r.Hits[0].Explain.Boost)
	}
	if _, err := e.CreateCollection(t.Context(), "kept", search.Settings{Fields: map[string]search.FieldSettings{"stars": {Type: "stored"}}}); err != nil {
		t.Fatal(err)
	}
	for _, b := range []search.Boost{{Field: "stars", Scale: 3, Weight: 1}, {Filter: "stars > 3", Weight: 1}} {
		_, err := e.Search(t.Context(), "kept", search.Query{Q: "lamp", Boosts: []search.Boost{b}})
		if err == nil || !strings.HasPrefix(err.Error(), "boosts[0].") || !strings.Contains(err.Error(), "stored") {
			t.Errorf("a stored field: %v", err)
		}
	}
}
