package keyword

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/registry"
)

const (
	guessWords   = 40   // fewer words say nothing
	guessMost    = 0.06 // of all words, what one stop word counts at most
	guessShare   = 0.15 // of all words, the stop words of a language, from which it is taken
	guessShared  = 0.1  // the same where most words are in another script than Latin: articles and prepositions may be parts of words there
	guessLead    = 1.5  // of a language over each other one, without the stop words that both have
	guessUnknown = 0.05 // of all words, those with letters beyond ASCII, from which a text without a language is no English
	guessCJK     = 0.3  // of all letters, those written without spaces, from which a text is Chinese, Japanese or Korean
)

// What of documents is read to tell their language.
const (
	sampleBytes    = 64 << 10
	sampleDocument = 1 << 10 // of one document
)

// Sample is what of documents tells their language: the beginnings of their longest fields. The
// zero value is empty. Not safe for concurrent use.
type Sample struct{ texts strings.Builder }

// Add takes a document in, and says whether the sample is large enough.
func (s *Sample) Add(fields map[string]any) (enough bool) {
	longest := ""
	for _, v := range fields {
		if text, ok := v.(string); ok && len(text) > len(longest) {
			longest = text
		}
	}
	s.texts.WriteString(longest[:min(len(longest), sampleDocument)])
	s.texts.WriteByte('\n')
	return s.Enough()
}

// Enough says whether the sample is large enough.
func (s *Sample) Enough() bool { return s.texts.Len() >= sampleBytes }

// Language returns what [GuessLanguage] says of the sample.
func (s *Sample) Language() string { return GuessLanguage(s.texts.String()) }

// notRussian are letters of other languages that are written as Russian is.
const notRussian = "іїєґўђјљњћџѓќѕ"

// GuessLanguage returns in which of [Languages] a sample of texts should be searched, and "" where
// it does not tell: it is short, mixed, program code or names. "standard" is for a language that
// none of them is for. It counts stop words.
func GuessLanguage(sample string) string {
	letters, unspaced, words, foreign := 0, 0, 0, 0
	counts := map[string]int{}
	for _, w := range strings.FieldsFunc(sample, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' && r != '’' && r != '\u200c' && !unicode.IsDigit(r)
	}) {
		ascii, code := true, false
		for _, r := range w {
			if unicode.IsDigit(r) {
				code = true
				continue
			}
			letters++
			if r >= utf8.RuneSelf {
				ascii = false
				if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
					unspaced++
				}
			}
		}
		if code { // as a hash: the letters between its digits are no words
			continue
		}
		words++
		if !ascii {
			foreign++
		}
		counts[strings.ToLower(w)]++
	}
	if float64(unspaced) > guessCJK*float64(letters) {
		return "cjk"
	}
	if words < guessWords {
		return ""
	}
	said := map[string]float64{}      // by language: how many words are stop words of it
	beyond := map[[2]string]float64{} // by two languages: how many are of the first and not of the second
	for w, has := range stopWords() {
		n := min(float64(counts[w]), guessMost*float64(words))
		if n == 0 {
			continue
		}
		for _, language := range has {
			said[language] += n
			for _, other := range languages {
				if !slices.Contains(has, other) {
					beyond[[2]string{language, other}] += n
				}
			}
		}
	}
	best := slices.MaxFunc(languages, func(a, b string) int { return cmp.Compare(said[a], said[b]) })
	alone := !slices.ContainsFunc(languages, func(other string) bool {
		return other != best && beyond[[2]string{best, other}] < guessLead*beyond[[2]string{other, best}]
	})
	share := guessShare
	if foreign > words/2 {
		share = guessShared
	}
	switch {
	case best == "ru" && strings.ContainsAny(sample, notRussian):
		return "standard"
	case alone && said[best] >= share*float64(words):
		return best
	case float64(foreign) >= guessUnknown*float64(words) && said["en"] < guessShare*float64(words):
		return "standard"
	}
	return ""
}

// stopWords returns stop words and the languages that have each. They are kept, as an import of
// many files asks for each.
var stopWords = sync.OnceValue(func() map[string][]string {
	cache := registry.NewCache()
	out := map[string][]string{}
	for _, language := range languages {
		words, err := cache.TokenMapNamed("stop_" + language)
		if err != nil {
			continue // "cjk" and "standard" have none
		}
		for w := range words {
			out[w] = append(out[w], language)
		}
	}
	return out
})
