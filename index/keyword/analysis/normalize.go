package analysis

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalize returns text with characters in one form and the changes that it made, in order, so
// that a word gives the same terms however it was typed. Most text is unchanged and returned as it
// is.
//
//  1. Characters are composed (NFC): e and U+0301 become é, the letters of a Hangul syllable become
//     the syllable.
//  2. Letters, digits and signs that stand for some get their usual form (NFKC): ﬁ becomes fi, １ 1,
//     ｶﾞ ガ, ㌔ キロ, ㎏ kg, ℃ °C, № No.
//  3. Numbers of one character become words: ① and ❶ become 1, ½ 1/2, and 2½ 2 1/2.
//  4. Other characters keep their form: Windows™ is not WindowsTM. So do letters of Hangul that
//     stand alone, because NFKC joins some of them to the syllable before: 감사ㄳ would become 감삯.
//  5. Subscript digits after a letter become plain: CO₂ is CO2. Superscript digits do not, as they
//     may be footnotes; see nameTokenizer.
//
// A token filter would come too late, because the tokenizer drops full-width digits.
func normalize(text []byte) (plain []byte, changed changes) {
	at := norm.NFKC.QuickSpan(text)
	if at == len(text) {
		return text, nil
	}
	plain = append(make([]byte, 0, len(text)+len(text)/8), text[:at]...)
	var usual []byte
	subscript := false // the last character was a subscript digit after a letter
	for at < len(text) {
		segment := text[at : at+norm.NFKC.NextBoundary(text[at:], true)]
		form := norm.NFC
		r, _ := utf8.DecodeRune(segment)
		if subscript = isSubscript(r) && (subscript || endsInLetter(plain)); subscript || hasUsualForm(r) {
			form = norm.NFKC
		}
		if usual = form.Append(usual[:0], segment...); unicode.Is(unicode.No, r) && form == norm.NFKC && !subscript {
			// Spaces keep the number apart from digits beside it.
			usual = slices.Concat([]byte(" "), bytes.ReplaceAll(usual, []byte(string(fractionSlash)), []byte("/")), []byte(" "))
		}
		if !bytes.Equal(usual, segment) {
			changed = append(changed, change{len(plain), len(plain) + len(usual), at, at + len(segment)})
		}
		plain = append(plain, usual...)
		at += len(segment)
		same := norm.NFKC.QuickSpan(text[at:])
		subscript = subscript && same == 0
		plain = append(plain, text[at:at+same]...)
		at += same
	}
	return plain, changed
}

const fractionSlash = '⁄'

// hasUsualForm reports whether rule 2 of normalize applies to r. It does to full-width punctuation,
// which joins digits as that of ASCII does.
func hasUsualForm(r rune) bool {
	const fullWidth, fullWidthEnd = 0xFF00, 0xFFEF
	switch {
	case fullWidth <= r && r <= fullWidthEnd:
		return true
	case unicode.Is(unicode.Hangul, r):
		return unicode.Is(unicode.So, r) // in a circle or parentheses
	case isSuperscript(r), isSubscript(r), r == '™', r == '℠':
		return false
	default:
		return unicode.In(r, unicode.L, unicode.N, unicode.So, unicode.Han, unicode.Katakana)
	}
}

func isSubscript(r rune) bool { return '₀' <= r && r <= '₉' }

func isSuperscript(r rune) bool {
	switch r {
	case '¹', '²', '³', '⁰':
		return true
	}
	return '⁴' <= r && r <= '⁹'
}

// invisible are the characters that removeInvisible removes: soft hyphens, marks of direction,
// joiners, variation selectors, and modifiers that give an emoji a colour or a digit a frame.
var invisible = &unicode.RangeTable{
	R16:         []unicode.Range16{{0x00ad, 0x00ad, 1}, {0x061c, 0x061c, 1}, {0x200c, 0x200f, 1}, {0x202a, 0x202e, 1}, {0x2060, 0x206f, 1}, {0x20e3, 0x20e3, 1}, {0xfe00, 0xfe0f, 1}, {0xfeff, 0xfeff, 1}},
	R32:         []unicode.Range32{{0x1f3fb, 0x1f3ff, 1}, {0xe0020, 0xe007f, 1}, {0xe0100, 0xe01ef, 1}},
	LatinOffset: 1,
}

// circled returns the number that a circle around it makes one character, if it is one that Unicode
// does not decompose, and else 0.
func circled(r rune) int {
	for _, first := range []rune{'❶', '➀', '➊', '⓵'} { // to ten
		if first <= r && r < first+10 {
			return int(r-first) + 1
		}
	}
	if '⓫' <= r && r <= '⓴' {
		return int(r-'⓫') + 11
	}
	return 0
}

// removeInvisible returns text without invisible characters, with plain slashes in fractions and
// with numbers for what circled has, and the changes that it made.
func removeInvisible(text []byte, keepJoiners bool) (visible []byte, removed changes) {
	copied := 0 // of text
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if unicode.Is(invisible, r) && !(keepJoiners && (r == '\u200c' || r == '\u200d')) {
			visible = append(visible, text[copied:i]...)
			copied = i + size
			removed = append(removed, change{len(visible), len(visible), i, copied})
		} else if r == fractionSlash {
			visible = append(append(visible, text[copied:i]...), '/')
			copied = i + size
			removed = append(removed, change{len(visible) - 1, len(visible), i, copied})
		} else if n := circled(r); n > 0 {
			visible = append(visible, text[copied:i]...)
			at := len(visible)
			visible = fmt.Appendf(visible, " %d ", n)
			copied = i + size
			removed = append(removed, change{at, len(visible), i, copied})
		}
		i += size
	}
	if removed == nil {
		return text, nil
	}
	return append(visible, text[copied:]...), removed
}

// spaceInvalid returns text with a space for each byte that is not UTF-8: bleve's filters for "cjk"
// take such a byte for three.
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

var (
	// aroundN replaces the apostrophes around an n by spaces: rock'n'roll is rock n roll.
	aroundN = strings.NewReplacer("'n'", " n ", "’n’", "   n   ")
	// likeApostrophes maps characters that are typed for apostrophes, and would separate words, to
	// apostrophes of the same length.
	likeApostrophes = map[rune]string{'`': "'", '´': "ʼ", '′': "’", '‵': "’", '‛': "’", '՚': "ʼ", '᾿': "’", '᾽': "’"}
)

// unifyApostrophes replaces characters that stand for apostrophes between letters, and the
// apostrophes of aroundN. It keeps the length of text.
func unifyApostrophes(text []byte) []byte {
	if bytes.ContainsAny(text, "`´′‵‛՚᾿᾽") {
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

// isApostrophe reports whether r is an apostrophe inside words.
func isApostrophe(r rune) bool { return r == '\'' || r == '\u2018' || r == '\u2019' }

func endsInLetter(text []byte) bool {
	r, _ := utf8.DecodeLastRune(text)
	return unicode.IsLetter(r)
}

func firstRune(b []byte) rune {
	r, _ := utf8.DecodeRune(b)
	return r
}

// change maps the bytes [start, end) of a changed text to the bytes [from, to) of the original.
type change struct{ start, end, from, to int }

// changes are in the order of the text.
type changes []change

// start returns where in the original begins what begins at p in the changed text.
func (c changes) start(p int) int {
	i := sort.Search(len(c), func(i int) bool { return c[i].start > p })
	switch {
	case i == 0:
		return p
	case p < c[i-1].end:
		return c[i-1].from
	default:
		return p - c[i-1].end + c[i-1].to
	}
}

// end returns where in the original ends what ends at p in the changed text.
func (c changes) end(p int) int {
	i := sort.Search(len(c), func(i int) bool { return c[i].start >= p })
	switch {
	case i == 0:
		return p
	case p <= c[i-1].end:
		return c[i-1].to
	default:
		return p - c[i-1].end + c[i-1].to
	}
}
