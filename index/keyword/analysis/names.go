package analysis

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/text/unicode/norm"
)

// nameTokenizer adds to the words of another tokenizer names with signs that it cuts at or drops,
// each before its words:
//
//  1. Words joined by :: or a slash: std::io::Write, internal/e2e.
//  2. Words with letters joined by a full stop beside a digit or underscore, where the Unicode
//     rules cut: utf8.DecodeRune.
//  3. A word, or such words, followed by ++ or #: C++, C#, libstdc++.
//  4. A word after --, with others that hyphens join: --follow-key-file.
//  5. A word after a full stop that does not end a sentence: .NET, .gitignore; and words of letters
//     joined by &: AT&T.
//  6. Words that hyphens join, or abbreviations and long numbers that full stops join, without
//     them: email for e-mail, gpt4 for GPT-4, 9783161484100 for a number with hyphens, ai for A.I.,
//     phd for Ph.D., 0301234567 for 030.1234.567; see joinedName.
//  7. Letters with superscript digits, as plain ones: m2 for m². The letters stay a word, as the
//     digits may be a footnote.
//  8. The date that a time begins with, without hyphens: 20240315 for 2024-03-15T14:30.
//  9. Two words of letters, one of them a single letter, joined by a slash or &, without it: ab for
//     A/B, kmh for km/h, att for AT&T.
//
// Names with -> are left out: they gain little, and make the index of a text full of them much
// larger.
type nameTokenizer struct{ words analysis.Tokenizer }

// Tokenize implements analysis.Tokenizer.
func (s nameTokenizer) Tokenize(input []byte) analysis.TokenStream {
	words := s.words.Tokenize(input)
	var out analysis.TokenStream // nil: no name so far
	copied := 0                  // words in out
	joined := 0                  // words before it do not begin a joined name
	add := func(i int, name []byte, from, to int) {
		out = append(append(out, words[copied:i]...), &analysis.Token{Term: name, Start: from, End: to, Position: words[i].Position, Type: nameType})
		copied = i
	}
	for i := 0; i < len(words); {
		from, to, last := nameAt(input, words, i)
		if to > from {
			from, to = from+nameStart(input[from:to]), from+nameEnd(input[from:to])
			add(i, slices.Clone(input[from:to]), from, to)
			if letters := shortPair(words[i : last+1]); letters != nil {
				add(i, letters, words[i].Start, words[last].End)
			}
		} else if i >= joined {
			var name []byte
			if name, joined = joinedName(input, words, i); name != nil {
				add(i, name, words[i].Start, words[joined-1].End)
			}
			if date, end := joinedDate(words[i:joined]); date != nil {
				add(i, date, words[i].Start, end)
			}
		}
		if digits := superscriptDigits(input[words[last].End:]); digits > 0 && isAlphanumeric(words[last]) && endsInLetter(words[last].Term) {
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

// nameAt returns the bytes [from, to) of the name by rules 1 to 5 that begins with words[first],
// and its last word. from equals to if there is none.
func nameAt(input []byte, words analysis.TokenStream, first int) (from, to, last int) {
	w := words[first]
	from, last = w.Start, first
	if !isAlphanumeric(w) {
		return from, from, last
	}
	option, dot := followsOptionDashes(input, w), followsNameDot(input, w)
	switch {
	case option:
		from -= len("--")
	case dot:
		from -= len(".")
	}
	for last+1 < len(words) && isAlphanumeric(words[last+1]) && joinsName(input, words[last], words[last+1], option) {
		last++
	}
	to = words[last].End
	switch after := string(input[to:min(len(input), to+3)]); {
	case strings.HasPrefix(after, "++") && !continues(after[2:], "+"):
		return from, to + 2, last
	case strings.HasPrefix(after, "#") && !continues(after[1:], "#0123456789"):
		return from, to + 1, last
	}
	if !option && !dot && last == first {
		return from, from, last
	}
	return from, to, last
}

// MaxJoined is the length in bytes up to which words are joined to one.
const MaxJoined = 64

// joinedName returns the words from words[first] on that hyphens join, without the hyphens, and the
// index of the word after them; or the abbreviations or number of words[first] that full stops
// join. The name is nil if there is none: without a digit only two words are joined, and digits
// alone only if there are three groups, as 3-2 is not 32.
func joinedName(input []byte, words analysis.TokenStream, first int) (name []byte, next int) {
	if next = first + 1; !isAlphanumeric(words[first]) {
		return nil, next
	}
	if bytes.IndexByte(words[first].Term, '.') >= 0 {
		joined := bytes.ReplaceAll(words[first].Term, []byte("."), nil)
		if areAbbreviations(words[first].Term) || isDottedNumber(words[first].Term) {
			name = joined
		}
		return name, next
	}
	for next < len(words) && isAlphanumeric(words[next]) && isHyphen(input[words[next-1].End:words[next].Start]) {
		if name == nil {
			name = slices.Clone(words[first].Term)
		}
		if len(name) <= MaxJoined {
			name = append(name, words[next].Term...)
		}
		next++
	}
	parts := next - first
	digit, letter := bytes.ContainsFunc(name, unicode.IsDigit), bytes.ContainsFunc(name, unicode.IsLetter)
	switch {
	case parts == 1, len(name) > MaxJoined, utf8.RuneCount(name) == parts && parts > 2, bytes.ContainsFunc(name, notWord),
		!digit && parts > 2, !letter && parts < 3:
		return nil, next
	}
	return name, next
}

// shortPair returns the letters of two words of a name, see rule 9 of nameTokenizer; nil if they
// are others.
func shortPair(words analysis.TokenStream) []byte {
	if len(words) != 2 || words[1].Start != words[0].End+1 {
		return nil
	}
	a, b := words[0].Term, words[1].Term
	if utf8.RuneCount(a) > 1 && utf8.RuneCount(b) > 1 || bytes.ContainsFunc(a, notLetter) || bytes.ContainsFunc(b, notLetter) {
		return nil
	}
	return slices.Concat(a, b)
}

// areAbbreviations reports whether a word consists of single letters, or of capitals with at most
// one letter after each, between full stops.
func areAbbreviations(word []byte) bool {
	single, titles := true, true
	for part := range bytes.SplitSeq(word, []byte(".")) {
		if len(part) == 0 || bytes.ContainsFunc(part, notLetter) {
			return false
		}
		n := utf8.RuneCount(part)
		single = single && n == 1
		titles = titles && n <= 2 && unicode.IsUpper(firstRune(part))
	}
	return single || titles
}

// minDotted is the number of digits from which on a number with full stops is joined, as those of
// telephones and dates are.
const minDotted = 7

// isDottedNumber reports whether a word is a number of at least three groups of digits between full
// stops, which may be written without them: 030.1234.567, 05.03.2024.
func isDottedNumber(word []byte) bool {
	dots := bytes.Count(word, []byte("."))
	return dots >= 2 && len(word)-dots >= minDotted && len(word) <= MaxJoined && len(bytes.Trim(word, ".0123456789")) == 0
}

// joinedDate returns the date, without hyphens, of three words that hyphens join and that go on
// with a time, and where it ends; nil if there is none.
func joinedDate(words analysis.TokenStream) (date []byte, end int) {
	if len(words) != 3 {
		return nil, 0
	}
	day, _, time := bytes.Cut(bytes.ToUpper(words[2].Term), []byte("T"))
	if !time || !allDigits(day) || !allDigits(words[0].Term) || !allDigits(words[1].Term) {
		return nil, 0
	}
	return slices.Concat(words[0].Term, words[1].Term, day), words[2].Start + len(day)
}

// superscriptDigits returns the length in bytes of the superscript digits that text begins with.
func superscriptDigits(text []byte) (n int) {
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		if !isSuperscript(r) {
			break
		}
		n += size
	}
	return n
}

// joinsLetters reports whether a term without digits was made of this text by joining words at
// hyphens, full stops or a space.
func joinsLetters(term, text string) bool {
	return !strings.ContainsAny(term, "-.") && strings.ContainsAny(text, "-. \u2010\u2011") && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsDigit(r) || r == '_' || r == '/' || r == ':' || r == '&' })
}

// HasSigns reports whether a name begins or ends with a sign that its words lack, or has an &.
func HasSigns(name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	return notWord(first) || notWord(last) || strings.Contains(name, "&")
}

func isHyphen(between []byte) bool {
	switch string(between) {
	case "-", "\u2010", "\u2011":
		return true
	}
	return false
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// continues reports whether text begins with an ASCII letter or one of signs. Other letters do not
// count: Japanese and Korean words follow C++ without a space.
func continues(text, signs string) bool {
	return text != "" && (strings.IndexByte(signs, text[0]) >= 0 || 'a' <= text[0]|0x20 && text[0]|0x20 <= 'z')
}

func isAlphanumeric(t *analysis.Token) bool {
	return t.Type == analysis.AlphaNumeric || t.Type == analysis.Numeric
}

// followsOptionDashes reports whether the -- of an option is before w: not a dash after a word, nor
// an HTML comment.
func followsOptionDashes(input []byte, w *analysis.Token) bool {
	before, dashes := bytes.CutSuffix(input[:w.Start], []byte("--"))
	if !dashes {
		return false
	}
	r, _ := utf8.DecodeLastRune(before)
	return unicode.IsLetter(firstRune(w.Term)) && r != '-' && r != '!' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// followsNameDot reports whether a full stop is before w that neither ends a sentence nor separates
// words: only an opening sign or white space is before it.
func followsNameDot(input []byte, w *analysis.Token) bool {
	before, dot := bytes.CutSuffix(input[:w.Start], []byte("."))
	if !dot || !unicode.IsLetter(firstRune(w.Term)) {
		return false
	}
	r, size := utf8.DecodeLastRune(before)
	return size == 0 || unicode.IsSpace(r) || strings.ContainsRune("/\\([{<\"'`=", r)
}

// joinsName reports whether the text between a and the next word b makes them one name.
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
