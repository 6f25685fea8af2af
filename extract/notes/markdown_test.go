package notes

import (
	"strings"
	"testing"
	"unicode/utf8"
)

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
