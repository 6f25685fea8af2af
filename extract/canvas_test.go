package extract

import (
	"fmt"
	"strings"
	"testing"
)

func TestCanvas(t *testing.T) {
	var many strings.Builder
	for i := range 10_000 + 5 {
		fmt.Fprintf(&many, `,{"type":"text","text":"card %d","y":%d}`, i, i)
	}
	nested := strings.Builder{}
	for i := range 200 {
		fmt.Fprintf(&nested, `,{"type":"group","label":"g%d","x":%d,"y":%d,"width":%d,"height":%d}`, i, i, i, 1000-2*i, 1000-2*i)
	}
	for _, tt := range []struct{ name, in, begins, ends, warning string }{
		{"a NUL", `{"nodes":[{"type":"text","text":"a\u0000b"}]}`, "a\ufffdb", "b", ""},
		{"other members", `{"v":[{"a":1}],"nodes":[{"type":"text","text":"a"},{"type":"new"}],"edges":[{"label":"to"}]}`, "a", "- to", ""},
		{"many", `{"nodes":[` + many.String()[1:] + `]}`, "card 0\n\ncard 1\n", fmt.Sprintf("card %d", 10_000-1), "more than"},
		{"deep", `{"nodes":[` + nested.String()[1:] + `]}`, "g0\n\ng1\n\ng2", "g199", ""},
		{"front matter is text", `{"nodes":[{"type":"text","text":"---\na: b\n---\nwords"}]}`, "a: b", "words", ""},
	} {
		out := readBytes(t, []byte(tt.in), "House plan.canvas", Options{})
		text := ""
		if len(out.docs) == 1 {
			text, _ = out.docs[0].Fields["text"].(string)
		}
		if !strings.HasPrefix(text, tt.begins) || !strings.HasSuffix(text, tt.ends) || out.docs[0].Fields["title"] != "House plan" {
			t.Errorf("%s: %.300s", tt.name, out)
		}
		if len(out.errors) > 0 != (tt.warning != "") || tt.warning != "" && !strings.Contains(out.errors[0].Reason, tt.warning) {
			t.Errorf("%s: %v, want %q", tt.name, out.errors, tt.warning)
		}
	}
	for _, bad := range []string{`{"nodes":[{"type":"text"`, `[]`, `{"nodes":{}}`, `{"nodes":[]} more`, `{"nodes":[{"type":1}]}`, "words", "{}"} {
		if out := readBytes(t, []byte(bad), "a.canvas", Options{}); len(out.docs) > 0 || len(out.errors) != 1 {
			t.Errorf("%s: %v, want one error", bad, out)
		}
	}
}

func TestOutline(t *testing.T) {
	deep := strings.Repeat(`<outline text="a">`, 5000)
	for _, tt := range []struct{ in, title, text, wrong string }{
		{`<opml><body><outline text="a"/><outline text="b`, "a", "- a", "the rest is left out"},
		{"<?xml version='1.0' encoding='ISO-8859-1'?><opml><body><outline text='Gr\xfc\xdfe'/></body></opml>", "a", "- Grüße", ""},
		{"\xff\xfe" + wide(`<?xml version="1.0" encoding="UTF-16"?><opml><head><title>T</title></head><body><outline text="x"/></body></opml>`), "T", "- x", ""},
		{`<opml><body><outline text="it's a&nbsp;b &amp; c"/></body></opml>`, "a", "- it's a b & c", ""},
	} {
		out := readBytes(t, []byte(tt.in), "a.opml", Options{})
		if len(out.docs) != 1 || out.docs[0].Fields["title"] != tt.title || out.docs[0].Fields["text"] != tt.text {
			t.Errorf("%q: %v, want %q and %q", tt.in, out, tt.title, tt.text)
		}
		if len(out.errors) > 0 != (tt.wrong != "") || tt.wrong != "" && !strings.Contains(out.errors[0].Reason, tt.wrong) {
			t.Errorf("%q: %v, want %q", tt.in, out.errors, tt.wrong)
		}
	}
	if out := readBytes(t, []byte(deep), "a.opml", Options{}); len(out.docs) != 1 || len(out.String()) > 5000*2*20*2 {
		t.Errorf("deep: %d documents", len(out.docs))
	}
	for _, bad := range []string{"<opml><body></body></opml>", "words", "<opml", `<opml><outline text="` + strings.Repeat("x", (1<<20)+1) + `"/></opml>`} {
		if out := readBytes(t, []byte(bad), "a.opml", Options{}); len(out.docs) > 0 || len(out.errors) != 1 {
			t.Errorf("%.50s: %v, want one error", bad, out)
		}
	}
}

// wide is ASCII in UTF-16.
func wide(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(s[i:i+1] + "\x00")
	}
	return b.String()
}

func FuzzCanvas(f *testing.F) { fuzzReader(f, "in.canvas") }
func FuzzOPML(f *testing.F)   { fuzzReader(f, "in.opml") }
