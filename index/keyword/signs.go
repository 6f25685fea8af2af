package keyword

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// signedNames is a tokenizer that puts names whose signs part words, or are left out, in front of their words, see [wholeName]:
//
//  1. Words with :: or a slash between: std::io::Write, internal/e2e.
//  2. Words with letters, and with a full stop between that the Unicode rules part at as it stands beside a digit or underscore: utf8.DecodeRune.
//  3. A word, or such words, with ++ or # behind: C++, C#, libstdc++.
//  4. A word with -- before, and others behind it with hyphens between: --follow-key-file.
//
// Other words with hyphens are ordinary text. Names with -> are left out: they gain little, and the index of a text full of them grows most.
type signedNames struct{ words analysis.Tokenizer }

// Tokenize implements analysis.Tokenizer.
func (s signedNames) Tokenize(input []byte) analysis.TokenStream {
	words := s.words.Tokenize(input)
	var out analysis.TokenStream // nil: no name so far
	copied := 0                  // of words
	for i := 0; i < len(words); {
		from, to, last := signedName(input, words, i)
		if to > from {
			from, to = from+nameStart(input[from:to]), from+nameEnd(input[from:to])
			name := &analysis.Token{Term: slices.Clone(input[from:to]), Start: from, End: to, Position: words[i].Position, Type: wholeName}
			out = append(append(out, words[copied:i]...), name)
			copied = i
		}
		i = last + 1
	}
	if out == nil {
		return words
	}
	return append(out, words[copied:]...)
}

// signedName returns the bytes of the name that begins with words[first], none if they are empty, and the last of its words.
func signedName(input []byte, words analysis.TokenStream, first int) (from, to, last int) {
	w := words[first]
	from, last = w.Start, first
	if !plainType(w) {
		return from, from, last
	}
	option := opensOption(input, w)
	if option {
		from -= len("--")
	}
	for last+1 < len(words) && plainType(words[last+1]) && joinsName(input, words[last], words[last+1], option) {
		last++
	}
	to = words[last].End
	switch after := string(input[to:min(len(input), to+3)]); {
	case strings.HasPrefix(after, "++") && !goesOn(after[2:], "+"):
		return from, to + 2, last
	case strings.HasPrefix(after, "#") && !goesOn(after[1:], "#0123456789"):
		return from, to + 1, last
	}
	if !option && last == first {
		return from, from, last
	}
	return from, to, last
}

// goesOn says whether after begins with a letter or one of signs. Letters beyond ASCII do not count: C++ is followed at once by words of Japanese and Korean.
func goesOn(after, signs string) bool {
	return after != "" && (strings.IndexByte(signs, after[0]) >= 0 || 'a' <= after[0]|0x20 && after[0]|0x20 <= 'z')
}

// plainType says whether t is a word of letters and digits that spaces part.
func plainType(t *analysis.Token) bool {
	return t.Type == analysis.AlphaNumeric || t.Type == analysis.Numeric
}

// opensOption says whether -- stands before w as before an option: neither behind a word, as a dash, nor in a comment of HTML.
func opensOption(input []byte, w *analysis.Token) bool {
	before, dashes := bytes.CutSuffix(input[:w.Start], []byte("--"))
	if !dashes {
		return false
	}
	first, _ := utf8.DecodeRune(w.Term)
	r, _ := utf8.DecodeLastRune(before)
	return unicode.IsLetter(first) && r != '-' && r != '!' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// joinsName says whether what stands between a and b, the word behind it, makes them one name.
func joinsName(input []byte, a, b *analysis.Token, option bool) bool {
	switch string(input[a.End:b.Start]) {
	case "::", "/":
		return true
	case "-":
		return option
	case ".":
		return bytes.ContainsFunc(a.Term, unicode.IsLetter) && bytes.ContainsFunc(b.Term, unicode.IsLetter)
	}
	return false
}
