package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// chapters is a text whose chapters are passages. The first is nearest to a query for kittens,
// which only the third names, the fourth to one for red wool, which stands together only in the
// last.
const chapters = "# Cats\n\nA cat, a cat, a cat.\n\n" +
	"# Games\n\nA ball, a ball, a ball.\n\n" +
	"# Morning\n\nEarly every day somebody opens doors, lights lamps, boils water, feeds one kitten, sweeps floors, reads letters.\n\n" +
	"# Colours\n\nRed, red, red; then wool, wool, wool.\n\n" +
	"# Evening\n\nLate every night somebody closes doors, blows lamps out, winds some red wool, bolts shutters, counts coins."

// chosen returns the headings of the first hit's passages, joined by spaces.
func chosen(t *testing.T, e *search.Engine, q search.Query) string {
	t.Helper()
	r, err := e.Search(t.Context(), "docs", q)
	if err != nil || len(r.Hits) == 0 {
		t.Fatalf("Search(%+v) = %+v, %v", q, r, err)
	}
	var headings []string
	for _, p := range r.Hits[0].Passages {
		heading, _, _ := strings.Cut(strings.TrimPrefix(p.Text, "# "), "\n")
		headings = append(headings, heading)
	}
	return strings.Join(headings, " ")
}

func TestChoice(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("long", fmt.Sprintf(`{"text":%q}`, chapters)))
	for i := range 20 {
		put(t, e, search.Created, doc(fmt.Sprint("other", i), `{"text":"Here a ball lies and nothing else."}`))
	}
	for _, tt := range []struct {
		name string
		q    search.Query
		want string
	}{
		{"word", search.Query{Q: "kitten"}, "Morning"},
		{"without marks", search.Query{Q: "kitten", Highlight: ptr(false)}, "Morning"},
		{"by ranks", search.Query{Q: "kitten", Fusion: search.RRF}, "Morning"},
		{"several passages", search.Query{Q: "kitten", Passages: ptr(2)}, "Morning Cats"},
		{"rare word", search.Query{Q: "ball kitten"}, "Morning"},
		{"other words", search.Query{Q: "feline"}, "Cats"},
		{"meaning alone counts", search.Query{Q: "kitten", Alpha: ptr(1.0)}, "Cats"},
		{"words", search.Query{Q: "red wool", Passages: ptr(2)}, "Colours Evening"},
		{"phrase", search.Query{Q: `"red wool"`, Passages: ptr(2)}, "Evening Colours"},
		{"phrase whatever the weights", search.Query{Q: `"red wool"`, Alpha: ptr(1.0)}, "Evening"},
		{"semantic", search.Query{Q: "kitten", Mode: search.Semantic}, "Cats"},
		{"keyword", search.Query{Q: "kitten", Mode: search.Keyword}, "Morning"},
		{"semantic phrase", search.Query{Q: `"red wool"`, Mode: search.Semantic, Passages: ptr(2)}, "Evening Colours"},
		{"semantic phrase without marks", search.Query{Q: `"red wool"`, Mode: search.Semantic, Highlight: ptr(false)}, "Evening"},
		{"keyword phrase", search.Query{Q: `"red wool"`, Mode: search.Keyword, Passages: ptr(2)}, "Evening Colours"},
		{"phrase of common words", search.Query{Q: `"a" kitten`, Mode: search.Keyword}, "Morning"},
		{"keyword without marks", search.Query{Q: "kitten", Mode: search.Keyword, Highlight: ptr(false)}, "Morning"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := chosen(t, e, tt.q); got != tt.want {
				t.Errorf("passages %s, want %s", got, tt.want)
			}
		})
	}
}

// The score of a document is made with its passage nearest to the query, whichever is shown.
func TestChoiceLeavesScores(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("long", fmt.Sprintf(`{"text":%q}`, chapters)))
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "kitten", Passages: ptr(9), Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	h := r.Hits[0]
	largest := slices.MaxFunc(h.Passages, func(a, b search.PassageHit) int { return int(1e9 * (*a.Score - *b.Score)) })
	if x := h.Explain; x.Vector.Cosine != *largest.Score || *h.Passages[0].Score >= *largest.Score || !near(h.Score, explained(x)) {
		t.Errorf("score %v of cosine %v, passages %v first and %v at most", h.Score, x.Vector.Cosine, *h.Passages[0].Score, *largest.Score)
	}
}

// Words at the end of a long text are found, in the end of several hits too.
func TestChoiceOfLongText(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	text := "# Cats\n\nA cat, a cat, a cat.\n\n# Rest\n\n" + strings.Repeat("There is so much more to be said about all those other things here. ", 5000) + "\n\n" + chapters[strings.Index(chapters, "# Morning"):]
	for id := range 3 {
		put(t, e, search.Created, doc(fmt.Sprint(id), fmt.Sprintf(`{"text":%q}`, text)))
	}
	for q, want := range map[string]string{"kitten": "kitten", `"red wool"`: "red wool", "feline": "A cat", "other kitten": "kitten"} {
		r, err := e.Search(t.Context(), "docs", search.Query{Q: q})
		if err != nil || len(r.Hits) != 3 {
			t.Fatalf("Search(%s) = %+v, %v", q, r, err)
		}
		for _, h := range r.Hits {
			if p := h.Passages[0]; !strings.Contains(p.Text, want) || text[p.Start:p.End] != p.Text {
				t.Errorf("%s: passage %q of %s, want one with %q", q, p.Text, h.ID, want)
			}
		}
	}
}
