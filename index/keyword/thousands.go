package keyword

import (
	"bytes"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
)

// numberAt returns how many bytes of term from i on are a number with full stops or commas between
// its digits, as in 3.5mm and v1.2.3; 0: none.
func numberAt(term []byte, i int) int {
	end, parts := i, 0
	for {
		digits := end
		for end < len(term) && isDigit(term[end]) {
			end++
		}
		if end == digits {
			break
		}
		if parts++; end+1 >= len(term) || term[end] != '.' && term[end] != ',' || !isDigit(term[end+1]) {
			break
		}
		end++
	}
	if parts < 2 {
		return 0
	}
	return end - i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// thousands is a token filter that leaves out the sign with which a language parts thousands: 1,000
// is 1000. 0: none.
type thousands byte

// thousandsOf has the languages where that is a full stop, and those where it is a comma.
func thousandsOf(language string) thousands {
	switch language {
	case "da", "de", "es", "hr", "hu", "it", "nl", "no", "pt", "ro", "tr":
		return '.'
	case "cjk", "en", "hi", "standard":
		return ','
	}
	return 0
}

// Filter implements analysis.TokenFilter.
func (s thousands) Filter(input analysis.TokenStream) analysis.TokenStream {
	for _, t := range input {
		if len(t.Term) > 4 && isDigit(t.Term[0]) && bytes.IndexByte(t.Term, byte(s)) > 0 && s.parts(string(t.Term)) {
			t.Term = bytes.ReplaceAll(t.Term, []byte{byte(s)}, nil)
		}
	}
	return input
}

// parts says whether a number is parted into groups of three digits; before the last, India has
// them of two.
func (s thousands) parts(number string) bool {
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
