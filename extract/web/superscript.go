package web

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/extract/content"
)

// Superscript is the content of a sup element, whose meaning depends on the text behind it.
type Superscript struct {
	Open bool // its end tag has not come
	Note bool // it holds a link, or says that it refers to a note
	Link bool // the element is a link, which refers to a note if its text is a number or sign
	Text content.Builder

	styled bool // the element is raised by its style
	link   bool // the link is the element
}

// End writes the superscript that is pending, if any; next is the text behind it.
func (s *Superscript) End(out *content.Builder, next string) {
	text, note, link := s.Text.String(), s.Note, s.Link
	if *s = (Superscript{}); text == "" {
		return
	}
	if link && !note {
		if note = isMark(text); !note {
			out.Inline(text)
			return
		}
	}
	before := ""
	if out.Joins() {
		before = out.String()
	}
	out.Inline(raised(before, text, next, note))
}

// IsReference reports whether a class or id marks a reference to a footnote.
func IsReference(name string) bool { return reference.MatchString(name) }

var reference = regexp.MustCompile(`(?i)(?:^|[\s_:-])(?:foot-?note|fn|note-?ref|cite-?ref|reference|refmark|endnote)`)

var (
	power      = regexp.MustCompile(`^(?:[+−–-]?[0-9]{1,3}|[0-9]{0,2}[+−–-])$`) // 6, -1, 2+
	noteNumber = regexp.MustCompile(`^\[?\(?[0-9]{1,4}(?:[,;–-][ ]?[0-9]{1,4})*\)?\]?$`)
)

// raised returns the superscript s as plain text between before and next, so that words can still
// be found by their letters:
//
// Footnote marks become [1] behind a space: if note is set, or a number or sign follows a longer
// word. Exponents are written 10^6, Ca^2+ or x^n. Squares and cubes of units are m² and cm³. The
// rest stays: 1st, Mme, 14C.
func raised(before, s, next string, note bool) string {
	last, _ := utf8.DecodeLastRuneInString(before)
	word := wordLength(before)
	first, _ := utf8.DecodeRuneInString(next)
	bracketed := strings.HasPrefix(s, "[") || strings.HasPrefix(s, "(")
	mark := s
	if !bracketed {
		mark = "[" + s + "]"
	}
	switch {
	case before == "" && noteNumber.MatchString(s) && len(leadingLetters(next)) > 2:
		return mark + " " // in front of the text of a note
	case before == "":
		return s
	case unicode.IsDigit(last) && power.MatchString(s) && (first == '/' || first == '⁄'):
		return " " + s // 1 1/2
	case note, bracketed:
		return " " + mark
	case unicode.IsDigit(last):
		if power.MatchString(s) || len(s) == 1 && !strings.ContainsAny(s, "eoa") {
			return "^" + s
		}
		return s
	case unicode.IsLetter(last) && word <= 3:
		switch {
		case s == "2":
			return "²"
		case s == "3":
			return "³"
		case power.MatchString(s) && strings.ContainsAny(s, "+−–-"):
			return "^" + s
		case word == 1 && (power.MatchString(s) || len(s) == 1 && unicode.IsLower(last) && strings.Contains("nkmijtx", s)):
			return "^" + s
		case noteNumber.MatchString(s):
			return " " + mark
		}
		return s
	case unicode.IsLetter(last) && len(leadingLetters(s)) > 1:
		return " " + s // a trade mark
	}
	if utf8.RuneCountInString(s) <= 12 && !strings.Contains(s, " ") {
		return " " + mark
	}
	return " " + s
}

// isMark reports whether the text of a link right behind a word is that of a footnote mark.
func isMark(text string) bool {
	return noteNumber.MatchString(text) || utf8.RuneCountInString(text) <= 2 && strings.Trim(text, "*†‡§¶#") == ""
}

// wordLength returns the number of letters at the end of s, at most 4.
func wordLength(s string) int {
	n := 0
	for n < 4 {
		r, size := utf8.DecodeLastRuneInString(s)
		if !unicode.IsLetter(r) {
			break
		}
		s, n = s[:len(s)-size], n+1
	}
	return n
}

func leadingLetters(s string) string {
	return s[:len(s)-len(strings.TrimLeftFunc(s, unicode.IsLetter))]
}
