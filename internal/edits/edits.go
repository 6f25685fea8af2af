// Package edits measures how similar the spelling of two words is.
package edits

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bare returns a word without its accents: Zürich is Zurich. Vowel marks of
// other scripts stay.
func Bare(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return r >= 0xc0 }) {
		return word
	}
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if 0x300 <= r && r <= 0x36f {
			return -1
		}
		return r
	}, norm.NFD.String(word)))
}

// Between returns the edit distance of two words: the least number of insertions, deletions,
// substitutions and transpositions of neighbours (optimal string alignment: no character is edited
// twice). Its time grows with the product of their lengths.
func Between(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range y {
			exchanged := last[j]
			if x[i] != y[j] {
				exchanged++
			}
			row[j+1] = min(exchanged, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(y)]
}

// maxNearest is the length in bytes of the longest name that [Nearest] compares.
const maxNearest = 64

// Nearest returns the known name that differs in case and at most a third of the letters; else the
// longest one that name begins with, or the first that begins with it; else "".
func Nearest(name string, known []string) string {
	if len(name) > maxNearest {
		return ""
	}
	letters := strings.NewReplacer("_", "", "-", "")
	lower := strings.ToLower(name)
	var best, begins, continues string
	least := max(1, utf8.RuneCountInString(lower)/3) + 1
	for _, k := range known {
		l := strings.ToLower(k)
		if k == name || len(l) > maxNearest {
			continue
		}
		if d := Between(letters.Replace(lower), letters.Replace(l)); d < least && d < len(l) {
			best, least = k, d
		}
		if strings.HasPrefix(lower, l) && len(k) > len(begins) {
			begins = k
		}
		if continues == "" && len(lower) > 1 && strings.HasPrefix(l, lower) {
			continues = k
		}
	}
	return cmp.Or(best, begins, continues)
}
