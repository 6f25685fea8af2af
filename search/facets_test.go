package search_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// shelf has 40 books: n from 0 to 39, three languages, some without a year.
func shelf(t *testing.T) *search.Engine { return shelfWith(t, &fakeEmbedder{}) }

func shelfWith(t *testing.T, f *fakeEmbedder) *search.Engine {
	e := open(t, t.TempDir(), f)
	var docs []search.Document
	for i := range 40 {
		fields := fmt.Sprintf(`{"text":"book number%d %s","n":%d,"lang":%q,"tags":["t%d","all"],"day":"2024-01-%02d"`,
			i, []string{"red", "blue"}[i%2], i, []string{"en", "de", "fr"}[i%3], i%4, 1+i%28)
		if i%5 > 0 {
			fields += fmt.Sprintf(`,"year":%d`, 2000+i%7)
		}
		docs = append(docs, doc(fmt.Sprintf("b%02d", i), fields+"}"))
	}
	put(t, e, search.Created, docs...)
	return e
}

func TestFacetsOfEachMode(t *testing.T) {
	e := shelf(t)
	facets := []search.Facet{{Field: "lang"}, {Field: "tags", Limit: 2}, {Field: "year", Ranges: []search.FacetRange{{To: 2002.0}, {From: 2002.0, To: 2005.0}, {From: 2005.0}}},
		{Field: "day", Ranges: []search.FacetRange{{From: "2024-01-10", To: "2024-01-20"}}}, {Field: "none"}}
	for _, tc := range []struct {
		name string
		q    search.Query
		in   func(i int) bool // the documents that are counted
		of   string
	}{
		{"keyword", search.Query{Q: "red", Mode: search.Keyword}, func(i int) bool { return i%2 == 0 }, "keyword"},
		{"beyond the window", search.Query{Q: "red", Mode: search.Keyword, Window: 3, Limit: ptr(1)}, func(i int) bool { return i%2 == 0 }, "keyword"},
		{"filter", search.Query{Q: "red", Mode: search.Keyword, Filter: "n < 20"}, func(i int) bool { return i%2 == 0 && i < 20 }, "keyword"},
		{"semantic", search.Query{Q: "book", Mode: search.Semantic}, func(int) bool { return true }, "vector"},
		{"semantic within", search.Query{Q: "book -red", Mode: search.Semantic}, func(i int) bool { return i%2 == 1 }, "vector"},
		{"hybrid", search.Query{Q: "red"}, func(int) bool { return true }, "union"},
		{"second page", search.Query{Q: "red", Offset: 30}, func(int) bool { return true }, "union"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.q.Facets = facets
			r, err := e.Search(t.Context(), "docs", tc.q)
			if err != nil {
				t.Fatal(err)
			}
			n, years, missing, day, langs := 0, [3]int{}, 0, 0, map[string]int{}
			for i := range 40 {
				if !tc.in(i) {
					continue
				}
				n++
				langs[[]string{"en", "de", "fr"}[i%3]]++
				if d := 1 + i%28; d >= 10 && d < 20 {
					day++
				}
				switch year := 2000 + i%7; {
				case i%5 == 0:
					missing++
				case year < 2002:
					years[0]++
				case year < 2005:
					years[1]++
				default:
					years[2]++
				}
			}
			if r.Total.Value != n || r.Total.Of != tc.of {
				t.Errorf("total %+v, want %d of %s", r.Total, n, tc.of)
			}
			lang := r.Facets["lang"]
			if lang.Documents != n || lang.Of != tc.of || lang.Distinct != 3 || len(lang.Values) != 3 {
				t.Errorf("lang %+v, want %d documents of %s", lang, n, tc.of)
			}
			for _, v := range lang.Values {
				if langs[v.Value.(string)] != v.Count {
					t.Errorf("lang %v, want %v", lang.Values, langs)
				}
			}
			if tags := r.Facets["tags"]; len(tags.Values) != 2 || tags.Values[0] != (search.FacetValue{Value: "all", Count: n}) {
				t.Errorf("tags %+v", tags)
			}
			year := r.Facets["year"]
			if year.Missing != missing || year.Ranges[0].Count != years[0] || year.Ranges[1].Count != years[1] || year.Ranges[2].Count != years[2] {
				t.Errorf("year %+v, want %v and %d without", year, years, missing)
			}
			if got := r.Facets["day"].Ranges[0]; got.Count != day || got.From != "2024-01-10" {
				t.Errorf("day %+v, want %d", got, day)
			}
			if none := r.Facets["none"]; none.Missing != n || none.Distinct != 0 {
				t.Errorf("none %+v", none)
			}
		})
	}
}

func TestFacetForms(t *testing.T) {
	var q search.Query
	body := `{"q":"x","facets":["lang",{"field":"year","ranges":[{"from":2000}]}],"sort":["year:desc","_score",{"field":"n","order":"asc"},{"field":"at:noon"}]}`
	if err := json.Unmarshal([]byte(body), &q); err != nil {
		t.Fatal(err)
	}
	if q.Facets[0].Field != "lang" || q.Facets[1].Ranges[0].From != 2000.0 {
		t.Errorf("facets %+v", q.Facets)
	}
	if want := []search.SortKey{{Field: "year", Order: "desc"}, {Field: "_score"}, {Field: "n", Order: "asc"}, {Field: "at:noon"}}; !slices.Equal(q.Sort, want) {
		t.Errorf("sort %+v, want %+v", q.Sort, want)
	}
	for _, body := range []string{`{"facets":[1]}`, `{"facets":[{"fields":"x"}]}`, `{"sort":[{"order":1}]}`, `{"sort":[{"by":"x"}]}`} {
		if err := json.Unmarshal([]byte(body), &q); !errors.Is(err, search.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", body, err)
		}
	}
	e := shelf(t)
	for _, tc := range []struct {
		field string
		q     search.Query
	}{
		{"facets[1].field", search.Query{Facets: []search.Facet{{Field: "a"}, {Field: "a"}}}},
		{"facets[0].field", search.Query{Facets: []search.Facet{{}}}},
		{"facets[0].limit", search.Query{Facets: []search.Facet{{Field: "a", Limit: 1001}}}},
		{"facets:", search.Query{Facets: make([]search.Facet, 17)}},
		{"facets[0].ranges[0]:", search.Query{Facets: []search.Facet{{Field: "a", Ranges: make([]search.FacetRange, 1)}}}},
		{"facets[0].ranges[0]:", search.Query{Facets: []search.Facet{{Field: "a", Ranges: []search.FacetRange{{From: 2.0, To: 2.0}}}}}},
		{"facets[0].ranges[0]:", search.Query{Facets: []search.Facet{{Field: "a", Ranges: []search.FacetRange{{From: 2.0, To: "2024-01-01"}}}}}},
		{"facets[0].ranges[0].from", search.Query{Facets: []search.Facet{{Field: "a", Ranges: []search.FacetRange{{From: "soon"}}}}}},
		{"facets[0].ranges[0].from", search.Query{Facets: []search.Facet{{Field: "a", Ranges: []search.FacetRange{{From: []any{2000.0}}}}}}},
		{"sort:", search.Query{Sort: make([]search.SortKey, 5)}},
		{"sort[0].field", search.Query{Sort: []search.SortKey{{}}}},
		{"sort[0].order", search.Query{Sort: []search.SortKey{{Field: "n", Order: "up"}}}},
		{"sort[1].field", search.Query{Sort: []search.SortKey{{Field: "n"}, {Field: "n"}}}},
	} {
		tc.q.Q = "x"
		if _, err := e.Search(t.Context(), "docs", tc.q); !errors.Is(err, search.ErrInvalid) || !strings.Contains(err.Error(), tc.field) {
			t.Errorf("%+v: %v, want an error about %s", tc.q, err, tc.field)
		}
	}
}

func TestSort(t *testing.T) {
	e := shelf(t)
	key := func(s string) search.SortKey {
		keys, err := search.ParseSortKeys(s)
		if err != nil {
			t.Fatal(err)
		}
		return keys[0]
	}
	for _, tc := range []struct {
		name string
		q    search.Query
		want string
	}{
		{"all that match", search.Query{Q: "red", Mode: search.Keyword, Sort: []search.SortKey{key("n:desc")}, Limit: ptr(3), Window: 3}, "b38 b36 b34"},
		{"second page", search.Query{Q: "red", Mode: search.Keyword, Sort: []search.SortKey{key("n:desc")}, Limit: ptr(3), Offset: 3}, "b32 b30 b28"},
		{"two keys", search.Query{Q: "red", Mode: search.Keyword, Sort: []search.SortKey{key("year:desc"), key("n")}, Limit: ptr(4)}, "b06 b34 b12 b26"},
		{"ties by arrival", search.Query{Q: "red", Mode: search.Keyword, Sort: []search.SortKey{key("year:desc")}, Limit: ptr(4)}, "b06 b34 b12 b26"},
		{"missing last", search.Query{Q: "red", Mode: search.Keyword, Sort: []search.SortKey{key("year")}, Limit: ptr(2), Offset: 18}, "b20 b30"},
		{"missing last, falling", search.Query{Q: "red", Mode: search.Keyword, Sort: []search.SortKey{key("year:desc")}, Limit: ptr(2), Offset: 18}, "b20 b30"},
		{"dates", search.Query{Q: "book", Mode: search.Semantic, Sort: []search.SortKey{key("day"), key("n:desc")}, Limit: ptr(3)}, "b28 b00 b29"},
		{"hybrid", search.Query{Q: "red number4", Sort: []search.SortKey{key("lang"), key("n")}, Limit: ptr(3)}, "b01 b04 b07"},
		{"score rising", search.Query{Q: "number4 red", Mode: search.Keyword, Sort: []search.SortKey{key("_score:asc"), key("n:desc")}, Limit: ptr(2)}, "b38 b36"},
		{"score within", search.Query{Q: "number4 red", Mode: search.Keyword, Sort: []search.SortKey{key("lang"), key("_score")}, Limit: ptr(2)}, "b04 b10"},
		{"unknown field", search.Query{Q: "number4 red", Mode: search.Keyword, Sort: []search.SortKey{key("nothing"), key("_score")}, Limit: ptr(1)}, "b04"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := find(t, e, tc.q); got != tc.want {
				t.Errorf("found %q, want %q", got, tc.want)
			}
		})
	}
	for _, mode := range []search.Mode{search.Keyword, search.Semantic, search.Hybrid} {
		q := search.Query{Q: "red number7", Mode: mode}
		q.Limit = ptr(40)
		byScore := find(t, e, q)
		q.Sort = []search.SortKey{key("_score")}
		if got := find(t, e, q); got != byScore {
			t.Errorf("%s: sorted by score %q, by default %q", mode, got, byScore)
		}
		q.Sort, q.Limit = []search.SortKey{key("n:desc")}, ptr(7)
		var paged []string
		for q.Offset = 0; q.Offset < 40; q.Offset += 7 {
			paged = append(paged, strings.Fields(find(t, e, q))...)
		}
		if !slices.IsSortedFunc(paged, func(a, b string) int { return strings.Compare(b, a) }) || len(paged) != len(strings.Fields(byScore)) {
			t.Errorf("%s: pages %v", mode, paged)
		}
	}
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "red", Mode: search.Keyword, Sort: []search.SortKey{key("n:desc")}, Window: 1, Limit: ptr(1), Explain: true})
	if err != nil || r.Hits[0].Score <= 0 || r.Hits[0].Explain.Keyword.Norm <= 0 {
		t.Errorf("a hit from beyond the window: %+v, %v", r, err)
	}
}

// TestObjectsInLists: members of objects in a list are values, and texts, of one name.
func TestObjectsInLists(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created,
		doc("a", `{"v":[{"color":"red","text":"zebra","n":3},{"color":"blue","text":"lion","n":1}]}`),
		doc("b", `{"v":[{"color":"red","text":"zebra","n":2}]}`),
		doc("c", `{"v":{"color":"blue","text":"zebra crossing","n":4},"v.color":"green"}`))
	words := search.Query{Q: "zebra", Mode: search.Keyword}
	for filter, want := range map[string]string{"v.color = 'blue'": "a c", "v.color = 'green' AND v.color = 'blue'": "c", "v.n < 3": "a b", "v.color != 'blue'": "b"} {
		q := words
		q.Filter, q.Sort = filter, []search.SortKey{{Field: "v.n"}}
		if got := find(t, e, q); got != want {
			t.Errorf("%s finds %q, want %q", filter, got, want)
		}
	}
	if got := find(t, e, search.Query{Q: "lion", Mode: search.Keyword, Fields: search.Fields{"v.text"}}); got != "a" {
		t.Errorf("lion finds %q, want a", got)
	}
	words.Facets = []search.Facet{{Field: "v.color"}}
	r, err := e.Search(t.Context(), "docs", words)
	if err != nil || fmt.Sprint(r.Facets["v.color"].Values) != "[{blue 2} {red 2} {green 1}]" {
		t.Errorf("facets %+v, %v", r.Facets, err)
	}
}

// TestLimitZero wants the total and the facets of a search without hits, and no step that orders or
// fetches.
func TestLimitZero(t *testing.T) {
	e := shelf(t)
	for _, q := range []search.Query{
		{Q: "red", Mode: search.Keyword}, {Q: "red", Mode: search.Semantic}, {Q: "red"}, {Filter: "lang = 'de'"},
		{Q: "red", Sentences: true, Diversity: 0.5, Group: "lang"}, {Q: "red", Mode: search.Keyword, Sort: []search.SortKey{{Field: "n"}}, Group: "lang"},
		{Sort: []search.SortKey{{Field: "n"}}, Group: "lang"},
	} {
		q.Facets = []search.Facet{{Field: "lang"}}
		want, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		q.Limit = ptr(0)
		got, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(want.Facets)
		b, _ := json.Marshal(got.Facets)
		if got.Hits == nil || len(got.Hits) != 0 || got.Total != want.Total || string(a) != string(b) {
			t.Errorf("Search(%+v) = %+v, want total %+v and facets %s alone", q, got, want.Total, a)
		}
		for _, step := range []string{"match", "sort", "diversify"} {
			if _, ran := got.TimingsMS[step]; ran {
				t.Errorf("Search(%+v) ran %s", q, step)
			}
		}
	}
}
