package content

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Builder writes plain text: blocks are separated by a blank line, list items and table rows by a
// line end, words by one space; code keeps its white space. Breaks, prefixes and spaces are written
// only when more text follows.
type Builder struct {
	Breaks int    // line ends to write before the next text
	Prefix string // written before the next text, "- " in a list
	Page   int    // of the blocks that begin

	b      strings.Builder
	space  bool    // a space is due before the next text on this line
	blocks []Block // the last one has no End until the next begins
	as     Block   // Kind, Level and Language of the next block
	fresh  bool    // the next text begins a block, whatever Breaks says

	column, next int  // of the last text on this line, and of the next one
	moves        bool // next holds
}

// Begin makes the next text begin a block of that kind. Text behind a blank line begins another one
// of the same kind, except in code and tables.
func (t *Builder) Begin(as Block) { t.as, t.fresh = as, true }

// Fresh reports whether the next text begins a block.
func (t *Builder) Fresh() bool { return t.fresh }

// Blocks returns the blocks of the text.
func (t *Builder) Blocks() []Block {
	t.endBlock()
	return t.blocks
}

func (t *Builder) endBlock() {
	if n := len(t.blocks); n > 0 && t.blocks[n-1].End == 0 {
		b := &t.blocks[n-1]
		if b.End = t.b.Len(); b.Head == b.End { // without rows
			b.Head = 0
		}
	}
}

// Count returns the number of blocks that have begun.
func (t *Builder) Count() int { return len(t.blocks) }

// Last returns the block that has begun last; nil if none has.
func (t *Builder) Last() *Block {
	if len(t.blocks) == 0 {
		return nil
	}
	return &t.blocks[len(t.blocks)-1]
}

// EndHead makes the rows written so far the header of the table that is open.
func (t *Builder) EndHead() {
	if b := t.Last(); b != nil && b.Kind == Table && !t.fresh && t.b.Len() > b.Start {
		b.Head = t.b.Len()
	}
}

// Block ends the line and leaves a blank one.
func (t *Builder) Block() { t.Breaks, t.space = 2, false }

// Line ends the line.
func (t *Builder) Line() { t.Breaks, t.space = max(t.Breaks, 1), false }

// Item ends the line and begins the next one with prefix.
func (t *Builder) Item(prefix string) {
	t.Line()
	t.Prefix = prefix
}

// Cell separates the next cell from the text on this line, if there is any.
func (t *Builder) Cell() {
	if t.Breaks == 0 && t.b.Len() > 0 && t.Prefix == "" {
		t.space = false
		t.Prefix = " | "
	}
}

// Column puts the next text into a column of its row, from 0. Columns that are passed over are
// empty.
func (t *Builder) Column(n int) { t.next, t.moves, t.space, t.Prefix = n, true, false, "" }

// bars writes what separates the next text from the columns before it.
func (t *Builder) bars(first bool) {
	bar := " | "
	if first {
		t.column, bar = 0, "| "
	}
	t.b.WriteString(strings.Repeat(bar, min(max(t.next-t.column, 0), maxColumns)))
	t.column, t.moves = t.next, false
}

// start writes the breaks, the prefix and the space that are due.
func (t *Builder) start() {
	begins := (t.fresh || t.b.Len() == 0 || t.Breaks == 2 && !t.as.Kind.whole()) && len(t.blocks) < maxBlocks
	if begins {
		t.endBlock()
	}
	first := t.Breaks > 0 || t.b.Len() == 0
	if t.Breaks > 0 && t.b.Len() > 0 {
		t.b.WriteString("\n\n"[:t.Breaks])
		t.space = false
		if t.Prefix == " | " {
			t.Prefix = ""
		}
	}
	if t.space && t.b.Len() > 0 && t.Prefix == "" && !t.moves {
		t.b.WriteByte(' ')
	}
	if begins {
		b := t.as
		b.Start, b.Page, t.fresh = t.b.Len(), t.Page, false
		t.blocks = append(t.blocks, b)
	}
	if t.moves {
		t.bars(first)
	}
	t.b.WriteString(t.Prefix)
	t.Breaks, t.Prefix, t.space = 0, "", false
}

// Inline writes s with each run of white space as one space.
func (t *Builder) Inline(s string) {
	for len(s) > 0 {
		if i := strings.IndexFunc(s, notSpace); i != 0 {
			t.space = t.space || t.Breaks == 0
			if i < 0 {
				return
			}
			s = s[i:]
		}
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 {
			end = len(s)
		}
		t.Raw(s[:end])
		s = s[end:]
	}
}

// Raw writes s as it is.
func (t *Builder) Raw(s string) {
	t.start()
	t.b.WriteString(s)
}

// Verbatim writes s with its line ends and indentation, without blank lines around it.
func (t *Builder) Verbatim(s string) {
	s = strings.TrimRight(s, " \t\n")
	if t.Breaks > 0 || t.b.Len() == 0 {
		s = strings.TrimLeft(s, "\n")
	}
	if strings.TrimSpace(s) != "" {
		t.Raw(s)
	}
}

// Joins reports whether the next text follows on the same line without a space.
func (t *Builder) Joins() bool { return t.Breaks == 0 && !t.space && t.Prefix == "" }

// Len returns the number of bytes written.
func (t *Builder) Len() int { return t.b.Len() }

func (t *Builder) String() string { return t.b.String() }

// notSpace treats the no-break space as white space, as HTML uses it for layout.
func notSpace(r rune) bool {
	if r < utf8.RuneSelf {
		return r != ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != '\v'
	}
	return !unicode.IsSpace(r)
}
