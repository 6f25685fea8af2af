// Package terminal writes texts of others so that a terminal shows them and obeys nothing in them.
package terminal

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable writes the control characters of s, and those that turn the direction of a text around,
// as Go does in quotes. Line ends stay.
func Printable(s string) string {
	if strings.IndexFunc(s, obeyed) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if obeyed(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func obeyed(r rune) bool {
	return unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r)
}
