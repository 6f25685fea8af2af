package highlight

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/passage"
)

// TestPassageOfField: what is marked of a passage is what the analysis of the passage alone would
// mark, wherever it is cut.
func TestPassageOfField(t *testing.T) {
	words := []string{"cash wifi reserves", "wifi", "wi-fi", "WiFi", "the", "U.K.", "cash", "Cash,", "reserves", "os.path.join", "現金準備", "C++", "(cash", "a\u00a0b", "é", "1,000", "cash-reserves/1000", "\u200bcash"}
	gaps := []string{" ", "\n\n", "\t", " ", "", "\u00a0", "\u3000"}
	for _, language := range []string{"en", "cjk", "de", "standard"} {
		a, err := keyword.NewAnalysis(language)
		if err != nil {
			t.Fatal(err)
		}
		synonym := backend.Expansion{End: len("money"), Name: "money", Alternatives: []backend.Alternative{{Text: "cash wifi reserves"}}}
		for _, token := range a.Occurrences("cash wifi reserves", nil) {
			synonym.Alternatives[0].Terms = append(synonym.Alternatives[0].Terms, backend.Token(token))
		}
		for q, expansions := range map[string][]backend.Expansion{"cash 現金 reserve wifi C++ 1000 uk é": nil, "money wifi": {synonym}} {
			m := NewMarker(a, q, expansions)
			r, some := rand.New(rand.NewPCG(1, 2)), false
			for i := range 40 {
				var b strings.Builder
				for range r.IntN(12) {
					b.WriteString(words[r.IntN(len(words))] + gaps[r.IntN(len(gaps))])
				}
				text := b.String()
				if i == 0 {
					text = strings.Repeat("x ", analysedBytes/2-20) + text
				}
				m.Next()
				for range 250 {
					start := passage.RuneEnd(text, r.IntN(len(text)+1))
					if len(text) > analysedBytes {
						start = max(start, analysedBytes-200)
					}
					end := passage.RuneEnd(text, start+r.IntN(len(text)-start+1))
					got := m.passage(text, start, end)
					delete(m.cached, text[start:end])
					want := m.found(text[start:end])
					for i := range got {
						got[i].Position, got[i].Next = 0, 0
					}
					alone := append(want[:0:0], want...)
					for i := range alone {
						alone[i].Position, alone[i].Next = 0, 0
					}
					if len(got)+len(alone) > 0 && !reflect.DeepEqual(got, alone) {
						t.Fatalf("%s, %q: of %q in %q\n%+v, alone\n%+v", language, q, text[start:end], text, got, alone)
					}
					some = some || len(got) > 0
				}
			}
			if !some {
				t.Errorf("%s, %q: nothing was found", language, q)
			}
		}
	}
}

// TestPhraseOverWideTerms: a word that is also its parts takes more positions in a text than in the
// phrase that stands for a word of the query.
func TestPhraseOverWideTerms(t *testing.T) {
	a, err := keyword.NewAnalysis("en")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query, parts, text string
		marked             string
	}{
		{"iphone15", "iphone 15", "the iPhone 15 and iphone 15, not iPhone 14 or 15 iPhones", "iPhone 15|iphone 15"},
		{"powerpoint2019", "powerpoint 2019", "PowerPoint 2019", "PowerPoint 2019"},
		{"icecream", "ice cream", "ice cream, iceCream", "ice cream|iceCream"},
	} {
		alternative := backend.Alternative{Text: c.parts}
		for _, token := range a.Occurrences(c.parts, nil) {
			alternative.Terms = append(alternative.Terms, backend.Token(token))
		}
		m := NewMarker(a, c.query, []backend.Expansion{{End: len(c.query), Name: c.query, Alternatives: []backend.Alternative{{Text: c.query, Terms: []backend.Token{{Term: c.query}}}, alternative}}})
		var marked []string
		for _, token := range joined(m.found(c.text), len(c.text)) {
			marked = append(marked, c.text[token.Start:token.End])
		}
		if got := strings.Join(marked, "|"); got != c.marked {
			t.Errorf("%s marks %q of %q, want %q", c.query, got, c.text, c.marked)
		}
	}
}
