package analysis

import (
	"os"
	"strings"
	"testing"
)

// TestAccents counts in testdata/accents.txt how many words have the terms that they have without
// accents, and how many forms of a word those of its first. The words that are missing are stop
// words with their accents mostly, or forms that the stemmer does not know.
func TestAccents(t *testing.T) {
	type counts struct{ typed, forms int }
	want := map[string]counts{
		"ar":       {13, 0},  // of 16, 0; with accents kept 11, 0
		"cjk":      {6, 0},   // of 6, 0; with accents kept 3, 0
		"ckb":      {4, 0},   // of 6, 0; with accents kept 4, 0
		"da":       {19, 3},  // of 21, 5; with accents kept 0, 4
		"de":       {24, 8},  // of 24, 8; with accents kept 16, 7
		"en":       {23, 1},  // of 23, 1; with accents kept 14, 1
		"es":       {29, 10}, // of 36, 16; with accents kept 28, 10
		"fa":       {10, 0},  // of 13, 0; with accents kept 10, 0
		"fi":       {7, 5},   // of 7, 7; with accents kept 0, 5
		"fr":       {85, 37}, // of 88, 41; with accents kept 54, 37
		"hi":       {9, 2},   // of 9, 2; with accents kept 9, 2
		"hr":       {46, 23}, // of 49, 25; with accents kept 0, 23
		"hu":       {91, 57}, // of 92, 71; with accents kept 5, 58
		"it":       {22, 0},  // of 27, 4; with accents kept 9, 0
		"nl":       {26, 1},  // of 28, 7; with accents kept 15, 1
		"no":       {13, 4},  // of 17, 6; with accents kept 0, 5
		"pt":       {62, 22}, // of 66, 30; with accents kept 38, 19
		"ro":       {42, 12}, // of 46, 20; with accents kept 4, 11
		"ru":       {8, 2},   // of 10, 2; with accents kept 5, 2
		"standard": {38, 0},  // of 38, 0; with accents kept 1, 0
		"sv":       {13, 3},  // of 13, 6; with accents kept 0, 4
		"tr":       {33, 14}, // of 40, 16; with accents kept 2, 14
	}
	list, err := os.ReadFile("testdata/accents.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		language, words, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if _, known := LanguageOf(language); !ok || !known {
			continue
		}
		a := newAnalyzer(t, language)
		terms := func(s string) string { return wordTerms(a, s) }
		var got, of counts
		for group := range strings.SplitSeq(words, "; ") {
			first := ""
			for i, form := range strings.Fields(group) {
				with, without, both := strings.Cut(form, "/")
				term := terms(with)
				if both {
					of.typed++
					if term != "" && terms(without) == term {
						got.typed++
					}
				}
				switch {
				case i == 0:
					first = term
				default:
					of.forms++
					if term != "" && term == first {
						got.forms++
					}
				}
			}
		}
		if got != want[language] {
			t.Errorf("%s: %+v of %+v, want %+v", language, got, of, want[language])
		}
	}
}

// wordTerms returns the terms of the words of a text.
func wordTerms(a *Analyzer, text string) string {
	var out []string
	for t := range a.Tokens(text) {
		if t.Kind == Plain || t.Kind == Single {
			out = append(out, t.Term)
		}
	}
	return strings.Join(out, " ")
}

// TestFoldAccents: letters that are others to those who write them stay, and so do marks that are
// more than accents.
func TestFoldAccents(t *testing.T) {
	for _, tc := range []struct{ language, text, want string }{
		{"sv", "får far Håkan idé À", "får far håkan ide a"},
		{"fi", "sääri saari šakki", "sääri saari sak"},
		{"da", "Århus Aarhus Malmö café", "århus århus malmø caf"},
		{"no", "KØBE købe koebe", "køb køb køb"},
		{"es", "año ano corazón", "año ano corazon"},
		{"de", "Straße Müller Mueller Café", "strass mull mull caf"},
		{"tr", "ılık çiçeği kâğıt", "ilik cicek kagit"},
		{"it", "Sara sarà", "sara"},
		{"ru", "Йод ёж за\u0301мок", "йод еж замок"},
		{"standard", "Αθήνα ΟΔΟΣ οδός Łódź Việt שָׁלוֹם йод їжак", "αθηνα οδοσ οδοσ lodz viet שלום йод їжак"},
		{"en", "がく हिन्दी ที่ йод Søren Großmann", "が く हिन्दी ที่ йод soren grossmann"},
	} {
		a := newAnalyzer(t, tc.language)
		if s := wordTerms(a, tc.text); s != tc.want {
			t.Errorf("%s: the terms of %q are %q, want %q", tc.language, tc.text, s, tc.want)
		}
	}
}
