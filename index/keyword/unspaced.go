package keyword

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// unspaced is a tokenizer that adds to the words of another the texts of scripts whose words only a dictionary tells apart, such as Thai.
// bleve's leaves these out, all of them. Here they are pairs: each letter, with its marks, and the next. A letter alone stands alone. Spaces
// of no width, with which some texts part words, are passed over.
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
	for i, t := range all {
		t.Position = i + 1
	}
	return all
}

// appendPairs appends the pairs of input[start:end].
func appendPairs(dst analysis.TokenStream, input []byte, start, end int) analysis.TokenStream {
	var run []span // letters with their marks
	flush := func() {
		for i, first := range run {
			last := first
			switch {
			case i+1 < len(run):
				last = run[i+1]
			case i > 0:
				continue
			}
			term := slices.Clone(input[first.start:first.end])
			if last != first {
				term = append(term, input[last.start:last.end]...)
			}
			dst = append(dst, &analysis.Token{Term: term, Start: first.start, End: last.end, Type: analysis.AlphaNumeric})
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
