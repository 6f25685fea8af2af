package keyword

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// unspaced is a tokenizer that adds to the words of another the texts of scripts whose words only a dictionary tells apart, such as Thai.
// bleve's leaves these out, all of them. Here they are pairs: each letter, with its marks, and the next, and the letters alone, at the position
// of the pair that they begin. Spaces of no width, with which some texts part words, are passed over.
type unspaced struct{ words analysis.Tokenizer }

// dictionaryScripts are those scripts.
var dictionaryScripts = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham}

// Tokenize implements analysis.Tokenizer.
func (u unspaced) Tokenize(input []byte) analysis.TokenStream {
	words := u.words.Tokenize(input)
	if bytes.IndexByte(input, 0xE0) < 0 && bytes.IndexByte(input, 0xE1) < 0 { // the first bytes of their letters
		return words
	}
	all := make(analysis.TokenStream, 0, len(words))
	at := 0
	for _, w := range words {
		all = append(appendPairs(all, input, at, w.Start), w)
		at = w.End
	}
	all = appendPairs(all, input, at, len(input))
	position := 0
	for i, t := range all {
		if i == 0 || t.Start > all[i-1].Start {
			position++
		}
		t.Position = position
	}
	return all
}

// appendPairs appends the letters and pairs of input[start:end].
func appendPairs(dst analysis.TokenStream, input []byte, start, end int) analysis.TokenStream {
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
		case unicode.In(r, dictionaryScripts...) && (unicode.IsLetter(r) || unicode.IsMark(r)):
			run = append(run, span{at, at + size})
		case r == '\u200b' || r == '\u200c' || r == '\u200d':
		default:
			flush()
		}
		at += size
	}
	flush()
	return dst
}

// span is the bytes [start, end) of a text.
type span struct{ start, end int }
