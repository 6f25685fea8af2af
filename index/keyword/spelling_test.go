package keyword

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/text/unicode/norm"

	"example.com/searchd/index/keyword/analysis"
)

// spelled has for each language words that can be typed composed and decomposed. Every language
// gets those of the others, too.
var spelled = map[string]string{
	"ar":       "آثار مؤسسة رائحة",
	"cjk":      "がっこう パソコン 한국어 검색 엔진 葛飾",
	"ckb":      "ئازادی ئێوارە",
	"da":       "Århus påske",
	"de":       "Müller Straßenbäume",
	"en":       "Café naïve",
	"es":       "Señor corazón",
	"fa":       "آزادی رئیس",
	"fi":       "Äänekoski höyry",
	"fr":       "Café garçon",
	"hi":       "ज़मीन ऩगर क़लम",
	"hr":       "Šibenik kuća",
	"hu":       "Győr tűzoltó",
	"it":       "Caffè città",
	"nl":       "Coöperatie reëel",
	"no":       "Ålesund våren",
	"pt":       "Ação pão",
	"ro":       "București țară",
	"ru":       "Йошкар ёлка",
	"standard": "Việt Ṛ̇ώ ﬁancé",
	"sv":       "Åkerö mjölk",
	"tr":       "İstanbul çiçeği",
}

// TestSpellings finds each word in a text by the word, each composed or decomposed, by its terms
// and as a phrase, and wants the whole word marked.
func TestSpellings(t *testing.T) {
	var all []string
	for _, words := range spelled {
		all = append(all, strings.Fields(words)...)
	}
	slices.Sort(all)
	forms := []norm.Form{norm.NFC, norm.NFD}
	for _, language := range analysis.Languages() {
		t.Run(language, func(t *testing.T) {
			words := strings.Fields(spelled[language])
			if len(words) == 0 {
				t.Fatal("no words")
			}
			x := openTemp(t, Options{Language: language})
			for i, form := range forms {
				apply(t, x, uint64(i+1), Entry{No: uint32(i), Text: []Field{{"body", "1234 " + form.String(strings.Join(words, " ")) + " 5678"}}})
			}
			for _, word := range words {
				for _, form := range forms {
					q := form.String(word)
					if hits, total, err := x.Search(t.Context(), Query{Text: q}, 5, nil); total != 2 || err != nil || hits[0].Score != hits[1].Score {
						t.Errorf("Search(%+q) = %v, %v, want both with one score", q, hits, err)
					}
				}
			}
			for _, word := range all {
				composed, decomposed := norm.NFC.String(word), norm.NFD.String(word)
				text := "1234 " + composed + " 5678 " + decomposed + " 90"
				if a, b := markedTerms(x, composed), markedTerms(x, decomposed); a != b {
					t.Errorf("%+q has %s, decomposed %s", word, a, b)
				}
				if p, q := x.Phrase(composed+" 5678"), x.Phrase(decomposed+" 90"); x.Holds(text, nil, p)[0] == NotHeld || x.Holds(text, nil, q)[0] == NotHeld {
					t.Errorf("%+q: phrases %v, %v are not in %v", word, p, q, x.Phrase(text))
				}
			}
		})
	}
}

// markedTerms are the terms of a text, each with the composed bytes of the text that it stands for.
func markedTerms(x *Index, text string) string {
	var b strings.Builder
	for _, tok := range x.Analyze(text) {
		fmt.Fprintf(&b, "%s[%s]%d ", tok.Term, norm.NFC.String(text[tok.Start:tok.End]), tok.Position)
	}
	return strings.TrimSpace(b.String())
}

// TestPairs searches "cjk" for all words of queries.
func TestPairs(t *testing.T) {
	texts := []string{"한국어 검색 엔진입니다", "서울에서 김치를 먹었다", "이 책 참 좋다", "電話は１２３です", "call 123 or ABC", "私は東京都に住む", "ﾊﾟﾅｿﾆｯｸの電話", "佐々木さん", "木佐と人々"}
	x := openTemp(t, Options{Language: "cjk"})
	for i, text := range texts {
		apply(t, x, uint64(i+1), Entry{No: uint32(i), Text: []Field{{"body", text}}})
	}
	for _, tt := range []struct {
		query string
		want  []uint32
	}{
		{"엔진", []uint32{0}},
		{"한국어", []uint32{0}},
		{"검색 엔진", []uint32{0}},
		{"김치", []uint32{1}},
		{"치김", nil},
		{"책", []uint32{2}},
		{"123", []uint32{3, 4}},
		{"１２３", []uint32{3, 4}},
		{"ａｂｃ", []uint32{4}},
		{"東京", []uint32{5}},
		{"パナソニック", []uint32{6}},
		{"佐々木", []uint32{7}},
		{"人々", []uint32{8}},
	} {
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			q := Query{Text: form.String(tt.query), Operator: And}
			if got := found(t, x, q); !slices.Equal(got, tt.want) {
				t.Errorf("Search(%+q) = %v, want %v", q.Text, got, tt.want)
			}
		}
	}
	p, err := x.WithTerms(context.Background(), x.Phrase("검색 엔진"), nil)
	if err != nil || !p.Equals(roaring.BitmapOf(0)) {
		t.Errorf("WithTerms = %v, %v, want 0", p, err)
	}
}

// found returns the numbers of what a query finds, sorted.
func found(t *testing.T, x *Index, q Query) (nos []uint32) {
	t.Helper()
	hits, _, err := x.Search(t.Context(), q, 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		nos = append(nos, h.No)
	}
	slices.Sort(nos)
	return nos
}

// TestUnspaced finds words in texts of scripts without spaces, and as phrases, in every language.
func TestUnspaced(t *testing.T) {
	texts := []string{"สวัสดีชาวกรุงเทพมหานคร", "ชาวกรุงโรม", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာစာ"}
	for _, language := range analysis.Languages() {
		x := openTemp(t, Options{Language: language})
		for i, text := range texts {
			apply(t, x, uint64(i+1), Entry{No: uint32(i), Text: []Field{{"body", text}}})
		}
		for query, want := range map[string][]uint32{"กรุงเทพ": {0}, "ชาวกรุง": {0, 1}, "ลาวกรุง": nil, "ລາວ": {2}, "ខ្មែរ": {3}, "မာစာ": {4}} {
			if got := found(t, x, Query{Text: query, Operator: And}); !slices.Equal(got, want) {
				t.Errorf("%s: Search(%q) = %v, want %v", language, query, got, want)
			}
			p := x.Phrase(query)
			for _, text := range texts {
				if got := x.Holds(text, nil, p)[0] != NotHeld; got != strings.Contains(text, query) {
					t.Errorf("%s: Holds(%q, %q) = %t", language, text, query, got)
				}
			}
		}
	}
}
