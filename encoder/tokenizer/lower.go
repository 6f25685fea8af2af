package tokenizer

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// lowerSigma returns the lower case of the Σ at byte i: ς at the end of a word, σ elsewhere
// (Final_Sigma of the Unicode standard, as Python's str.lower has it).
func lowerSigma(text []byte, i int) string {
	if cased(text[:i], utf8.DecodeLastRune, func(b []byte, n int) []byte { return b[:len(b)-n] }) &&
		!cased(text[i+len("Σ"):], utf8.DecodeRune, func(b []byte, n int) []byte { return b[n:] }) {
		return "ς"
	}
	return "σ"
}

// maxIgnorable bounds how many case-ignorable characters are skipped, so that time stays linear.
const maxIgnorable = 64

// cased reports whether the first character that is not case-ignorable has case.
func cased(b []byte, decode func([]byte) (rune, int), rest func([]byte, int) []byte) bool {
	for range maxIgnorable {
		r, n := decode(b)
		if n == 0 {
			return false
		}
		if !caseIgnorable(r) {
			return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
		}
		b = rest(b, n)
	}
	return false
}

func caseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '·', '^', '`', '\u2018', '\u2019', '\u2024', '\u2027', '\u00AD', '\u0387', '\u055F', '\u05F4',
		'\uFE13', '\uFE52', '\uFE55', '\uFF07', '\uFF0E', '\uFF1A':
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// trimSpace returns the range [i, j) of b without white space at its ends; empty if there is
// nothing else.
func trimSpace(b []byte, i, j int) (int, int) {
	isSpace := func(r rune) bool { return unicode.IsSpace(r) || r == byteRune[' '] }
	i = j - len(bytes.TrimLeftFunc(b[i:j], isSpace))
	return i, i + len(bytes.TrimRightFunc(b[i:j], isSpace))
}
