package keyword

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"
)

// TestHolds checks phrases against texts in the languages whose analysis differs most.
func TestHolds(t *testing.T) {
	for _, tc := range []struct {
		name, language, phrase, text string
		want                         bool
	}{
		{"words", "standard", "red brick wall", "A red brick wall.", true},
		{"order", "standard", "brick red", "A red brick wall.", false},
		{"gap", "standard", "red wall", "A red brick wall.", false},
		{"repeated", "standard", "ha ha yes", "ha ha ha yes", true},
		{"repeated too little", "standard", "ha ha ha ha", "ha ha ha yes", false},
		{"across pieces of a long text", "standard", "alpha omega", long("alpha", (1<<16)) + "omega", true},
		{"not across pieces", "standard", "omega alpha", long("alpha", (1<<16)) + "omega", false},
		{"stop word", "en", "point of view", "my point of view", true},
		{"another word for it", "en", "point of view", "my point any view", false},
		{"no word for it", "en", "point of view", "my point view", false},
		{"stem", "en", "running shoe", "Runs shoes", true},
		{"hyphen", "en", "state-of-the-art", "a state-of-the-art thing", true},
		{"humps", "en", "http header", "parseHTTPHeader(x)", true},
		{"whole name", "en", "parseHTTPHeader", "call parseHTTPHeader now", true},
		{"around a name", "en", "call parse http header now", "call parse_http_header now", true},
		{"signs behind", "en", "C++", "a course in C", false},
		{"signs behind, alike", "en", "C++ course", "the C++ courses", true},
		{"signs before", "en", ".NET", "caught in the net", false},
		{"signs before, alike", "en", "for .NET", "a library for .NET.", true},
		{"sign between", "en", "AT&T", "t", false},
		{"sign between, alike", "en", "AT&T phone", "phones: an AT&T phone", true},
		{"German", "de", "grüne Baum", "unter grünen Bäumen", true},
		{"German stop word", "de", "der grüne Baum", "unter grünen Bäumen", false},
		{"Chinese, Japanese", "cjk", "東京都", "私は東京都に住む", true},
		{"Chinese, Japanese, order", "cjk", "京東", "私は東京都に住む", false},
		{"Chinese, Japanese, longer", "cjk", "東京大学", "東京の大学", false},
		{"Korean", "cjk", "검색 엔진", "한국어 검색 엔진입니다", true},
		{"Korean, order", "cjk", "엔진 검색", "한국어 검색 엔진입니다", false},
		{"Korean, one syllable", "cjk", "이 책", "저는 이 책 좋아요", true},
		{"Korean, decomposed", "cjk", "검색 엔진", norm.NFD.String("한국어 검색 엔진입니다"), true},
		{"around a name of a file", "cjk", "会議 my memo md 資料", "会議 my_memo.md 資料", true},
		{"full width", "cjk", "version 12", "Ｖｅｒｓｉｏｎ　１２です", true},
		{"French, decomposed", "fr", "café au lait", norm.NFD.String("un café au lait"), true},
		{"French, decomposed phrase", "fr", norm.NFD.String("café au lait"), "un café au lait", true},
		{"Russian", "ru", "красная площадь", "на Красной площади", true},
		{"Arabic", "ar", "كتاب جديد", "هذا كتاب جديد", true},
		{"stop words", "en", "of the", "anything", false},
		{"empty", "en", "…", "anything", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := unopened(t, tc.language)
			if got := x.Holds(tc.text, nil, x.Phrase(tc.phrase))[0] != NotHeld; got != tc.want {
				t.Errorf("%q in %q: %v, want %v; %+v in %+v", tc.phrase, tc.text, got, tc.want, x.Phrase(tc.phrase), x.Analyze(tc.text[max(0, len(tc.text)-80):]))
			}
		})
	}
}

// TestHoldsInStrings: a phrase does not go from one string of a text to the next, over pieces of a
// long one neither.
func TestHoldsInStrings(t *testing.T) {
	x := unopened(t, "en")
	join := func(texts ...string) (text string, starts []int) {
		for _, s := range texts {
			if text != "" {
				text += "\n"
				starts = append(starts, len(text))
			}
			text += s
		}
		return text, starts
	}
	for _, tc := range []struct {
		phrase string
		texts  []string
		want   bool
	}{
		{"red car", []string{"red car", "blue house"}, true},
		{"blue house", []string{"red car", "blue house"}, true},
		{"car blue", []string{"red car", "blue house"}, false},
		{"car blue house", []string{"red car", "blue house"}, false},
		{"car of the house", []string{"car", "old red house"}, false},
		{"car of the house", []string{"x", "", "car of the house"}, true},
		{"car blue", []string{"car", "car blue"}, true},
		{"alpha omega", []string{long("alpha", (1 << 16)), "omega"}, false},
		{"alpha omega", []string{"x", long("alpha", (1<<16)) + "omega"}, true},
		{"red", []string{"blue", "red"}, true},
	} {
		text, starts := join(tc.texts...)
		if got := x.Holds(text, starts, x.Phrase(tc.phrase))[0] != NotHeld; got != tc.want {
			t.Errorf("%q in %.80q: %v, want %v", tc.phrase, tc.texts, got, tc.want)
		}
	}
}

// TestHoldsInRepetitions: a text and phrases that repeat a word take a time like the length of the
// text, not like that times the lengths of the phrases.
func TestHoldsInRepetitions(t *testing.T) {
	x := unopened(t, "en")
	text := "end " + long("word", 2<<20)
	phrases := make([]Phrase, 16)
	for i := range phrases {
		phrases[i] = x.Phrase(strings.Repeat("word ", maxPhraseTerms-1-i) + "end")
	}
	phrases[3] = x.Phrase("end word word")
	began := time.Now()
	held := x.Holds(text, nil, phrases...)
	took := time.Since(began)
	for i, got := range held {
		if (got != NotHeld) != (i == 3) {
			t.Errorf("phrase %d: %v", i, got)
		}
	}
	if took > 5*time.Second {
		t.Errorf("%d phrases in %d bytes took %v", len(phrases), len(text), took)
	}
}

// TestHoldsAgain: a text that was looked through before holds the same phrases, in each language,
// and those that its terms say.
func TestHoldsAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields("run running der the brick Brick parseHTTPHeader 2024_03 東京都 of wall. O'Brien")
	sequence := func(n int) string {
		var out []string
		for range n {
			out = append(out, words[r.IntN(len(words))])
		}
		return strings.Join(out, " ")
	}
	languages := []string{"en", "de", "cjk", "standard"}
	indexes := map[string]*Index{}
	for _, l := range languages {
		indexes[l] = unopened(t, l)
	}
	held := 0
	for range 300 {
		text, phrase := sequence(1+r.IntN(30)), sequence(1+r.IntN(3))
		for range 2 {
			for _, l := range languages {
				x := indexes[l]
				p := x.Phrase(phrase)
				want := holdsSlowly(x, text, p)
				if got := x.Holds(text, nil, p)[0] != NotHeld; got != want {
					t.Fatalf("%s: %q in %q: %t, want %t", l, phrase, text, got, want)
				}
				if want {
					held++
				}
			}
		}
	}
	if held < 100 {
		t.Fatalf("only %d were held", held)
	}
}

// holdsSlowly is Holds of a text that is one string, in any form of the words.
func holdsSlowly(x *Index, text string, p Phrase) bool {
	tokens := slices.Collect(x.analyzer.Tokens(text))
	var from func(place, position int, anywhere bool) bool
	from = func(place, position int, anywhere bool) bool {
		if place == p.end {
			return true
		}
		for _, s := range p.steps {
			for _, t := range tokens {
				if s.from == place && t.Term == s.term && (anywhere || t.Position == position) && from(s.to, t.Next, false) {
					return true
				}
			}
		}
		return false
	}
	return p.Len() == 0 || from(0, 0, true)
}

// long repeats a word to n bytes and more.
func long(word string, n int) string {
	var s []byte
	for len(s) < n {
		s = append(append(s, word...), ' ')
	}
	return string(s)
}
