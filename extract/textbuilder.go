package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// textBuilder writes readable plain text: blocks apart by a blank line, lists and tables by a line
// end, white space inside a line as one space, code as it stands. Breaks, prefixes and spaces wait
// until text follows, so that none are left over.
type textBuilder struct {
	b      strings.Builder
	breaks int    // line ends to write before the next text
	prefix string // what the next text begins with, "- " in a list
	space  bool   // a space to write before the next text on this line

	blocks []Block // those begun so far; the last one has no End until the next begins
	as     Block   // what the next block is: its Kind, Level and Language
	fresh  bool    // the next text begins a block, whatever breaks says
}

// begin makes the next text begin a block of that kind. Further ones of the kind begin behind blank
// lines, unless a block may hold some.
func (t *textBuilder) begin(as Block) { t.as, t.fresh = as, true }

// ended returns the blocks of the text, complete with their ends.
func (t *textBuilder) ended() []Block {
	if n := len(t.blocks); n > 0 && t.blocks[n-1].End == 0 {
		t.blocks[n-1].End = t.b.Len()
	}
	return t.blocks
}

// block ends the line and leaves a blank one.
func (t *textBuilder) block() { t.breaks, t.space = 2, false }

// line ends the line.
func (t *textBuilder) line() { t.breaks, t.space = max(t.breaks, 1), false }

// item ends the line and begins the next one with prefix.
func (t *textBuilder) item(prefix string) {
	t.line()
	t.prefix = prefix
}

// cell separates what follows from what stands on this line, if anything does.
func (t *textBuilder) cell() {
	if t.breaks == 0 && t.b.Len() > 0 && t.prefix == "" {
		t.space = false
		t.prefix = " | "
	}
}

// start writes what has been waiting for text.
func (t *textBuilder) start() {
	begins := (t.fresh || t.b.Len() == 0 || t.breaks == 2 && !t.as.Kind.whole()) && len(t.blocks) < maxBlocks
	if begins {
		t.ended()
	}
	if t.breaks > 0 && t.b.Len() > 0 {
		t.b.WriteString("\n\n"[:t.breaks])
		t.space = false
		if t.prefix == " | " {
			t.prefix = ""
		}
	}
	if t.space && t.b.Len() > 0 && t.prefix == "" {
		t.b.WriteByte(' ')
	}
	if begins {
		b := t.as
		b.Start, t.fresh = t.b.Len(), false
		t.blocks = append(t.blocks, b)
	}
	t.b.WriteString(t.prefix)
	t.breaks, t.prefix, t.space = 0, "", false
}

// inline writes s with each run of white space as one space.
func (t *textBuilder) inline(s string) {
	for len(s) > 0 {
		if i := strings.IndexFunc(s, notSpace); i != 0 {
			t.space = t.space || t.breaks == 0
			if i < 0 {
				return
			}
			s = s[i:]
		}
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 {
			end = len(s)
		}
		t.start()
		t.b.WriteString(s[:end])
		s = s[end:]
	}
}

// verbatim writes s with its line ends and indentation.
func (t *textBuilder) verbatim(s string) {
	s = strings.TrimRight(s, " \t\n")
	if t.breaks > 0 || t.b.Len() == 0 {
		s = strings.TrimLeft(s, "\n")
	}
	if strings.TrimSpace(s) == "" {
		return
	}
	t.start()
	t.b.WriteString(s)
}

func (t *textBuilder) String() string { return t.b.String() }

// notSpace is for everything but white space. The no-break space counts as white space: in HTML it
// is used for layout.
func notSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return r != ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != '\v'
	}
	return !unicode.IsSpace(r)
}
