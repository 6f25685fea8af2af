package office

import (
	"encoding/xml"
	"maps"
	"slices"
	"strconv"
	"strings"

	"searchd/extract/content"
)

const (
	maxSeries = 256
	maxPoints = 10000 // of one series
)

// chartReader reads a chart: its titles, and its values as a table.
type chartReader struct {
	titles   content.Builder
	series   []*chartSeries
	path     []string // of the elements that are open, up to maxBoxes
	deep     int
	values   *chartValues    // that are read
	at       int             // number of the point
	name     content.Builder // of the series
	inText   bool
	inValue  bool
	inFormat bool
}

type chartSeries struct {
	name          string
	names, values chartValues
}

type chartValues struct {
	format strings.Builder
	by     map[int]string
}

func (v *chartValues) show(i int) string {
	n, err := strconv.ParseFloat(v.by[i], 64)
	if err != nil {
		return v.by[i]
	}
	f := parseFormat(v.format.String())
	return f.show(n, 0)
}

// chart writes the chart in a member: its titles and, on request, its values.
func (r *archive) chart(member string, values bool) {
	c := chartReader{}
	r.read(member, c.token)
	r.out.Block()
	r.out.Begin(content.Block{})
	r.out.Verbatim(c.titles.String())
	if values {
		c.write(&r.out)
	}
	r.out.Block()
}

func (c *chartReader) inside(name string) bool { return slices.Contains(c.path, name) }

func (c *chartReader) token(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		if len(c.path) < maxBoxes {
			c.path = append(c.path, t.Name.Local)
		} else {
			c.deep++
		}
		c.start(t)
	case xml.EndElement:
		switch t.Name.Local {
		case "t":
			c.inText = false
		case "v", "pt":
			c.inValue = false
		case "formatCode":
			c.inFormat = false
		case "title":
			c.titles.Line()
		case "p":
			c.titles.Line()
		case "tx":
			if n := len(c.series); n > 0 && c.inside("ser") {
				c.series[n-1].name = c.name.String()
			}
		case "cat", "xVal", "val", "yVal", "strDim", "numDim":
			c.values = nil
		}
		if c.deep > 0 {
			c.deep--
		} else if n := len(c.path); n > 0 {
			c.path = c.path[:n-1]
		}
	case xml.CharData:
		switch {
		case c.inText:
			c.titles.Inline(string(t))
		case c.inFormat && c.values != nil && c.values.format.Len() < maxFormat:
			c.values.format.Write(t)
		case c.inValue && c.values != nil && len(c.values.by) < maxPoints:
			c.values.by[c.at] += string(t)
		case c.inValue && c.inside("title"):
			c.titles.Inline(string(t))
		case c.inValue && c.inside("tx"):
			c.name.Inline(string(t))
		}
	}
}

func (c *chartReader) start(t xml.StartElement) {
	values := func(v *chartValues) { v.by, c.values = map[int]string{}, v }
	n := len(c.series) - 1
	switch t.Name.Local {
	case "t":
		c.inText = true
	case "ser", "data":
		if len(c.series) < maxSeries {
			c.series = append(c.series, &chartSeries{})
			c.name = content.Builder{}
		}
	case "cat", "xVal", "strDim":
		if n >= 0 {
			values(&c.series[n].names)
		}
	case "val", "yVal", "numDim":
		if n >= 0 {
			values(&c.series[n].values)
		}
	case "pt":
		c.at = content.Atoi(content.Attr(t, "idx"))
		c.inValue = c.inside("strDim") || c.inside("numDim") // of the newer kind, without an element for the value
	case "v":
		c.inValue = true
	case "formatCode":
		c.inFormat = true
	}
}

// write writes the values: a line for each name with the values of all series.
func (c *chartReader) write(out *content.Builder) {
	names, used := map[int]string{}, map[int]bool{}
	head, named := []string{""}, false
	for _, s := range c.series {
		for i := range s.names.by {
			if names[i] == "" {
				names[i] = s.names.show(i)
			}
		}
		for i := range s.values.by {
			used[i] = true
		}
		head, named = append(head, s.name), named || s.name != ""
	}
	row := func(cells []string) {
		out.Line()
		out.Inline(strings.Join(cells, " | "))
	}
	out.Block()
	out.Begin(content.Block{Kind: content.Table})
	if named {
		row(head[1:])
		out.EndHead()
	}
	for _, i := range slices.Sorted(maps.Keys(used)) {
		cells := []string{names[i]}
		for _, s := range c.series {
			cells = append(cells, s.values.show(i))
		}
		row(slices.DeleteFunc(cells, func(s string) bool { return strings.TrimSpace(s) == "" }))
	}
	out.Block()
}

// diagram writes the texts of a SmartArt diagram, a line each.
func (r *archive) diagram(member string) {
	inText := false
	r.out.Block()
	r.out.Begin(content.Block{})
	r.read(member, func(t xml.Token) {
		switch t := t.(type) {
		case xml.StartElement:
			inText = t.Name.Local == "t" && t.Name.Space == "a"
		case xml.EndElement:
			if inText = false; t.Name.Local == "p" {
				r.out.Line()
			}
		case xml.CharData:
			if inText {
				r.out.Inline(string(t))
			}
		}
	})
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
