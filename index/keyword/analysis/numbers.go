package analysis

import (
	"bytes"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
)

// numberAt returns the length of the number at i in term that has full stops or commas between its
// digits, as in 3.5mm and v1.2.3; 0 if there is none.
func numberAt(term []byte, i int) int {
	end, groups := i, 0
	for {
		digits := end
		for end < len(term) && IsDigit(term[end]) {
			end++
		}
		if end == digits {
			break
		}
		if groups++; end+1 >= len(term) || term[end] != '.' && term[end] != ',' || !IsDigit(term[end+1]) {
			break
		}
		end++
	}
	if groups < 2 {
		return 0
	}
	return end - i
}

// isDate reports whether a number has day, month and year in this or the reverse order, with full
// stops between them: 05.03.2024, 5.3.2024, 2024.03.05.
func isDate(number []byte) bool {
	groups := bytes.Split(number, []byte("."))
	if len(groups) != 3 || slices.ContainsFunc(groups, func(g []byte) bool { return len(g) == 0 || !allDigits(g) }) {
		return false
	}
	first, last := len(groups[0]), len(groups[2])
	return len(groups[1]) <= 2 && (first <= 2 && last == 4 || first == 4 && last <= 2)
}

// IsDigit reports whether c is an ASCII digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

func allDigits(b []byte) bool { return len(bytes.Trim(b, "0123456789")) == 0 }

// joinThousands is a token filter that removes the thousands separator of a language: 1,000 becomes
// 1000. Its zero value removes nothing.
type joinThousands byte

func thousandsOf(language string) joinThousands {
	switch language {
	case "da", "de", "es", "hr", "hu", "it", "nl", "no", "pt", "ro", "tr":
		return '.'
	case "cjk", "en", "hi", "standard":
		return ','
	}
	return 0
}

// Filter implements analysis.TokenFilter.
func (s joinThousands) Filter(input analysis.TokenStream) analysis.TokenStream {
	for _, t := range input {
		if len(t.Term) > 4 && IsDigit(t.Term[0]) && bytes.IndexByte(t.Term, byte(s)) > 0 && s.separates(string(t.Term)) {
			t.Term = bytes.ReplaceAll(t.Term, []byte{byte(s)}, nil)
		}
	}
	return input
}

// separates reports whether the separator cuts a number into groups of three digits. Indian numbers
// have groups of two before the last one.
func (s joinThousands) separates(number string) bool {
	if i := strings.IndexAny(number, ".,"); number[i] != byte(s) {
		return false
	}
	whole := number
	if i := strings.LastIndexAny(number, ".,"); number[i] != byte(s) {
		whole = number[:i]
	}
	groups := strings.Split(whole, string(rune(s)))
	for i, g := range groups {
		last := i == len(groups)-1
		if strings.Trim(g, "0123456789") != "" || len(g) > 3 || i > 0 && len(g) < 2 || last && len(g) != 3 {
			return false
		}
	}
	return groups[0] != "0"
}
