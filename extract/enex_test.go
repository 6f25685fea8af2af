package extract

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const enexHead = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export4.dtd">
<en-export export-date="20210101T000000Z" application="Evernote" version="10.1">
`

func enexNoteOf(title, content, rest string) string {
	return "<note><title>" + title + `</title><content><![CDATA[<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE en-note SYSTEM "http://xml.evernote.com/pub/enml2.dtd"><en-note>` + content + "</en-note>]]></content>" + rest + "</note>\n"
}

func TestENEX(t *testing.T) {
	resource := "<resource><data encoding=\"base64\">\n" + strings.Repeat(strings.Repeat("QUJD", 19)+"\n", 5000) + "</data><mime>image/png</mime><resource-attributes><source-url>no</source-url><file-name>plan of roof.png</file-name></resource-attributes></resource>"
	in := enexHead + enexNoteOf("Roof &amp; gutter", `<h1>Roof &amp; gutter</h1><div>Slates<br/>are loose.</div><div><en-todo checked="true"/>call Anna</div><en-media hash="x" type="image/png"/><en-crypt hint="x">AAECAw==</en-crypt>`,
		"<created>20190102T030405Z</created><updated>20200102T030405Z</updated><tag>house</tag><tag>to do</tag><note-attributes><author>Me</author><source-url>https://example.org/a</source-url></note-attributes>"+resource) +
		enexNoteOf("", "", "") + enexNoteOf("Second", "<div>text", "<created>never</created>") + "</en-export>\n"
	const want = `document ID at notes/a.enex:4: 
{
  "attachments": [
    "plan of roof.png"
  ],
  "author": "Me",
  "created": "2019-01-02T03:04:05Z",
  "modified": "2020-01-02T03:04:05Z",
  "path": "notes/a.enex",
  "tags": [
    "house",
    "to do"
  ],
  "text": "Slates
    | are loose.
    | 
    | call Anna",
  "title": "Roof \u0026 gutter",
  "url": "https://example.org/a"
}
document ID at notes/a.enex:5007: 
{
  "path": "notes/a.enex",
  "text": "text",
  "title": "Second"
}
fail notes/a.enex:5006: no text in a note
`
	out := readBytes(t, []byte(in), "notes/a.enex", Options{MaxFile: 20_000})
	for i := range out.docs {
		if len(out.docs[i].ID) != 32 {
			t.Errorf("id %q", out.docs[i].ID)
		}
		out.docs[i].ID = "ID"
	}
	if got := out.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	var slow outcome
	err := Reader(context.Background(), iotest.OneByteReader(strings.NewReader(in)), "notes/a.enex", ENEX, Options{MaxFile: 20_000},
		func(d Document) error { d.ID = "ID"; slow.docs = append(slow.docs, d); return nil },
		func(e ItemError) error { slow.errors = append(slow.errors, e); return nil })
	if got := slow.String(); err != nil || got != want {
		t.Errorf("byte by byte: %v, %s", err, got)
	}
	for in, want := range map[string]string{
		enexHead + "<note><title>Cut": "a:4: the file ends inside this note",
		enexHead + "</en-export>":     "a: no notes of Evernote in it",
		enexHead + enexNoteOf("A", "text", "") + "<note><content>" + strings.Repeat("x", 30_000): "a:5: note is longer than the limit of 20000 bytes, without its attachments; the rest of the file is left out",
		enexHead + enexNoteOf("A", "text", "") + "<note><&":                                      "a:5: cannot be read: XML syntax error on line 5: expected element name after <; the rest of the file is left out",
	} {
		out := readBytes(t, []byte(in), "a", Options{MaxFile: 20_000})
		if len(out.errors) != 1 || out.errors[0].Error() != want || len(out.docs) != strings.Count(in, "<title>A") {
			t.Errorf("%.300q: %v\nwant %s", in, out, want)
		}
	}
}

// Attachments take no memory: what dataCut leaves is what a plain search finds.
func TestDataCut(t *testing.T) {
	const in = "a<data>b\nc<x>d</data>e<datum>f</datum><data x='1'>g</dat</data></data><data/>i<data>h\n"
	for _, size := range []int{1, 2, 6, 7, 64} {
		c := &dataCut{r: bufio.NewReader(strings.NewReader(in))}
		var got bytes.Buffer
		if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{c}, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if want := "a<data>\n</data>e<datum>f</datum><data x='1'></data></data><data/>i<data>\n"; got.String() != want {
			t.Errorf("by %d bytes: %q, want %q", size, got.String(), want)
		}
	}
}

func FuzzENEX(f *testing.F) {
	f.Add([]byte(enexHead + enexNoteOf("A", "<b>x", "<resource><data>QUJD</data></resource>") + "</en-export>"))
	fuzzReader(f, "in.enex")
}
