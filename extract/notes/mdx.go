package notes

import (
	"regexp"
	"strings"
)

var (
	mdxScript  = regexp.MustCompile(`^(?:import|export)[ {*]`)
	mdxComment = regexp.MustCompile(`(?s)\{/\*.*?\*/\}`)
)

// withoutScript removes the imports, the exports, the comments and the marks of
// admonitions of MDX, outside code. The parser of Markdown reads its elements as HTML.
func withoutScript(s string) string {
	var out strings.Builder
	open, blank, script := "", true, false
	for l := range strings.Lines(s) {
		switch mark, info := codeFence(strings.TrimRight(l, "\n")); {
		case script:
		case open == "" && mark != "":
			open = mark
		case open != "" && info == "" && strings.HasPrefix(mark, open):
			open = ""
		}
		if script = script || blank && open == "" && mdxScript.MatchString(l); !script {
			if open == "" {
				l = strings.TrimLeft(l, ":") // of :::note
			}
			out.WriteString(l)
		}
		blank = script || strings.TrimSpace(l) == ""
		script = script && strings.TrimSpace(l) != ""
	}
	return mdxComment.ReplaceAllLiteralString(out.String(), "")
}
