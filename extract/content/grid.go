package content

import "strings"

const (
	maxColumns  = 64      // of a cell that spans several, and of a run of empty ones
	maxRows     = 1 << 16 // that a cell spans
	maxRepeat   = 200     // bytes of a cell that is repeated in each row
	maxRepeated = 1 << 20 // bytes that a grid repeats
)

// Grid writes the rows of a table with their columns in place: an empty cell between others is
// written, and a cell that spans rows is repeated in each of them, so that each row can be read
// alone.
type Grid struct {
	out    *Builder
	column int // of the cell that is open
	shown  int // cells before it
	width  int // columns that it spans; 0: no cell is open
	rows   int // rows that it spans; -1: until one takes its place
	start  int // of its text
	below  map[int]spanned
	spent  int
}

// spanned is a cell that goes on in the rows below.
type spanned struct {
	text string
	rows int  // -1: until [Grid.Merge] ends it
	wide bool // it is not the first column of its cell
}

// NewGrid returns the grid of a table.
func NewGrid(out *Builder) *Grid { return &Grid{out: out, below: map[int]spanned{}} }

// Cell begins the next cell, which spans that many columns and rows.
func (g *Grid) Cell(columns, rows int) {
	g.end()
	if g.width > 0 {
		g.shown++
	}
	g.column += g.width
	for {
		s, ok := g.below[g.column]
		if !ok || s.rows < 0 {
			break
		}
		g.repeat(s)
		if !s.wide {
			g.shown++
		}
		g.column++
	}
	g.out.Column(g.shown)
	g.start, g.width, g.rows = g.out.Len(), min(max(columns, 1), maxColumns), min(max(rows, 1), maxRows)
}

// Widen makes the open cell span that many columns.
func (g *Grid) Widen(columns int) {
	if g.width > 0 {
		g.width = min(max(columns, 1), maxColumns)
	}
}

// Merge makes the open cell the first one of several below one another, or one that continues the
// one above it.
func (g *Grid) Merge(first bool) {
	if g.width == 0 {
		return
	}
	if g.rows = -1; !first {
		if s, ok := g.below[g.column]; ok {
			g.repeat(s)
		}
	}
}

// repeat writes a cell of a row above.
func (g *Grid) repeat(s spanned) {
	if g.spent += len(s.text); s.text != "" && g.spent <= maxRepeated {
		g.out.Column(g.shown)
		g.out.Inline(s.text)
	}
	if s.rows--; s.rows == 0 {
		delete(g.below, g.column)
	} else if s.rows > 0 {
		g.below[g.column] = s
	}
}

// end ends the open cell.
func (g *Grid) end() {
	if g.width == 0 {
		return
	}
	delete(g.below, g.column)
	if g.rows == 1 {
		return
	}
	text := OneLine(strings.TrimLeft(g.out.String()[min(g.start, g.out.Len()):], " |\n"))
	if len(text) > maxRepeat {
		text = ""
	}
	for i := range g.width {
		if g.below[g.column+i] = (spanned{text, max(g.rows-1, -1), i > 0}); g.rows < 0 {
			break
		}
		text = ""
	}
}

// EndRow ends the row.
func (g *Grid) EndRow() {
	g.end()
	if first := g.column + g.width; len(g.below) > 0 {
		for g.column = first; g.column < first+maxColumns; g.column++ {
			if s, ok := g.below[g.column]; ok && s.rows > 0 {
				if !s.wide {
					g.shown++
				}
				g.repeat(s)
			}
		}
	}
	g.column, g.shown, g.width, g.out.moves = 0, 0, 0, false
}
