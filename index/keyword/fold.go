package keyword

import (
	"bytes"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/text/unicode/norm"
)

// folded is an analyzer that reads texts in one spelling, so that a word gives the same terms however it was typed, and
// says where the terms are in the text as it was given.
//
// The rules:
//  1. Characters are composed (NFC): e and U+0301 are é, the letters of a Hangul syllable are the syllable.
//  2. Letters and digits have their usual form (NFKC): ﬁ is fi, １ is 1, ｶﾞ is ガ, ㌔ is キロ.
//  3. Other characters keep their form: 10² is not 102, Windows™ not WindowsTM. So do letters of Hangul that stand alone,
//     because NFKC makes some of them parts of the syllable before: 감사ㄳ would be 감삯.
//  4. Bytes that are not UTF-8 are spaces: bleve's filters for "cjk" take them for three bytes each.
//  5. Digits below the line behind a letter are plain: CO₂ is CO2. Those above it are not, as they may stand for a footnote.
//  6. Characters that nobody sees are left out: soft hyphens, marks of direction, joiners, which "fa" and "ckb" see to themselves, variation selectors.
//  7. The apostrophes around an n are spaces: rock'n'roll is rock n roll.
//
// A token filter would come too late: the tokenizer does not know full-width digits and leaves them out.
type folded struct {
	chain   analysis.Analyzer
	joiners bool // are kept
}

// Analyze implements analysis.Analyzer.
func (f folded) Analyze(text []byte) analysis.TokenStream {
	seen, left := leaveInvisible(spaceInvalid(text), f.joiners)
	plain, changes := fold(seen)
	if bytes.Contains(plain, []byte("'n'")) || bytes.Contains(plain, []byte("’n’")) {
		plain = []byte(aroundN.Replace(string(plain)))
	}
	tokens := f.chain.Analyze(plain)
	if len(changes)+len(left) > 0 {
		for _, t := range tokens {
			t.Start, t.End = left.start(changes.start(t.Start)), left.end(changes.end(t.End))
		}
	}
	return tokens
}

// aroundN makes spaces of the apostrophes of rule 7, as many as they have bytes.
var aroundN = strings.NewReplacer("'n'", " n ", "’n’", "   n   ")

// invisible are the characters of rule 6.
var invisible = &unicode.RangeTable{
	R16:         []unicode.Range16{{0x00ad, 0x00ad, 1}, {0x061c, 0x061c, 1}, {0x200c, 0x200f, 1}, {0x202a, 0x202e, 1}, {0x2060, 0x206f, 1}, {0xfe00, 0xfe0f, 1}, {0xfeff, 0xfeff, 1}},
	R32:         []unicode.Range32{{0xe0100, 0xe01ef, 1}},
	LatinOffset: 1,
}

// leaveInvisible returns text without the characters of rule 6 and where they were.
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

// fold returns text in the spelling of folded and what it changed, in order. Most text is as it should be, which
// QuickSpan sees at once; it is returned as it is.
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
		usual = form.Append(usual[:0], segment...)
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

// hasUsualForm says whether rule 2 of folded is for r. Punctuation of the full-width block is folded too: it joins
// digits as that of ASCII does.
func hasUsualForm(r rune) bool {
	const fullWidth, fullWidthEnd = 0xFF00, 0xFFEF
	switch {
	case fullWidth <= r && r <= fullWidthEnd:
		return true
	case unicode.Is(unicode.Hangul, r):
		return false
	default:
		return unicode.In(r, unicode.L, unicode.Nd, unicode.Nl, unicode.Han, unicode.Katakana)
	}
}

// change says that the bytes [start, end) of a folded text stand for the bytes [textStart, textEnd) of the text.
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
