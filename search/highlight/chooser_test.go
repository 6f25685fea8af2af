package highlight

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
	"example.com/searchd/search/passage"
)

// countingAnalyzer counts the bytes that it analyzes.
type countingAnalyzer struct {
	Analyzer
	bytes int
}

func (a *countingAnalyzer) Occurrences(text string, wanted *keyword.Terms) []keyword.Token {
	a.bytes += len(text)
	return a.Analyzer.Occurrences(text, wanted)
}

// TestLongDocumentsCostLittle: the passage with a word at the end of a long document is found, and
// a bounded part of the document is analyzed for it.
func TestLongDocumentsCostLittle(t *testing.T) {
	analysis, err := keyword.NewAnalysis("en")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 8002 {
		fmt.Fprintf(&b, "There is so much more to be said about the other things of place %d, an ornament for one.\n\n", i)
	}
	text := b.String() + "At the end stands one kitten."
	parts, err := mapping.Mapping(nil).SplitStored(fmt.Appendf(nil, `{"text":%q}`, text))
	if err != nil {
		t.Fatal(err)
	}
	var passages []Passage
	cutter := passage.Cutter{Budget: 100, Count: func(text string) int { return len(strings.Fields(text)) }}
	for _, s := range cutter.Cut(text, nil) {
		passages = append(passages, PassageOf(parts, backend.Passage{Field: "text", Start: s.Start, End: s.End}))
	}
	for q, want := range map[string]string{"kitten": "kitten", "ornament": "ornament", "ornament kitten": "kitten"} {
		a := &countingAnalyzer{Analyzer: analysis}
		c := Chooser{Marker: NewMarker(a, q, nil), Terms: func(context.Context, backend.Ref) (terms []backend.TermScore, err error) {
			for _, word := range strings.Fields(q) {
				term := analysis.Occurrences(word, nil)[0].Term
				terms = append(terms, backend.TermScore{Term: term, Field: "text", TF: strings.Count(text, word), IDF: map[string]float64{"kitten": 9, "ornament": 1}[word]})
			}
			return terms, nil
		}}
		a.bytes = 0
		best, err := c.Choose(t.Context(), 1, parts, passages, nil, 1)
		if err != nil || len(best) == 0 || !strings.Contains(passages[best[0]].Text, want) {
			t.Errorf("%s: passage %v of %d, %v", q, best, len(passages), err)
		}
		if most := analysedBytes + choiceBytes + 4096; a.bytes > most {
			t.Errorf("%s: %d bytes of %d were analyzed, want at most %d", q, a.bytes, len(text), most)
		}
	}
}
