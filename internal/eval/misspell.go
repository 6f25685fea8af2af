package eval

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// misspellFrom is the least number of letters of a word that Misspell touches.
const misspellFrom = 5

// Misspell returns text with one edit in a word of small letters chosen by seed: a letter deleted,
// inserted or replaced, or two neighbours swapped. First letters stay. A text without such a word
// is returned unchanged.
func Misspell(text string, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	words := strings.Split(text, " ")
	var long []int
	for i, w := range words {
		if len(w) >= misspellFrom && !strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
			long = append(long, i)
		}
	}
	if len(long) == 0 {
		return text
	}
	at := long[r.IntN(len(long))]
	for was := words[at]; words[at] == was; {
		words[at] = string(edited([]rune(was), r))
	}
	return strings.Join(words, " ")
}

func edited(w []rune, r *rand.Rand) []rune {
	i, letter := 1+r.IntN(len(w)-1), 'a'+rune(r.IntN(26))
	switch r.IntN(4) {
	case 0:
		return slices.Delete(w, i, i+1)
	case 1:
		return slices.Insert(w, i, letter)
	case 2:
		w[i] = letter
	default:
		i = max(i, 2)
		w[i-1], w[i] = w[i], w[i-1]
	}
	return w
}
