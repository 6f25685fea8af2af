package keyword

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// wordsOf has words of languages, with capitals, joined words, stop words and several spellings.
var wordsOf = map[string]string{
	"de": "Der Bäume Straße STRASSE größer Häuser laufen lief Übung Österreich nicht und Äpfel Donaudampfschiff ß ẞ E-Mail Müller's Kindergärten",
	"fr": "L'école d'été c'est œuvre Œuvre garçon naïf aujourd'hui le la les chevaux cheval qu’il élève ÉLÈVE où À",
	"ru": "Ёлка ёлки Йошкар книга книги КНИГИ и не в бежать бежал объявление подъезд ЩИ",
	"tr": "İstanbul'da ISPARTA ışık IŞIK ilik İLİK kitap kitaplar ve bir çiçeği ÇİÇEK Iğdır ağaç",
	"ar": "كتاب الكتاب والكتب مدرسة مدرسةً مُدَرِّس في من آثار أحمد إحسان ٢٠٢٤ ـكتـاب لا",
	"fa": "کتاب کتاب‌ها می‌روم خانه‌ها آزادی و در ۱۲۳ رئیس كتاب يك",
	"hi": "किताब किताबें ज़मीन में है क़लम लड़का लड़के हिन्दी हिंदी १२३ और",
	"en": "running shoes The parseHTTPHeader max_seq_length end.Next café naïve it's John’s U.S.A. 3.14 2024_03_05 GPUs iPhone e-mail and ＡＢＣ １２３ ﬁnd İzmir Straße ΟΔΥΣΣΕΥΣ",
	"ko": "한국어 검색 엔진입니다 K팝 3월에 책 이 서울 대한민국",
	"th": "ภาษาไทย ค้นหา กรุงเทพ สวัสดี น้ำ",
	"ja": "東京都 パソコン がっこう ﾊﾟﾅｿﾆｯｸ 日本語 検索 １２３ カ 佐々木 ー サーバー",
	"zh": "中文 搜索 引擎 北京 大学 生前 来 應用",
}

// analysisOf is the analysis of a language that has none of its own name.
var analysisOf = map[string]string{"ko": "cjk", "ja": "cjk", "zh": "cjk", "th": "standard"}

// TestTextsAreTheirWords: a word has in a text, whatever stands around it, the terms that it has
// alone, each term stands for whole characters, and any words that follow one another are found as
// a phrase.
func TestTextsAreTheirWords(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	separators := []string{" ", " ", "\n", "\u00a0", "\u3000", ", ", " — ", "… ", " (", "\" \"", "! ", "; ", "\t", " / ", "。", "、"}
	for name, pool := range wordsOf {
		language := name
		if l := analysisOf[name]; l != "" {
			language = l
		}
		x := unopened(t, language)
		words := strings.Fields(pool)
		for range 200 {
			var text strings.Builder
			var used []string
			for i := range 2 + r.IntN(8) {
				if i > 0 {
					text.WriteString(separators[r.IntN(len(separators))])
				}
				w := words[r.IntN(len(words))]
				switch r.IntN(6) {
				case 0:
					w = norm.NFD.String(w)
				case 1:
					w = norm.NFC.String(w)
				}
				used = append(used, w)
				text.WriteString(w)
			}
			s := text.String()
			last := 0
			if len(x.Analyze(s)) == 0 && name == "th" {
				t.Fatalf("%s: %q has no terms", name, s)
			}
			for _, tok := range x.Analyze(s) {
				if tok.Start < last || tok.End <= tok.Start || tok.End > len(s) || !utf8.RuneStart(s[tok.Start]) || tok.End < len(s) && !utf8.RuneStart(s[tok.End]) || !utf8.ValidString(tok.Term) {
					t.Fatalf("%s: %+q token %+v", name, s, tok)
				}
				last = tok.Start
			}
			n := 1 + r.IntN(min(3, len(used)))
			at := r.IntN(len(used) - n + 1)
			phrase := strings.Join(used[at:at+n], " ")
			if p := x.Phrase(phrase); p.Len() > 0 && x.Holds(s, nil, p)[0] == NotHeld {
				t.Fatalf("%s: phrase %q %v is not in %q: %v", name, phrase, p, s, x.Phrase(s))
			}
			var alone, within []string
			for _, w := range used {
				for _, tok := range x.Analyze(w) {
					alone = append(alone, tok.Term)
				}
			}
			for _, tok := range x.Analyze(s) {
				if !strings.Contains(s[tok.Start:tok.End], " ") { // usbc for USB C
					within = append(within, tok.Term)
				}
			}
			if !slices.Equal(alone, within) {
				t.Fatalf("%s: %q has %q, its words %q", name, s, fmt.Sprint(within), fmt.Sprint(alone))
			}
		}
	}
}
