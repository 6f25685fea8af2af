package notes

import (
	"bytes"
	"regexp"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	gext "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	gtext "github.com/yuin/goldmark/text"
)

// noteMarks reads the marks in pairs that Obsidian and other programs for notes have beside
// CommonMark, ==what is highlighted== and %%a comment%%, as the text between them. Comments are
// kept, as they were written to be found again.
//
// What stands between two words, as in a==b, is an operator, and 100%% and %%i are what they are in
// programs.
type noteMarks struct{}

// Trigger is the characters at which Parse is asked.
func (noteMarks) Trigger() []byte { return []byte{'=', '%'} }

// Parse returns a delimiter for two of these characters, nil where there are fewer or more, or
// where they neither open nor close.
func (noteMarks) Parse(_ ast.Node, block gtext.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	mark := line[0]
	if len(line) < 2 || line[1] != mark || before == rune(mark) || len(line) > 2 && line[2] == mark {
		return nil
	}
	after, _ := utf8.DecodeRune(line[2:])
	canOpen, canClose := !isWordByte(before), !isWordByte(after)
	if mark == '=' { // comments may begin and end with a space
		canOpen, canClose = canOpen && !isBlank(after), canClose && !isBlank(before)
	}
	if !canOpen && !canClose {
		return nil
	}
	d := parser.NewDelimiter(canOpen, canClose, 2, mark, noteMarks{})
	d.Segment = segment.WithStop(segment.Start + 2)
	block.Advance(2)
	pc.PushDelimiter(d)
	return d
}

func isWordByte(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == utf8.RuneError }

// IsDelimiter, CanOpenCloser and OnMatch make the parser find the pairs.
func (noteMarks) IsDelimiter(b byte) bool { return b == '=' || b == '%' }

func (noteMarks) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

func (noteMarks) OnMatch(int) ast.Node { return gext.NewStrikethrough() } // of which the text is kept, too

// blockName is the name that Obsidian and its drawings give to a block for links to it, such as
// ^a1b2c3, at its end.
var blockName = regexp.MustCompile(`(^|[ \t])\^[A-Za-z0-9][A-Za-z0-9-]{2,}[ \t]*$`)

// endsBlock reports whether n is the last text of a paragraph or of the like.
func endsBlock(n *ast.Text) bool {
	return n.NextSibling() == nil && n.Parent().Type() == ast.TypeBlock
}

// isLeftOut reports whether a paragraph has nothing to read: a mark that begins or ends a comment
// of several blocks, and what Excalidraw says of its own page. settings reports that those of a
// board follow, behind the first mark.
func isLeftOut(paragraph []byte) (leftOut, settings bool) {
	p := bytes.TrimSpace(paragraph)
	settings = bytes.Equal(p, []byte("%% kanban:settings"))
	return settings || bytes.Equal(p, []byte("%%")) || bytes.HasPrefix(p, []byte("==⚠")) && bytes.Contains(p, []byte("EXCALIDRAW VIEW")), settings
}
