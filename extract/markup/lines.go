package markup

import (
	"regexp"
	"strings"
	"time"

	"example.com/searchd/extract/content"
)

// plainLines collects lines without markup, and what kinds of blocks they belong to.
type plainLines struct {
	out   []string
	kinds []content.Block // of each line: Kind and Level
	start time.Time
	n     int
	spent bool // the time for the file
}

// raw reports whether a line must be kept as it is.
func (p *plainLines) raw(l string) bool {
	if p.n++; p.n%64 == 1 && !p.spent {
		if p.n == 1 {
			p.start = time.Now()
		}
		p.spent = content.BudgetSpent(p.start) != nil
	}
	return p.spent || len(l) > maxMarkedLine
}

// line adds a line of prose, and drops repeated blank ones.
func (p *plainLines) line(l string) { p.add(l, content.Block{}) }

func (p *plainLines) add(l string, kind content.Block) {
	l = strings.TrimRight(l, " \t")
	if l != "" || len(p.out) > 0 && p.out[len(p.out)-1] != "" {
		p.out, p.kinds = append(p.out, l), append(p.kinds, kind)
	}
}

// heading adds a heading between blank lines.
func (p *plainLines) heading(l string, level int) {
	p.line("")
	p.add(l, content.Block{Kind: content.Heading, Level: min(max(level, 1), 6)})
	p.line("")
}

func (p *plainLines) String() string { return strings.TrimRight(strings.Join(p.out, "\n"), "\n") }

// listMark matches the beginning of a list's item.
var listMark = regexp.MustCompile(`^[ \t]*(?:[-+*•]|\*+|\.+|(?:\d+|#)[.)])[ \t]`)

// maxBlocks limits the blocks of a text; the last one holds the rest.
const maxBlocks = 1 << 18

// blocks returns the blocks of the text. A blank line ends each but code.
func (p *plainLines) blocks() (blocks []content.Block) {
	at, open := 0, false // open: the last block goes on
	for i, l := range p.out {
		kind := p.kinds[i]
		if kind.Kind == content.Paragraph && len(l) <= maxMarkedLine && listMark.MatchString(l) {
			kind, open = content.Block{Kind: content.Item, Level: 1}, false
		}
		switch last := len(blocks) - 1; {
		case l == "":
			open = open && blocks[last].Kind == content.Code
		case open && (blocks[last].Kind == kind.Kind || blocks[last].Kind == content.Item && kind.Kind == content.Paragraph) && kind.Kind != content.Heading || last+1 == maxBlocks:
			blocks[last].End = at + len(l)
		default:
			kind.Start, kind.End = at, at+len(l)
			blocks, open = append(blocks, kind), true
		}
		at += len(l) + 1
	}
	return blocks
}
