package main

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/access"
	"example.com/searchd/api"
	"example.com/searchd/search"
)

// A hit shows the fields without a shown passage in which words were found, and nothing that a
// terminal would take for a command.
func TestPrintHits(t *testing.T) {
	var b strings.Builder
	printHits(&b, &search.Response{Hits: []search.Hit{{
		ID: "notes/garden.md", Score: 0.5,
		Passages: []search.PassageHit{{Field: "text", Text: "x", Marked: "\x1b]0;title\x07a <mark>garden</mark> &lt;mark&gt; &amp;"}, {Field: "more", Text: "un\x1b[2Jmarked"}},
		Highlights: map[string][]string{
			"title": {"My <mark>garden</mark>", "again"}, "ta\rgs": {"<mark>garden</mark> &amp;"}, "text": {"a <mark>garden</mark>"}, "path": {"notes/<mark>garden</mark>.md"},
		},
		Document: []byte(`{"title":"My garden"}`),
	}}, Facets: map[string]search.FacetCounts{"tags": {Values: []search.FacetValue{{Value: "a\x1b[2J\r\nb", Count: 1}, {Value: 1.5e6, Count: 3}}}}}, styles{title: "<t>", mark: "<m>", dim: "<d>", plain: "</>"})
	want := "<t> 1  My garden</>  <d>0.500</>\n    <d>notes/garden.md</>\n" +
		"    ]0;titlea <m>garden</> <mark> &</>\n" +
		"    un[2Jmarked\n" +
		"    ta gs: <m>garden</> &</>\n"
	want += "\ntags:  a[2J b (1)  1500000 (3); 0 without\n"
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("printHits:\n%q\nwant\n%q", got, want)
	}
}

// The match is shown where texts were compared token by token.
func TestPrintExplain(t *testing.T) {
	match, similarity := 0.9, 0.7
	for want, v := range map[string]search.VectorExplain{
		"    vector: cosine 0.300, normed 0.316, rank 2\n":                                {Rank: 2, Cosine: 0.3, Norm: 0.316},
		"    vector: cosine 0.300, match 0.900, similarity 0.700, normed 0.737, rank 1\n": {Rank: 1, Cosine: 0.3, Norm: 0.737, Match: &match, Similarity: &similarity},
	} {
		var b strings.Builder
		if printExplain(&b, &search.Explain{Vector: &v}); b.String() != want {
			t.Errorf("printExplain:\n%q\nwant\n%q", b.String(), want)
		}
	}
}

// An id is on one line, an answer whose sentence lies outside of its passage is no reason to fail,
// and of a long passage the part with the most of the marked words is shown, in a pipe as on a
// terminal.
func TestPrintHitsInPipe(t *testing.T) {
	long := strings.Repeat("before ", 200)
	for _, bold := range []styles{{title: "\x1b[1m", mark: "\x1b[1m", plain: "\x1b[0m"}, {}} {
		var b strings.Builder
		printHits(&b, &search.Response{Hits: []search.Hit{{
			ID: "two\nlines\x1b[2J.md",
			Passages: []search.PassageHit{{
				Field: "text", Start: 10, Text: long + "the garden after", Marked: "a <mark>shed</mark> " + long + "the <mark>garden</mark> <mark>shed</mark> after",
				Sentence: &search.Sentence{Start: 5, End: 2000},
			}},
		}}}, bold)
		for _, want := range []string{" 1  two lines[2J.md", "… before", "the garden shed after\n"} {
			if got := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(b.String()); !strings.Contains(got, want) {
				t.Errorf("%+v: %q, want %q in it", bold, got, want)
			}
		}
	}
}

func TestWrap(t *testing.T) {
	for want, c := range map[string]struct {
		width int
		text  string
	}{
		"    one two three\n":                   {0, "one two\nthree"},
		"    one two\n    three\n":              {13, "one two three"},
		"    <m>one</m> two\n    three\n":       {13, "\x1b[1mone\x1b[0m two three"},
		"    a_word_longer_than_all\n    two\n": {10, "a_word_longer_than_all two"},
		"    \n":                                {80, ""},
	} {
		var b strings.Builder
		styles{width: c.width}.text(&b, c.text)
		if got := strings.NewReplacer("\x1b[1m", "<m>", "\x1b[0m", "</m>").Replace(b.String()); got != want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.width, got, want)
		}
	}
}

func TestLocation(t *testing.T) {
	for want, p := range map[string]search.PassageHit{
		"":                      {Trail: []string{"Manual"}},
		"Setup › Pumps, page 3": {Trail: []string{"Manual", "Set\x1bup", "Pumps"}, Page: 3},
		"page 2":                {Page: 2},
		"Pumps":                 {Trail: []string{"Pumps"}},
	} {
		if got := location(p, "Manual"); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
	var b strings.Builder
	h := search.Hit{ID: "m.pdf", Document: []byte(`{"title":"Manual"}`), Passages: []search.PassageHit{{Text: "Prime it.", Trail: []string{"Manual", "Pumps"}, Page: 7}}}
	if printHit(&b, 1, h, "0.500", styles{}); b.String() != " 1  Manual  0.500\n    m.pdf\n    Pumps, page 7\n    Prime it.\n" {
		t.Errorf("printHit: %q", b.String())
	}
	const headed = "    Pumps, page 7\n    part | price\n    Prime it.\n"
	h.Passages[0].Header = "part |\nprice"
	b.Reset()
	if printHit(&b, 1, h, "", styles{}); !strings.HasSuffix(b.String(), headed) {
		t.Errorf("printHit: %q, want %q", b.String(), headed)
	}
	b.Reset()
	printHits(&b, &search.Response{Hits: []search.Hit{h}, Total: search.Total{Value: 1, Relation: "eq", Of: "all"}}, styles{})
	if !strings.HasPrefix(b.String(), " 1  Manual\n") {
		t.Errorf("documents without a query have no score: %q", b.String())
	}
}

func TestCountHits(t *testing.T) {
	for want, r := range map[string]search.Response{
		"no results": {Total: search.Total{Of: "all"}},
		"no results; try other words, or fewer filters": {Total: search.Total{Of: "union"}},
		"1 result":                     {Hits: make([]search.Hit, 1), Total: search.Total{Value: 1, Relation: "eq", Of: "keyword"}},
		"42 results":                   {Hits: make([]search.Hit, 42), Total: search.Total{Value: 42, Relation: "eq", Of: "union"}},
		"10 of 1,234,567 results":      {Hits: make([]search.Hit, 10), Total: search.Total{Value: 1234567, Relation: "eq", Of: "all"}},
		"10 of at least 1,200 results": {Hits: make([]search.Hit, 10), Total: search.Total{Value: 1234, Relation: "gte", Of: "union"}},
		"10 of at least 990 results":   {Hits: make([]search.Hit, 10), Total: search.Total{Value: 999, Relation: "gte", Of: "keyword"}},
		"10 of the closest 200":        {Hits: make([]search.Hit, 10), Total: search.Total{Value: 200, Relation: "gte", Of: "vector"}},
		"closest 10":                   {Hits: make([]search.Hit, 10), Total: search.Total{Value: 10, Relation: "gte", Of: "vector"}},
		"10 of 12 results":             {Hits: make([]search.Hit, 10), Total: search.Total{Value: 12, Relation: "eq", Of: "vector"}},
	} {
		if got := countHits(&r); got != want {
			t.Errorf("%+v: %q, want %q", r.Total, got, want)
		}
	}
}

// TestQueryWithoutCollection lists the collections of a server, with a key for all and with a key
// for some, and of a folder.
func TestQueryWithoutCollection(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ring, _ := rootKey(t)
	server := serverOf(t, api.Options{Engine: e, Inference: e.Inference(), Keys: ring})
	key := func(collection string) string {
		_, token, err := ring.Create(t.Context(), access.Spec{Name: collection, Scopes: access.Search, Collections: []string{collection}})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	all, one := key("*"), key("notes")
	add := func(name string) {
		if _, err := e.CreateCollection(t.Context(), name, search.Settings{}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Ingest(t.Context(), name, []search.Document{{ID: "in-" + name, Fields: []byte(`{"text":"a kitten","stars":100}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	asks := func(want string, args ...string) {
		t.Helper()
		got, err := runCommand(t, append([]string{"query", "kitten"}, args...)...)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	asks("holds no collection yet", "--server", server, "--key", all)
	add("notes")
	asks("in-notes", "--server", server, "--key", all)
	add("other")
	asks("--collection: the server has 2, name one: notes, other", "--server", server, "--key", all)
	asks(`--collection: the server has no "note", but notes, other`, "--server", server, "--key", all, "--collection", "note")
	asks("in-notes", "--server", server, "--key", one)
	asks("invalid_api_key", "--server", server, "--key", "sk-wrong")
	if _, err := e.SetAlias(t.Context(), "docs", "other"); err != nil {
		t.Fatal(err)
	}
	asks("in-other", "--server", server, "--key", all)
	boost := []string{"--explain", "--server", server, "--key", one, "--boost", `{"filter": "text EXISTS", "weight": 0.5}`, "--boost"}
	asks("factor 1.750, rank 1  text EXISTS 1.00 of 0.5  stars 0.50 of 0.5\n", append(boost, `{"field": "stars", "scale": 100, "weight": 0.5}`)...)
	asks(`boosts[1].scale: got "1d"`, append(boost, `{"field": "stars", "scale": "1d", "weight": 0.5}`)...)
	asks(`--boost: got "stars:100"`, append(boost, "stars:100")...)
	asks(`--boost: got "{\"felid\": 1}"`, append(boost, `{"felid": 1}`)...)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	asks("in-other", "--data", dir)
}
