package keyword

import (
	"bytes"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/registry"
)

// newMended returns bleve's analyzer of a language with what keeps it from finding words that are
// there put right:
//
//  1. Texts are read in one spelling, see folded.
//  2. Capitals whose small letters are shorter do not garble their words, see lowerShrinking.
//  3. "cjk" pairs the syllables of Hangul and 々 too, see hangulApart.
//  4. Names of files have their parts as words, see splitNames.
//  5. "fa" says where its terms are in texts with joiners, see joinersToSpaces.
//  6. Apostrophes, digits and some letters are written alike, see respelled.
//  7. Accents can be left out, see unaccented.
//  8. Thai and other scripts whose words only a dictionary tells apart have terms, see unspaced.
//  9. Names with signs have a term as a whole, see signedNames.
//  10. "tr" keeps names with an apostrophe behind their first letter, see longNames.
//  11. Words with digits and letters have the parts as terms, see runs.
//  12. Stop words are terms of their own kind, see commonWords, and words are kept beside their
//     stems, see stemmer.
//  13. Characters that "cjk" pairs are terms alone, too: 猫 is in 黒い猫.
func newMended(cache *registry.Cache, language string) (folded, error) {
	named, err := cache.AnalyzerNamed(language)
	if err != nil {
		return folded{}, err
	}
	chain, ok := named.(*analysis.DefaultAnalyzer)
	if !ok {
		return folded{}, fmt.Errorf("bleve gave a %T", named)
	}
	parts := runs{thousandsOf(language)}
	first := []analysis.TokenFilter{splitNames{}, parts, lowerShrinking{}}
	switch language {
	case "cjk":
		first = []analysis.TokenFilter{splitNames{}, hangulApart{}, parts, lowerShrinking{}} // in this order: the first three find places by the bytes of terms
		for i, f := range chain.TokenFilters {
			if _, ok := f.(*cjk.CJKBigramFilter); ok {
				chain.TokenFilters[i] = cjk.NewCJKBigramFilter(true)
			}
		}
	case "fa":
		chain.CharFilters = []analysis.CharFilter{joinersToSpaces{}}
	}
	chain.Tokenizer = signedNames{unspaced{chain.Tokenizer}}
	chain.TokenFilters = append(append(first, newRespelled(language), thousandsOf(language)), chain.TokenFilters...)
	if language == "tr" {
		chain.TokenFilters = slices.Insert(chain.TokenFilters, len(first)+1, analysis.TokenFilter(longNames{}))
	}
	chain.TokenFilters = unaccented(language, chain.TokenFilters)
	return newFolded(chain, language), nil
}

// longNames is a token filter that leaves out an apostrophe behind one letter. bleve's for "tr"
// leaves out apostrophes with what follows, for Türkiye'nin, and O'Brien would be o.
type longNames struct{}

// Filter implements analysis.TokenFilter.
func (longNames) Filter(input analysis.TokenStream) analysis.TokenStream {
	for _, t := range input {
		if before, after, ok := bytes.Cut(t.Term, []byte("'")); ok && utf8.RuneCount(before) == 1 {
			t.Term = slices.Concat(before, after)
		}
	}
	return input
}

// lowerShrinking is a token filter that makes those capitals small whose small letter has fewer
// bytes, such as İ and ẞ. bleve's lower-case filter writes a term over itself, and after such a
// letter leaves the rest where it was: İzmir would be i\xb0zmi.
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

// joinersToSpaces is a filter of characters that puts spaces where zero-width non-joiners are, as
// many as these have bytes: bleve's puts one, after which no term is where it says.
type joinersToSpaces struct{}

// Filter implements analysis.CharFilter.
func (joinersToSpaces) Filter(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("\u200c"), []byte("   "))
}
