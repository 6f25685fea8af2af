package search_test

import (
	"errors"
	"slices"
	"testing"

	"example.com/searchd/search"
)

// TestRules: what rules do to the queries that they are for, and that they do nothing to others.
func TestRules(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	settings := search.Settings{Rules: []search.Rule{
		{ID: "sale", Queries: []string{"red lamp", "lampe rouge"}, Pin: []string{"g30", "nowhere", "g31", "g30", "g02"}, Hide: []string{"g00", "g02"}, Redirect: "/sale"},
		{ID: "faq", Queries: []string{"red"}, Match: "contains", Boost: []search.RuleBoost{{Filter: "kind = 'faq'", Weight: 10}}, Redirect: "https://example.com/faq"},
	}}
	if _, err := e.CreateCollection(t.Context(), "goods", settings); err != nil {
		t.Fatal(err)
	}
	docs := append(goods(), doc("other", `{"text":"a blue chair","kind":"page"}`))
	if _, err := e.Ingest(t.Context(), "goods", docs); err != nil {
		t.Fatal(err)
	}
	limit, never := 40, false
	ask := func(q search.Query) *search.Response {
		t.Helper()
		q.Limit = &limit
		res, err := e.Search(t.Context(), "goods", q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		return res
	}
	for _, mode := range []search.Mode{search.Hybrid, search.Semantic, search.Keyword} {
		with := ask(search.Query{Q: "Red, LAMP!", Mode: mode})
		got := idsOf(with)
		if !slices.Equal(got[:2], []string{"g30", "g31"}) || !with.Hits[0].Pinned || with.Hits[2].Pinned {
			t.Errorf("%s: first %v", mode, got[:3])
		}
		if slices.Contains(got, "g00") || slices.Contains(got, "g02") || slices.Index(got[2:], "g30") >= 0 {
			t.Errorf("%s: hidden documents, or one twice: %v", mode, got)
		}
		if len(with.Rules) != 2 || with.Rules[0].ID != "sale" || with.Redirect != "/sale" || with.Total.Value != len(got) {
			t.Errorf("%s: rules %v, redirect %q, total %+v of %d hits", mode, with.Rules, with.Redirect, with.Total, len(got))
		}
		// Without the two documents the rest is in the order of a query that boosts by itself.
		want := ask(search.Query{Q: "Red, LAMP!", Mode: mode, Rules: &never, Filter: "_id NOT IN ['g00','g02']", Boosts: []search.Boost{{Filter: "kind = 'faq'", Weight: 10}}})
		rest := slices.DeleteFunc(idsOf(want), func(id string) bool { return id == "g30" || id == "g31" })
		if !slices.Equal(got[2:], rest) {
			t.Errorf("%s: %v behind the pinned ones, want %v", mode, got[2:], rest)
		}
		if want.Rules != nil || want.Redirect != "" || want.Hits[0].Pinned {
			t.Errorf("%s: rules though none were asked for: %+v", mode, want.Rules)
		}
		// Pages are those of the whole.
		var paged []string
		for offset := 0; offset < len(got); offset += 7 {
			seven := 7
			res, err := e.Search(t.Context(), "goods", search.Query{Q: "red lamp", Mode: mode, Offset: offset, Limit: &seven})
			if err != nil {
				t.Fatal(err)
			}
			paged = append(paged, idsOf(res)...)
		}
		if !slices.Equal(paged, got) {
			t.Errorf("%s: pages %v, at once %v", mode, paged, got)
		}
	}
	if res := ask(search.Query{Q: "lamp"}); res.Rules != nil || !slices.Contains(idsOf(res), "g00") {
		t.Errorf("a query that no rule is for: %+v", res.Rules)
	}
	if res := ask(search.Query{Q: "a red thing"}); len(res.Rules) != 1 || res.Rules[0].ID != "faq" || res.Redirect != "https://example.com/faq" {
		t.Errorf("contains: %+v", res.Rules)
	}
	// A document that the query does not find is pinned all the same, but not against the filter.
	if _, err := e.ChangeSettings(t.Context(), "goods", func(s search.Settings) (search.Settings, error) {
		s.Rules = []search.Rule{{ID: "p", Queries: []string{"lamp"}, Pin: []string{"other", "g01"}}}
		return s, nil
	}); err != nil {
		t.Fatal(err)
	}
	if res := ask(search.Query{Q: "lamp", Mode: search.Keyword}); res.Hits[0].ID != "other" || res.Hits[0].Score != 0 || res.Hits[1].ID != "g01" || res.Total.Value != 37 {
		t.Errorf("not found by the query: %v, total %+v", idsOf(res)[:2], res.Total)
	}
	if res := ask(search.Query{Q: "lamp", Filter: "kind = 'post'"}); slices.Contains(idsOf(res), "other") || slices.Contains(idsOf(res), "g01") {
		t.Errorf("against the filter: %v", idsOf(res))
	}
	if res := ask(search.Query{Q: "lamp", Sort: []search.SortKey{{Field: "kind"}}}); res.Hits[0].Pinned || res.Rules == nil {
		t.Errorf("sorted: %v", idsOf(res))
	}
	x, err := e.Explain(t.Context(), "goods", "other", search.Query{Q: "lamp"})
	if err != nil || x.Rank != 1 || !x.Hit.Pinned || len(x.Rules) != 1 {
		t.Errorf("explained: %+v, %v", x, err)
	}
}

func TestExplainHidden(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	if _, err := e.CreateCollection(t.Context(), "goods", search.Settings{Rules: []search.Rule{{ID: "h", Queries: []string{"lamp"}, Hide: []string{"g01"}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ingest(t.Context(), "goods", goods()); err != nil {
		t.Fatal(err)
	}
	if x, err := e.Explain(t.Context(), "goods", "g01", search.Query{Q: "lamp"}); err != nil || x.Rank != 0 || x.Reason != search.ReasonRule {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestWrongRules(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	good := search.Rule{ID: "r", Queries: []string{"a"}, Hide: []string{"x"}}
	for field, change := range map[string]func(*search.Rule){
		"rules[0].id":              func(r *search.Rule) { r.ID = "" },
		"rules[0].queries":         func(r *search.Rule) { r.Queries = nil },
		"rules[0].queries[0]":      func(r *search.Rule) { r.Queries = []string{"?!"} },
		"rules[0].match":           func(r *search.Rule) { r.Match = "some" },
		"rules[0].pin[0]":          func(r *search.Rule) { r.Pin = []string{""} },
		"rules[0].hide":            func(r *search.Rule) { r.Hide = make([]string, 201) },
		"rules[0].boost[0].filter": func(r *search.Rule) { r.Boost = []search.RuleBoost{{Filter: "a =", Weight: 1}} },
		"rules[0].boost[0].weight": func(r *search.Rule) { r.Boost = []search.RuleBoost{{Filter: "a = 1"}} },
		"rules[0].redirect":        func(r *search.Rule) { r.Redirect = "javascript:alert(1)" },
		"rules[0]":                 func(r *search.Rule) { r.Hide = nil },
	} {
		r := good
		change(&r)
		_, err := e.CreateCollection(t.Context(), "goods", search.Settings{Rules: []search.Rule{r}})
		if fe := (*search.FieldError)(nil); !errors.As(err, &fe) || fe.Field != field {
			t.Errorf("%+v: %v, want an error about %s", r, err, field)
		}
	}
	for _, bad := range []string{"//evil.example", "/\\evil.example", "data:text/html,x", "http://", "relative"} {
		r := good
		r.Redirect = bad
		if _, err := e.CreateCollection(t.Context(), "goods", search.Settings{Rules: []search.Rule{r}}); err == nil {
			t.Errorf("redirect to %q", bad)
		}
	}
	if _, err := e.CreateCollection(t.Context(), "goods", search.Settings{Rules: []search.Rule{good, good}}); err == nil {
		t.Error("two rules with one id")
	}
}
