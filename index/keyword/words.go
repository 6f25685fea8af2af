package keyword

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// splitWords is a token filter that takes apart what the Unicode rules leave as one word although
// people search for its parts: names of program code, hosts, paths, and sentences without a space
// between them.
//
//  1. A word with a letter in it is cut at everything that is not a letter, digit, mark or
//     apostrophe: max_seq_length gives max, seq, length; end.Next gives end, Next. One without is
//     cut at underscores alone, and dates at full stops: 2024_03_05 and 05.03.2024 give 2024, 03,
//     05, and 3.14 and 1,000 stay whole, as do the numbers in 3.5mm and v1.2.3.
//  2. A word that is cut so, and has more than single characters as parts, is a term itself, too:
//     os.path.join is found before texts that have os, path and join apart. It is no part of
//     phrases, of lengths, and And asks for it or its parts, so that max_seq finds max seq.
//  3. A part with capitals inside gives itself and its humps: parseHTTPHeader gives
//     parseHTTPHeader, parse, HTTP, Header.
//
// It must stand before filters that change the length of terms, because it finds the parts' places
// in the text.
type splitWords struct{}

// Filter implements analysis.TokenFilter.
func (splitWords) Filter(input analysis.TokenStream) analysis.TokenStream {
	output := make(analysis.TokenStream, 0, len(input))
	for _, t := range input {
		if t.Type == wholeName || simpleWord(t.Term) {
			output = append(output, t)
			continue
		}
		first := len(output)
		output = splitToken(output, t)
		output = withWhole(output, first, t)
	}
	return output
}

// wholeName is the type of the terms that are names whose parts are terms, too.
const wholeName = analysis.TokenType(64)

// withWhole puts t in front of its parts, which begin at first, if they are apart and one is longer
// than a character, as in e.g. or U.S. none is.
func withWhole(parts analysis.TokenStream, first int, t *analysis.Token) analysis.TokenStream {
	apart, longer := false, false
	for _, p := range parts[first:] {
		apart = apart || p.Start >= parts[first].End
		longer = longer || utf8.RuneCount(p.Term) > 1
	}
	if !apart || !longer {
		return parts
	}
	whole := part(t, nameStart(t.Term), nameEnd(t.Term))
	whole.Type = wholeName
	return slices.Insert(parts, first, whole)
}

// nameStart and nameEnd return where a name begins and ends without the underscores around it:
// _os.write_ may be emphasis.
func nameStart(name []byte) int { return len(name) - len(bytes.TrimLeft(name, "_")) }
func nameEnd(name []byte) int   { return len(bytes.TrimRight(name, "_")) }

// simpleWord says, for most words quickly, that splitToken would keep the word.
func simpleWord(word []byte) bool {
	for i, c := range word {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '\'' || i == 0 && 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

// splitToken appends the parts of t to dst.
func splitToken(dst analysis.TokenStream, t *analysis.Token) analysis.TokenStream {
	number := !bytes.ContainsFunc(t.Term, unicode.IsLetter)
	date := number && isDate(t.Term)
	start := 0
	for i, size := 0, 0; i < len(t.Term); i += size {
		if size = numberAt(t.Term, i); size > 0 && !number {
			dst = append(splitHumps(dst, t, start, i), part(t, i, i+size))
			start = i + size
			continue
		}
		var r rune
		r, size = utf8.DecodeRune(t.Term[i:])
		if isApostrophe(r) || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || number && r != '_' && !date {
			continue
		}
		dst = splitHumps(dst, t, start, i)
		start = i + size
	}
	return splitHumps(dst, t, start, len(t.Term))
}

// splitHumps appends the part [start, end) of t and, if there are several, its humps. A hump begins
// at a capital after a small letter, and at the last of several capitals if small letters follow,
// more than the s of GPUs.
func splitHumps(dst analysis.TokenStream, t *analysis.Token, start, end int) analysis.TokenStream {
	if start >= end {
		return dst
	}
	dst = append(dst, part(t, start, end))
	word := string(t.Term[start:end])
	from := 0
	var before, last rune // the two characters before r, last nearer
	lastAt := 0
	for i, r := range word {
		switch {
		case unicode.IsUpper(r) && unicode.IsLower(last):
			dst = append(dst, part(t, start+from, start+i))
			from = i
		case unicode.IsLower(r) && unicode.IsUpper(last) && unicode.IsUpper(before) && lastAt > from && i+1 < len(word):
			dst = append(dst, part(t, start+from, start+lastAt))
			from = lastAt
		}
		before, last, lastAt = last, r, i
	}
	if from > 0 {
		dst = append(dst, part(t, start+from, end))
	}
	return dst
}

// splitNames is a token filter for other languages than English that takes names of files apart and
// leaves all else: a word is cut at underscores and, where it has a letter or is a date, at full
// stops and colons, and around numbers that have some. notiz_2.md gives notiz, 2, md; 3.14 stays
// whole.
type splitNames struct{}

// Filter implements analysis.TokenFilter.
func (splitNames) Filter(input analysis.TokenStream) analysis.TokenStream {
	output := make(analysis.TokenStream, 0, len(input))
	for _, t := range input {
		number := !bytes.ContainsFunc(t.Term, unicode.IsLetter)
		signs := "_.:,"
		date := number && isDate(t.Term)
		if number && !date {
			signs = "_"
		}
		if t.Type == wholeName || !bytes.ContainsAny(t.Term, signs) {
			output = append(output, t)
			continue
		}
		first, start := len(output), 0
		cut := func(end, next int) {
			if end > start {
				output = append(output, part(t, start, end))
			}
			start = next
		}
		for i := 0; i < len(t.Term); i++ {
			if n := numberAt(t.Term, i); n > 0 && !number {
				cut(i, i)
				i += n - 1
				cut(i+1, i+1)
			} else if c := t.Term[i]; c == '_' || (!number || date) && (c == '.' || c == ':') {
				cut(i, i+1)
			}
		}
		cut(len(t.Term), 0)
		output = withWhole(output, first, t)
	}
	return output
}

// isDate says whether a number is a day, month and year with full stops between, or these the other
// way round: 05.03.2024, 5.3.2024, 2024.03.05.
func isDate(number []byte) bool {
	groups := bytes.Split(number, []byte("."))
	if len(groups) != 3 || slices.ContainsFunc(groups, func(g []byte) bool { return len(g) == 0 || !allDigits(g) }) {
		return false
	}
	first, last := len(groups[0]), len(groups[2])
	return len(groups[1]) <= 2 && (first <= 2 && last == 4 || first == 4 && last <= 2)
}

func allDigits(b []byte) bool { return len(bytes.Trim(b, "0123456789")) == 0 }

func part(t *analysis.Token, start, end int) *analysis.Token {
	if start == 0 && end == len(t.Term) {
		return t
	}
	return &analysis.Token{
		Term:     append([]byte(nil), t.Term[start:end]...), // later filters change terms in place
		Start:    t.Start + start,
		End:      t.Start + end,
		Position: t.Position,
		Type:     t.Type,
	}
}
