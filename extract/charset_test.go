package extract

import (
	"strings"
	"testing"

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
			if got, warning := (&decoder{}).text([]byte(tt.in)); got != tt.want || warning != tt.warning {
				t.Errorf("text(%q) = %q, %q, want %q, %q", tt.in, got, warning, tt.want, tt.warning)
			}
		})
	}
	d := &decoder{}
	d.text([]byte("für Müller"))
	if got, _ := d.text([]byte("Br\xfccke, Gr\xfc\xdfe")); got != "Br\ufffdcke, Gr\ufffde" {
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
