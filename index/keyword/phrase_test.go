package keyword

import (
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
		{"across pieces of a long text", "standard", "alpha omega", long("alpha", pieceBytes) + "omega", true},
		{"not across pieces", "standard", "omega alpha", long("alpha", pieceBytes) + "omega", false},
		{"stop word", "en", "point of view", "my point of view", true},
		{"any word for it", "en", "point of view", "my point any view", true},
		{"no word for it", "en", "point of view", "my point view", false},
		{"stem", "en", "running shoe", "Runs shoes", true},
		{"hyphen", "en", "state-of-the-art", "a state-of-the-art thing", true},
		{"humps", "en", "http header", "parseHTTPHeader(x)", true},
		{"whole name", "en", "parseHTTPHeader", "call parseHTTPHeader now", true},
		{"around a name", "en", "call parse http header now", "call parse_http_header now", true},
		{"German", "de", "der grüne Baum", "unter grünen Bäumen", true},
		{"Chinese, Japanese", "cjk", "東京都", "私は東京都に住む", true},
		{"Chinese, Japanese, order", "cjk", "京東", "私は東京都に住む", false},
		{"Chinese, Japanese, longer", "cjk", "東京大学", "東京の大学", false},
		{"Korean", "cjk", "검색 엔진", "한국어 검색 엔진입니다", true},
		{"Korean, order", "cjk", "엔진 검색", "한국어 검색 엔진입니다", false},
		{"Korean, one syllable", "cjk", "이 책", "저는 이 책 좋아요", true},
		{"Korean, decomposed", "cjk", "검색 엔진", norm.NFD.String("한국어 검색 엔진입니다"), true},
		{"full width", "cjk", "version 12", "Ｖｅｒｓｉｏｎ　１２です", true},
		{"French, decomposed", "fr", "café au lait", norm.NFD.String("un café au lait"), true},
		{"French, decomposed phrase", "fr", norm.NFD.String("café au lait"), "un café au lait", true},
		{"Russian", "ru", "красная площадь", "на Красной площади", true},
		{"Arabic", "ar", "كتاب جديد", "هذا كتاب جديد", true},
		{"empty", "en", "of the", "anything", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := newAnalyzer(tc.language)
			if err != nil {
				t.Fatal(err)
			}
			x := &Index{analyzer: a}
			if got := x.Holds(tc.text, nil, x.Phrase(tc.phrase))[0]; got != tc.want {
				t.Errorf("%q in %q: %v, want %v; %+v in %+v", tc.phrase, tc.text, got, tc.want, x.Phrase(tc.phrase), x.Analyze(tc.text[max(0, len(tc.text)-80):]))
			}
		})
	}
}

// TestHoldsInStrings: a phrase does not go from one string of a text to the next, over pieces of a long one neither.
func TestHoldsInStrings(t *testing.T) {
	a, err := newAnalyzer("en")
	if err != nil {
		t.Fatal(err)
	}
	x := &Index{analyzer: a}
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
		{"car of the house", []string{"x", "", "car for a house"}, true},
		{"car blue", []string{"car", "car blue"}, true},
		{"alpha omega", []string{long("alpha", pieceBytes), "omega"}, false},
		{"alpha omega", []string{"x", long("alpha", pieceBytes) + "omega"}, true},
		{"red", []string{"blue", "red"}, true},
	} {
		text, starts := join(tc.texts...)
		if got := x.Holds(text, starts, x.Phrase(tc.phrase))[0]; got != tc.want {
			t.Errorf("%q in %.80q: %v, want %v", tc.phrase, tc.texts, got, tc.want)
		}
	}
}

// TestHoldsInRepetitions: a text and phrases that repeat a word take a time like the length of the text, not like that times the lengths of the phrases.
func TestHoldsInRepetitions(t *testing.T) {
	a, err := newAnalyzer("en")
	if err != nil {
		t.Fatal(err)
	}
	x := &Index{analyzer: a}
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
		if got != (i == 3) {
			t.Errorf("phrase %d: %v", i, got)
		}
	}
	if took > 5*time.Second {
		t.Errorf("%d phrases in %d bytes took %v", len(phrases), len(text), took)
	}
}

// long repeats a word to n bytes and more.
func long(word string, n int) string {
	var s []byte
	for len(s) < n {
		s = append(append(s, word...), ' ')
	}
	return string(s)
}
