package keyword

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/text/unicode/norm"
)

// folded is an analyzer that reads texts in one spelling, so that a word gives the same terms
// however it was typed, and says where the terms are in the text as it was given.
//
// The rules:
//  1. Characters are composed (NFC): e and U+0301 are é, the letters of a Hangul syllable are the
//     syllable.
//  2. Letters, digits and signs that stand for some have their usual form (NFKC): ﬁ is fi, １ is 1,
//     ｶﾞ is ガ, ㌔ is キロ, ㎏ is kg, ℃ is °C, № is No.
//  3. Numbers of one character are words: ① is 1, ½ is 1/2, and 2½ is 2 1/2.
//  4. Other characters keep their form: Windows™ is not WindowsTM. So do letters of Hangul that
//     stand alone, because NFKC makes some of them parts of the syllable before: 감사ㄳ would be 감삯.
//  5. Bytes that are not UTF-8 are spaces: bleve's filters for "cjk" take them for three bytes
//     each.
//  6. Digits below the line behind a letter are plain: CO₂ is CO2. Those above it are not, as they
//     may stand for a footnote, see signedNames.
//  7. Characters that nobody sees are left out: soft hyphens, marks of direction, joiners, which
//     "fa" and "ckb" see to themselves, variation selectors, and what gives an emoji a colour or a
//     digit a frame.
//  8. The apostrophes around an n are spaces: rock'n'roll is rock n roll. Accents, backticks and
//     primes between letters are apostrophes.
//
// A token filter would come too late: the tokenizer does not know full-width digits and leaves them
// out.
type folded struct {
	chain   analysis.Analyzer
	joiners bool // are kept
}

// newFolded returns the analyzer of a language.
func newFolded(chain *analysis.DefaultAnalyzer, language string) folded {
	chain.TokenFilters = withCommon(language, chain.TokenFilters)
	return folded{chain, language == "fa" || language == "ckb"}
}

// tokens returns the terms of text in order, and how many positions it takes.
func (f folded) tokens(text string) (out []token, width int) {
	seen, left := leaveInvisible(spaceInvalid([]byte(" "+text)), f.joiners) // a mark at the beginning of text belongs to the space
	plain, changes := fold(seen)
	plain = plainApostrophes(plain)
	stream := f.chain.Analyze(plain)
	slices.SortStableFunc(stream, func(a, b *analysis.Token) int { return a.Start - b.Start })
	var starts []int // of the smallest words
	for _, t := range stream {
		if n := len(starts); t.Type != wholeName && (n == 0 || t.Start > starts[n-1]) {
			starts = append(starts, t.Start)
		}
	}
	at := func(p int) int { i, _ := slices.BinarySearch(starts, p); return i }
	out = make([]token, 0, len(stream))
	for i, t := range stream {
		stem, word, _ := bytes.Cut(t.Term, []byte{wordMark})
		stem, word = cutTerm(stem), cutTerm(word)
		if len(stem) == 0 || noName(stream, i) {
			continue
		}
		k := token{term: string(stem), word: string(word), start: t.Start, end: t.End, position: at(t.Start), kind: plainKind(stream, i), pair: t.Type == analysis.Double}
		if k.next = at(t.End); t.Type == analysis.Single || t.Type == analysis.Double {
			k.next = k.position + 1
		}
		k.next = max(k.next, k.position+1)
		if len(changes)+len(left) > 0 {
			k.start, k.end = left.start(changes.start(k.start)), left.end(changes.end(k.end))
		}
		k.start, k.end = max(k.start, 1)-1, k.end-1 // a mark that changed places with those before it begins with the space
		out = append(out, k)
	}
	return out, len(starts)
}

// plainKind returns the kind of a token.
func plainKind(tokens analysis.TokenStream, i int) kind {
	switch tokens[i].Type {
	case wholeName:
		return nameTerm
	case commonWord:
		return commonTerm
	case innerPart:
		return innerTerm
	}
	if isCovered(tokens, i) {
		return coveredTerm
	}
	return plainTerm
}

func cutTerm(term []byte) []byte {
	if len(term) > maxTerm {
		term = term[:cutRune(term, maxTerm)]
	}
	return term
}

// aroundN makes spaces of the apostrophes around an n, as many as they have bytes.
var aroundN = strings.NewReplacer("'n'", " n ", "’n’", "   n   ")

// likeApostrophes have the characters that are typed for apostrophes and that separate words, with
// an apostrophe of as many bytes.
var likeApostrophes = map[rune]string{'`': "'", '´': "ʼ", '′': "’", '‛': "’"}

// plainApostrophes applies rule 8 of folded. It keeps the length.
func plainApostrophes(text []byte) []byte {
	if bytes.ContainsAny(text, "`´′‛") {
		text = bytes.Clone(text)
		for i, size := 1, 0; i < len(text); i += size {
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			if as, ok := likeApostrophes[r]; ok && endsInLetter(text[:i]) && unicode.IsLetter(firstRune(text[i+size:])) {
				copy(text[i:], as)
			}
		}
	}
	if bytes.Contains(text, []byte("'n'")) || bytes.Contains(text, []byte("’n’")) {
		text = []byte(aroundN.Replace(string(text)))
	}
	return text
}

// isApostrophe says whether r is one that words have inside.
func isApostrophe(r rune) bool { return r == '\'' || r == '\u2018' || r == '\u2019' }

// invisible are the characters of rule 7.
var invisible = &unicode.RangeTable{
	R16:         []unicode.Range16{{0x00ad, 0x00ad, 1}, {0x061c, 0x061c, 1}, {0x200c, 0x200f, 1}, {0x202a, 0x202e, 1}, {0x2060, 0x206f, 1}, {0x20e3, 0x20e3, 1}, {0xfe00, 0xfe0f, 1}, {0xfeff, 0xfeff, 1}},
	R32:         []unicode.Range32{{0x1f3fb, 0x1f3ff, 1}, {0xe0020, 0xe007f, 1}, {0xe0100, 0xe01ef, 1}},
	LatinOffset: 1,
}

// fractionSlash is between the halves of a fraction.
const fractionSlash = '⁄'

// leaveInvisible returns text without the characters of rule 7, and with plain slashes in
// fractions, and where they were.
func leaveInvisible(text []byte, joiners bool) (seen []byte, left changes) {
	copied := 0 // of text
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if unicode.Is(invisible, r) && !(joiners && (r == '\u200c' || r == '\u200d')) {
			seen = append(seen, text[copied:i]...)
			copied = i + size
			left = append(left, change{len(seen), len(seen), i, copied})
		} else if r == fractionSlash {
			seen = append(append(seen, text[copied:i]...), '/')
			copied = i + size
			left = append(left, change{len(seen) - 1, len(seen), i, copied})
		}
		i += size
	}
	if left == nil {
		return text, nil
	}
	return append(seen, text[copied:]...), left
}

// spaceInvalid returns text with a space for each byte that is not part of a character.
func spaceInvalid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	text = bytes.Clone(text)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			text[i] = ' '
		}
		i += size
	}
	return text
}

// fold returns text in the spelling of folded and what it changed, in order. Most text is as it
// should be, which QuickSpan sees at once; it is returned as it is.
func fold(text []byte) (plain []byte, changed changes) {
	at := norm.NFKC.QuickSpan(text)
	if at == len(text) {
		return text, nil
	}
	plain = append(make([]byte, 0, len(text)+len(text)/8), text[:at]...)
	var usual []byte
	below := false // the last character was a digit below the line, behind a letter
	for at < len(text) {
		segment := text[at : at+norm.NFKC.NextBoundary(text[at:], true)]
		form := norm.NFC
		r, _ := utf8.DecodeRune(segment)
		if below = isBelow(r) && (below || endsInLetter(plain)); below || hasUsualForm(r) {
			form = norm.NFKC
		}
		if usual = form.Append(usual[:0], segment...); unicode.Is(unicode.No, r) && form == norm.NFKC && !below {
			usual = numberWord(usual)
		}
		if !bytes.Equal(usual, segment) {
			changed = append(changed, change{len(plain), len(plain) + len(usual), at, at + len(segment)})
		}
		plain = append(plain, usual...)
		at += len(segment)
		same := norm.NFKC.QuickSpan(text[at:])
		below = below && same == 0
		plain = append(plain, text[at:at+same]...)
		at += same
	}
	return plain, changed
}

func isBelow(r rune) bool { return '₀' <= r && r <= '₉' }

func endsInLetter(text []byte) bool {
	r, _ := utf8.DecodeLastRune(text)
	return unicode.IsLetter(r)
}

// hasUsualForm says whether rule 2 of folded is for r. Punctuation of the full-width block is
// folded too: it joins digits as that of ASCII does.
func hasUsualForm(r rune) bool {
	const fullWidth, fullWidthEnd = 0xFF00, 0xFFEF
	switch {
	case fullWidth <= r && r <= fullWidthEnd:
		return true
	case unicode.Is(unicode.Hangul, r):
		return false
	case isAbove(r), isBelow(r), r == '™', r == '℠':
		return false
	default:
		return unicode.In(r, unicode.L, unicode.N, unicode.So, unicode.Han, unicode.Katakana)
	}
}

// numberWord puts spaces around the usual form of a number of one character, so that it does not
// run into digits beside it.
func numberWord(usual []byte) []byte {
	return slices.Concat([]byte(" "), bytes.ReplaceAll(usual, []byte(string(fractionSlash)), []byte("/")), []byte(" "))
}

// isAbove says whether r is a digit above the line.
func isAbove(r rune) bool {
	switch r {
	case '¹', '²', '³', '⁰':
		return true
	}
	return '⁴' <= r && r <= '⁹'
}

// change says that the bytes [start, end) of a folded text stand for the bytes [textStart, textEnd)
// of the text.
type change struct{ start, end, textStart, textEnd int }

type changes []change

// start returns where in the text begins what begins at p of the folded text.
func (c changes) start(p int) int {
	i := sort.Search(len(c), func(i int) bool { return c[i].start > p })
	switch {
	case i == 0:
		return p
	case p < c[i-1].end:
		return c[i-1].textStart
	default:
		return p - c[i-1].end + c[i-1].textEnd
	}
}

// end returns where in the text ends what ends at p of the folded text.
func (c changes) end(p int) int {
	i := sort.Search(len(c), func(i int) bool { return c[i].start >= p })
	switch {
	case i == 0:
		return p
	case p <= c[i-1].end:
		return c[i-1].textEnd
	default:
		return p - c[i-1].end + c[i-1].textEnd
	}
}
