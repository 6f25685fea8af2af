package keyword

import (
	"bytes"
	"sort"
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
//
// A token filter would come too late: the tokenizer does not know full-width digits and leaves them out.
type folded struct{ chain analysis.Analyzer }

// Analyze implements analysis.Analyzer.
func (f folded) Analyze(text []byte) analysis.TokenStream {
	plain, changes := fold(spaceInvalid(text))
	tokens := f.chain.Analyze(plain)
	if len(changes) > 0 {
		for _, t := range tokens {
			t.Start, t.End = changes.start(t.Start), changes.end(t.End)
		}
	}
	return tokens
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
	for at < len(text) {
		segment := text[at : at+norm.NFKC.NextBoundary(text[at:], true)]
		form := norm.NFC
		if r, _ := utf8.DecodeRune(segment); hasUsualForm(r) {
			form = norm.NFKC
		}
		usual = form.Append(usual[:0], segment...)
		if !bytes.Equal(usual, segment) {
			changed = append(changed, change{len(plain), len(plain) + len(usual), at, at + len(segment)})
		}
		plain = append(plain, usual...)
		at += len(segment)
		same := norm.NFKC.QuickSpan(text[at:])
		plain = append(plain, text[at:at+same]...)
		at += same
	}
	return plain, changed
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
