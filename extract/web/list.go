package web

import (
	"strconv"

	"golang.org/x/net/html/atom"
)

// list begins a list, whose items are numbered from start, or 1, if it is an ol element.
func (w *writer) list(tag atom.Atom, start int) {
	if len(w.numbers) == maxListDepth {
		return
	}
	number := 0
	if tag == atom.Ol {
		number = max(1, start)
	}
	w.numbers = append(w.numbers, number)
}

// maxListDepth is the depth of the lists whose items keep their numbers.
const maxListDepth = 16

// mark returns the bullet or number of the next item; value is its number if it has one.
func (w *writer) mark(value int) string {
	if w.lists == 0 || w.lists > len(w.numbers) || w.numbers[w.lists-1] == 0 {
		return "- "
	}
	number := &w.numbers[w.lists-1]
	if value > 0 {
		*number = value
	}
	*number++
	return strconv.Itoa(*number-1) + ". "
}
