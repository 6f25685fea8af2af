package extract

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxShared is the number of strings that the cells of one file share.
const maxShared = 1 << 20

// xlsx reads the cells of an Office Open XML workbook, as Excel and others write it: a line for
// each row, under the names of the sheets.
func (x *source) xlsx(b []byte) (content, error) {
	if f, err := openOLE(b); err == nil && (f.has("Workbook") || f.has("Book")) { // an old one under another name
		return x.xls(b)
	}
	r, err := x.archive(b)
	if err != nil {
		return content{}, err
	}
	main := r.mainPart("xl/workbook.xml")
	if r.members[main] == nil {
		return content{}, x.reject("a ZIP archive without the text of %s", formatNouns[x.format])
	}
	w := xlsxWriter{}
	for _, other := range r.relations(main) {
		if err == nil && other.kind == "sharedStrings" {
			err = r.eachUntil(other.target, w.share)
		}
		if other.kind == "styles" {
			styles := xlsxStyles{codes: map[string]string{}, parsed: map[string]*cellFormat{}}
			_ = r.each(other.target, styles.token) // what cannot be read says nothing
			w.formats = styles.formats
		}
	}
	_ = r.each(main, func(t xml.Token) { // what cannot be read says nothing
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "workbookPr" && (attr(e, "date1904") == "1" || attr(e, "date1904") == "true") {
			w.epoch = 1462
		}
	})
	type sheet struct{ name, part string }
	var sheets []sheet
	if err == nil {
		err = r.listed(main, "sheet", func(e xml.StartElement, part string) { sheets = append(sheets, sheet{attr(e, "name"), part}) })
	}
	for _, s := range sheets {
		if err != nil {
			break
		}
		w.out.block()
		w.out.inline(s.name)
		w.out.block()
		before := w.out.b.Len()
		err = r.eachUntil(s.part, func(t xml.Token) error {
			w.token(t)
			return r.tooLong(w.out.b.Len())
		})
		if err == nil {
			err = r.beside(s.part, &w.out)
		}
		w.filled = w.filled || w.out.b.Len() > before
	}
	text := w.out.String()
	if !w.filled { // names of sheets alone are no text
		text = ""
	}
	if err != nil {
		if err := r.torn(err, text); err != nil {
			return content{}, err
		}
	}
	return content{title: r.titleIn("docprops/core.xml"), text: text}, nil
}

// beside writes what stands beside the cells of a sheet: comments, the texts of boxes, what stands
// for pictures, and the titles of charts, whose values are those of cells.
func (r *archive) beside(sheet string, out *textBuilder) error {
	kinds := []string{"threadedComment", "comments", "drawing"}
	parts := r.parts(sheet, kinds...)
	threads := len(parts) > 0 && parts[0].kind == kinds[0]
	for _, p := range parts {
		if p.kind == "comments" && threads { // for older programs
			continue
		}
		inText := false
		err := r.eachUntil(p.target, func(t xml.Token) error {
			switch t := t.(type) {
			case xml.StartElement:
				switch t.Name.Local {
				case "comment", "threadedComment":
					out.block()
					out.prefix = by("Comment", "")
				case "cNvPr":
					if s := attr(t, "descr"); valueHasText(s) {
						out.block()
						out.inline(s)
					}
				case "sp":
					out.block()
				}
				inText = t.Name.Local == "t" || t.Name.Local == "text"
			case xml.EndElement:
				if inText = false; t.Name.Local == "p" {
					out.line()
				}
			case xml.CharData:
				if inText {
					out.inline(unescapeXML(string(t)))
				}
			}
			return r.tooLong(out.b.Len())
		})
		for _, chart := range r.parts(p.target, "chart", "diagramData") {
			if err != nil {
				break
			}
			if chart.kind == "diagramData" {
				err = r.diagramText(chart.target, out)
				continue
			}
			c := chartReader{}
			err = r.eachUntil(chart.target, func(t xml.Token) error {
				c.token(t)
				return r.tooLong(out.b.Len() + c.titles.b.Len())
			})
			out.block()
			out.verbatim(c.titles.String())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// xlsxStyles finds the formats of cells.
type xlsxStyles struct {
	codes   map[string]string // formats of the workbook's own, by id
	parsed  map[string]*cellFormat
	cells   bool          // inside the formats of cells
	formats []*cellFormat // by the number of the format of a cell
}

func (s *xlsxStyles) token(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "numFmt":
			if len(s.codes) < maxMembers {
				s.codes[attr(t, "numFmtId")] = attr(t, "formatCode")
			}
		case "cellXfs":
			s.cells = true
		case "xf":
			if s.cells && len(s.formats) < 1<<16 {
				s.formats = append(s.formats, s.format(attr(t, "numFmtId")))
			}
		}
	case xml.EndElement:
		s.cells = s.cells && t.Name.Local != "cellXfs"
	}
}

func (s *xlsxStyles) format(id string) *cellFormat {
	f := s.parsed[id]
	if f == nil {
		f = new(cellFormat)
		if code, own := s.codes[id]; own {
			*f = parseFormat(code)
		} else {
			*f = usualFormat(atoi(id))
		}
		s.parsed[id] = f
	}
	return f
}

// xlsxWriter writes the cells of sheets.
type xlsxWriter struct {
	out     textBuilder
	filled  bool // a sheet has a cell with a value
	shared  []string
	formats []*cellFormat
	epoch   float64 // days from the usual first one to that of the workbook
	kind    string  // of the cell
	format  *cellFormat
	value   strings.Builder // of the cell, or of a shared string
	text    bool            // inside an element of a value
	reading bool            // inside a ruby text
}

// share takes the strings that cells share.
func (w *xlsxWriter) share(t xml.Token) error {
	w.strings(t)
	if e, ok := t.(xml.EndElement); ok && e.Name.Local == "si" {
		if len(w.shared) == maxShared {
			return fmt.Errorf("it has more than %d different texts", maxShared)
		}
		w.shared = append(w.shared, unescapeXML(w.value.String()))
		w.value.Reset()
	}
	return nil
}

// strings collects the value of a cell, or a shared string.
func (w *xlsxWriter) strings(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		w.reading = w.reading || t.Name.Local == "rPh"
		w.text = (t.Name.Local == "t" || t.Name.Local == "v") && !w.reading
	case xml.EndElement:
		w.reading = w.reading && t.Name.Local != "rPh"
		w.text = false
	case xml.CharData:
		if w.text {
			w.value.Write(t)
		}
	}
}

func (w *xlsxWriter) token(t xml.Token) {
	w.strings(t)
	switch t := t.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "row":
			w.out.line()
		case "c":
			w.kind, w.format = attr(t, "t"), &cellFormat{}
			if n := atoi(attr(t, "s")); n >= 0 && n < len(w.formats) { // no number: the first
				w.format = w.formats[n]
			}
			w.value.Reset()
		}
	case xml.EndElement:
		if t.Name.Local == "c" {
			w.cell(w.value.String())
			w.value.Reset()
		}
	}
}

// cell writes a cell as it is shown.
func (w *xlsxWriter) cell(v string) {
	switch w.kind {
	case "s":
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n >= len(w.shared) {
			return
		}
		v = w.shared[n]
	case "e": // an error
		return
	case "inlineStr", "str":
		v = unescapeXML(v)
	case "b":
		v = map[string]string{"0": "FALSE", "1": "TRUE"}[v]
	case "", "n":
		if n, err := strconv.ParseFloat(v, 64); err == nil && (len(w.format.sections) > 0 || math.Abs(n) < 1e15) {
			v = w.format.show(n, w.epoch)
		}
	case "d": // a date as ISO 8601 writes it
	}
	if strings.TrimSpace(v) != "" {
		w.out.cell()
		w.out.inline(v)
	}
}
