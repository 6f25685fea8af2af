package analysis

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

// foldAccents is a token filter that removes what people often leave out when they type, so that
// naïve and naive are one term:
//
//  1. Accents of Latin and Greek letters: é becomes e, ά α. So do letters that only look like
//     accented ones: ł becomes l, ø o, ß ss.
//  2. Stress marks on Cyrillic letters, points of Hebrew and vowels of Arabic.
//  3. The Greek final ς becomes σ, and ё, which is rare in Russian texts, е.
//  4. Apostrophes and their Hebrew counterparts: O'Brien becomes obrien, צה״ל צהל.
//
// Marks of other scripts are more than accents and stay: those of が, of й and of the vowels of
// Hindi. So do the letters in keep.
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

// foldedLetters are those of foldAccents that do not decompose into a letter and an accent.
var foldedLetters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ħ': "h", 'ı': "i", 'ς': "σ", 'ё': "е",
	'\'': "", '׳': "", '״': "", '"': "", // the last occurs between Hebrew letters only
}

// foldedMarks are the combining marks that foldAccents removes.
var foldedMarks = &unicode.RangeTable{R16: []unicode.Range16{{0x0300, 0x036f, 1}, {0x0591, 0x05bd, 1}, {0x05bf, 0x05c7, 1}, {0x064b, 0x065f, 1}, {0x0670, 0x0670, 1}}}

func (f foldAccents) fold(term []byte) []byte {
	out := make([]byte, 0, len(term))
	for _, r := range string(term) {
		folded, ok := foldedLetters[r]
		switch {
		case strings.ContainsRune(f.keep, r):
			out = utf8.AppendRune(out, r)
		case ok:
			out = append(out, folded...)
		case unicode.In(r, unicode.Latin, unicode.Greek):
			base, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
			out = utf8.AppendRune(out, base)
		case !unicode.Is(foldedMarks, r):
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// keptLetters are accented letters that writers of a language regard and type as separate letters.
var keptLetters = map[string]string{"da": "åæø", "es": "ñ", "fi": "åäö", "no": "åæø", "sv": "åäö"}

// foldedLate are the languages whose stemmers need accents, or the apostrophe of foto's. There the
// stem of a word typed without them can differ.
var foldedLate = []string{"hr", "nl", "tr"}

// accentedEndings maps endings to those whose accents the stemmer of a language needs.
var accentedEndings = map[string][]string{
	"fr": {"ieme", "ième", "iemes", "ième", "ere", "ère", "eres", "ère", "ete", "ète", "etes", "ète"},
	"hu": {"bol", "ból", "rol", "ról", "tol", "tól", "nal", "nál", "nel", "nél", "kent", "ként"},
	"pt": {"oes", "ões", "aes", "ães", "ois", "óis"},
}

// restoreEndings is a token filter that puts the accents back into accentedEndings before the
// stemmer, whether a word was written with them or not.
type restoreEndings []string

// Filter implements analysis.TokenFilter.
func (e restoreEndings) Filter(input analysis.TokenStream) analysis.TokenStream {
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

// elided are words that lose their end before a vowel, beside those that bleve has.
var elided = map[string][]string{
	"it": {"bell", "mezz", "nessun", "quell", "quest", "sant", "senz", "tutt", "buon", "com", "dov", "cos", "anch"},
	"pt": {"d"},
}

// addAccentFilters inserts foldAccents into the filters of a language: after the stop words, so
// that sara is not taken for sarà, and before the stemmer, or after both. Elided words are removed
// before the stop words are.
func addAccentFilters(language string, filters []analysis.TokenFilter) []analysis.TokenFilter {
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
	if e, ok := accentedEndings[language]; ok {
		filters = append(slices.Insert(filters, stops+2, analysis.TokenFilter(restoreEndings(e))), fold)
	}
	return filters
}
