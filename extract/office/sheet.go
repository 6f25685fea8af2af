package office

import (
	"fmt"
	"strings"

	"example.com/searchd/extract/content"
)

// maxShared is the number of shared strings of a workbook.
const maxShared = 1 << 20

var errShared = fmt.Errorf("it has more than %d different texts", maxShared)

// sheetWriter writes the sheets of a workbook: their names as headings and their rows as tables.
type sheetWriter struct {
	out    *content.Builder
	filled bool // a sheet has more than its name

	before       int  // length of the text in front of the sheet's content
	cells, texts int  // of the row, and those that are text
	past         bool // the header of the table: the first row of several cells that are all text, with the titles above it

	column      int // of the cell that is put
	first, last int // columns of the row's cells
	base        int // column of the header's first cell; -1: the header has gaps, or there is none
}

func (w *sheetWriter) begin(name string) {
	w.out.Block()
	w.out.Begin(content.Block{Kind: content.Heading, Level: 1})
	w.out.Inline(name)
	w.out.Block()
	w.out.Begin(content.Block{Kind: content.Table})
	w.before, w.past, w.cells, w.texts, w.base = w.out.Len(), false, 0, 0, -1
}

func (w *sheetWriter) endCells() {
	w.out.Block()
	w.out.Begin(content.Block{})
}

func (w *sheetWriter) end() { w.filled = w.filled || w.out.Len() > w.before }

func (w *sheetWriter) row() {
	w.out.Line()
	if !w.past && w.cells > 1 && w.texts == w.cells {
		w.out.EndHead()
		if w.past = true; w.last-w.first == w.cells-1 {
			w.base = w.first
		}
	}
	w.past = w.past || w.texts < w.cells
	w.cells, w.texts = 0, 0
}

// put writes a cell unless it is empty, below a header in the column of its own.
func (w *sheetWriter) put(s string, isText bool) {
	if strings.TrimSpace(s) == "" {
		return
	}
	if w.cells++; w.cells == 1 {
		w.first = w.column
	}
	if w.last = w.column; isText {
		w.texts++
	}
	if w.base >= 0 && w.column >= w.base {
		w.out.Column(w.column - w.base)
	} else {
		w.out.Cell()
	}
	w.out.Inline(s)
}

// textTable is the state of a table in a text. Its header is the rows that are marked so, else the
// first one of several cells.
type textTable struct {
	depth  int // of tables in one another; 0: none is open
	rows   int // of the outermost one that have ended
	cells  int // of the row
	header bool
	past   bool
	nested bool // the row has another table inside
	grid   *content.Grid
}

func (t *textTable) begin(out *content.Builder) {
	out.Block()
	if t.depth++; t.depth == 1 {
		*t = textTable{depth: 1, grid: content.NewGrid(out)}
		out.Begin(content.Block{Kind: content.Table})
	}
	t.nested = t.depth > 1
}

func (t *textTable) row(out *content.Builder) {
	out.Line()
	if t.depth == 1 {
		t.cells, t.header, t.nested = 0, false, false
	}
}

// cell begins a cell, which spans that many columns and rows.
func (t *textTable) cell(out *content.Builder, columns, rows int) {
	switch {
	case t.depth == 1 && !t.nested:
		t.grid.Cell(columns, rows)
	default:
		out.Cell()
	}
	if t.depth == 1 {
		t.cells++
	}
}

// merged tells whether the open cell is the first one of several below one another, or continues
// the one above.
func (t *textTable) merged(first bool) {
	if t.depth == 1 && !t.nested {
		t.grid.Merge(first)
	}
}

// widened tells how many columns the open cell spans.
func (t *textTable) widened(columns int) {
	if t.depth == 1 && !t.nested {
		t.grid.Widen(columns)
	}
}

func (t *textTable) endRow(out *content.Builder) {
	if t.depth != 1 {
		return
	}
	t.grid.EndRow()
	if t.rows++; !t.past && (t.header || t.rows == 1 && t.cells > 1) {
		out.EndHead()
	}
	t.past = t.past || !t.header
}

func (t *textTable) end(out *content.Builder) {
	out.Block()
	if t.depth = max(0, t.depth-1); t.depth == 0 {
		out.Begin(content.Block{})
	}
}
