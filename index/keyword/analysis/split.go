package analysis

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// splitWords is a token filter that splits what the Unicode rules leave as one word although people
// search for its parts: identifiers, hosts, paths, and sentences without a space between them.
//
//  1. A word with a letter is cut at everything but letters, digits, marks and apostrophes:
//     max_seq_length gives max, seq, length. A word without one is cut at underscores only, and a
//     date at full stops: 2024_03_05 and 05.03.2024 give 2024, 03, 05. 3.14 and 1,000 stay whole,
//     as do the numbers in 3.5mm and v1.2.3.
//  2. The word itself stays a token of Kind Name if it was cut into more than single characters, so
//     that os.path.join is found before texts that have os, path and join apart. It is not part of
//     phrases or lengths, and a query with And asks for it or its parts.
//  3. A part with capitals inside gives itself and its humps: parseHTTPHeader gives
//     parseHTTPHeader, parse, HTTP, Header.
type splitWords struct{}

// Filter implements analysis.TokenFilter.
func (splitWords) Filter(input analysis.TokenStream) analysis.TokenStream {
	output := make(analysis.TokenStream, 0, len(input))
	for _, t := range input {
		if t.Type == nameType || isSimpleWord(t.Term) {
			output = append(output, t)
			continue
		}
		first := len(output)
		output = insertName(appendWords(output, t), first, t)
	}
	return output
}

// isSimpleWord reports, quickly and for most words, that appendWords would not cut the word.
func isSimpleWord(word []byte) bool {
	for i, c := range word {
		if !('a' <= c && c <= 'z' || IsDigit(c) || c == '\'' || i == 0 && 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

// insertName inserts t as a name before its parts, which begin at first, if they do not overlap and
// one is longer than a character, which none of e.g. and U.S. is.
func insertName(parts analysis.TokenStream, first int, t *analysis.Token) analysis.TokenStream {
	separate, longer := false, false
	for _, p := range parts[first:] {
		separate = separate || p.Start >= parts[first].End
		longer = longer || utf8.RuneCount(p.Term) > 1
	}
	if !separate || !longer {
		return parts
	}
	name := subToken(t, nameStart(t.Term), nameEnd(t.Term))
	name.Type = nameType
	return slices.Insert(parts, first, name)
}

// nameStart and nameEnd return where a name begins and ends without the underscores around it,
// which may be emphasis: _os.write_.
func nameStart(name []byte) int { return len(name) - len(bytes.TrimLeft(name, "_")) }
func nameEnd(name []byte) int   { return len(bytes.TrimRight(name, "_")) }

// appendWords appends the parts of t, see splitWords.
func appendWords(dst analysis.TokenStream, t *analysis.Token) analysis.TokenStream {
	number := !bytes.ContainsFunc(t.Term, unicode.IsLetter)
	date := number && isDate(t.Term)
	start := 0
	for i, size := 0, 0; i < len(t.Term); i += size {
		if size = numberAt(t.Term, i); size > 0 && !number {
			dst = append(appendHumps(dst, t, start, i), subToken(t, i, i+size))
			start = i + size
			continue
		}
		var r rune
		r, size = utf8.DecodeRune(t.Term[i:])
		if isApostrophe(r) || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || number && r != '_' && !date {
			continue
		}
		dst = appendHumps(dst, t, start, i)
		start = i + size
	}
	return appendHumps(dst, t, start, len(t.Term))
}

// appendHumps appends the part [start, end) of t and, if there are several, its humps. A hump
// begins at a capital after a small letter, and at the last of several capitals if more small
// letters than the s of GPUs follow.
func appendHumps(dst analysis.TokenStream, t *analysis.Token, start, end int) analysis.TokenStream {
	if start >= end {
		return dst
	}
	dst = append(dst, subToken(t, start, end))
	word := string(t.Term[start:end])
	from := 0
	var before, last rune // the two characters before r
	lastAt := 0
	for i, r := range word {
		switch {
		case unicode.IsUpper(r) && unicode.IsLower(last):
			dst = append(dst, subToken(t, start+from, start+i))
			from = i
		case unicode.IsLower(r) && unicode.IsUpper(last) && unicode.IsUpper(before) && lastAt > from && i+1 < len(word):
			dst = append(dst, subToken(t, start+from, start+lastAt))
			from = lastAt
		}
		before, last, lastAt = last, r, i
	}
	if from > 0 {
		dst = append(dst, subToken(t, start+from, end))
	}
	return dst
}

// splitNames is a token filter for other languages than English that splits file names only: a word
// is cut at underscores and, where it has a letter or is a date, at full stops and colons, and
// around numbers that have some. notiz_2.md gives notiz, 2, md; 3.14 stays whole.
type splitNames struct{}

// Filter implements analysis.TokenFilter.
func (splitNames) Filter(input analysis.TokenStream) analysis.TokenStream {
	output := make(analysis.TokenStream, 0, len(input))
	for _, t := range input {
		number := !bytes.ContainsFunc(t.Term, unicode.IsLetter)
		date := number && isDate(t.Term)
		signs := "_.:,"
		if number && !date {
			signs = "_"
		}
		if t.Type == nameType || !bytes.ContainsAny(t.Term, signs) {
			output = append(output, t)
			continue
		}
		first, start := len(output), 0
		cut := func(end, next int) {
			if end > start {
				output = append(output, subToken(t, start, end))
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
		output = insertName(output, first, t)
	}
	return output
}
