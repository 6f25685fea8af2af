package keyword

import (
	"slices"
	"strings"
	"testing"
)

// finds indexes texts one by one and checks after each that queries, with | between, find the first
// of them by either operator: more documents hide none.
func finds(t *testing.T, language, queries string, texts ...string) {
	t.Helper()
	x := openTemp(t, Options{Language: language})
	all := map[uint32]Entry{}
	for no, text := range texts {
		e := Entry{No: uint32(no), Text: []Field{{"text", text}}}
		all[e.No] = e
		apply(t, x, uint64(no+1), e)
		for query := range strings.SplitSeq(queries, "|") {
			for _, operator := range []Operator{Or, And} {
				if got := found(t, x, Query{Text: query, Operator: operator, Texts: textsOf(all)}); !slices.Contains(got, 0) {
					t.Errorf("%s: %q, %v, does not find %q among %q: %v", language, query, operator, texts[0], texts[:no+1], got)
				}
			}
		}
	}
}

// TestJoinedAndSeparate: a text is found by its words written together or apart, whatever other
// texts there are.
func TestJoinedAndSeparate(t *testing.T) {
	for _, tc := range []struct {
		language, query, text string
		others                []string
	}{
		{"en", "16gb", "16 gb memory", []string{"16gb memory", "16 bit and 2 gb"}},
		{"en", "16 gb", "16gb memory", []string{"16 gb memory", "16 of them"}},
		{"en", "database", "a data base", []string{"databases", "data without a base"}},
		{"en", "data base", "my database", []string{"a data base", "data"}},
		{"en", "icecream", "an ice cream", []string{"icecreams", "cream and ice"}},
		{"en", "12V", "a 12 V battery", []string{"12V", "12 and V"}},
		{"en", "12 V", "a 12V battery", []string{"12 V"}},
		{"en", "01711234567", "call 0171 1234567", []string{"01711234567", "0171 and 1234567", "12 34 56 017 11 234567"}},
		{"en", "0171 1234567", "call 01711234567", []string{"0171 1234567"}},
		{"en", "+15551234567", "+1 (555) 123-4567", []string{"15551234567", "1 555", "123 4567"}},
		{"en", "DE89370400440532013000", "DE89 3704 0044 0532 0130 00", []string{"DE89370400440532013000"}},
		{"en", "wifi", "wi fi at home", []string{"wifi", "wi-fi"}},
		{"en", "website", "a web site", []string{"websites", "site of the web"}},
		{"en", "5kg", "5 kg of flour", []string{"5kg", "kg 5"}},
		{"en", "iphone15", "an iPhone 15 case", []string{"iPhone15", "15 iPhones"}},
		{"de", "Steuererklärung", "Steuer-Erklärung", []string{"Steuererklärung", "Erklärung der Steuer"}},
		{"de", "16gb", "16 GB Speicher", []string{"16gb"}},
		{"fr", "weekend", "un week-end", []string{"weekend"}},
		{"en", "setup", "set up the router", []string{"setup", "a set, and up"}},
		{"en", "set up", "a setup guide", []string{"set up"}},
		{"en", "login", "how to log in", []string{"login", "a log is in it"}},
		{"en", "0301234567", "tel 030.1234.567", []string{"0301234567", "030 and 1234 567"}},
		{"en", "00431588580", "0043 1 588580", []string{"00431588580", "0 1 2 3 4 5 6 7 8 9"}},
		{"en", "01711234567", "call 0171 123 45 67", []string{"01 71 12 34 567", "01 711 23 456 7", "0171 1234 567 123 45 67"}},
		{"en", "SW1A1AA", "London SW1A 1AA", []string{"SW1A1AA"}},
		{"en", "thinkpadx1", "a ThinkPad X1 Carbon", []string{"thinkpadx1"}},
		{"en", "no5", "perfume №5", []string{"no5", "no 5"}},
		{"en", "online", "an on line shop", []string{"online", "a line is on it"}},
		{"en", "on line shop", "an online shop", []string{"on line shop"}},
		{"en", "offline", "an off line mode", []string{"offline", "off-line"}},
		{"en", "upload", "up load a file", []string{"upload", "a load is up"}},
		{"en", "iphone", "an i phone case", []string{"iPhone", "i have a phone"}},
		{"en", "i phone", "an iPhone", []string{"i phone"}},
		{"en", "log in page", "the login page", []string{"log in page"}},
		{"en", "youtube", "you tube videos", []string{"YouTube"}},
		{"en", "O'Neill", "Mr O Neill", []string{"O'Neill", "ONeill"}},
		{"de", "zusammen", "zu sammen", []string{"zusammen"}},
	} {
		finds(t, tc.language, tc.query, append([]string{tc.text}, tc.others...)...)
	}
}

// TestSingleLetters: single letters beside words and each other may be joined, by a sign or a
// space.
func TestSingleLetters(t *testing.T) {
	for _, tc := range []struct{ text, queries string }{
		{"a USB C cable", "usbc|usb-c|USB-C|usb c"}, {"a USB-C cable", "usbc|usb c|USB C"}, {"a USBC cable", "usb c|USB-C|usbc"}, {"a usb c cable", "usbc|USB-C"},
		{"an A/B test", "ab test|A/B|a/b test|AB test|A-B test"}, {"an AB test", "A/B test|A-B test|a/b"}, {"an A-B test", "ab test|A/B test"},
		{"an I/O error", "io error|IO|i/o"}, {"an IO error", "I/O error|i/o"}, {"the R&D team", "rd team|R&D"}, {"the RD team", "R&D team"},
		{"a Q&A page", "qa page|Q&A"}, {"a QA page", "Q&A page"}, {"from AT&T", "att|AT&T"}, {"from ATT", "AT&T"}, {"N/A here", "na|n/a"}, {"NA here", "N/A|N.A."},
		{"90 km/h", "kmh|90 kmh|km/h"}, {"90 kmh", "km/h"}, {"an X/Y plot", "xy plot"}, {"an XY plot", "x/y plot|x-y plot"},
		{"plan B", "planb|plan-b"}, {"my planb", "plan B|plan-B"}, {"hepatitis B vaccine", "hepatitisb|hepatitis-b"}, {"HDMI-A", "hdmia"}, {"HDMIA", "HDMI-A"},
		{"an X ray", "xray|x-ray"}, {"a T shirt", "tshirt|t-shirt"}, {"a K-pop song", "kpop|k pop"}, {"a kpop song", "K pop|k-pop"},
		{"WiFi 6E", "wifi6e|wifi 6e"}, {"wifi6e", "WiFi 6E|wifi 6e"}, {"iPhone 15 Pro", "iphone15pro|iphone 15pro"}, {"iPhone15Pro", "iPhone 15 Pro|iphone 15 pro"},
		{"B2B trade", "b-2-b|b 2 b"}, {"GPT-4o", "gpt4o|gpt 4o|GPT 4o"}, {"vitamin D3", "vitamin d 3|vitamin d-3"},
		{"the R & D team", "rd team|RD|R&D|R & D|r & d team"}, {"RD team", "R & D"}, {"R&D team", "R & D|RD"}, {"a Q & A page", "QA page|Q&A"}, {"QA page", "Q & A"}, {"an I / O error", "IO|I/O|io error"},
		{"from AT & T", "ATT|AT&T"}, {"ATT", "AT & T"}, {"an A / B test", "AB test|A/B test"}, {"M & A deals (M & A)", "M&A deals|MA"},
	} {
		finds(t, "en", tc.queries, tc.text, "usbc usb-c a/b ab io i/o rd r&d", "c b d e x y i o", "something else")
	}
	x := openTemp(t, Options{})
	for no, text := range []string{"he/she", "USB  C", "the C", "a 5 k run", "USB. C", "he & she", "A & 5", "R &D"} {
		apply(t, x, uint64(no+1), Entry{No: uint32(no), Text: []Field{{"text", text}}})
	}
	for _, query := range []string{"heshe", "usbc", "thec", "5k", "a5", "rd"} {
		if got := found(t, x, Query{Text: query, Operator: And}); len(got) > 0 {
			t.Errorf("%q finds %v", query, got)
		}
	}
}

// TestPartsOfNames: names with digits and capitals inside are found by their parts, and the other
// way round.
func TestPartsOfNames(t *testing.T) {
	for _, tc := range []struct{ language, text, queries string }{
		{"en", "iPhone15 case", "iphone|iPhone|iphone15|iPhone15|phone|iphone 15|15"},
		{"en", "iPhone 15 case", "iphone15|iPhone15|iphone 15|iPhone15 case"},
		{"en", "PowerPoint2019 slides", "powerpoint|PowerPoint|powerpoint 2019|power|2019|PowerPoint2019|powerpoint2019"},
		{"en", "JSONParser2 is new", "parser|json|JSONParser|jsonparser2|JSONParser2|parser2"},
		{"en", "user name field", "userName|UserName|user_name|user-name"},
		{"en", "the username", "userName|UserName"},
		{"en", "userName", "username|user name|user_name|UserName"},
		{"en", "parseHTTPResponse(x)", "HTTPResponse|httpResponse|parse response|ParseHTTPResponse|http response"},
		{"en", "Pat O'Brien", "OBrien|obrien|O'Brien|o’brien"},
		{"en", "Pat OBrien", "O'Brien|obrien"},
		{"en", "Ronald McDonald", "mcdonald|McDonald|donald"},
		{"en", "at 2024-03-15T14:30:00Z", "2024-03-15|20240315|2024-03|2024"},
		{"en", "at 20240315T143000Z", "20240315|2024-03-15|143000"},
		{"en", "on 2024-03-15", "20240315|2024-03-15"},
		{"en", "on 20240315", "20240315|2024-03-15"},
		{"en", "release v2.10.3", "2.10|v2.10|2.10.3|v2.10.3|v2"},
		{"en", "release 2.10.3", "2.10|2.10.3|2"},
		{"en", "go1.22.4", "1.22|go1.22|go|go 1.22"},
		{"en", "host 192.168.0.1", "192.168|192.168.0|192.168.0.1"},
		{"en", "SHA256 and base64", "sha|sha-256|sha 256|base 64|base-64"},
		{"en", "the 1990s", "1990|1990s"},
		{"en", "COVID19", "covid|covid-19|covid 19|COVID-19"},
		{"en", "COVID-19", "covid19|covid 19"},
		{"en", "mp3player", "player|mp3player"},
		{"en", "utf8.DecodeRune", "utf8|utf-8|DecodeRune|utf 8"},
		{"de", "iPhone15 Hülle", "iphone|iphone15|iphone 15"},
		{"de", "Version 2.10.3", "2.10|2.10.3"},
		{"fr", "Windows11 et Office2019", "windows|office|windows 11|office2019"},
		{"cjk", "iPhone15 ケース", "iphone|iphone15|iphone 15"},
		{"standard", "Galaxy S24 Ultra", "s24|galaxy s 24|galaxys24|GalaxyS24"},
		{"en", "Galaxy S24", "galaxys24|GalaxyS24|galaxy s24|galaxy s 24"}, {"en", "galaxys24", "Galaxy S24|galaxy s 24"},
		{"en", "MacBook Pro 16", "macbookpro16|MacBookPro16|macbook pro16"}, {"en", "at 2023-11-05t09:15:00z", "2023-11-05|20231105"},
		{"en", "a 100m2 flat", "100|m2|100 m2"}, {"en", "on 05.11.2023", "05112023|05.11.2023|2023"},
	} {
		finds(t, tc.language, tc.queries, tc.text, "something else")
	}
	for _, tc := range []struct{ language, text, query string }{
		{"en", "release 2.100.3", "2.10"}, {"en", "release 12.10.3", "2.10"}, {"en", "about 3.14", "14"}, {"en", "userName", "userId"},
		{"en", "HTTPResponse", "parseHTTPResponse"}, {"de", "1.234.567 Euro", "1.234"}, {"en", "gb and 16", "16gb"}, {"en", "the 20240315", "2024"},
	} {
		x := openTemp(t, Options{Language: tc.language})
		e := Entry{No: 0, Text: []Field{{"text", tc.text}}}
		apply(t, x, 1, e)
		if got := found(t, x, Query{Text: tc.query, Operator: And, Texts: textsOf(map[uint32]Entry{0: e})}); len(got) > 0 {
			t.Errorf("%s: %q finds %q", tc.language, tc.query, tc.text)
		}
	}
}

// TestSigns: characters that stand for others, apostrophes and emoji are found by what people type.
func TestSigns(t *testing.T) {
	for _, tc := range []struct{ text, queries string }{
		{"a flat of 80 m²", "m2|m²|80"}, {"10 km² of land", "km2|km²"}, {"5 m³", "m3|m³"}, {"E=mc²", "mc2|mc²"}, {"80 m2", "m²"},
		{"CO₂ and H₂O", "co2|CO₂|h2o"}, {"climate¹ report", "climate|climate report"},
		{"½ cup of sugar", "1/2|½"}, {"1/2 cup", "½|1/2"}, {"2½ cups", "½|1/2|2"}, {"¾ and ⅔", "3/4|2/3|¾"}, {"1⁄2 cup", "1/2|½"},
		{"5 ㎏ of rice", "kg|㎏|5 kg"}, {"5㎏", "5kg|5 kg"}, {"5kg", "5㎏"}, {"100 ㎞", "km|㎞"}, {"20 ℃", "℃|C|20"}, {"20 °C", "℃"}, {"№ 5", "№|5"}, {"No 5", "№ 5"}, {"№5", "5"},
		{"step ①", "1|①|step 1"}, {"⑩ things", "10|⑩"}, {"Ⅻ", "xii"}, {"㍿", "株式会社"}, {"℡ 5", "tel"}, {"ﬁne ﬂour", "fine|flour"}, {"Ⓐ", "ⓐ"},
		{"100㎡ flat", "100|m2|100 m2"}, {"L‵Oréal", "l'oréal|loreal"}, {"n᾿est", "n'est"},
		{"Hawaiʻi", "hawaii|hawai'i|Hawai’i|hawai‘i|Hawaiʻi|hawai`i"}, {"O´Brien", "o'brien|obrien|O’Brien|OBrien"}, {"O`Brien", "o'brien|obrien"},
		{"O‘Brien", "obrien|O'Brien|O´Brien"}, {"Kahʹan", "kah'an|kahan"}, {"O'Brien", "O´Brien|O`Brien|O‘Brien|Oʻbrien|O′Brien"}, {"`code` here", "code"},
		{"well done 🎉", "🎉|well 🎉"}, {"party🎉time", "🎉|party|time"}, {"👍🏽", "👍|👍🏿"}, {"👍", "👍🏽"}, {"❤️ you", "❤|❤️"}, {"👩‍💻 at work", "👩‍💻|💻"}, {"flag 🇩🇪🇫🇷", "🇩🇪|🇫🇷"}, {"🤷‍♀️", "🤷"}, {"⭐⭐⭐", "⭐"}, {"1️⃣ first", "1"}, {"☎ 5", "☎"},
	} {
		for _, language := range []string{"en", "de", "standard", "cjk"} {
			finds(t, language, tc.queries, tc.text)
		}
	}
	x := openTemp(t, Options{})
	for no, text := range []string{"10²", "Windows™", "🎉", "🇩🇪", "21/2", "a “quoted” word", "Don‘t"} {
		apply(t, x, uint64(no+1), Entry{No: uint32(no), Text: []Field{{"text", text}}})
	}
	for query, want := range map[string][]uint32{"102": nil, "windowstm": nil, "🎊": nil, "🇪🇩": nil, "2½": nil, "quoted": {5}, "🎉": {2}} {
		if got := found(t, x, Query{Text: query, Operator: And}); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
	}
}

// TestStopWords: they are searched where nothing else is, and always inside phrases.
func TestStopWords(t *testing.T) {
	texts := []string{"The Who played", "to be or not to be, that is the question", "IT is hard", "we haven't any", "turn off the light", "turn on the light",
		"do not resuscitate", "do resuscitate", "vitamin A helps", "vitamin B helps", "check in early", "check out early", "a matter of fact"}
	x := openTemp(t, Options{})
	for no, text := range texts {
		apply(t, x, uint64(no+1), Entry{No: uint32(no), Text: []Field{{"text", text}}})
	}
	for _, tc := range []struct {
		query string
		first uint32
	}{{"the who", 0}, {"to be or not to be", 1}, {"IT", 2}, {"haven't", 3}, {"haven’t", 3}, {"who", 0}, {"Is it?", 2}, {"not", 6}} {
		hits, _, err := x.Search(t.Context(), Query{Text: tc.query}, 5, nil)
		if err != nil || len(hits) == 0 || !slices.ContainsFunc(hits, func(h Hit) bool { return h.No == tc.first }) {
			t.Errorf("%q finds %v, %v, want %q", tc.query, hits, err, texts[tc.first])
		}
	}
	for query, want := range map[string][]uint32{"the who": {0}, "to be not": {1}, "the light": {4, 5}} { // And: every stop word, unless there are others
		if got := found(t, x, Query{Text: query, Operator: And}); !slices.Equal(got, want) {
			t.Errorf("all of %q find %v, want %v", query, got, want)
		}
	}
	for _, tc := range []struct {
		phrase string
		want   []uint32
	}{
		{"turn off", []uint32{4}}, {"turn on", []uint32{5}}, {"do not resuscitate", []uint32{6}}, {"do resuscitate", []uint32{7}}, {"vitamin a", []uint32{8}}, {"vitamin b", []uint32{9}},
		{"check in", []uint32{10}}, {"check out", []uint32{11}}, {"to be or not to be", []uint32{1}}, {"the who", []uint32{0}}, {"not to be or to be", nil}, {"matter of fact", []uint32{12}}, {"matter fact", nil},
	} {
		p := x.Phrase(tc.phrase)
		may, err := x.WithTerms(t.Context(), p, nil)
		var got []uint32
		for no, text := range texts {
			if err == nil && may.Contains(uint32(no)) && x.Holds(text, nil, p)[0] == Literal {
				got = append(got, uint32(no))
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q is in %v, want %v, %v", tc.phrase, got, tc.want, err)
		}
	}
	if n := x.Length("to be or not to be"); n != 6 {
		t.Errorf("a text of stop words counts for %d, want 6", n)
	}
	if n := x.Length("the light is on"); n != 1 {
		t.Errorf("stop words count beside other words: %d, want 1", n)
	}
	alone := openTemp(t, Options{})
	apply(t, alone, 1, Entry{No: 1, Text: []Field{{"title", "The Who"}}})
	if got := found(t, alone, Query{Text: "the who"}); !slices.Equal(got, []uint32{1}) {
		t.Errorf("the who finds %v where all texts are stop words", got)
	}
}

// TestContractions: stop words with an apostrophe are found without it, and the other way round;
// letters that usually are another word are not.
func TestContractions(t *testing.T) {
	for _, tc := range []struct{ text, queries string }{
		{"you don't", "dont|don't|don’t|don`t|Dont|DON'T"}, {"they dont", "don't|don’t|dont"}, {"it isn’t", "isnt|isn't"}, {"it isnt", "isn't|isnt"},
		{"she can't", "cant|can't"}, {"she cant", "can't"}, {"I'm", "im|i'm|Im"}, {"im", "I'm"}, {"you're", "youre|you're"}, {"youre", "you're"},
		{"they've", "theyve"}, {"theyve", "they've"}, {"wouldnʼt", "wouldnt"}, {"What's new", "whats|what's|whats new|what's new"}, {"whats new", "what's|whats|what's new"},
		{"Let's go", "lets|let's go|lets go"}, {"lets go", "let's"}, {"that's all", "thats|thats all"}, {"WEREN'T", "werent"}, {"won't start", "wont start|won't start"}, {"wont start", "won't start"},
	} {
		finds(t, "en", tc.queries, tc.text, "something else", "you do")
	}
	x := openTemp(t, Options{})
	for no, text := range []string{"she'll see", "I'd rather", "we'll go", "the dons", "what now"} {
		apply(t, x, uint64(no+1), Entry{No: uint32(no), Text: []Field{{"text", text}}})
	}
	for _, query := range []string{"shell", "id", "well", "dont", "whats", "don't"} {
		if got := found(t, x, Query{Text: query, Operator: And}); len(got) > 0 && query != "whats" {
			t.Errorf("%q finds %v", query, got)
		}
	}
	for _, tc := range []struct {
		phrase, text string
		want         Held
	}{
		{"don't panic", "dont panic", Literal}, {"dont panic", "Don’t panic", Literal}, {"don't panic", "do panic", NotHeld}, {"dont panic", "do not panic", NotHeld},
		{"what's new", "whats new", Literal}, {"whats new", "what's new", Literal}, {"I'm here", "im here", Literal}, {"can't stop", "cant stop", Literal},
	} {
		if got := x.Holds(tc.text, nil, x.Phrase(tc.phrase))[0]; got != tc.want {
			t.Errorf("%q in %q: %v, want %v", tc.phrase, tc.text, got, tc.want)
		}
	}
}

// TestMoreSpellings: further spellings of joined words, names, signs and apostrophes.
func TestMoreSpellings(t *testing.T) {
	for _, tc := range []struct{ language, text, queries string }{
		{"en", "a 64 bit system", "64bit"}, {"en", "a 64bit system", "64 bit|64-bit"}, {"en", "an air port", "airport"}, {"en", "the airport", "air port|air-port"},
		{"en", "a note book", "notebook|note-book"}, {"en", "call (030) 1234-5678", "03012345678|030 12345678"}, {"en", "5 GHz", "5ghz"}, {"en", "100W lamp", "100 w|100w"}, {"en", "a 230 V line", "230V|230v"},
		{"en", "32 GB RAM and 1 TB SSD", "32gb|1tb"}, {"en", "USB C cable", "usb-c"}, {"en", "PS5 games", "ps 5|ps-5|ps5"}, {"en", "type 2 diabetes", "type2"}, {"en", "4G network", "4 g|4g"},
		{"en", "WindowsXP", "windows xp|windows|xp"}, {"en", "YouTube channel", "you tube|youtube|tube"}, {"en", "MySQL8 server", "mysql|mysql 8|sql"}, {"en", "log4j bug", "log 4 j|log4j|log"}, {"en", "Area51", "area|area 51"},
		{"en", "XMLHttpRequest", "http request|xml|request|XMLHttpRequest|xmlhttprequest"}, {"en", "getUserID", "user id|userid|get user id|UserID"}, {"en", "user id", "userId|UserID"}, {"en", "the OAuth2Client", "oauth|client|oauth2"},
		{"en", "McKinsey", "mckinsey|Mckinsey"}, {"en", "Mary-Jane D'Angelo", "dangelo|DAngelo|D'Angelo|maryjane"}, {"en", "O'Neill's pub", "oneill|ONeill|O'Neill"}, {"en", "2023-12-01T08:05:00+01:00", "2023-12-01|20231201"},
		{"en", "2023-12-01 08:05", "2023-12-01|20231201"}, {"en", "20231201T080500", "2023-12-01|20231201"}, {"en", "log_20231201.txt", "20231201|2023-12-01|log"}, {"en", "IMG_2024-03-15.jpg", "2024-03-15|img|20240315"},
		{"en", "B2B and H2O", "b2b|h2o"}, {"en", "F16 jets", "f-16|f 16|F16"}, {"en", "the F-16", "f16"}, {"en", "RTX4090", "rtx|4090|rtx 4090|rtx-4090"}, {"en", "RTX 4090", "rtx4090"}, {"en", "GPT4o", "gpt|gpt4o|gpt 4o|gpt-4o"}, {"en", "GPT-4o", "gpt4o|gpt 4o"},
		{"en", "10 ㎡ room", "m2|㎡|m²"}, {"en", "5 ㎝", "cm|㎝"}, {"en", "90 ℉", "℉|f"}, {"en", "2 ㏄", "cc"}, {"en", "1 ㍑", "リットル"}, {"en", "50 Ω", "50 Ω|Ω"}, {"en", "5 µm", "5 μm|μm|µm"}, {"en", "5 Å", "å|Å"}, {"en", "㈱ Sony", "株"}, {"en", "point ❶", "1|❶"}, {"en", "⑳", "20"}, {"en", "⅓ of it", "1/3|⅓"}, {"en", "3¼ inch", "1/4|3"},
		{"en", "ⅳ and Ⅳ", "iv"}, {"en", "𝐛𝐨𝐥𝐝 text", "bold"}, {"en", "１２３ abc", "123"}, {"en", "ﬃ oﬃce", "office"}, {"en", "x₁ + x₂", "x1|x2|x₁"}, {"en", "SO₄²⁻", "so4|so"}, {"en", "10⁶ cells", "10"}, {"en", "⒈ first", "1|first"}, {"en", "⑴ one", "1"}, {"en", "㏊ land", "ha"}, {"en", "kWh at 5㎾", "kw|5 kw"}, {"en", "2 ㎥", "m3|m³"}, {"en", "½-inch", "1/2|inch|½"},
		{"en", "Qurʾan", "quran|qur'an|Qurʾān"}, {"en", "Kaʿba", "kaba|ka'ba"}, {"en", "O＇Brien", "o'brien|obrien"}, {"en", "Qur’an", "quran|qur'an"}, {"en", "Shi`a", "shia|shi'a"}, {"en", "ma´am", "maam|ma'am"}, {"en", "D՚Art", "dart|d'art"}, {"en", "Tonga ʻEua", "eua"}, {"en", "L´Oréal", "loreal|l'oreal"}, {"en", "fo'c'sle", "focsle|fo'c'sle"},
		{"en", "🚀 launch", "🚀|launch"}, {"en", "ok 👌🏿", "👌"}, {"en", "🏳️‍🌈 pride", "🏳️‍🌈|🌈"}, {"en", "love ♥", "♥|♥️"}, {"en", "done ✅", "✅"}, {"en", "☕️ break", "☕"}, {"de", "Größe 🎈", "🎈"},
		{"en", "A/B test", "a/b"}, {"en", "24/7 support", "24/7|24 7"}, {"en", "on-line", "online|on line"}, {"en", "a Ph.D. student", "phd|ph.d.|PhD"}, {"en", "a PhD student", "ph.d.|phd|Ph.D."}, {"en", "M.Sc. degree", "msc"}, {"en", "mp3player", "mp3"}, {"en", "sha256sum", "sha256|sha 256"}, {"en", "utf8mb4", "utf8"}, {"en", "➂ third ⓬ twelfth", "3|12|third|➂"}, {"en", "1,500 people", "1500|1,500"}, {"en", "1500 people", "1,500"},
	} {
		finds(t, tc.language, tc.queries, tc.text, "something else")
	}
}

// TestHeld: exact words differ from other forms of them.
func TestHeld(t *testing.T) {
	for _, tc := range []struct {
		language, phrase, text string
		want                   Held
	}{
		{"en", "emergency fund", "an Emergency Fund for all", Literal},
		{"en", "emergency fund", "emerging funds", Stemmed},
		{"en", "emergency fund", "a fund for an emergency", NotHeld},
		{"en", "emergency fund", "emerging funds, and the emergency fund", Literal},
		{"en", "running", "he runs", Stemmed},
		{"en", "run", "running", Stemmed},
		{"en", "cafe", "the Café", Literal},
		{"en", "O'Brien", "obrien", Literal},
		{"en", "universal", "university", Stemmed},
		{"en", "iPhone 15", "an iphone15 case", Literal},
		{"en", "iphone15 case", "an iPhone 15 case", Literal},
		{"en", "userName field", "user name field", Literal},
		{"en", "username field", "userName field", Literal},
		{"en", "wi-fi", "wifi", Literal},
		{"en", "wifi router", "a wi-fi router", Literal},
		{"en", "2024-03-15", "at 2024-03-15T14:30:00Z", Literal},
		{"en", "python 2.10", "Python 2.10.3", Literal},
		{"de", "grüner Baum", "grüne Bäume", Stemmed},
		{"de", "grüne Bäume", "GRÜNE Bäume", Literal},
		{"fr", "élèves", "eleves", Literal},
		{"fr", "grands", "grand", Stemmed},
		{"ru", "красная площадь", "красной площади", Stemmed},
		{"hr", "kuće", "kuće", Literal},
		{"cjk", "東京都", "東京都", Literal},
		{"en", "🎉 party", "🎉 party", Literal},
		{"en", "🎉 party", "🎊 party", NotHeld},
	} {
		x := unopened(t, tc.language)
		if got := x.Holds(tc.text, nil, x.Phrase(tc.phrase))[0]; got != tc.want {
			t.Errorf("%s: %q in %q: %v, want %v; %v", tc.language, tc.phrase, tc.text, got, tc.want, x.Phrase(tc.phrase))
		}
	}
}
