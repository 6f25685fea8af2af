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

// noteMarks parses ==highlights== and %%comments%% of Obsidian as the text between the marks.
// Between two words, as in a==b, and in 100%% and %%i they are not marks.
type noteMarks struct{}

// Trigger returns the characters of marks.
func (noteMarks) Trigger() []byte { return []byte{'=', '%'} }

// Parse returns a delimiter for two equal marks; nil if they neither open nor close.
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

// IsDelimiter, CanOpenCloser and OnMatch let the parser find pairs.
func (noteMarks) IsDelimiter(b byte) bool { return b == '=' || b == '%' }

func (noteMarks) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

func (noteMarks) OnMatch(int) ast.Node { return gext.NewStrikethrough() } // of which the text is kept, too

// blockName is Obsidian's name of a block for links, such as ^a1b2c3, at its end.
var blockName = regexp.MustCompile(`(^|[ \t])\^[A-Za-z0-9][A-Za-z0-9-]{2,}[ \t]*$`)

// endsBlock reports whether n is the last text of its block.
func endsBlock(n *ast.Text) bool {
	return n.NextSibling() == nil && n.Parent().Type() == ast.TypeBlock
}

// isLeftOut reports whether a paragraph is a mark around a comment of several blocks, or what
// Excalidraw writes about its page. settings reports that the settings of a board follow.
func isLeftOut(paragraph []byte) (leftOut, settings bool) {
	p := bytes.TrimSpace(paragraph)
	settings = bytes.Equal(p, []byte("%% kanban:settings"))
	return settings || bytes.Equal(p, []byte("%%")) || bytes.HasPrefix(p, []byte("==⚠")) && bytes.Contains(p, []byte("EXCALIDRAW VIEW")), settings
}
