package extract

import (
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/searchd/extract/content"

	"golang.org/x/text/encoding/unicode"
)

// In texts of Windows-1252 a letter and the sign behind it can be a character of UTF-8.
func TestLegacyCharsets(t *testing.T) {
	for _, tt := range []struct{ name, in, want, warning string }{
		{"sharp s and a quote", "\x84Spa\xdf\x93 f\xfcr M\xfcller", "„Spaß“ für Müller", "not UTF-8; read as Windows-1252 (Latin-1); ingest --encoding names another"},
		{"capital and a space", "LE CAF\xc9\xa0! Un \xe9t\xe9", "LE CAFÉ\u00a0! Un été", "not UTF-8; read as Windows-1252 (Latin-1); ingest --encoding names another"},
		{"damaged UTF-8", "für M\xfcller", "für M\ufffdller", "invalid UTF-8: 1 byte replaced by U+FFFD"},
		{"UTF-8", "für Müller", "für Müller", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, warning := (&content.Decoder{}).Text([]byte(tt.in)); got != tt.want || warning != tt.warning {
				t.Errorf("text(%q) = %q, %q, want %q, %q", tt.in, got, warning, tt.want, tt.warning)
			}
		})
	}
	d := &content.Decoder{}
	d.Text([]byte("für Müller"))
	if got, _ := d.Text([]byte("Br\xfccke, Gr\xfc\xdfe")); got != "Br\ufffdcke, Gr\ufffde" {
		t.Errorf("behind UTF-8 text is %q, want damaged UTF-8", got)
	}
}

// UTF-16 without a byte order mark is read as such in texts, and nothing else is.
func TestUnmarkedUTF16(t *testing.T) {
	const russian, chinese = "Полив огурцов\nКаждое утро, до жары.\n", "今天天气很好，我们去公园。\n明天下雨。一一一\n"
	for _, tt := range []struct{ name, text, want string }{
		{"a.txt", "Water the beds\n\nEach morning.\n", "Each morning."},
		{"a.md", russian, "Полив огурцов Каждое утро, до жары."},
		{"b.txt", chinese, "明天下雨。一一一"},
		{"a.html", "<p>Tomatoes \U0001f345 and beans</p>", "Tomatoes \U0001f345 and beans"},
		{"a.csv", "id,text\n1,Beans\n", "Beans"},
		{"a.eml", "From: a@example.org\r\nSubject: Beans\r\n\r\nWater them, Zoë.\r\n", "Water them, Zoë."},
		{"b.eml", "Subject: Beans\nContent-Type: text/html; charset=utf-8\n\n<p>Water them</p>", "Water them"},
		{"a.jsonl", "{\"text\":\"Beans\"}\n", "Beans"},
		{"a.vcf", "BEGIN:VCARD\nFN:Anna\nNOTE:Beans\nEND:VCARD\n", "Beans"},
		{"long.txt", strings.Repeat("\U0001f345 long ", 500) + "\n\nend", "end"},
	} {
		for _, endian := range []unicode.Endianness{unicode.LittleEndian, unicode.BigEndian} {
			b, err := unicode.UTF16(endian, unicode.IgnoreBOM).NewEncoder().Bytes([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			out := readBytes(t, b, tt.name, Options{})
			if len(out.docs) != 1 || len(out.errors) > 0 || !strings.Contains(out.String(), tt.want) {
				t.Errorf("%s %v: %v, want %q", tt.name, endian, out, tt.want)
			}
		}
	}
	for name, in := range map[string]string{
		"one NUL":    strings.Repeat("words and words ", 20) + "\x00" + "more",
		"one in few": "hello wor\x00ld",
		"padded":     strings.Repeat("word\x00\x00\x00\x00", 50),
		"numbers":    strings.Repeat("\x01\x00\x02\x00\x03\x00a\x00", 50),
		"addresses":  strings.Repeat("a\x00\xff\xff\x00\xd8b\x00", 50),
		"UTF-32":     strings.Repeat("a\x00\x00\x00", 50),
	} {
		if out := readBytes(t, []byte(in), "a.txt", Options{}); len(out.docs) != 0 {
			t.Errorf("%s: %v, want it refused", name, out)
		}
	}
}

func TestEncoding(t *testing.T) {
	encoded := func(name, text string) string {
		t.Helper()
		enc, err := ParseEncoding(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := enc.NewEncoder().Bytes([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const russian, japanese = "Полив огурцов каждое утро", "表計算ソフトで予算を組む"
	late := strings.Repeat("words and words\n", 8<<10)
	for _, tt := range []struct{ name, encoding, in, want string }{
		{"a.txt", "cp1251", encoded("windows-1251", russian), russian},
		{"a.md", "KOI8-R", encoded("koi8-r", "# Title\n\n"+russian), russian},
		{"a.srt", "shift_jis", encoded("shift_jis", japanese), japanese},
		{"a.txt", "big5", encoded("big5", "今天天氣很好"), "今天天氣很好"},
		{"a.txt", "iso-2022-jp", encoded("iso-2022-jp", japanese), japanese},
		{"a.txt", "utf-16le", encoded("utf-16le", "今天天气很好"), "今天天气很好"},
		{"a.csv", "gbk", encoded("gbk", "id|text\n1|联通公司的服务\n2|今天天气\n"), "联通公司的服务"},
		{"a.csv", "cp1251", "id,text\n1," + strings.ReplaceAll(late, "\n", " ") + "\n2," + encoded("windows-1251", russian) + "\n", russian},
		{"a.txt", "cp1251", late + encoded("windows-1251", russian), russian},
		{"a.html", "cp1251", "<p>" + encoded("windows-1251", russian), russian},
		{"a.html", "cp1251", "<meta charset=koi8-r><p>" + encoded("koi8-r", russian), russian},
		{"a.html", "koi8-r", "<p>" + russian, russian},
		{"a.html", "utf-8", "<p>f\u00fcr M\xfcller", "f\u00fcr M\ufffdller"},
		{"a.html", "koi8-r", "<p>f\u00fcr \u00c4rger, M\xfcller", "f\u00fcr \u00c4rger, M\ufffdller"},
		{"a.txt", "koi8-r", russian, russian},
		{"a.txt", "koi8-r", strings.Repeat("x", bufferSize-1) + russian, russian},
		{"a.txt", "koi8-r", "\ufeff" + russian, russian},
		{"a.jsonl", "koi8-r", `{"text":"` + russian + `"}`, russian},
		{"a.txt", "utf-8", "Gr\xfc\xdfe", "Gr\ufffde"},
	} {
		out := readBytes(t, []byte(tt.in), tt.name, Options{Encoding: tt.encoding})
		if len(out.docs) == 0 || len(out.errors) > 0 && !strings.Contains(tt.want, "\ufffd") || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s as %s: %.300s, want %q", tt.name, tt.encoding, out, tt.want)
		}
	}
	for _, name := range []string{"cp-1251x", "hz-gb-2312"} {
		if err := Reader(t.Context(), strings.NewReader("x"), "a.txt", Auto, Options{Encoding: name}, nil, nil); err == nil || !strings.Contains(err.Error(), "koi8-r") {
			t.Errorf("%s: error %v, want one with names that are allowed", name, err)
		}
	}
}

// A text that is not UTF-8 and declares nothing is read in the character set that it seems to be
// in, with a warning that names it.
func TestGuessedCharsets(t *testing.T) {
	const (
		ja    = "名前,住所,備考\n山田太郎,東京都千代田区,表計算ソフトで予算を組む\n鈴木花子,大阪府大阪市,毎朝トマトに水をやる\n"
		short = "題名,説明\n表計算,ソフトで予算を組む\n"
		zh    = "姓名,地址,备注\n张三,北京市海淀区,今天天气很好，我们去公园。\n李四,上海市,明天下雨\n"
		tw    = "姓名,地址,備註\n張三,台北市,今天天氣很好，我們去公園。\n李四,高雄市,明天下雨\n"
		ko    = "이름,주소,비고\n홍길동,서울특별시,오늘은 날씨가 좋습니다.\n김철수,부산광역시,내일은 비가 옵니다\n"
		ru    = "имя,заметка\nАнна,Полив огурцов каждое утро до жары. Не забудьте проверить воду\n"
		pl    = "nazwa,opis\nJaźń,Zażółć gęślą jaźń i proszę pójść do sklepu oraz kupić świeże bułki\n"
		el    = "όνομα,σημείωση\nΆννα,Καλημέρα κόσμε σήμερα ο καιρός είναι πολύ καλός\n"
		he    = "שם,הערה\nאנה,שלום עולם היום מזג האוויר יפה מאוד ואנחנו הולכים לפארק\n"
		ar    = "اسم,ملاحظة\nآنا,مرحبا بالعالم الطقس اليوم جميل جدا ونحن نذهب إلى الحديقة\n"
		tr    = "ad,not\nAyşe,Bugün hava çok güzel ve şimdi parka gidiyoruz ağaçların altında oturuyoruz\n"
		names = "名前,年齢,住所\n佐藤太郎,30,東京\n三木英子,25,大阪\n髙橋淳,35,名古屋\n"
		cells = "姓名,年龄\n王伟,30\n"
		cell  = "姓名,年齡\n王偉,30\n"
		goods = "製品名,価格\n机,5000\n椅子,3000\n"
		loan  = "項目,値\nテスト,あ\n"
		town  = "都市,县\n北京,无\n"
		de    = "Name,Notiz\nJürgen,Grüße aus Köln und süße Äpfel für Müller\n"
	)
	for _, tt := range []struct{ encoding, text, want string }{
		{"shift_jis", ja, "shift_jis"}, {"shift_jis", short, "shift_jis"}, {"euc-jp", ja, "euc-jp"}, {"euc-jp", short, "euc-jp"}, {"gb18030", zh, "gb18030"}, {"gbk", zh, "gb18030"},
		{"shift_jis", names, "shift_jis"}, {"shift_jis", goods, "shift_jis"}, {"shift_jis", loan, "shift_jis"}, {"gbk", cells, "gb18030"}, {"gbk", town, "gb18030"}, {"big5", cell, "big5"},
		{"big5", tw, "big5"}, {"euc-kr", ko, "euc-kr"}, {"koi8-r", ru, "koi8-r"}, {"windows-1251", ru, "windows-1251"}, {"windows-1251", "документ,сумма\nСчёт-фактура,30\n", "windows-1251"}, {"windows-1250", pl, "windows-1250"},
		{"windows-1253", el, "windows-1253"}, {"windows-1255", he, "windows-1255"}, {"windows-1256", ar, "windows-1256"}, {"windows-1254", tr, "windows-1254"},
		{"windows-1252", de, "Windows-1252"}, {"windows-1252", "id,name\n1,José\n2,Zoë\n", "Windows-1252"}, {"windows-1252", "a,b\nSpaß,naïve café\n", "Windows-1252"},
		{"windows-1252", "a,b\nL'été,nous avons mangé à la crêperie près de la forêt où il fait frais\n", "Windows-1252"},
		{"windows-1252", "a,b\nJörð,Það er gott að vera hér\n", "Windows-1252"}, {"windows-1252", "a,b\nprecio,5 € más 10 % – “así”\n", "Windows-1252"},
	} {
		enc, err := ParseEncoding(tt.encoding)
		if err != nil {
			t.Fatal(err)
		}
		b, err := enc.NewEncoder().Bytes([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		row := strings.Split(strings.Split(tt.text, "\n")[1], ",")[1]
		for name, in := range map[string]string{"a.csv": string(b), "a.txt": string(b), "a.md": string(b), "a.html": "<p>" + string(b)} {
			out := readBytes(t, []byte(in), name, Options{})
			if len(out.docs) == 0 || !strings.Contains(out.String(), row) || len(out.errors) != 1 || !strings.Contains(out.errors[0].Reason, "read as "+tt.want) {
				t.Errorf("%s as %s: %.500s, want %q and a warning", tt.encoding, name, out, row)
			}
		}
	}
}

// A few NUL bytes of a web page are damage; many are no page, and other texts have none.
func TestStrayNULs(t *testing.T) {
	page := "<html><body>" + strings.Repeat("<p>Water the beds each morning.</p>\n", 200)
	for _, tt := range []struct {
		name, in string
		docs     int
		reason   string
	}{
		{"a.html", page + "<p>to\x00matoes</p>", 1, "a.html: warning: 1 NUL byte left out"},
		{"a.html", page + "\x00\x00\x00<p>tomatoes</p>", 1, "a.html: warning: 3 NUL bytes left out"},
		{"a.html", "\x00" + page + "<p>tomatoes", 1, "a.html: warning: 1 NUL byte left out"},
		{"a.html", page + "<p>tomatoes" + strings.Repeat("\x00", 20), 1, "a.html: warning: 20 NUL bytes at the end left out"},
		{"a.html", page + strings.Repeat("\x00", 20) + "x", 0, "a.html:201: binary data (NUL bytes), not HTML"},
		{"a.html", "<p>words x\x00y", 0, "a.html:1: binary data (NUL bytes), not HTML"},
		{"a.txt", page + "\x00x", 0, "a.txt:201: binary data (NUL bytes), not plain text"},
	} {
		out := readBytes(t, []byte(tt.in), tt.name, Options{})
		if len(out.docs) != tt.docs || len(out.errors) != 1 || out.errors[0].Error() != tt.reason || tt.docs > 0 && !strings.Contains(out.String(), "tomatoes") {
			t.Errorf("%.30q: %d documents, %v, want %d and %q", tt.in, len(out.docs), out.errors, tt.docs, tt.reason)
		}
	}
}

// What a page declares is not believed if it is in UTF-8.
func TestWrongDeclaration(t *testing.T) {
	const long = "Пора поливать огурцы"
	for _, tt := range []struct{ declared, text, want string }{
		{"<meta charset=iso-8859-1>", "für Müller", "für Müller"},
		{`<meta http-equiv="Content-Type" content="text/html; charset=ISO-8859-1">`, "café", "café"},
		{"<meta charset=windows-1252>", "naïve", "naïve"},
		{"<meta charset=iso-8859-15>", "5 €", "5 €"},
		{"<meta charset=windows-1251>", long, long},
		{"<meta charset=koi8-r>", long, long},
		{"<meta charset=iso-8859-7>", "Καλημέρα", "Καλημέρα"},
		{"<meta charset=shift_jis>", "表計算ソフトで予算を組む", "表計算ソフトで予算を組む"},
		{"<meta charset=gbk>", "今天天气很好，我们去公园", "今天天气很好，我们去公园"},
		{"<meta charset=iso-8859-1>", long + long + " \xff", long + long + " \ufffd"},
		{"<meta charset=iso-8859-1>", "Grüße, schöne Wörter \xe9", "Grüße, schöne Wörter \ufffd"},
		{"<meta charset=gb2312>", "你好，世界", "你好，世界"},
		{"<meta charset=euc-kr>", "안녕하세요", "안녕하세요"},
		{"<meta charset=big5>", "天氣 🎉", "天氣 🎉"},
		{"<meta charset=shift_jis>", "Grüße 日本", "Grüße 日本"},
	} {
		out := readBytes(t, []byte(tt.declared+"<p>"+tt.text), "a.html", Options{})
		if len(out.docs) != 1 || out.docs[0].Fields["text"] != tt.want || len(out.errors) == 0 || !strings.Contains(out.errors[0].Reason, "it is in UTF-8") {
			t.Errorf("%s: %v, want %q and a warning", tt.declared, out, tt.want)
		}
	}
	for _, tt := range []struct{ declared, text, want string }{ // of a part of a message
		{"iso-8859-1", "für Müller", "für Müller"}, {"us-ascii", "für Müller", "für Müller"}, {"iso-8859-2", "für Müller", "für Müller"}, {"koi8-r", long, long}, {"gb2312", "你好，世界", "你好，世界"},
		{"iso-2022-jp", "日本語", "日本語"}, {"shift_jis", "日本の天気", "日本の天気"}, {"utf-8", "f\xfcr M\xfcller", "für Müller"}, {"x-unknown", "f\xfcr M\xfcller", "für Müller"},
		{"gb2312", "\xc1\xaa\xcd\xa8", "联通"}, {"iso-8859-15", "5 \xa4", "5 €"}, {"iso-2022-jp", "\x1b$BF|K\\\x1b(B", "日本"},
	} {
		out := readBytes(t, []byte(mailTop+"Content-Type: text/plain; charset="+tt.declared+"\nContent-Transfer-Encoding: 8bit\n\n"+tt.text), "a.eml", Options{})
		if len(out.docs) != 1 || out.docs[0].Fields["text"] != tt.want {
			t.Errorf("a message in %s: %v, want %q", tt.declared, out, tt.want)
		}
	}
	for declared, text := range map[string]string{"iso-8859-1": "f\xfcr M\xfcller", "gbk": "\xc1\xaa\xcd\xa8", "shift_jis": "\x95\x5c\x8c\x76"} {
		if out := readBytes(t, []byte("<meta charset="+declared+"><p>"+text), "a.html", Options{}); len(out.docs) != 1 || len(out.errors) > 0 || strings.Contains(out.String(), "\ufffd") {
			t.Errorf("%s: %v, want no warning", declared, out)
		}
	}
}

// A guess decodes whatever bytes it was made for.
func FuzzGuessCharset(f *testing.F) {
	f.Add([]byte("\x96\xbc\x91\x4f,\x94\x4e\x97\xee\r\n"))
	f.Add([]byte("Gr\xfc\xdfe"))
	f.Add([]byte("\xb1\xb1\xbe\xa9"))
	f.Fuzz(func(t *testing.T, b []byte) {
		g := content.GuessCharset(b)
		if s, err := content.Decode(b, g.Enc); err != nil || !utf8.ValidString(s) || g.Confidence < 0 || g.Confidence > 99 || !strings.Contains(g.String(), "read as") {
			t.Errorf("%q: %v, %q, %v", b, g, s, err)
		}
	})
}
