package analysis

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// unspacedTokenizer adds to the words of another tokenizer what bleve's drops: emoji, and texts in
// scripts such as Thai whose words only a dictionary can tell apart. These become pairs of letters,
// with their marks, and single letters at the position of the pair that they begin. Zero-width
// spaces between them are skipped.
type unspacedTokenizer struct{ words analysis.Tokenizer }

// dictionaryScripts are the scripts without spaces that bleve drops.
var dictionaryScripts = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham}

// Tokenize implements analysis.Tokenizer.
func (u unspacedTokenizer) Tokenize(input []byte) analysis.TokenStream {
	words := u.words.Tokenize(input)
	if !bytes.ContainsFunc(input, func(r rune) bool { return isEmoji(r) || isUnspaced(r) }) {
		return words
	}
	all := make(analysis.TokenStream, 0, len(words))
	at := 0
	for _, w := range words {
		all = append(appendUnspaced(all, input, at, w.Start), w)
		at = w.End
	}
	return appendUnspaced(all, input, at, len(input))
}

// isEmoji reports whether r is an emoji or another symbol of the same blocks.
func isEmoji(r rune) bool {
	switch {
	case r < 0x2300:
		return false
	case r <= 0x23ff, 0x2600 <= r && r <= 0x27bf, 0x2b00 <= r && r <= 0x2bff, 0x1f000 <= r && r <= 0x1faff:
		return unicode.Is(unicode.So, r)
	}
	return false
}

// isFlagLetter reports whether r is half of a flag.
func isFlagLetter(r rune) bool { return 0x1f1e6 <= r && r <= 0x1f1ff }

func isUnspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, dictionaryScripts...) && (unicode.IsLetter(r) || unicode.IsMark(r))
}

// appendUnspaced appends the letters, pairs and emoji of input[start:end].
func appendUnspaced(dst analysis.TokenStream, input []byte, start, end int) analysis.TokenStream {
	var run []span // letters with their marks
	flush := func() {
		for i, s := range run {
			letter := slices.Clone(input[s.start:s.end])
			dst = append(dst, &analysis.Token{Term: letter, Start: s.start, End: s.end, Type: analysis.Single})
			if i+1 < len(run) {
				next := run[i+1]
				pair := slices.Concat(letter, input[next.start:next.end])
				dst = append(dst, &analysis.Token{Term: pair, Start: s.start, End: next.end, Type: analysis.Double})
			}
		}
		run = run[:0]
	}
	for at := start; at < end; {
		r, size := utf8.DecodeRune(input[at:end])
		switch {
		case unicode.IsMark(r) && len(run) > 0 && run[len(run)-1].end == at:
			run[len(run)-1].end += size
		case isUnspaced(r):
			run = append(run, span{at, at + size})
		case isEmoji(r):
			flush()
			if next, n := utf8.DecodeRune(input[at+size : end]); isFlagLetter(r) && isFlagLetter(next) {
				size += n
			}
			dst = append(dst, &analysis.Token{Term: slices.Clone(input[at : at+size]), Start: at, End: at + size, Type: symbolType})
		case r == '\u200b' || r == '\u200c' || r == '\u200d':
		default:
			flush()
		}
		at += size
	}
	flush()
	return dst
}
