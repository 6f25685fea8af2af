package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
)

// TestStatisticsOfParts: two backends with a part of the documents each score them as one backend
// with all of them does, once each has the statistics of both.
func TestStatisticsOfParts(t *testing.T) {
	texts := []string{"ice cream", "an icecream", "a data base", "ice and cream, and a long text about what stands in no other one", "base data", "cream"}
	parts := []*Backend{openDocs(t, Options{}), openDocs(t, Options{})}
	whole := openDocs(t, Options{})
	write := func(b *Backend, text string) {
		t.Helper()
		w := backend.Write{ID: text, Fields: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)), Passages: []backend.Passage{{Field: "text", End: len(text)}}, Vectors: [][]float32{{1, 0}}}
		if _, err := on(b).Apply(t.Context(), "docs", []backend.Write{w}); err != nil {
			t.Fatal(err)
		}
	}
	for i, text := range texts {
		write(whole, text)
		write(parts[i%2], text)
	}
	for _, text := range []string{"ice cream", "icecream", "database", "the cream of texts", "nowhere"} {
		q := backend.Words{Text: text}
		want, ceiling := wordScores(t, whole, q)
		rounds := 0
		for ; rounds < 3 && (q.Statistics == nil || !q.Statistics.Complete); rounds++ {
			sum := &keyword.Statistics{}
			for _, b := range parts {
				one, err := b.Open(t.Context(), backend.OpenRequest{Collection: "docs", Words: &q})
				must(t, err)
				sum.Add(keyword.Statistics(*one.Statistics))
			}
			q.Statistics = (*backend.Statistics)(sum)
		}
		got := map[string]float64{}
		for i, b := range parts {
			scores, partCeiling := wordScores(t, b, q)
			if maps.Copy(got, scores); partCeiling != ceiling {
				t.Errorf("%q: part %d has the ceiling %v, want %v", text, i, partCeiling, ceiling)
			}
		}
		if !maps.Equal(got, want) || rounds > 2 {
			t.Errorf("%q: after %d rounds scores %v, want %v", text, rounds, got, want)
		}
	}
	q := backend.Words{Text: "cream", Statistics: &backend.Statistics{}}
	if _, err := on(whole).Words(t.Context(), "docs", q, 10, nil); !errors.Is(err, backend.ErrStatistics) {
		t.Errorf("with statistics of nothing: %v, want %v", err, backend.ErrStatistics)
	}
}

// wordScores returns the scores of documents by id, which Fetch must return too, and the ceiling.
func wordScores(t *testing.T, b *Backend, q backend.Words) (scores map[string]float64, ceiling float64) {
	t.Helper()
	found, err := on(b).Words(t.Context(), "docs", q, 100, nil)
	must(t, err)
	scores = map[string]float64{}
	for _, m := range found.Matches {
		one, err := b.Fetch(t.Context(), backend.FetchRequest{Collection: "docs", Refs: []backend.Ref{m.Ref}, Documents: true, Words: &q, Scores: true, Terms: backend.AllTerms})
		if err != nil || one.Scores[0] != m.Score || len(one.Terms[0]) == 0 {
			t.Fatalf("%q: Fetch = %+v of %v, %v", q.Text, one, m, err)
		}
		scores[one.Documents[0].ID] = m.Score
	}
	return scores, found.Ceiling
}

// TestNearStands: whether a word is not to be read as another, or there is none like it.
func TestNearStands(t *testing.T) {
	b, c := openThree(t)
	config := *c.config.Load()
	config.Synonyms = []string{"telly, television"}
	must(t, on(b).Update(t.Context(), "docs", config))
	for _, tc := range []struct {
		word   string
		stands bool
		terms  int
	}{{"words", true, 0}, {"telly", true, 0}, {"two words", true, 0}, {"the", true, 0}, {"wordz", false, 1}, {"zzzzz", false, 0}} {
		near, err := b.Suggest(t.Context(), backend.SuggestRequest{Collection: "docs", Word: tc.word, Edits: 1})
		if err != nil || near.Correct != tc.stands || len(near.Terms) != tc.terms {
			t.Errorf("Near(%q) = %+v, %v, want it to stand: %v, %d terms", tc.word, near, err, tc.stands, tc.terms)
		}
		begin, err := b.Suggest(t.Context(), backend.SuggestRequest{Collection: "docs", Word: tc.word, Beginning: true})
		if err != nil || begin.Correct != tc.stands {
			t.Errorf("Beginning(%q) = %+v, %v, want it to stand: %v", tc.word, begin, err, tc.stands)
		}
	}
}
