package office

import (
	"fmt"
	"strings"

	"searchd/extract/content"
)

// maxShared is the number of shared strings of a workbook.
const maxShared = 1 << 20

var errShared = fmt.Errorf("it has more than %d different texts", maxShared)

// sheetWriter writes the sheets of a workbook: their names as headings and their rows as tables.
type sheetWriter struct {
	out    *content.Builder
	filled bool // a sheet has more than its name

	before       int // length of the text in front of the sheet's content
	cells, texts int // of the row, and those that are text
	head         headState
}

// headState is the search for the header of a table: the first row of several cells that are all
// text, with the titles above it.
type headState uint8

const (
	headSought headState = iota
	headFound            // and ends where the next row begins
	headPast
)

func (w *sheetWriter) begin(name string) {
	w.out.Block()
	w.out.Begin(content.Block{Kind: content.Heading, Level: 1})
	w.out.Inline(name)
	w.out.Block()
	w.out.Begin(content.Block{Kind: content.Table})
	w.before, w.head, w.cells, w.texts = w.out.Len(), headSought, 0, 0
}

func (w *sheetWriter) endCells() {
	w.out.Block()
	w.out.Begin(content.Block{})
}

func (w *sheetWriter) end() { w.filled = w.filled || w.out.Len() > w.before }

func (w *sheetWriter) row() {
	w.out.Line()
	if w.head == headSought && w.cells > 0 {
		switch {
		case w.texts < w.cells:
			w.head = headPast
		case w.cells > 1:
			w.head = headFound
		}
	}
	w.cells, w.texts = 0, 0
}

// put writes a cell unless it is empty.
func (w *sheetWriter) put(s string, isText bool) {
	if strings.TrimSpace(s) == "" {
		return
	}
	if w.head == headFound {
		w.out.EndHead()
		w.head = headPast
	}
	if w.cells++; isText {
		w.texts++
	}
	w.out.Cell()
	w.out.Inline(s)
}
