package extract

import (
	"encoding/json"
	"strings"
	"testing"
)

const savedPage = "From: <Saved by Blink>\r\nSnapshot-Content-Location: https://example.org/bikes?a=1\r\nSubject: =?utf-8?Q?Chains=20=E2=80=93=20Bikes?=\r\n" +
	"Date: Fri, 5 Jan 2024 10:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\ttype=\"text/html\";\r\n\tboundary=\"B\"\r\n\r\n\r\n" +
	"--B\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<!DOCTYPE html><html lang=3D\"en\"><head><meta charset=3D\"utf-8\"><title>Chai=\r\nns =E2=80=93 Bikes</title></head>" +
	"<body><h1>Chains</h1><p>Push the pin=20out.</p></body></html>\r\n" +
	"--B\r\nContent-Type: text/css\r\n\r\nbody { color: red; }\r\n--B\r\nContent-Type: text/html\r\n\r\n<p>An advertisement\r\n--B--\r\n"

// A page that a browser saved as one file is read as the page: without its frames, styles and the
// browser's name.
func TestSavedPage(t *testing.T) {
	const fields = `{"lang":"en","path":"a.mhtml","text":"Chains\n\nPush the pin out.","title":"Chains – Bikes","url":"https://example.org/bikes?a=1"}`
	untitled := strings.Replace(savedPage, "<title>Chai=\r\nns =E2=80=93 Bikes</title>", "", 1)
	for _, tt := range []struct{ name, in, want string }{
		{"page", savedPage, fields},
		{"title in the head only", strings.Replace(untitled, "<h1>Chains</h1>", "<p>Chains</p>", 1), fields},
		{"cut off", savedPage[:strings.Index(savedPage, "</body>")], fields},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := readBytes(t, []byte(tt.in), "a.mhtml", Options{})
			if len(out.docs) != 1 || len(out.errors) > 0 {
				t.Fatal(out)
			}
			got, err := json.Marshal(out.docs[0].Fields)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
	out := readBytes(t, []byte("From: <Saved by Blink>\r\nContent-Type: image/png\r\n\r\nx"), "a.mht", Options{})
	if len(out.docs) > 0 || len(out.errors) != 1 || out.errors[0].Error() != "a.mht: not a saved page: it has no page" {
		t.Errorf("without a page: %v", out)
	}
}

func FuzzMHTML(f *testing.F) {
	f.Add([]byte(savedPage))
	fuzzReader(f, "in.mhtml")
}
