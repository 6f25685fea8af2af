package search_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// bundledNotes returns an engine with the bundled notes, encoded by the embedded checkpoint. Every
// third has kind "a", every third "b".
func bundledNotes(t *testing.T) *search.Engine {
	t.Helper()
	e, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("../testdata/notes/*.md")
	if err != nil || len(paths) < 50 {
		t.Fatal(paths, err)
	}
	var docs []search.Document
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := json.Marshal(map[string]any{"text": string(text), "kind": []string{"a", "b", "c"}[i%3], "n": i})
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, search.Document{ID: strings.TrimSuffix(filepath.Base(path), ".md"), Fields: fields})
	}
	put(t, e, search.Created, docs...)
	return e
}

func TestCutoff(t *testing.T) {
	e := bundledNotes(t)
	find := func(q search.Query) *search.Response {
		t.Helper()
		r, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Run("words that no document has", func(t *testing.T) {
		r := find(search.Query{Q: "cash reserves for unexpected bills", Cutoff: search.CutoffAuto, Explain: true})
		if len(r.Hits) == 0 || r.Hits[0].ID != "emergency-fund" || r.Hits[0].Score < 0.3 || r.Hits[0].Explain.Fusion.Alpha != 1 {
			t.Errorf("%+v", r.Hits)
		}
	})
	t.Run("the window does not change a count that is exact", func(t *testing.T) {
		for _, cutoff := range []search.Cutoff{search.CutoffAuto, "0.3"} {
			q := search.Query{Q: "water", Cutoff: cutoff, Limit: new(1)}
			all := find(q).Total
			for _, q.Window = range []int{2, 3, 4, 10} {
				if r := find(q); r.Total.Value > all.Value || r.Total.Relation == "eq" && r.Total.Value < all.Value {
					t.Errorf("cutoff %s: %+v of a window of %d, %+v of all", cutoff, r.Total, q.Window, all)
				}
			}
		}
	})
	t.Run("nonsense has no match", func(t *testing.T) {
		for _, mode := range []search.Mode{search.Hybrid, search.Semantic, search.Keyword} {
			q := search.Query{Q: "xqzzyv qqqwww", Mode: mode, Cutoff: search.CutoffAuto, LessRelevant: 3, Sort: []search.SortKey{{Field: "n"}}, Facets: []search.Facet{{Field: "kind"}}}
			r := find(q)
			if len(r.Hits) != 0 || r.Total.Value != 0 || r.Total.Relation != "eq" || r.Facets["kind"].Documents != 0 {
				t.Errorf("%s: %d hits, %+v, %+v", mode, len(r.Hits), r.Total, r.Facets)
			}
			if n := len(r.LessRelevant); mode != search.Keyword && n != 3 {
				t.Errorf("%s: %d less relevant results, want 3", mode, n)
			}
			q.Cutoff = ""
			if r := find(q); mode != search.Keyword && (r.Total.Value != 55 || len(r.LessRelevant) != 0) {
				t.Errorf("%s without a cutoff: %+v, %d less relevant", mode, r.Total, len(r.LessRelevant))
			}
		}
	})
	t.Run("gibberish has no match", func(t *testing.T) {
		for _, mode := range []search.Mode{search.Hybrid, search.Semantic} {
			for _, text := range []string{"asdf ghjkl", "zxcvb mnbvq", "qwertz uiopü", "12345 67890", "lorem ipsum dolor sit amet"} {
				if r := find(search.Query{Q: text, Mode: mode, Cutoff: search.CutoffAuto}); len(r.Hits) != 0 {
					t.Errorf("%s, %s: %d hits, the first is %s with %.3f", mode, text, len(r.Hits), r.Hits[0].ID, r.Hits[0].Score)
				}
			}
		}
	})
	t.Run("all words are a match", func(t *testing.T) {
		for _, text := range []string{"a", "time", "water and time", "the"} {
			words := find(search.Query{Q: text, Mode: search.Keyword, Operator: "and", Limit: new(100)})
			r := find(search.Query{Q: text, Cutoff: search.CutoffAuto, Limit: new(100)})
			have := map[string]bool{}
			for _, h := range r.Hits {
				have[h.ID] = true
			}
			for _, h := range words.Hits {
				if !have[h.ID] {
					t.Errorf("%q: %s has all words and is below the cutoff", text, h.ID)
				}
			}
			if len(words.Hits) == 0 || text != "water and time" && len(words.Hits) < 10 {
				t.Errorf("%q: only %d documents have it", text, len(words.Hits))
			}
		}
	})
	t.Run("facets count what a filter finds", func(t *testing.T) {
		for _, mode := range []search.Mode{search.Hybrid, search.Semantic, search.Keyword} {
			for _, text := range []string{"bread", "how to clean a pan", "sleep better at night", "money", "a star in the sky"} {
				q := search.Query{Q: text, Mode: mode, Cutoff: search.CutoffAuto, Facets: []search.Facet{{Field: "kind"}}, Limit: new(100)}
				all := find(q)
				if len(all.Hits) != all.Total.Value || all.Facets["kind"].Documents != all.Total.Value {
					t.Errorf("%s, %s: %d hits, %+v, %+v", mode, text, len(all.Hits), all.Total, all.Facets["kind"])
				}
				for _, v := range all.Facets["kind"].Values {
					q.Filter = fmt.Sprintf("kind = '%s'", v.Value)
					if r := find(q); r.Total.Value != v.Count || len(r.Hits) != v.Count {
						t.Errorf("%s, %s: %s has %d results, the facet says %d", mode, text, q.Filter, r.Total.Value, v.Count)
					}
				}
			}
		}
	})
	t.Run("a number is a score", func(t *testing.T) {
		for _, mode := range []search.Mode{search.Hybrid, search.Semantic, search.Keyword} {
			q := search.Query{Q: "water heat time", Mode: mode, Limit: new(100)}
			all := find(q)
			cut := all.Hits[2].Score
			q.Cutoff, q.LessRelevant = search.Cutoff(fmt.Sprint(cut)), 100
			r := find(q)
			if len(r.Hits) != 3 || r.Total.Value != 3 || len(r.Hits)+len(r.LessRelevant) != len(all.Hits) {
				t.Errorf("%s: %d hits, %+v, %d less relevant of %d", mode, len(r.Hits), r.Total, len(r.LessRelevant), len(all.Hits))
			}
			for i, h := range append(r.Hits, r.LessRelevant...) {
				if h.ID != all.Hits[i].ID || h.Score != all.Hits[i].Score {
					t.Errorf("%s: result %d is %s (%v), want %s (%v)", mode, i, h.ID, h.Score, all.Hits[i].ID, all.Hits[i].Score)
				}
			}
			x, err := e.Explain(t.Context(), "docs", all.Hits[3].ID, q)
			if err != nil || x.Rank != 0 || x.Reason != search.ReasonCutoff || x.Hit.Score != all.Hits[3].Score {
				t.Errorf("%s: explanation %+v, %v", mode, x, err)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		for _, q := range []search.Query{{Q: "x", Cutoff: "much"}, {Q: "x", Cutoff: "NaN"}, {Q: "x", LessRelevant: -1}, {Q: "x", LessRelevant: 101}, {Page: -1}, {Page: 2, Offset: 10}, {Offset: search.MaxOffset + 1}} {
			if _, err := e.Search(t.Context(), "docs", q); !errors.Is(err, search.ErrInvalid) {
				t.Errorf("%+v: %v", q, err)
			}
		}
	})
}

// TestCutoffCatalogue: in a catalogue, a facet's count is the number of results behind it, sorted
// or not, filtered or not.
func TestCutoffCatalogue(t *testing.T) {
	n := 400
	if os.Getenv("LONG_TESTS") == "1" {
		n = 5000
	}
	e, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	things := []string{"running shoes", "leather boots", "wool socks", "rain jacket", "garden spade", "coffee grinder", "desk lamp", "mountain bicycle", "guitar strings", "baby blanket"}
	colors, brands := []string{"red", "green", "blue", "black"}, []string{"Acme", "Bolt", "Corvid", "Dune", "Elm"}
	docs := make([]search.Document, n)
	for i := range docs {
		thing, color, brand := things[i%len(things)], colors[i/3%len(colors)], brands[i/7%len(brands)]
		docs[i] = doc(fmt.Sprint(i), fmt.Sprintf(`{"title":"%s %s %s no. %d","text":"A pair or piece of %s in %s, made by %s.","color":%q,"brand":%q,"price":%d}`, color, brand, thing, i, thing, color, brand, color, brand, i*37%1000))
	}
	put(t, e, search.Created, docs...)
	for _, mode := range []search.Mode{search.Hybrid, search.Semantic, search.Keyword} {
		for _, text := range []string{"shoes", "something warm for my feet", "red lamp", "gift for a musician"} {
			for i, sort := range [][]search.SortKey{nil, {{Field: "price"}}, nil, {{Field: "price"}}} {
				filter := []string{"", "price >= 250"}[i/2]
				q := search.Query{Q: text, Mode: mode, Cutoff: search.CutoffAuto, Sort: sort, Filter: filter, Facets: []search.Facet{{Field: "color"}, {Field: "brand"}}}
				all, err := e.Search(t.Context(), "docs", q)
				if err != nil {
					t.Fatal(err)
				}
				for field, counts := range all.Facets {
					for _, v := range counts.Values {
						q.Filter = strings.TrimPrefix(fmt.Sprintf("%s AND %s = '%s'", filter, field, v.Value), " AND ")
						r, err := e.Search(t.Context(), "docs", q)
						if err != nil || r.Total.Value != v.Count || r.Total.Relation != all.Total.Relation || len(r.Hits) != min(v.Count, 10) {
							t.Errorf("%s %q %v: %s has %+v results, the facet of %+v says %d (%v)", mode, text, sort, q.Filter, r.Total, all.Total, v.Count, err)
						}
					}
				}
				t.Logf("%s %q: %+v, %v ms", mode, text, all.Total, all.TookMS)
			}
		}
	}
}

func TestCutoffJSON(t *testing.T) {
	for in, want := range map[string]search.Cutoff{`"auto"`: "auto", `0.25`: "0.25", `"0.25"`: "0.25", `-1e-2`: "-1e-2"} {
		var q search.Query
		if err := json.Unmarshal([]byte(`{"cutoff":`+in+`}`), &q); err != nil || q.Cutoff != want {
			t.Errorf("%s is %q, want %q (%v)", in, q.Cutoff, want, err)
		}
		if out, err := json.Marshal(q.Cutoff); err != nil || string(out) != strings.Trim(in, `"`) && string(out) != in {
			t.Errorf("%q in JSON is %s, %v", q.Cutoff, out, err)
		}
	}
}

// TestPaging: queries without words and keyword searches have all their results on pages; others
// say where theirs end.
func TestPaging(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	var docs []search.Document
	for i := range 250 {
		docs = append(docs, doc(fmt.Sprintf("d%03d", i), fmt.Sprintf(`{"text":"cat number%d","n":%d,"group":"g%d"}`, i, i, i%7)))
	}
	put(t, e, search.Created, docs...)
	for name, q := range map[string]search.Query{
		"no words": {}, "no words, sorted": {Sort: []search.SortKey{{Field: "n", Order: "desc"}}}, "keyword": {Q: "cat", Mode: search.Keyword},
		"keyword, sorted": {Q: "cat", Mode: search.Keyword, Sort: []search.SortKey{{Field: "n"}}},
	} {
		seen := map[string]bool{}
		for q.Page = 1; q.Page <= 8; q.Page++ {
			q.Limit = new(40)
			r, err := e.Search(t.Context(), "docs", q)
			if err != nil || r.Total.Value != 250 || len(r.Hits) != min(40, max(0, 250-40*(q.Page-1))) {
				t.Fatalf("%s, page %d: %+v, %v", name, q.Page, r, err)
			}
			for _, h := range r.Hits {
				seen[h.ID] = true
			}
		}
		if len(seen) != 250 {
			t.Errorf("%s: %d different results on all pages", name, len(seen))
		}
	}
	q := search.Query{Q: "cat", Mode: search.Semantic, Window: 20, Page: 2}
	r, err := e.Search(t.Context(), "docs", q)
	if err != nil || len(r.Hits) != 10 || len(r.Warnings) != 0 {
		t.Errorf("page 2 of the window: %d hits, %q, %v", len(r.Hits), r.Warnings, err)
	}
	q.Page, q.Limit = 1, new(20)
	q.Filter = "n < 15"
	if r, err = e.Search(t.Context(), "docs", q); err != nil || len(r.Hits) != 15 || len(r.Warnings) != 0 {
		t.Errorf("all that passes: %d hits, %q, %v", len(r.Hits), r.Warnings, err)
	}
	q.Page = 2
	if _, err = e.Search(t.Context(), "docs", q); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("page behind the window: %v", err)
	}
	for _, q := range []search.Query{{Group: "group"}, {Group: "group", Q: "cat", Mode: search.Keyword}, {Group: "group", Q: "cat"}, {Group: "n", Q: "cat", Mode: search.Keyword, Window: 10}} {
		want := 7
		if q.Group == "n" {
			want = 250
		}
		if r, err := e.Search(t.Context(), "docs", q); err != nil || r.Total.Groups != want {
			t.Errorf("%+v: %+v, %v", q, r.Total, err)
		}
	}
}
