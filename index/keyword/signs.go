package keyword

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/text/unicode/norm"
)

// signedNames is a tokenizer that puts names whose signs part words, or are left out, in front of
// their words, see [wholeName]:
//
//  1. Words with :: or a slash between: std::io::Write, internal/e2e.
//
//  2. Words with letters, and with a full stop between that the Unicode rules part at as it stands
//     beside a digit or underscore: utf8.DecodeRune.
//
//  3. A word, or such words, with ++ or # behind: C++, C#, libstdc++.
//
//  4. A word with -- before, and others behind it with hyphens between: --follow-key-file.
//
//  5. A word with a full stop before that is no end of a sentence: .NET, .gitignore. And words of
//     letters with & between: AT&T.
//
//  6. Words with hyphens between, or letters with full stops, without them: email for e-mail, gpt4
//     for GPT-4, 9783161484100 for a number with hyphens, ai for A.I. See joinedName.
//
//  7. Letters with digits above the line, as plain ones: m2 for m². The letters are a word, as the
//     digits may stand for a footnote.
//
//  8. The date that a time begins with, without hyphens: 20240315 for 2024-03-15T14:30.
//
// Names with -> are left out: they gain little, and the index of a text full of them grows most.
type signedNames struct{ words analysis.Tokenizer }

// Tokenize implements analysis.Tokenizer.
func (s signedNames) Tokenize(input []byte) analysis.TokenStream {
	words := s.words.Tokenize(input)
	var out analysis.TokenStream // nil: no name so far
	copied := 0                  // of words
	joined := 0                  // words before it may not begin a name without hyphens
	add := func(i int, name []byte, from, to int) {
		out = append(append(out, words[copied:i]...), &analysis.Token{Term: name, Start: from, End: to, Position: words[i].Position, Type: wholeName})
		copied = i
	}
	for i := 0; i < len(words); {
		from, to, last := signedName(input, words, i)
		if to > from {
			from, to = from+nameStart(input[from:to]), from+nameEnd(input[from:to])
			add(i, slices.Clone(input[from:to]), from, to)
		} else if i >= joined {
			var name []byte
			if name, joined = joinedName(input, words, i); name != nil {
				add(i, name, words[i].Start, words[joined-1].End)
			}
			if date, end := joinedDate(words[i:joined]); date != nil {
				add(i, date, words[i].Start, end)
			}
		}
		if digits := digitsAbove(input[words[last].End:]); digits > 0 && plainType(words[last]) && endsInLetter(words[last].Term) {
			w := words[last]
			add(last, norm.NFKC.Bytes(input[w.Start:w.End+digits]), w.Start, w.End+digits)
		}
		i = last + 1
	}
	if out == nil {
		return words
	}
	return append(out, words[copied:]...)
}

// signedName returns the bytes of the name that begins with words[first], none if they are empty,
// and the last of its words.
func signedName(input []byte, words analysis.TokenStream, first int) (from, to, last int) {
	w := words[first]
	from, last = w.Start, first
	if !plainType(w) {
		return from, from, last
	}
	option, dot := opensOption(input, w), opensDot(input, w)
	switch {
	case option:
		from -= len("--")
	case dot:
		from -= len(".")
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
	if !option && !dot && last == first {
		return from, from, last
	}
	return from, to, last
}

// maxJoined is how many bytes a name has that joinedName makes.
const maxJoined = 64

// joinedName returns the words of letters and digits from words[first] on that hyphens join,
// without these, and the word behind them; or the letters of words[first] that full stops part.
// nil: they are none, or no name. Words without a digit are one only in twos, and digits alone in
// threes, as 3-2 is not 32.
func joinedName(input []byte, words analysis.TokenStream, first int) (name []byte, behind int) {
	if behind = first + 1; !plainType(words[first]) {
		return nil, behind
	}
	if bytes.IndexByte(words[first].Term, '.') >= 0 {
		letters := bytes.ReplaceAll(words[first].Term, []byte("."), nil)
		if utf8.RuneCount(letters) == len(words[first].Term)-len(letters)+1 && !bytes.ContainsFunc(letters, notLetter) {
			name = letters
		}
		return name, behind
	}
	for behind < len(words) && plainType(words[behind]) && isHyphen(input[words[behind-1].End:words[behind].Start]) {
		if name == nil {
			name = slices.Clone(words[first].Term)
		}
		if len(name) <= maxJoined {
			name = append(name, words[behind].Term...)
		}
		behind++
	}
	parts := behind - first
	digit, letter := bytes.ContainsFunc(name, unicode.IsDigit), bytes.ContainsFunc(name, unicode.IsLetter)
	switch {
	case parts == 1, len(name) > maxJoined, utf8.RuneCount(name) == parts, bytes.ContainsFunc(name, notWord),
		!digit && parts > 2, !letter && parts < 3:
		return nil, behind
	}
	return name, behind
}

// joinedDate returns the date, without hyphens, that words joined by hyphens begin with if a time
// follows, and where it ends; nil for none.
func joinedDate(words analysis.TokenStream) (date []byte, end int) {
	if len(words) != 3 {
		return nil, 0
	}
	day, _, time := bytes.Cut(words[2].Term, []byte("T"))
	if !time || !allDigits(day) || !allDigits(words[0].Term) || !allDigits(words[1].Term) {
		return nil, 0
	}
	return slices.Concat(words[0].Term, words[1].Term, day), words[2].Start + len(day)
}

// digitsAbove returns how many bytes the digits above the line take that text begins with.
func digitsAbove(text []byte) (n int) {
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		if !isAbove(r) {
			break
		}
		n += size
	}
	return n
}

// joinsLetters says whether a term is a name that joinedName made of what stands in the text and
// that has no digit.
func joinsLetters(term, text string) bool {
	return !strings.ContainsAny(term, "-.") && strings.ContainsAny(text, "-.\u2010\u2011") && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsDigit(r) || r == '_' || r == '/' || r == ':' })
}

func isHyphen(between []byte) bool {
	switch string(between) {
	case "-", "\u2010", "\u2011":
		return true
	}
	return false
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// goesOn says whether after begins with a letter or one of signs. Letters beyond ASCII do not
// count: C++ is followed at once by words of Japanese and Korean.
func goesOn(after, signs string) bool {
	return after != "" && (strings.IndexByte(signs, after[0]) >= 0 || 'a' <= after[0]|0x20 && after[0]|0x20 <= 'z')
}

// plainType says whether t is a word of letters and digits that spaces part.
func plainType(t *analysis.Token) bool {
	return t.Type == analysis.AlphaNumeric || t.Type == analysis.Numeric
}

// opensOption says whether -- stands before w as before an option: neither behind a word, as a
// dash, nor in a comment of HTML.
func opensOption(input []byte, w *analysis.Token) bool {
	before, dashes := bytes.CutSuffix(input[:w.Start], []byte("--"))
	if !dashes {
		return false
	}
	first, _ := utf8.DecodeRune(w.Term)
	r, _ := utf8.DecodeLastRune(before)
	return unicode.IsLetter(first) && r != '-' && r != '!' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// opensDot says whether a full stop stands before w that ends no sentence and parts no words:
// nothing but what opens something stands before it.
func opensDot(input []byte, w *analysis.Token) bool {
	before, dot := bytes.CutSuffix(input[:w.Start], []byte("."))
	if !dot || !unicode.IsLetter([]rune(string(w.Term))[0]) {
		return false
	}
	r, size := utf8.DecodeLastRune(before)
	return size == 0 || unicode.IsSpace(r) || strings.ContainsRune("/\\([{<\"'`=", r)
}

// joinsName says whether what stands between a and b, the word behind it, makes them one name.
func joinsName(input []byte, a, b *analysis.Token, option bool) bool {
	switch string(input[a.End:b.Start]) {
	case "::", "/":
		return true
	case "-":
		return option
	case "&":
		return !bytes.ContainsFunc(a.Term, notLetter) && !bytes.ContainsFunc(b.Term, notLetter)
	case ".":
		return bytes.ContainsFunc(a.Term, unicode.IsLetter) && bytes.ContainsFunc(b.Term, unicode.IsLetter)
	}
	return false
}
