package keyword

import (
	"context"
	"slices"
	"testing"
)

// TestOneCharacter: in scripts that are indexed in pairs a query of one character finds it within
// longer runs, and longer queries are their pairs alone.
func TestOneCharacter(t *testing.T) {
	for _, tc := range []struct {
		language, query, text string
		want                  bool
	}{
		{"cjk", "猫", "黒い猫", true},
		{"cjk", "猫", "猫の手", true},
		{"cjk", "い", "黒い猫", true},
		{"cjk", "犬", "黒い猫", false},
		{"cjk", "책", "책입니다", true},
		{"cjk", "2024年", "2024年の冬", true},
		{"cjk", "年 冬", "2024年の冬", false},
		{"cjk", "の年", "2024年の冬", false},
		{"cjk", "使い 方 x", "iPhoneの使い方 X", true},
		{"cjk", "黒い 猫", "黒い猫", true},
		{"cjk", "黒い猫", "黒い 猫", false},
		{"cjk", "ถ", "รถไฟ", true},
		{"standard", "ถ", "รถไฟ", true},
		{"standard", "รถไฟ ไทย", "รถไฟ ไทย", true},
		{"en", "ถ", "รถไฟ", true},
		{"en", "รถไฟ train", "the รถไฟ train", true},
	} {
		x := openTemp(t, Options{Language: tc.language})
		apply(t, x, 1, Entry{No: 1, Text: []Field{{"body", tc.text}}})
		p := x.Phrase(tc.query)
		have, err := x.WithTerms(context.Background(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Holds(tc.text, nil, p)[0] != NotHeld && !have.IsEmpty(); got != tc.want {
			t.Errorf("%s: %q in %q: %v, want %v; %v in %v", tc.language, tc.query, tc.text, got, tc.want, p, x.Analyze(tc.text))
		}
		if tc.want {
			if _, total, err := x.Search(context.Background(), Query{Text: tc.query, Operator: And}, 1, nil); total != 1 || err != nil {
				t.Errorf("%s: search for %q in %q finds %d, %v", tc.language, tc.query, tc.text, total, err)
			}
		}
	}
}

// TestSinglesAreNotCounted: characters that are terms beside the pair they are in make no text
// longer and no query ask for more.
func TestSinglesAreNotCounted(t *testing.T) {
	for _, tc := range []struct {
		language, text string
		terms          []string
	}{
		{"cjk", "黒い猫 2024年", []string{"黒い", "い猫", "2024", "年"}},
		{"cjk", "한국어 책 이", []string{"한국", "국어", "책", "이"}},
		{"cjk", "㌔ รถไฟ", []string{"キロ", "รถ", "ถไ", "ไฟ"}},
		{"th", "รถไฟ ก", []string{"รถ", "ถไ", "ไฟ", "ก"}},
		{"en", "รถไฟ ก run", []string{"รถ", "ถไ", "ไฟ", "ก", "run"}},
	} {
		if tc.language == "th" {
			tc.language = "standard"
		}
		x := openTemp(t, Options{Language: tc.language})
		apply(t, x, 1, Entry{No: 1, Text: []Field{{"body", tc.text}}})
		var asked []string
		terms, _ := x.queryTerms(Query{Text: tc.text}, nil)
		for _, term := range terms {
			asked = append(asked, string(term.text))
		}
		if !slices.Equal(asked, tc.terms) {
			t.Errorf("%s: %q asks for %q, want %q", tc.language, tc.text, asked, tc.terms)
		}
		err := x.Lengths(context.Background(), func(_ uint32, terms map[string]int) error {
			if terms["body"] != len(tc.terms) {
				t.Errorf("%s: %q has length %d, want %d", tc.language, tc.text, terms["body"], len(tc.terms))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
