package keyword

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// respelled is a token filter that writes letters which stand for one another alike, and the digits
// of every script as those of ASCII.
//
// It must stand behind filters that find places by the bytes of terms, and before those that know
// words.
type respelled struct {
	letters *strings.Replacer
	ascii   bool // letters has some of ASCII
}

// apostrophes are those that texts are printed with, and letters that look like them, for the one
// that is typed.
var apostrophes = []string{"’", "'", "‘", "'", "ʼ", "'", "ʹ", "'", "ʻ", "'", "ʽ", "'", "ˈ", "'", "ꞌ", "'"}

// ofLanguage has the letters of languages: those that keyboards lack, or that people leave out.
var ofLanguage = map[string][]string{
	"ar": {"ک", "ك", "ی", "ي"}, // as keyboards of Persian and Urdu have them
	"da": nordic,
	"fr": {"œ", "oe", "Œ", "oe", "æ", "ae", "Æ", "ae"},
	"no": nordic,
	"ro": {"ș", "ş", "Ș", "ş", "ț", "ţ", "Ț", "ţ"}, // comma below, as it should be, and cedilla, which bleve's stemmer knows
	"ru": {"ё", "е", "Ё", "е"},                     // as bleve's stemmer and stop words have it
	"tr": {"I", "ı"},
}

// nordic has what Danish and Norwegian write where å, æ and ø are missing, in old names and as
// Swedish does.
var nordic = []string{
	"aa", "å", "Aa", "å", "AA", "å",
	"ae", "æ", "Ae", "æ", "AE", "æ", "ä", "æ", "Ä", "æ",
	"oe", "ø", "Oe", "ø", "OE", "ø", "ö", "ø", "Ö", "ø",
}

func newRespelled(language string) respelled {
	return respelled{strings.NewReplacer(append(ofLanguage[language], apostrophes...)...), slices.Contains([]string{"da", "no", "tr"}, language)}
}

// Filter implements analysis.TokenFilter.
func (f respelled) Filter(input analysis.TokenStream) analysis.TokenStream {
	for _, t := range input {
		if !f.ascii && !bytes.ContainsFunc(t.Term, func(r rune) bool { return r >= utf8.RuneSelf }) {
			continue // most words of many languages
		}
		t.Term = bytes.Map(plainDigit, []byte(f.letters.Replace(string(t.Term))))
	}
	return input
}

func foreignDigit(r rune) bool { return r >= utf8.RuneSelf && unicode.Is(unicode.Nd, r) }

// plainDigit returns the digit of ASCII with the value of r, or r if it is no digit. Unicode has
// the ten digits of a script in order.
func plainDigit(r rune) rune {
	if !foreignDigit(r) {
		return r
	}
	zero := r
	for foreignDigit(zero - 1) {
		zero--
	}
	return '0' + (r-zero)%10
}
