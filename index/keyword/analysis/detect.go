package analysis

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/registry"
)

// How much of the documents is read to detect their language, in bytes.
const (
	sampleBytes   = 64 << 10
	documentBytes = 1 << 10
)

// Sample collects the texts of documents to detect their language. The zero value is empty. It is
// not safe for concurrent use.
type Sample struct{ texts strings.Builder }

// Add adds the beginning of the longest field of a document and returns Enough.
func (s *Sample) Add(fields map[string]any) (enough bool) {
	longest := ""
	for _, v := range fields {
		if text, ok := v.(string); ok && len(text) > len(longest) {
			longest = text
		}
	}
	s.texts.WriteString(longest[:min(len(longest), documentBytes)])
	s.texts.WriteByte('\n')
	return s.Enough()
}

// Enough reports whether the sample is large enough.
func (s *Sample) Enough() bool { return s.texts.Len() >= sampleBytes }

// Language returns in which of [Languages] the documents should be searched; "standard" is a
// language that has no analyzer of its own. It returns "" for a sample that is short, mixed,
// program code or names.
func (s *Sample) Language() string { return detect(s.texts.String()) }

// Thresholds of detect, as shares of all words unless stated otherwise.
const (
	minWords       = 40   // number of words
	maxStopShare   = 0.06 // what one stop word counts at most
	minStopShare   = 0.15 // the stop words of the detected language
	minSharedShare = 0.1  // the same for other scripts than Latin, which often attach articles and prepositions to words
	minLead        = 1.5  // ratio of its stop words to those of each other language, without those that both have
	minForeign     = 0.05 // words with letters beyond ASCII in a text of no known language that is not English
	minCJK         = 0.3  // share of letters in Han, kana and Hangul
)

// notRussian are letters of other languages in Cyrillic script.
const notRussian = "іїєґўђјљњћџѓќѕ"

// detect counts the stop words of each language in a sample.
func detect(sample string) string {
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
		if code { // such as a hash: the letters between its digits are not words
			continue
		}
		words++
		if !ascii {
			foreign++
		}
		counts[strings.ToLower(w)]++
	}
	if float64(unspaced) > minCJK*float64(letters) {
		return "cjk"
	}
	if words < minWords {
		return ""
	}
	found := map[string]float64{}        // stop words by language
	exclusive := map[[2]string]float64{} // stop words of the first language that the second does not have
	for w, has := range stopWords() {
		n := min(float64(counts[w]), maxStopShare*float64(words))
		if n == 0 {
			continue
		}
		for _, language := range has {
			found[language] += n
			for _, other := range languages {
				if !slices.Contains(has, other) {
					exclusive[[2]string{language, other}] += n
				}
			}
		}
	}
	best := slices.MaxFunc(languages, func(a, b string) int { return cmp.Compare(found[a], found[b]) })
	leads := !slices.ContainsFunc(languages, func(other string) bool {
		return other != best && exclusive[[2]string{best, other}] < minLead*exclusive[[2]string{other, best}]
	})
	share := minStopShare
	if foreign > words/2 {
		share = minSharedShare
	}
	switch {
	case best == "ru" && strings.ContainsAny(sample, notRussian):
		return "standard"
	case leads && found[best] >= share*float64(words):
		return best
	case float64(foreign) >= minForeign*float64(words) && found["en"] < minStopShare*float64(words):
		return "standard"
	}
	return ""
}

// stopWords maps stop words to the languages that have them.
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
