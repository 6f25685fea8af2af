package web

import (
	"strings"

	"example.com/searchd/extract/content"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// table is the state of the table that is open.
type table struct {
	data   []bool // of each table of the page, in the order of their start tags, whether it holds data
	seen   int    // tables whose start tag has come
	open   bool   // inside a table of data, which holds no other
	inHead bool   // inside its thead element
	past   bool   // behind the rows of its header
	ths    int    // header cells of the row that is open
	tds    int    // other cells of it
	bold   int    // depth of bold text in the cell
	plain  bool   // the row has text that is not bold
	grid   *content.Grid
}

// begin starts the next table.
func (t *table) begin(out *content.Builder) {
	*t = table{data: t.data, seen: t.seen, grid: content.NewGrid(out)}
	t.open = t.seen <= len(t.data) && t.data[t.seen-1]
}

// cell begins a cell.
func (w *writer) cell(tag atom.Atom, a *tagAttrs) {
	t := &w.table
	if t.bold = 0; t.ths+t.tds == 0 {
		t.plain = false
	}
	if tag == atom.Th {
		t.ths++
	} else {
		t.tds++
	}
	if !t.open {
		w.out.Cell()
		return
	}
	t.grid.Cell(a.columns, a.rows)
}

// endRow ends the open row. Leading rows of header cells only are the header of their table, or a
// first row that alone is bold.
func (w *writer) endRow() {
	t := &w.table
	if !t.open || t.ths+t.tds == 0 {
		return
	}
	t.grid.EndRow()
	head := (t.tds == 0 || t.inHead || !t.plain && t.tds > 1) && !t.past
	if head {
		w.out.EndHead()
	}
	t.past, t.ths, t.tds = t.past || !head, 0, 0
}

const (
	maxTableDepth = 64  // tables within tables
	maxMeanCell   = 300 // bytes; a table with more in its mean cell lays out a page
)

// dataTables reports for each table of a page whether it holds data: rows of several short cells.
// Tables with one row or column, or with headings, code or tables inside, are layout.
func dataTables(s string) []bool {
	if !containsFold(s, "<table") {
		return nil
	}
	type table struct {
		index, rows, cells, text int
		layout                   bool
	}
	var (
		data []bool
		open []table
	)
	end := func() {
		t := open[len(open)-1]
		open = open[:len(open)-1]
		data[t.index] = !t.layout && t.rows >= 2 && 2*t.cells >= 3*t.rows && t.text <= maxMeanCell*t.cells
	}
	z := html.NewTokenizer(strings.NewReader(s))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind == html.TextToken && len(open) > 0 {
			open[len(open)-1].text += len(z.Raw())
		}
		if kind != html.StartTagToken && kind != html.EndTagToken {
			continue
		}
		name, _ := z.TagName()
		tag := atom.Lookup(name)
		switch {
		case tag == atom.Table && kind == html.StartTagToken:
			data = append(data, false)
			if len(open) > 0 {
				open[len(open)-1].layout = true
			}
			if len(open) < maxTableDepth {
				open = append(open, table{index: len(data) - 1})
			}
		case len(open) == 0:
		case tag == atom.Table:
			end()
		case kind == html.EndTagToken:
		case tag == atom.Tr:
			open[len(open)-1].rows++
		case tag == atom.Td, tag == atom.Th:
			open[len(open)-1].cells++
		case tag == atom.Pre, headingLevel(tag) > 0:
			open[len(open)-1].layout = true
		}
	}
	for len(open) > 0 {
		end()
	}
	return data
}

func containsFold(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		n := strings.IndexByte(s[i:], sub[0])
		if n < 0 {
			return false
		}
		if i += n; i+len(sub) <= len(s) && strings.EqualFold(s[i:i+len(sub)], sub) {
			return true
		}
	}
	return false
}
