package analysis

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// unifyLetters is a token filter that writes interchangeable letters alike, and the digits of every
// script as those of ASCII.
type unifyLetters struct {
	letters *strings.Replacer
	ascii   bool // letters changes ASCII, too
}

// printedApostrophes maps typographic apostrophes, and letters that look like them, to the typed
// one.
var printedApostrophes = []string{"’", "'", "‘", "'", "ʼ", "'", "ʹ", "'", "ʻ", "'", "ʽ", "'", "ʾ", "'", "ʿ", "'", "ˈ", "'", "ꞌ", "'"}

// lettersOf maps letters of a language that keyboards lack, or that people leave out.
var lettersOf = map[string][]string{
	"ar": {"ک", "ك", "ی", "ي"}, // from keyboards for Persian and Urdu
	"da": nordic,
	"fr": {"œ", "oe", "Œ", "oe", "æ", "ae", "Æ", "ae"},
	"no": nordic,
	"ro": {"ș", "ş", "Ș", "ş", "ț", "ţ", "Ț", "ţ"}, // comma below, which is correct, and cedilla, which bleve's stemmer has
	"ru": {"ё", "е", "Ё", "е"},                     // as in bleve's stemmer and stop words
	"tr": {"I", "ı"},
}

// nordic maps how å, æ and ø are written where they are missing, in old names and in Swedish.
var nordic = []string{
	"aa", "å", "Aa", "å", "AA", "å",
	"ae", "æ", "Ae", "æ", "AE", "æ", "ä", "æ", "Ä", "æ",
	"oe", "ø", "Oe", "ø", "OE", "ø", "ö", "ø", "Ö", "ø",
}

func newUnifyLetters(language string) unifyLetters {
	return unifyLetters{strings.NewReplacer(append(lettersOf[language], printedApostrophes...)...), slices.Contains([]string{"da", "no", "tr"}, language)}
}

// Filter implements analysis.TokenFilter.
func (f unifyLetters) Filter(input analysis.TokenStream) analysis.TokenStream {
	for _, t := range input {
		if !f.ascii && !bytes.ContainsFunc(t.Term, func(r rune) bool { return r >= utf8.RuneSelf }) {
			continue // most words of many languages
		}
		t.Term = bytes.Map(asciiDigit, []byte(f.letters.Replace(string(t.Term))))
	}
	return input
}

func isForeignDigit(r rune) bool { return r >= utf8.RuneSelf && unicode.Is(unicode.Nd, r) }

// asciiDigit returns the ASCII digit with the value of r, or r if it is not a digit. Unicode has
// the ten digits of a script in order.
func asciiDigit(r rune) rune {
	if !isForeignDigit(r) {
		return r
	}
	zero := r
	for isForeignDigit(zero - 1) {
		zero--
	}
	return '0' + (r-zero)%10
}
