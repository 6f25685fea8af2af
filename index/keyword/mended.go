package keyword

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/registry"
)

// newMended returns bleve's analyzer of a language with what keeps it from finding words that are there put right:
//
//  1. Texts are read in one spelling, see folded.
//  2. Capitals whose small letters are shorter do not garble their words, see lowerShrinking.
//  3. "cjk" pairs the syllables of Hangul and 々 too, see hangulApart.
//  4. Names of files have their parts as words, see splitNames.
//  5. "fa" says where its terms are in texts with joiners, see joinersToSpaces.
//  6. "tr" makes I small as ı, and leaves out after stemming what tells ı from i: ışık, IŞIK and işik are one term.
func newMended(cache *registry.Cache, language string) (analysis.Analyzer, error) {
	named, err := cache.AnalyzerNamed(language)
	if err != nil {
		return nil, err
	}
	chain, ok := named.(*analysis.DefaultAnalyzer)
	if !ok {
		return nil, fmt.Errorf("bleve gave a %T", named)
	}
	first := []analysis.TokenFilter{splitNames{}, lowerShrinking{}}
	switch language {
	case "cjk":
		first = []analysis.TokenFilter{splitNames{}, hangulApart{}, lowerShrinking{}} // in this order: the first two find places by the bytes of terms
	case "fa":
		chain.CharFilters = []analysis.CharFilter{joinersToSpaces{}}
	}
	chain.TokenFilters = append(first, chain.TokenFilters...)
	if language == "tr" {
		chain.TokenFilters = append(append([]analysis.TokenFilter{replaced{"I", "ı"}}, chain.TokenFilters...), replaced{"ı", "i"})
	}
	return folded{chain}, nil
}

// lowerShrinking is a token filter that makes those capitals small whose small letter has fewer bytes, such as İ and ẞ. bleve's
// lower-case filter writes a term over itself, and after such a letter leaves the rest where it was: İzmir would be
// i\xb0zmi.
type lowerShrinking struct{}

// Filter implements analysis.TokenFilter.
func (lowerShrinking) Filter(input analysis.TokenStream) analysis.TokenStream {
	for _, t := range input {
		if bytes.ContainsFunc(t.Term, func(r rune) bool { return lowerShrunk(r) != r }) {
			t.Term = bytes.Map(lowerShrunk, t.Term)
		}
	}
	return input
}

func lowerShrunk(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	if l := unicode.ToLower(r); utf8.RuneLen(l) < utf8.RuneLen(r) {
		return l
	}
	return r
}

// replaced is a token filter that writes one character of terms as another.
type replaced struct{ from, to string }

// Filter implements analysis.TokenFilter.
func (f replaced) Filter(input analysis.TokenStream) analysis.TokenStream {
	for _, t := range input {
		if bytes.Contains(t.Term, []byte(f.from)) {
			t.Term = bytes.ReplaceAll(t.Term, []byte(f.from), []byte(f.to))
		}
	}
	return input
}

// joinersToSpaces is a filter of characters that puts spaces where zero-width non-joiners are, as many as these have bytes: bleve's puts
// one, after which no term is where it says.
type joinersToSpaces struct{}

// Filter implements analysis.CharFilter.
func (joinersToSpaces) Filter(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("\u200c"), []byte("   "))
}
