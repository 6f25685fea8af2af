package keyword

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/token/elision"
	"github.com/blevesearch/bleve/v2/analysis/token/stop"
	"golang.org/x/text/unicode/norm"
)

// foldAccents is a token filter that leaves out what people leave out when they type, so that naïve
// and naive are one term:
//
//  1. Accents of Latin and Greek letters: é is e, ά is α. Letters that Unicode takes for others
//     than those they look like have them too: ł is l, ø is o, ß is ss.
//  2. Marks of stress on Cyrillic letters, points of Hebrew and vowels of Arabic.
//  3. What Greek writes otherwise at the end of a word, ς, and what Russian seldom writes, ё.
//  4. Apostrophes, and the marks that Hebrew has for them: O'Brien is obrien, צה״ל is צהל.
//
// Marks of other scripts are more than accents and stay: those of が, of й and of the vowels of
// Hindi. So does what is in keep.
type foldAccents struct{ keep string }

// Filter implements analysis.TokenFilter.
func (f foldAccents) Filter(input analysis.TokenStream) analysis.TokenStream {
	for _, t := range input {
		if bytes.ContainsFunc(t.Term, func(r rune) bool { return r >= utf8.RuneSelf || r == '\'' }) {
			t.Term = f.fold(t.Term)
		}
	}
	return input
}

// alike has the letters and marks of foldAccents that have no decomposition into a letter and its
// accent.
var alike = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ħ': "h", 'ı': "i", 'ς': "σ", 'ё': "е",
	'\'': "", '׳': "", '״': "", '"': "", // between letters of Hebrew alone
}

// leftOut are the marks of foldAccents that stand alone. The first are those that have been
// composed with no letter.
var leftOut = &unicode.RangeTable{R16: []unicode.Range16{{0x0300, 0x036f, 1}, {0x0591, 0x05bd, 1}, {0x05bf, 0x05c7, 1}, {0x064b, 0x065f, 1}, {0x0670, 0x0670, 1}}}

func (f foldAccents) fold(term []byte) []byte {
	out := make([]byte, 0, len(term))
	for _, r := range string(term) {
		like, ok := alike[r]
		switch {
		case strings.ContainsRune(f.keep, r):
			out = utf8.AppendRune(out, r)
		case ok:
			out = append(out, like...)
		case unicode.In(r, unicode.Latin, unicode.Greek):
			base, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
			out = utf8.AppendRune(out, base)
		case !unicode.Is(leftOut, r):
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// keptLetters are letters of languages that are no other letter with an accent to those who write
// it, so that they type them.
var keptLetters = map[string]string{"da": "åæø", "es": "ñ", "fi": "åäö", "no": "åæø", "sv": "åäö"}

// foldedLate are the languages whose stemmers need the accents, or the apostrophe of foto's. The
// stem of a word that was typed without them can be another.
var foldedLate = []string{"hr", "nl", "tr"}

// endings are those whose accents the stemmer of a language needs, without and with them. They are
// put back before it comes, whether a word was written with them or not, so that both ways give one
// stem.
var endings = map[string][]string{
	"fr": {"ieme", "ième", "iemes", "ième", "ere", "ère", "eres", "ère", "ete", "ète", "etes", "ète"},
	"hu": {"bol", "ból", "rol", "ról", "tol", "tól", "nal", "nál", "nel", "nél", "kent", "ként"},
	"pt": {"oes", "ões", "aes", "ães", "ois", "óis"},
}

// accentedEndings is a token filter that puts accents back into the endings of words, see endings.
type accentedEndings []string

// Filter implements analysis.TokenFilter.
func (e accentedEndings) Filter(input analysis.TokenStream) analysis.TokenStream {
	for _, t := range input {
		for i := 0; i < len(e); i += 2 {
			if stem, ok := bytes.CutSuffix(t.Term, []byte(e[i])); ok {
				t.Term = slices.Concat(stem, []byte(e[i+1]))
				break
			}
		}
	}
	return input
}

// elided are words that lose their end before another, beside those that bleve knows.
var elided = map[string][]string{
	"it": {"bell", "mezz", "nessun", "quell", "quest", "sant", "senz", "tutt", "buon", "com", "dov", "cos", "anch"},
	"pt": {"d"},
}

// unaccented returns the filters of a language with foldAccents put in: behind the stop words, so
// that a word without accents is not taken for one of them, or sara for sarà, and before the
// stemmer, or behind both. Elided words are taken away before the stop words are.
func unaccented(language string, filters []analysis.TokenFilter) []analysis.TokenFilter {
	fold := foldAccents{keptLetters[language]}
	stops := slices.IndexFunc(filters, func(f analysis.TokenFilter) bool { _, ok := f.(*stop.StopTokensFilter); return ok })
	if words, ok := elided[language]; ok {
		articles := analysis.NewTokenMap()
		for _, w := range words {
			articles.AddToken(w)
		}
		filters = slices.Insert(filters, stops, analysis.TokenFilter(elision.NewElisionFilter(articles)))
		stops++
	}
	if stops < 0 || slices.Contains(foldedLate, language) {
		return append(filters, fold)
	}
	filters = slices.Insert(filters, stops+1, analysis.TokenFilter(fold))
	if e, ok := endings[language]; ok {
		filters = append(slices.Insert(filters, stops+2, analysis.TokenFilter(accentedEndings(e))), fold)
	}
	return filters
}
