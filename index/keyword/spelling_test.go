package keyword

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/text/unicode/norm"
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
	for _, language := range Languages() {
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

// TestEveryLetterSpelled compares the terms of every character that can be decomposed, alone and
// within a word.
func TestEveryLetterSpelled(t *testing.T) {
	var texts []string
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if 0xAC00 < r && r < 0xD7A3 && r%97 != 0 { // a hundred syllables of Hangul are enough
			continue
		}
		if s := string(r); !norm.NFD.IsNormalString(s) {
			texts = append(texts, s, "xy"+s+"zz")
		}
	}
	for _, language := range Languages() {
		a, err := newAnalyzer(language)
		if err != nil {
			t.Fatal(err)
		}
		x := &Index{analyzer: a}
		for _, s := range texts {
			if a, b := markedTerms(x, norm.NFC.String(s)), markedTerms(x, norm.NFD.String(s)); a != b {
				t.Errorf("%s: %+q has %s, decomposed %s", language, s, a, b)
				break
			}
		}
	}
}

// TestUsualForms checks what a text gives and where, where the spelling of its terms is not its
// own.
func TestUsualForms(t *testing.T) {
	for _, tt := range []struct {
		name, language, text string
		want                 string // term[matched text]
	}{
		{"digits", "cjk", "１２３ x１２", "123[１２３] x12[x１２]"},
		{"digits with separators", "cjk", "１，０００．５", "1000.5[１，０００．５]"},
		{"digits elsewhere", "standard", "１２３", "123[１２３]"},
		{"letters", "cjk", "Ｔｅｓｔ２！", "test2[Ｔｅｓｔ２]"},
		{"half-width kana", "cjk", "ﾊﾟﾅｿﾆｯｸ", "パナ[ﾊﾟﾅ] ナソ[ﾅｿ] ソニ[ｿﾆ] ニッ[ﾆｯ] ック[ｯｸ]"},
		{"decomposed kana", "cjk", norm.NFD.String("がぎぐ"), norm.NFD.String("がぎ[がぎ] ぎぐ[ぎぐ]")},
		{"square kana", "cjk", "10㌔メ", "10[10] キロ[㌔] ロメ[㌔メ]"},
		{"radicals", "cjk", "⼀⼆", "一二[⼀⼆]"},
		{"ligature", "fr", "ﬁnir vite", "fini[ﬁnir] vite[vite]"},
		{"English", "en", "ﬁnds eﬃcient ＡＢＣ １２３ 10² ｍａｘ＿ｌｅｎ", "find[ﬁnds] effici[eﬃcient] abc[ＡＢＣ] 123[１２３] 10[10] max[ｍａｘ] len[ｌｅｎ]"},
		{"English humps", "en", norm.NFD.String("caféBar"), "cafebar[" + norm.NFD.String("caféBar") + "] cafe[" + norm.NFD.String("café") + "] bar[Bar]"},
		{"superscripts, marks", "standard", "10² m² Windows™ ½", "10[10] m[m] windows[Windows] 1[½] 2[½]"},
		{"superscripts in pairs", "cjk", "10² Windows™", "10[10] windows[Windows]"},
		{"Hangul", "cjk", "한국어 검색 엔진입니다", "한국[한국] 국어[국어] 검색[검색] 엔진[엔진] 진입[진입] 입니[입니] 니다[니다]"},
		{"one syllable", "cjk", "이 책 a", "이[이] 책[책] a[a]"},
		{"Hangul with others", "cjk", "K팝 3월에 韓國어 했다.그리고", "k[K] 팝[팝] 3[3] 월에[월에] 韓國[韓國] 國어[國어] 했다[했다] 그리[그리] 리고[리고]"},
		{"jamo alone", "cjk", "ㅋㅋ 감사ㄳ", "ㅋㅋ[ㅋㅋ] 감사[감사] 사ㄳ[사ㄳ]"},
		{"repeated characters", "cjk", "佐々木さん 人々 々", "佐々[佐々] 々木[々木] 木さ[木さ] さん[さん] 人々[人々] 々[々]"},
		{"repeated characters with others", "cjk", "A々B 한々 2々", "a[A] 々[々] b[B] 한々[한々] 2[2] 々[々]"},
		{"shrinking before Hangul", "cjk", "İ팝송", "i[İ] 팝송[팝송]"},
		{"apostrophes inside", "en", "O'Brien obrien Hawai'i", "obrien[O'Brien] obrien[obrien] hawaii[Hawai'i]"},
		{"n between apostrophes", "en", "rock'n'roll Rock’n’Roll", "rock[rock] n[n] roll[roll] rock[Rock] n[n] roll[Roll]"},
		{"elision", "it", "dell'arte QUEST’ANNO sant'Antonio", "arte[dell'arte] anno[QUEST’ANNO] anton[sant'Antonio]"},
		{"Portuguese elision", "pt", "copo d'água", "copo[copo] agua[d'água]"},
		{"Dutch plurals", "nl", "foto's foto camera’s", "foto[foto's] foto[foto] camera[camera’s]"},
		{"gershayim", "standard", "צה״ל צה\"ל צהל", "צהל[צה״ל] צהל[צה\"ל] צהל[צהל]"},
		{"soft hyphens", "de", "Donau\u00addampf\u00adschiff fährt", "donaudampfschiff[Donau\u00addampf\u00adschiff] fahrt[fährt]"},
		{"characters that nobody sees", "en", "\ufefftea \u200fwo\u2060rd\u200e \u00ad two", "tea[tea] word[wo\u2060rd] two[two]"},
		{"joiners", "ar", "ال\u200cكتاب", "كتاب[ال\u200cكتاب]"},
		{"variation selectors", "cjk", "葛\U000e0100城", "葛城[葛\U000e0100城]"},
		{"digits below the line", "en", "CO₂ H₂O C₆H₁₂ 10₂ word²", "co2[CO₂] h2o[H₂O] c6h12[C₆H₁₂] 10[10] word[word]"},
		{"thousands", "en", "1,000 1,234,567.89 0,123 12,34 1,2345 3.141", "1000[1,000] 1234567.89[1,234,567.89] 0,123[0,123] 12,34[12,34] 1,2345[1,2345] 3.141[3.141]"},
		{"German thousands", "de", "1.000 1.234,56 3,141 05.03.2024", "1000[1.000] 1234,56[1.234,56] 3,141[3,141] 05[05] 03[03] 2024[2024]"},
		{"Indian thousands", "hi", "12,34,567", "1234567[12,34,567]"},
		{"units", "en", "3.5mm v1.2.3-rc1 python3.11 1,000km", "3.5[3.5] mm[mm] v[v] 1.2.3[1.2.3] rc1[rc1] python[python] 3.11[3.11] 1000[1,000] km[km]"},
		{"German units", "de", "3,5mm v1.2.3", "3,5[3,5] mm[mm] v[v] 1.2.3[1.2.3]"},
		{"colons", "de", "Mitarbeiter:innen 12:30", "mitarbeit[Mitarbeiter] inn[innen] 12[12] 30[30]"},
		{"names with an apostrophe", "tr", "O'Brien L’Oréal'in Türkiye'nin", "obrien[O'Brien] loreal[L’Oréal'in] turki[Türkiye'nin]"},
		{"capitals of dotless letters", "tr", "IŞIK ışık Işık INSERT insert İLİK ilik", "isik[IŞIK] isik[ışık] isik[Işık] insert[INSERT] insert[insert] ilik[İLİK] ilik[ilik]"},
		{"apostrophes", "de", "O’Brien O'Brien", "obri[O’Brien] obri[O'Brien]"},
		{"apostrophes of stop words", "en", "don’t we’ve O’Brien's", "obrien[O’Brien's]"},
		{"digits of other scripts", "fa", "۱۲۳ ١٢٣ 123", "123[۱۲۳] 123[١٢٣] 123[123]"},
		{"digits of Hindi", "en", "१२ ๑๒", "12[१२] 12[๑๒]"},
		{"ё", "ru", "ёлка Ёлки елка ещё чёрный", "елк[ёлка] елк[Ёлки] елк[елка] черн[чёрный]"},
		{"ligatures of letters", "fr", "cœurs coeur Œuvre l’œil", "coeu[cœurs] coeu[coeur] oeuvr[Œuvre] oeil[l’œil]"},
		{"comma and cedilla", "ro", "București Bucureşti", "bucurest[București] bucurest[Bucureşti]"},
		{"Thai", "standard", "ภาษาไทย abc น้ำ ก", "ภา[ภา] าษ[าษ] ษา[ษา] าไ[าไ] ไท[ไท] ทย[ทย] abc[abc] " + norm.NFKC.String("น้ำ") + "[น้ำ] ก[ก]"},
		{"Thai in pairs", "cjk", "ไทย東京", "ไท[ไท] ทย[ทย] 東京[東京]"},
		{"Khmer with spaces of no width", "standard", "ខ\u200bមរ", "ខម[ខ\u200bម] មរ[មរ]"},
		{"Burmese", "en", "မြန်မာ", "မြန်[မြန်] န်မာ[န်မာ]"},
		{"shrinking capital", "tr", "İstanbul'da İzmir", "istanbul[İstanbul'da] izmir[İzmir]"},
		{"names of files", "de", "Ordner/Notiz_Äpfel.v2.md 2024_03_05.txt 3.14", "ordn[Ordner] notiz[Notiz] apfel[Äpfel] v2[v2] md[md] 2024[2024] 03[03] 05[05] txt[txt] 3.14[3.14]"},
		{"names of files in pairs", "cjk", "会議_memo.md", "会議[会議] memo[memo] md[md]"},
		{"sharp s", "de", "GROẞmutter Großmutter", "grossmutt[GROẞmutter] grossmutt[Großmutter]"},
		{"not UTF-8", "cjk", "東\xe2\xbb京都x\xffy", "東[東] 京都[京都] x[x] y[y]"},
		{"joiners", "fa", "می‌خواهم کتاب‌ها", "خواهم[خواهم] كتاب[کتاب]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := newAnalyzer(tt.language)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tok := range (&Index{analyzer: a}).Analyze(tt.text) {
				if tok.Covered || tok.Name || tok.Common {
					continue
				}
				got = append(got, fmt.Sprintf("%s[%s]", tok.Term, tt.text[tok.Start:tok.End]))
			}
			if got, want := norm.NFC.String(strings.Join(got, " ")), norm.NFC.String(tt.want); got != want {
				t.Errorf("Analyze(%q) mismatch (-want +got)\n-%s\n+%s", tt.text, want, got)
			}
		})
	}
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

// TestFoldEqualsNorm compares fold with what it is made of, and its changes with the folds of the
// parts between them.
func TestFoldEqualsNorm(t *testing.T) {
	letters := []rune("ab1 ²ﬁéṩ\u0301\u0323\u0327½™Ａ１，ｶﾞﾟ가각ᆨ가ㄳㅋ㌔⼀東がカ\u3099ﷺ\u200c\u00a0\U0001D400\xff…")
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		var b []byte
		for range r.IntN(12) {
			if b = append(b, string(letters[r.IntN(len(letters))])...); r.IntN(40) == 0 {
				b = append(b, 0xff)
			}
		}
		text := norm.NFC.Bytes(b)
		if r.IntN(2) == 0 {
			text = norm.NFD.Bytes(b)
		}
		kept := bytes.Clone(text)
		plain, changed := fold(text)
		if !bytes.Equal(text, kept) {
			t.Fatalf("fold changed its argument %+q", kept)
		}
		if again, more := fold(plain); !bytes.Equal(again, plain) || len(more) > 0 {
			t.Fatalf("fold(%+q) = %+q, fold of that %+q", text, plain, again)
		}
		bare := func(text []byte) string { // without what numberWord changes
			return strings.NewReplacer(" ", "", "⁄", "/").Replace(string(norm.NFKC.Bytes(text)))
		}
		if bare(plain) != bare(text) {
			t.Fatalf("fold(%+q) = %+q, which is another text", text, plain)
		}
		if other, _ := fold(norm.NFD.Bytes(text)); !bytes.Equal(plain, other) {
			t.Fatalf("fold(%+q) = %+q, decomposed %+q", text, plain, other)
		}
		end, textEnd := 0, 0
		for _, c := range append(changed, change{len(plain), len(plain), len(text), len(text)}) {
			if !bytes.Equal(plain[end:c.start], text[textEnd:c.textStart]) {
				t.Fatalf("fold(%+q) = %+q with %v: what is between is not the same", text, plain, changed)
			}
			for p := end; p < c.start; p++ {
				if s, e := changed.start(p), changed.end(p+1); s != textEnd+p-end || e != s+1 {
					t.Fatalf("byte %d of %+q is [%d, %d) of %+q, want %d", p, plain, s, e, text, textEnd+p-end)
				}
			}
			if c.end > c.start && (changed.start(c.start) != c.textStart || changed.end(c.end) != c.textEnd || changed.start(c.end-1) != c.textStart || changed.end(c.start+1) != c.textEnd) {
				t.Fatalf("change %v of %+q is told as [%d, %d)", c, text, changed.start(c.start), changed.end(c.end))
			}
			end, textEnd = c.end, c.textEnd
		}
	}
}

// BenchmarkFold measures what folding costs beside the analysis.
func BenchmarkFold(b *testing.B) {
	for _, bm := range []struct{ name, language, text string }{
		{"ascii", "standard", strings.Repeat("The quick brown fox jumps over the lazy dog. ", 100)},
		{"french", "fr", strings.Repeat("Un élève a été reçu à l'école avec sa mère\u00a0! ", 100)},
		{"chinese", "cjk", strings.Repeat("我喜欢在周末看电影，也喜欢吃北京烤鸭。", 100)},
		{"decomposed", "fr", norm.NFD.String(strings.Repeat("Un élève a été reçu à l'école avec sa mère. ", 100))},
	} {
		a, err := newAnalyzer(bm.language)
		if err != nil {
			b.Fatal(err)
		}
		text := []byte(bm.text)
		b.Run("step=fold/text="+bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				fold(text)
			}
		})
		b.Run("step=all/text="+bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				a.each(bm.text, func(token) bool { return true })
			}
		})
	}
}

// TestUnspaced finds words in texts of scripts without spaces, and as phrases, in every language.
func TestUnspaced(t *testing.T) {
	texts := []string{"สวัสดีชาวกรุงเทพมหานคร", "ชาวกรุงโรม", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာစာ"}
	for _, language := range Languages() {
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
