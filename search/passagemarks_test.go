package search

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"searchd/search/passage"
)

// TestPassageOfField: what is marked of a passage is what the analysis of the passage alone would
// mark, wherever it is cut.
func TestPassageOfField(t *testing.T) {
	words := []string{"cash wifi reserves", "wifi", "wi-fi", "WiFi", "the", "U.K.", "cash", "Cash,", "reserves", "os.path.join", "現金準備", "C++", "(cash", "a\u00a0b", "é", "1,000", "cash-reserves/1000", "\u200bcash"}
	gaps := []string{" ", "\n\n", "\t", " ", "", "\u00a0", "\u3000"}
	for _, language := range []string{"en", "cjk", "de", "standard"} {
		e, err := Open(t.TempDir(), Options{Embedder: &slowEmbedder{}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if _, err := e.CreateCollection(t.Context(), "docs", Settings{Language: language, Synonyms: []string{"money, cash wifi reserves"}}); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{"cash 現金 reserve wifi C++ 1000 uk é", "money wifi"} {
			s, err := e.newSearch(t.Context(), "docs", Query{Q: q, Mode: Keyword})
			if err != nil {
				t.Fatal(err)
			}
			m, err := s.marker(t.Context())
			if err != nil {
				t.Fatal(err)
			}
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
				m.next()
				for range 250 {
					start := passage.RuneEnd(text, r.IntN(len(text)+1))
					if len(text) > analysedBytes {
						start = max(start, analysedBytes-200)
					}
					end := passage.RuneEnd(text, start+r.IntN(len(text)-start+1))
					got := m.passage(text, start, end)
					delete(m.known, text[start:end])
					want := m.found(text[start:end])
					for i := range got {
						got[i].Position = 0
					}
					alone := append(want[:0:0], want...)
					for i := range alone {
						alone[i].Position = 0
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
