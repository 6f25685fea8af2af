package notes

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// markdownChunk is the size in bytes of the sections that are parsed on their own. Some constructs
// take quadratic time, 32 KiB of the worst half a second.
const markdownChunk = 32 << 10

// sectionEnd returns where to cut the next section off s: before the last heading outside code in
// its first 32 KiB, else after a blank line without an indented line behind it, else after a line.
// open is the line that opens the code fence in which s begins, if it does; next is that for the
// rest.
func sectionEnd(s, open string) (cut int, next string) {
	if len(s) <= markdownChunk {
		return len(s), ""
	}
	heading, blank, line := 0, 0, 0
	wasBlank := false
	for pos := 0; pos < markdownChunk; {
		end := strings.IndexByte(s[pos:], '\n')
		if end < 0 {
			break
		}
		l := s[pos : pos+end]
		mark, info := codeFence(l)
		switch {
		case open != "":
			if opened, _ := codeFence(open); mark != "" && info == "" && strings.HasPrefix(mark, opened) {
				open = ""
			}
		case mark != "":
			open = l + "\n"
		case pos > 0 && strings.HasPrefix(l, "#"):
			heading = pos
		case pos > 0 && wasBlank && l != "" && l[0] != ' ' && l[0] != '\t':
			blank = pos
		}
		wasBlank = strings.Trim(l, " ") == ""
		pos += end + 1
		if pos <= markdownChunk {
			line, next = pos, open
		}
	}
	switch {
	case heading > 0:
		return heading, ""
	case blank > 0:
		return blank, ""
	case line > 0:
		return line, next
	}
	cut = markdownChunk // one endless line: cut it between characters
	for cut > markdownChunk-4 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return cut, open
}

// codeFence returns the mark of a line that opens or closes a code fence, and the text behind it;
// mark is empty for other lines.
func codeFence(l string) (mark, info string) {
	l = strings.TrimLeft(l, " ")
	if l == "" || l[0] != '`' && l[0] != '~' {
		return "", ""
	}
	info = strings.TrimLeft(l, l[:1])
	mark, info = l[:len(l)-len(info)], strings.TrimSpace(info)
	if len(mark) < 3 || mark[0] == '`' && strings.Contains(info, "`") {
		return "", ""
	}
	return mark, info
}

// codeName matches the language that a code fence names: js, {#id .js}, {r, echo=FALSE}, js{1,3} or
// js:file.js.
var codeName = regexp.MustCompile(`^(?:\{(?:[^}]*?\s)?[.=])?\{?([^\s{}.,:=#][^\s{},:=]*)`)

func fenceLanguage(n *ast.FencedCodeBlock, source []byte) string {
	if n.Info != nil {
		if m := codeName.FindSubmatch(n.Info.Segment.Value(source)); m != nil {
			return strings.ToLower(string(m[1]))
		}
	}
	return ""
}
