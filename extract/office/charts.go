package office

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/searchd/extract/content"
)

const (
	maxSeries = 256
	maxPoints = 10000 // of one series
)

// chart writes the chart in a member: its titles and, on request, its values as a table.
func (r *archive) chart(member string, values bool) {
	chart := r.textTree(member)
	r.out.Block()
	r.out.Begin(content.Block{})
	for n := range chart.all("title", "p") {
		r.out.Line()
		if n.name == "title" { // of a cell
			r.out.Inline(n.textOf("v"))
		} else {
			r.out.Inline(n.textOf("t"))
		}
	}
	r.out.Block()
	if values {
		r.series(chart)
		r.out.Block()
	}
}

// series writes the values of a chart: a line for each name with the values of all series.
func (r *archive) series(chart *node) {
	var head []string
	var columns []map[int]string
	names, used := map[int]string{}, map[int]bool{}
	for s := range chart.all("ser", "data") {
		if len(columns) == maxSeries {
			break
		}
		for i, name := range points(s.child("cat", "xVal", "strDim")) {
			if names[i] == "" {
				names[i] = name
			}
		}
		values := points(s.child("val", "yVal", "numDim"))
		for i := range values {
			used[i] = true
		}
		head, columns = append(head, content.OneLine(s.child("tx").textOf("v"))), append(columns, values)
	}
	r.out.Begin(content.Block{Kind: content.Table})
	if strings.Join(head, "") != "" {
		r.out.Inline(strings.Join(head, " | "))
		r.out.Line()
	}
	for n, i := range slices.Sorted(maps.Keys(used)) {
		if n == 0 {
			r.out.EndHead()
		}
		cells := []string{names[i]}
		for _, c := range columns {
			cells = append(cells, c[i])
		}
		r.out.Inline(strings.Join(slices.DeleteFunc(cells, func(s string) bool { return strings.TrimSpace(s) == "" }), " | "))
		r.out.Line()
	}
}

// points returns the values of a series as their format shows them, by their indexes.
func points(n *node) map[int]string {
	f := parseFormat(n.first("formatCode").String())
	all := map[int]string{}
	for p := range n.all("pt") {
		if len(all) == maxPoints {
			break
		}
		s := p.String()
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			s = f.show(v, 0)
		}
		all[content.Atoi(p.attr("idx"))] = s
	}
	return all
}

// diagram writes the texts of a SmartArt diagram, a line each.
func (r *archive) diagram(member string) {
	r.out.Block()
	r.out.Begin(content.Block{})
	for p := range r.textTree(member).all("p") {
		r.out.Line()
		for t := range p.all("t") {
			if t.prefix == "a" {
				r.out.Inline(t.String())
			}
		}
	}
	r.out.Block()
}

// drawn writes the charts and diagrams that a member refers to.
func (r *archive) drawn(member string) {
	for _, p := range r.parts(member, "chart", "chartEx", "diagramData") {
		if p.kind == "diagramData" {
			r.diagram(p.target)
		} else {
			r.chart(p.target, true)
		}
	}
}
