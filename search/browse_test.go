package search_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestBrowse asks without a query, in every mode and with an encoder that fails, and compares with
// what the books are made of.
func TestBrowse(t *testing.T) {
	f := &fakeEmbedder{}
	e := shelfWith(t, f)
	f.fail = errors.New("no query is to be encoded")
	desc := func(field string) search.SortKey { return search.SortKey{Field: field, Order: "desc"} }
	all := func(int) bool { return true }
	for _, tc := range []struct {
		name  string
		q     search.Query
		in    func(i int) bool
		order func(a, b int) int // of numbers of books; nil: as they are
	}{
		{"nothing", search.Query{}, all, nil},
		{"white space", search.Query{Q: " \n"}, all, nil},
		{"plain", search.Query{Syntax: search.Plain}, all, nil},
		{"filter", search.Query{Filter: "n >= 10 AND lang = 'de'"}, func(i int) bool { return i >= 10 && i%3 == 1 }, nil},
		{"no match", search.Query{Filter: "n > 99"}, func(int) bool { return false }, nil},
		{"sorted", search.Query{Sort: []search.SortKey{desc("n")}}, all, func(a, b int) int { return b - a }},
		{"by two keys", search.Query{Sort: []search.SortKey{{Field: "lang"}, {Field: "_score"}, desc("n")}, Filter: "n < 30"}, func(i int) bool { return i < 30 },
			func(a, b int) int {
				lang := func(i int) string { return []string{"en", "de", "fr"}[i%3] }
				if c := strings.Compare(lang(a), lang(b)); c != 0 {
					return c
				}
				return b - a
			}},
		{"by the score alone", search.Query{Sort: []search.SortKey{{Field: "_score"}}}, all, nil},
		{"without a word", search.Query{Q: "-red"}, func(i int) bool { return i%2 == 1 }, nil},
		{"without a phrase", search.Query{Q: `-"number3 blue" -number5`, Sort: []search.SortKey{desc("n")}}, func(i int) bool { return i != 3 && i != 5 }, func(a, b int) int { return b - a }},
		{"without a stop word", search.Query{Q: "-the"}, all, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var numbers []int
			langs := map[string]int{}
			for i := range 40 {
				if tc.in(i) {
					numbers = append(numbers, i)
					langs[[]string{"en", "de", "fr"}[i%3]]++
				}
			}
			if tc.order != nil {
				slices.SortFunc(numbers, tc.order)
			}
			want := make([]string, len(numbers))
			for i, n := range numbers {
				want[i] = fmt.Sprintf("b%02d", n)
			}
			for _, mode := range []search.Mode{"", search.Keyword, search.Semantic} {
				q := tc.q
				q.Mode, q.Facets = mode, []search.Facet{{Field: "lang"}}
				var got []string
				for q.Offset, q.Limit = 0, ptr(7); q.Offset == 0 || q.Offset < len(want); q.Offset += 7 {
					r, err := e.Search(t.Context(), "docs", q)
					if err != nil {
						t.Fatal(err)
					}
					for _, h := range r.Hits {
						got = append(got, h.ID)
						if h.Score != 0 || h.Explain != nil || h.Highlights != nil || len(h.Passages) != 1 || h.Passages[0].Marked != "" || h.Passages[0].Score != nil {
							t.Errorf("hit %+v, want its first passage and nothing of a query", h)
						}
					}
					if r.Total != (search.Total{Value: len(want), Relation: "eq", Of: "all"}) || r.Degraded {
						t.Errorf("total %+v, degraded %t %s, want %d of all", r.Total, r.Degraded, r.Reason, len(want))
					}
					counts := r.Facets["lang"]
					if counts.Of != "all" || counts.Documents != len(want) || counts.Distinct != len(langs) {
						t.Errorf("facet %+v, want %d documents", counts, len(want))
					}
					for _, v := range counts.Values {
						if v.Count != langs[v.Value.(string)] {
							t.Errorf("facet counts %d of %v, want %d", v.Count, v.Value, langs[v.Value.(string)])
						}
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("mode %q: %v,\nwant %v", mode, got, want)
				}
			}
		})
	}
	for _, sort := range [][]search.SortKey{nil, {desc("n")}} {
		r, err := e.Search(t.Context(), "docs", search.Query{Group: "lang", Sort: sort})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) != 3 || r.Total.Value != 40 || r.Hits[0].Group.More+r.Hits[1].Group.More+r.Hits[2].Group.More != 37 {
			t.Errorf("grouped, sort %v: %+v, total %+v", sort, r.Hits, r.Total)
		}
	}
	if r, err := e.Search(t.Context(), "docs", search.Query{Q: "-red -the -🎉"}); err != nil || r.Query == nil || r.Query.Text != "" || !slices.Equal(r.Query.Without, []string{"red", "the", "🎉"}) || len(r.Query.Ignored) > 0 {
		t.Errorf("Query = %+v, %v", r.Query, err)
	}
}

// TestBrowseAfterChanges wants documents in the order of their first arrival, counted beyond the
// window, while they change.
func TestBrowseAfterChanges(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	if got := find(t, e, search.Query{}); got != "" {
		t.Errorf("an empty collection: %q", got)
	}
	put(t, e, search.Created, numbered(300)...)
	put(t, e, search.Updated, doc("n001", `{"text":"another text of many sentences. It has a second one."}`))
	if _, err := e.DeleteDocuments(t.Context(), "docs", []string{"n000", "n003"}); err != nil {
		t.Fatal(err)
	}
	if got := find(t, e, search.Query{Limit: ptr(3)}); got != "n001 n002 n004" {
		t.Errorf("found %q", got)
	}
	r, err := e.Search(t.Context(), "docs", search.Query{Limit: ptr(1), Offset: 199})
	if err != nil || r.Total != (search.Total{Value: 298, Relation: "eq", Of: "all"}) || len(r.Hits) != 1 || r.Hits[0].ID != "n201" {
		t.Errorf("result 200: %+v, %v", r, err)
	}
	if got := find(t, e, search.Query{Limit: ptr(1), Offset: 297}); got != "n299" {
		t.Errorf("the last document: %q", got)
	}
}

// TestBrowsePassages wants the beginning of a text, and as many passages as asked for in the order
// of the text.
func TestBrowsePassages(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	words := strings.Repeat("one two three four five six seven eight nine ten. ", 10)
	put(t, e, search.Created, doc("a", fmt.Sprintf(`{"title":"Numbers","text":%q}`, words)))
	for n := range 4 {
		r, err := e.Search(t.Context(), "docs", search.Query{Passages: &n, Highlight: ptr(true)})
		if err != nil || len(r.Hits) != 1 || len(r.Hits[0].Passages) != n {
			t.Fatalf("%d passages: %+v, %v", n, r, err)
		}
		end := 0
		for i, p := range r.Hits[0].Passages {
			if p.Start < end || i == 0 && p.Start != 0 || p.Text == "" {
				t.Errorf("passage %d is %+v, want the one that begins after %d", i, p, end)
			}
			end = p.End
		}
	}
}

func TestBrowseRefuses(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("a", `{"text":"milk"}`))
	for field, q := range map[string]search.Query{
		"min_similarity":  {MinSimilarity: 0.5},
		"diversity":       {Q: "-milk", Diversity: 0.5},
		"min_similarity ": {MinSimilarity: 2},
		"diversity ":      {Diversity: -1},
		"diversity  ":     {Diversity: 0.5, Sort: []search.SortKey{{Field: "n"}}},
		"sentences":       {Q: " ", Sentences: true},
		"explain":         {Explain: true},
		"mode":            {Mode: "fuzzy"},
		"rerank":          {Rerank: true},
	} {
		_, err := e.Search(t.Context(), "docs", q)
		var got *search.FieldError
		if list := fieldErrorsOf(err); !errors.As(err, &got) || got.Field != strings.TrimSpace(field) || len(list) != 1 {
			t.Errorf("Search(%+v) = %v, want one FieldError for %s", q, err, field)
		}
	}
	_, err := e.Explain(t.Context(), "docs", "a", search.Query{Q: "-honey"})
	var got *search.FieldError
	if !errors.As(err, &got) || got.Field != "q" {
		t.Errorf("Explain = %v, want a FieldError for q", err)
	}
}
