package extract

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// Cutting a long text into sections does not change what is read.
func TestMarkdownSections(t *testing.T) {
	var b, want strings.Builder
	for i := range 6000 {
		switch {
		case i%100 == 0:
			fmt.Fprintf(&b, "## Part %d\n\n", i)
			fmt.Fprintf(&want, "Part %d\n\n", i)
		case i%100 == 50:
			fmt.Fprintf(&b, "```\n# not a heading %d\n\nstill code\n```\n\n", i)
			fmt.Fprintf(&want, "# not a heading %d\n\nstill code\n\n", i)
		default:
			fmt.Fprintf(&b, "Paragraph **number** %d.\n\n", i)
			fmt.Fprintf(&want, "Paragraph number %d.\n\n", i)
		}
	}
	if b.Len() < 2*markdownChunk {
		t.Fatalf("only %d bytes", b.Len())
	}
	out := readBytes(t, []byte(b.String()), "a.md", Options{})
	if len(out.docs) != 1 || len(out.errors) != 0 {
		t.Fatalf("got %d documents, errors %v", len(out.docs), out.errors)
	}
	if got := out.docs[0].Fields["text"]; got != strings.TrimSpace(want.String()) || out.docs[0].Fields["title"] != "a" {
		t.Errorf("text differs; it begins %.200q", got)
	}
}

// TestLongCodeFence reads code of more than one section: what is in it is code, and what is behind
// it is text again.
func TestLongCodeFence(t *testing.T) {
	for _, fence := range []string{"```sh", "~~~", "````md\n```\n# no end yet", "  ```"} {
		mark, _ := codeFence(fence[:strings.IndexByte(fence+"\n", '\n')])
		code := strings.Repeat("echo one\n# comment in the code\n\n", 3*markdownChunk/32)
		var got Document
		err := Reader(t.Context(), strings.NewReader("text *before*\n\n"+fence+"\n"+code+mark+"\n\n# Real heading\n\n*behind* it\n"), "a.md", Markdown, Options{}, func(d Document) error {
			got = d
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := got.Fields["text"].(string)
		if got.Fields["title"] != "Real heading" || strings.Count(text, "# comment in the code") != strings.Count(code, "#") || !strings.HasSuffix(text, "Real heading\n\nbehind it") || strings.Contains(text, "*") {
			t.Errorf("%q: title %q, text %.60q … %q", fence, got.Fields["title"], text, text[max(0, len(text)-80):])
		}
	}
}

func TestSectionEnd(t *testing.T) {
	line := strings.Repeat("word ", 15) + "\n"
	body := strings.Repeat(line, 2*markdownChunk/len(line))
	for _, tt := range []struct {
		name, in string
		next     string // what the rest must begin with
	}{
		{"heading", body[:40*len(line)] + "# H\n" + body, "# H\n"},
		{"blank line", body[:40*len(line)] + "\nnew\n" + body, "new\n"},
		{"indented is no cut", body[:40*len(line)] + "\nnew\n" + body[:len(line)] + "\n  indented\n" + body, "new\n"},
		{"heading in code is none", body[:40*len(line)] + "\nnew\n```\n# H\n```\n" + body, "new\n"},
		{"line", body, "word"},
		{"no line", strings.Repeat("é", markdownChunk), "é"},
		{"no line, odd", "x" + strings.Repeat("é", markdownChunk), "é"},
	} {
		n, _ := sectionEnd(tt.in, "")
		if n <= 0 || n > markdownChunk+1 || !strings.HasPrefix(tt.in[n:], tt.next) || !utf8.ValidString(tt.in[:n]) {
			t.Errorf("%s: cut at %d of %d before %.20q", tt.name, n, len(tt.in), tt.in[n:])
		}
	}
}
