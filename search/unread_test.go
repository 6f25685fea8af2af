package search_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search"
	"example.com/searchd/search/inference"
)

// unlettered knows no word with a letter outside of ASCII, and gives all of them the same vector.
type unlettered struct{ *fakeEmbedder }

func (unlettered) Reads(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return 'a' <= r && r <= 'z' })
}

// TestUnreadQuery: a query of which the checkpoint knows nothing is searched for by words in every
// mode, and the answer says so.
func TestUnreadQuery(t *testing.T) {
	e := openWith(t, t.TempDir(), search.Options{Embedder: unlettered{&fakeEmbedder{}}})
	put(t, e, search.Created, doc("he", `{"text":"קפה שחור"}`), doc("ja", `{"text":"東京"}`), doc("en", `{"text":"black coffee"}`))
	for _, tc := range []struct {
		q      string
		ids    string // of the hits, by id
		warned bool
	}{
		{"קפה", "he", true},
		{"שלום", "", true},
		{"קפה coffee", "en he ja", false},
		{"coffee", "en he ja", false},
	} {
		for _, mode := range []search.Mode{search.Semantic, search.Hybrid} {
			r, err := e.Search(t.Context(), "docs", search.Query{Q: tc.q, Mode: mode, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, h := range r.Hits {
				ids = append(ids, h.ID)
				if (h.Explain.Vector == nil) != tc.warned {
					t.Errorf("%q, %s: %s has the explanation %+v", tc.q, mode, h.ID, h.Explain.Vector)
				}
			}
			if slices.Sort(ids); strings.Join(ids, " ") != tc.ids {
				t.Errorf("%q, %s: found %v, want %s", tc.q, mode, ids, tc.ids)
			}
			if warned := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "q: ") }); warned != tc.warned || r.Degraded {
				t.Errorf("%q, %s: warnings %q, degraded %v", tc.q, mode, r.Warnings, r.Degraded)
			}
		}
	}
}

// TestReads: a checkpoint knows a text of which one token is not the unknown one.
func TestReads(t *testing.T) {
	c, err := models.Open("../encoder/testdata/bert-mean", encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := inference.NewEmbedder(c).(search.Reader)
	for text, want := range map[string]bool{"water": true, "קפה water": true, "קפה": false, "🍲": false, "": false, "[UNK] [SEP]": false} {
		if r.Reads(text) != want {
			t.Errorf("Reads(%q) = %v", text, !want)
		}
	}
}
