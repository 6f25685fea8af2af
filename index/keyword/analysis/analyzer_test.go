package analysis

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func newAnalyzer(t testing.TB, language string) *Analyzer {
	t.Helper()
	a, err := New(language)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// describe returns the tokens of text that accept accepts as term[text].
func describe(a *Analyzer, text string, accept func(k Kind) bool) string {
	var out []string
	for t := range a.Tokens(text) {
		if accept(t.Kind) {
			out = append(out, fmt.Sprintf("%s[%s]", strings.TrimPrefix(t.Term, StopPrefix), text[t.Start:t.End]))
		}
	}
	return strings.Join(out, " ")
}

func anyKind(Kind) bool { return true }

func TestAnalyze(t *testing.T) {
	a := newAnalyzer(t, "en")
	tests := []struct {
		text string
		want string // term[matched text]
	}{
		{"The dogs' running", "the[The] dog[dogs] run[running]"},
		{"Bakery's", "bakeri[Bakery's]"},
		{"naïve Ångström CAFÉ", "naiv[naïve] angstrom[Ångström] cafe[CAFÉ]"},
		{"parseHTTPHeader", "parsehttphead[parseHTTPHeader] pars[parse] http[HTTP] header[Header]"},
		{"max_seq_length = 512", "max_seq_length[max_seq_length] max[max] seq[seq] length[length] 512[512]"},
		{"end.Next sentence", "end.next[end.Next] end[end] next[Next] sentenc[sentence]"},
		{"3.14 and 1,000", "3.14[3.14] and[and] 1000[1,000]"},
		{"2024_03_05.md", "2024_03_05[2024_03_05] 2024[2024] 03[03] 05[05] md[md]"},
		{"iPhone15 GPUs", "iphone15[iPhone15] iphon[iPhone] i[i] phone15[Phone15] phone[Phone] 15[15] gpu[GPUs]"},
		{"x\xffy", "x[x] y[y]"},
		{"東京", "東[東] 京[京]"},
		{"", ""},
	}
	for _, tt := range tests {
		if s := describe(a, tt.text, anyKind); s != tt.want {
			t.Errorf("Analyze(%q) mismatch (-want +got)\n-%s\n+%s", tt.text, tt.want, s)
		}
	}
}

// TestLanguages runs every analyzer: bleve finds them by name when they are first asked for.
func TestLanguages(t *testing.T) {
	for _, language := range Languages() {
		a := newAnalyzer(t, language)
		if got := describe(a, "Über straße années книги كتاب 東京都 walking", func(k Kind) bool { return k == Plain || k == Single }); strings.Count(got, " ") < 4 {
			t.Errorf("%s: terms %q", language, got)
		}
	}
	if _, err := New("klingon"); err == nil {
		t.Error("New accepts a language that does not exist")
	}
}

func TestWholeNames(t *testing.T) {
	for _, tc := range []struct{ language, text, want string }{
		{"en", "os.path.join(a)", "os.path.join"},
		{"en", "max_seq_length foo_bar.baz v2.3.1", "max_seq_length foo_bar.baz v2.3.1"},
		{"en", "__init__ _private parseHTTPHeader", ""},
		{"en", "client.parseHeader", "client.parsehead"},
		{"en", "e.g. i.e. U.S.A. A.I. 3.14 1,000", "eg ie usa ai"},
		{"en", "the end. Next", ""},
		{"en", "ｍａｘ＿ｌｅｎ", "max_len"},
		{"en", "C++ C# (F#) c++17 g++, i++; a++b C+ x+++", "c++ c# f# c++ g++ i++"},
		{"en", "## Title ## page.html#top issue #12 ab#12", "page.html"},
		{"en", "--follow-key-file=x `--data` well-known word--word <!--more--> --- a -- b --5 -v", "--follow-key-fil --data wellknown"},
		{"en", "std::io::Write Foo::bar_baz() a :: b fe80::1", "std::io::writ foo::bar_baz bar_baz fe80::1"},
		{"en", "utf8.DecodeRune file1.txt x.y2.z fig. 1 in 1995.The 3.14 end.Next", "utf8.decoderun file1.txt x.y2.z x.y2 end.next"},
		{"en", "internal/e2e /etc/ssh/sshd_config and/or on/off and/or/path https://a.b/c_d/", "internal/e2 etc/ssh/sshd_config sshd_config and/or/path a.b/c_d"},
		{"en", "_os.write __main__.py _os.path_", "os.writ main__.pi os.path"},
		{"en", "GPT-4 utf‐8 AB-1234-C 978-3-16-148410-0 2024-03-05 Wi-Fi", "gpt4 utf8 ab1234c 9783161484100 20240305 wifi"},
		{"en", "3-2 a-b x--y state-of-the-art foo-bar_baz don't-care in-", "ab bar_baz"},
		{"en", "foo-bar/baz U.S.-based " + strings.Repeat("a1-", 40) + "b", "foobar bar/baz"},
		{"en", ".NET (.env) ~/.bashrc ../up x. .Net a.b ..y 1.z .5 end .", ".net .env .bashrc .net ab"},
		{"en", "AT&T R&D a=1&b=2 x&y;", "at&t att r&d rd x&y xy"},
		{"en", "A/B 90 km/h he/she a/b/c 1/x", "a/b ab km/h kmh a/b/c 1/x"},
		{"en", "USB C, plan B. type C; vitamin a The I x y ab  c ab\nc 5 k X1 b x.y z go_to n Wi-Fi e", "usbc planb typec xy go_to wifi"},
		{"en", "3.5mm v1.2.3", "3.5mm v1.2.3"},
		{"en", "05.03.2024 2024.03.05 1.2.3 1.2.2024.5 3.14 030.1234.567", "05032024 05.03.2024 20240305 2024.03.05 1220245 0301234567"},
		{"de", "05.03.2024 5.3.2024 1.234.567", "05032024 05.03.2024 5.3.2024 1234567"},
		{"en", strings.Repeat("abcdefgh/", 15), ""}, // longer than MaxTerm
		{"de", "Mitarbeiter:innen E-Mail 12:30 C++ std::cout --hilfe", "mitarbeiter:inn email c++ std::cout --hilf"},
		{"cjk", "猫C++犬 std::cout 한글++", "c++ std::cout"},
		{"cjk", "C++은 C#を", "c++ c#"},
		{"de", "notiz_2.md 3.14 z.B. os.path", "notiz_2.md notiz_2 zb os.path"},
		{"cjk", "会議_memo.md my_memo.md 했다.그리고", "memo.md my_memo.md"},
	} {
		a := newAnalyzer(t, tc.language)
		var got []string
		for token := range a.Tokens(tc.text) {
			if token.Kind == Name {
				got = append(got, token.Term)
			}
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: the names of %q are %q, want %q", tc.language, tc.text, s, tc.want)
		}
	}
}

// marked returns the tokens of a text with the composed bytes of the text that they stand for.
func marked(a *Analyzer, text string) string {
	var b strings.Builder
	for t := range a.Tokens(text) {
		fmt.Fprintf(&b, "%s[%s]%d ", t.Term, norm.NFC.String(text[t.Start:t.End]), t.Position)
	}
	return b.String()
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
		a := newAnalyzer(t, language)
		for _, s := range texts {
			if a, b := marked(a, norm.NFC.String(s)), marked(a, norm.NFD.String(s)); a != b {
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
			a := newAnalyzer(t, tt.language)
			got := describe(a, tt.text, func(k Kind) bool { return k == Plain })
			if got, want := norm.NFC.String(got), norm.NFC.String(tt.want); got != want {
				t.Errorf("Analyze(%q) mismatch (-want +got)\n-%s\n+%s", tt.text, want, got)
			}
		})
	}
}

// TestNormalize compares normalize with norm, and its changes with the parts between them.
func TestNormalize(t *testing.T) {
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
		plain, changed := normalize(text)
		if !bytes.Equal(text, kept) {
			t.Fatalf("fold changed its argument %+q", kept)
		}
		if again, more := normalize(plain); !bytes.Equal(again, plain) || len(more) > 0 {
			t.Fatalf("normalize(%+q) = %+q, normalize of that %+q", text, plain, again)
		}
		bare := func(text []byte) string { // without what rule 3 of normalize changes
			return strings.NewReplacer(" ", "", "⁄", "/").Replace(string(norm.NFKC.Bytes(text)))
		}
		if bare(plain) != bare(text) {
			t.Fatalf("normalize(%+q) = %+q, which is another text", text, plain)
		}
		if other, _ := normalize(norm.NFD.Bytes(text)); !bytes.Equal(plain, other) {
			t.Fatalf("normalize(%+q) = %+q, decomposed %+q", text, plain, other)
		}
		end, textEnd := 0, 0
		for _, c := range append(changed, change{len(plain), len(plain), len(text), len(text)}) {
			if !bytes.Equal(plain[end:c.start], text[textEnd:c.from]) {
				t.Fatalf("normalize(%+q) = %+q with %v: what is between is not the same", text, plain, changed)
			}
			for p := end; p < c.start; p++ {
				if s, e := changed.start(p), changed.end(p+1); s != textEnd+p-end || e != s+1 {
					t.Fatalf("byte %d of %+q is [%d, %d) of %+q, want %d", p, plain, s, e, text, textEnd+p-end)
				}
			}
			if c.end > c.start && (changed.start(c.start) != c.from || changed.end(c.end) != c.to || changed.start(c.end-1) != c.from || changed.end(c.start+1) != c.to) {
				t.Fatalf("change %v of %+q is reported as [%d, %d)", c, text, changed.start(c.start), changed.end(c.end))
			}
			end, textEnd = c.end, c.to
		}
	}
}

// FuzzAnalyze: terms lie within the text, whatever it is, and pieces change nothing.
func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{"fooBar_baz.Qux's", "x\xffy", "ǅ İ ſ", "ABc", "'''", strings.Repeat("aB ", 40), "ﾊﾟ１ｱ゙한국어x각\u11a8", "نمی\u200cخواهم", "e\u0301\u0323ﷺ", "\xe2\xbb0東\xe2", "\u0301\u0e38"} {
		f.Add(s)
	}
	var analyzers []*Analyzer
	for _, language := range Languages() {
		analyzers = append(analyzers, newAnalyzer(f, language))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range analyzers {
			for token := range a.Tokens(text) {
				term, start, end := token.Term, token.Start, token.End
				if start < 0 || start > end || end > len(text) || len(term) == 0 || len(term) > MaxTerm {
					t.Errorf("%s: term %q at [%d, %d) of %d bytes", a.Language(), term, start, end, len(text))
				} else if utf8.ValidString(text) && !utf8.ValidString(text[start:end]) {
					t.Errorf("%s: term %q at [%d, %d) cuts a character of %q", a.Language(), term, start, end, text)
				}
			}
		}
	})
}
