// Package terminal escapes control characters in untrusted text.
package terminal

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable escapes the control characters of s, and those that change the direction of text, as in
// a Go string literal. Newlines stay.
func Printable(s string) string {
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isControl(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isControl(r rune) bool {
	return unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r)
}
