package search_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search"
)

// hitIDs returns the ids of the hits of a query by words, sorted.
func hitIDs(t *testing.T, e *search.Engine, q search.Query) string {
	t.Helper()
	q.Mode = search.Keyword
	r, err := e.Search(t.Context(), "docs", q)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	if r.Total.Value != len(ids) {
		t.Errorf("%q: total %d, %d hits", q.Q, r.Total.Value, len(ids))
	}
	return strings.Join(ids, " ")
}

// withSynonyms gives the collection docs these synonyms alone.
func withSynonyms(t *testing.T, e *search.Engine, rules ...string) {
	t.Helper()
	if _, _, err := e.EnsureCollection(t.Context(), "docs", search.Settings{Synonyms: rules}); err != nil {
		t.Fatal(err)
	}
}

func TestSynonyms(t *testing.T) {
	dir := t.TempDir()
	e := openWith(t, dir, search.Options{Embedder: &lettered{}})
	put(t, e, search.Created,
		doc("k8s", `{"text":"k8s in production"}`),
		doc("kube", `{"title":"Kubernetes","text":"It runs containers."}`),
		doc("ny", `{"text":"The New York City marathon is in November; New York City is large.","tags":["one york","city hall"]}`),
		doc("sub", `{"text":"the nyc subway"}`),
		doc("mex", `{"text":"a city in New Mexico, not York"}`),
		doc("list", `{"text":"x","tags":["new","york city"]}`),
		doc("tag", `{"text":"x","tags":["old","New York City"]}`),
		doc("set", `{"text":"televisions"}`))
	if got := hitIDs(t, e, search.Query{Q: "kubernetes"}); got != "kube" {
		t.Errorf("without synonyms: %s", got)
	}
	withSynonyms(t, e, "k8s, kubernetes", "nyc, New York City", "TV, gogglebox => television", "kubernotes, k8s")
	check := func(when string) {
		t.Helper()
		for _, tc := range []struct {
			q    search.Query
			want string
		}{
			{search.Query{Q: "kubernetes"}, "k8s kube"},
			{search.Query{Q: "K8S"}, "k8s kube"},
			{search.Query{Q: `"k8s"`}, "k8s"},
			{search.Query{Q: "k8s -kubernetes"}, "k8s"},
			{search.Query{Q: `k8s -"kubernetes"`}, "k8s"},
			{search.Query{Q: "nyc"}, "ny sub tag"},
			{search.Query{Q: "nyc", Fields: search.Fields{"tags"}}, "tag"},
			{search.Query{Q: "new york city"}, "ny sub tag"},
			{search.Query{Q: "new york city subway", Operator: "and"}, "sub"},
			{search.Query{Q: "nyc marathon", Operator: "and"}, "ny"},
			{search.Query{Q: "city york"}, "list mex ny tag"},
			{search.Query{Q: "tvs"}, "set"},
			{search.Query{Q: "goglebox"}, ""},           // not corrected to what only a rule has
			{search.Query{Q: "kubernotes"}, "k8s"},      // has synonyms: not misspelled
			{search.Query{Q: "kubernetis"}, "k8s kube"}, // read as a word of documents, which has synonyms
			{search.Query{Q: "nyc", Filter: "tags EXISTS"}, "ny tag"},
		} {
			if got := hitIDs(t, e, tc.q); got != tc.want {
				t.Errorf("%s: %q %v finds %q, want %q", when, tc.q.Q, tc.q.Fields, got, tc.want)
			}
		}
	}
	check("first")
	check("again")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openWith(t, dir, search.Options{Embedder: &lettered{}})
	check("opened again")

	put(t, e, search.Updated, doc("ny", `{"text":"New in York, a city"}`), doc("mex", `{"text":"not New York City"}`))
	if got := hitIDs(t, e, search.Query{Q: "nyc"}); got != "mex sub tag" {
		t.Errorf("after changes: %s", got)
	}
	withSynonyms(t, e, "nyc, city")
	if got := hitIDs(t, e, search.Query{Q: "nyc"}); got != "list mex ny sub tag" {
		t.Errorf("with other synonyms: %s", got)
	}
	withSynonyms(t, e, []string{}...)
	if got := hitIDs(t, e, search.Query{Q: "nyc"}); got != "sub" {
		t.Errorf("without again: %s", got)
	}
	noProblems(t, e)
}

// TestSynonymsShown: marks show the synonym that a document has, and explanations name it, with
// what it is a synonym of.
func TestSynonymsShown(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created,
		doc("ny", `{"title":"York","text":"The <New York City> marathon, and York."}`),
		doc("sub", `{"text":"The NYC subway."}`),
		doc("long", fmt.Sprintf(`{"text":"%s nyc in a marathon %[1]s"}`, strings.Repeat("filler words stand here. ", 40))))
	withSynonyms(t, e, "nyc, New York City")
	for _, mode := range []search.Mode{search.Keyword, search.Hybrid, search.Semantic} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: "nyc marathon", Mode: mode, Explain: true})
		if err != nil || len(r.Hits) != 3 || r.Query != nil {
			t.Fatalf("%s: %+v, %v", mode, r, err)
		}
		for _, h := range r.Hits {
			marked, want := strings.Join(h.Highlights["text"], " | "), ""
			switch h.ID {
			case "ny":
				want = "The &lt;<mark>New York City</mark>&gt; <mark>marathon</mark>, and York."
			case "sub":
				want = "The <mark>NYC</mark> subway."
			case "long":
				if p := h.Passages[0].Text; mode == search.Keyword && !strings.Contains(p, "nyc in a marathon") {
					t.Errorf("%s: passage %q", mode, p)
				}
				if !strings.Contains(marked, "<mark>nyc</mark> in a <mark>marathon</mark>") {
					t.Errorf("%s: marks %q", mode, marked)
				}
				continue
			}
			if marked != want || len(h.Highlights["title"]) > 0 {
				t.Errorf("%s, %s: marks %q, want %q", mode, h.ID, marked, want)
			}
			if mode == search.Semantic {
				continue
			}
			var terms []string
			for _, term := range h.Explain.Keyword.Terms {
				terms = append(terms, fmt.Sprintf("%s for %q df %d", term.Term, term.For, term.DF))
			}
			wanted := []string{`new york citi for "nyc" df 3`, `marathon for "" df 2`}
			if h.ID == "sub" {
				wanted = []string{`nyc for "" df 3`}
			}
			if !slices.Equal(terms, wanted) {
				t.Errorf("%s, %s: terms %q, want %q", mode, h.ID, terms, wanted)
			}
		}
	}
}

// TestSynonymsWithNamesAreMarked: names with signs are words of the phrases that a rule gives.
func TestSynonymsWithNamesAreMarked(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("c", `{"text":"A C++ compiler, and a compiler of C"}`), doc("a", `{"text":"the AT&T radio plays"}`))
	withSynonyms(t, e, "cpp, C++ compiler", "hifi, AT&T radio")
	for q, want := range map[string]string{"cpp": "A <mark>C++ compiler</mark>, and a compiler of C", "hifi": "the <mark>AT&amp;T radio</mark> plays"} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Mode: search.Keyword})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) != 1 || !slices.Equal(r.Hits[0].Highlights["text"], []string{want}) {
			t.Errorf("%s: %+v, want %s", q, r.Hits, want)
		}
	}
}

// TestSynonymsBesideWhatTheyGive: a query may have what a rule gives in words of its own, before or
// behind.
func TestSynonymsBesideWhatTheyGive(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("long", `{"text":"`+strings.Repeat("car. ", 32)+strings.Repeat("filler ", 31)+`kubernetes."}`))
	withSynonyms(t, e, "k8s => kubernetes")
	for _, q := range []string{"vehicle kubernetes k8s", "vehicle k8s kubernetes"} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: q, Explain: true, Alpha: ptr(0.2)})
		if err != nil {
			t.Fatal(err)
		}
		if terms := r.Hits[0].Explain.Keyword.Terms; len(terms) != 1 || terms[0].For != "" || !strings.Contains(r.Hits[0].Passages[0].Text, "kubernetes") {
			t.Errorf("%s: terms %+v, passage %q", q, terms, r.Hits[0].Passages[0].Text)
		}
	}
}

// TestSynonymsRefused: each rule that cannot be read is named with its place.
func TestSynonymsRefused(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	many := make([]string, keyword.MaxSynonymRules+1)
	for i := range many {
		many[i] = fmt.Sprintf("w%d, v%d", i, i)
	}
	large := make([]string, 600)
	for i := range large {
		large[i] = fmt.Sprintf("w%d, ", i) + strings.Repeat("x", 1900)
	}
	for _, tc := range []struct {
		rules []string
		want  string
	}{
		{[]string{"a, b", "a, => b"}, `synonyms[1]: got "a, => b", allowed: between commas, and beside =>, 1 to 8 words`},
		{[]string{"alone"}, `synonyms[0]: got "alone", allowed: words and phrases with commas between them, "tv, telly", or with => before what they are read as, "tv, telly => television"`},
		{[]string{""}, `synonyms[0]: got "", allowed: between commas`},
		{[]string{"a => b => c"}, `synonyms[0]: got "a => b => c", allowed: one => at most`},
		{[]string{"a, b c d e f g h i j"}, "1 to 8 words"},
		{[]string{strings.Repeat("a,", 70) + "a"}, "at most 64 words and phrases, not 71"},
		{[]string{"a, " + strings.Repeat("b", 2000)}, "at most 2000 bytes of UTF-8"},
		{[]string{"a, \xff"}, "at most 2000 bytes of UTF-8"},
		{many, "synonyms: got 10001, allowed: at most 10000 rules"},
		{large, `allowed: at most 262144 bytes in all rules together`},
	} {
		_, err := e.CreateCollection(t.Context(), "wrong", search.Settings{Synonyms: tc.rules})
		if !errors.Is(err, search.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60q: %.300v, want %s", tc.rules, err, tc.want)
		}
	}
	_, err := e.CreateCollection(t.Context(), "right", search.Settings{Synonyms: many[1:]})
	if err != nil {
		t.Error(err)
	}
}

// TestSynonymsFit: as many rules as are allowed are kept.
func TestSynonymsFit(t *testing.T) {
	e := openWith(t, t.TempDir(), search.Options{Embedder: &lettered{}})
	rules := make([]string, keyword.MaxSynonymRules)
	long := keyword.MaxSynonymBytes / len(rules)
	for i := range rules {
		rule := fmt.Sprintf("from%05d => to", i)
		rules[i] = rule + strings.Repeat("o", long-len(rule))
	}
	withSynonyms(t, e, rules...)
}

// TestSynonymsTravel: a collection that was built anew has its new synonyms.
func TestSynonymsTravel(t *testing.T) {
	e := openWith(t, t.TempDir(), search.Options{Embedder: &lettered{}})
	withSynonyms(t, e, "nyc, New York City")
	put(t, e, search.Created, doc("ny", `{"text":"New York City"}`))
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Settings: &search.Settings{Language: "de", Synonyms: []string{"gotham, New York City"}}})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, e, task.ID)
	if got := hitIDs(t, e, search.Query{Q: "gotham nyc"}); got != "ny" {
		t.Errorf("built anew: found %q", got)
	}
}
