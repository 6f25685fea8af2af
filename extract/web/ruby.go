package web

import (
	"strings"

	"golang.org/x/net/html/atom"
)

// annotated skips the readings in ruby text, which would split words. Their end tags may be
// missing.
func (w *writer) annotated(tag atom.Atom, start bool) {
	switch {
	case tag == atom.Ruby:
		w.ruby, w.reading = start, false
	case tag == atom.Rt, tag == atom.Rp, tag == atom.Rtc:
		w.reading = w.ruby && start
	case tag == atom.Rb:
		w.reading = false
	case blocks[tag], ownLine[tag] && tag != atom.Br, tag == atom.Li, tag == atom.Td, tag == atom.Th:
		w.ruby, w.reading = false, false
	}
}

// withoutEndLines trims white space with line breaks, which is layout between the parts of ruby.
func withoutEndLines(s string) string {
	if t := strings.TrimLeft(s, " \t\r\n"); strings.Contains(s[:len(s)-len(t)], "\n") {
		s = t
	}
	if t := strings.TrimRight(s, " \t\r\n"); strings.Contains(s[len(t):], "\n") {
		s = t
	}
	return s
}
