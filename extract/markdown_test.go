package extract

import (
	"fmt"
	"strings"
	"testing"
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
	if b.Len() < 2*(32<<10) {
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
		mark := fence[:strings.LastIndexAny(strings.SplitN(fence, "\n", 2)[0], "`~")+1]
		code := strings.Repeat("echo one\n# comment in the code\n\n", 3*(32<<10)/32)
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
