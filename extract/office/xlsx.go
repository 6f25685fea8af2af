package office

import (
	"cmp"
	"encoding/xml"
	"math"
	"strconv"
	"strings"

	"example.com/searchd/extract/content"
)

// XLSX reads an Office Open XML workbook: a line for each row, under the names of the sheets.
func XLSX(x *content.File, b []byte) (content.Content, error) {
	if f, err := OpenOLE(b); err == nil && (f.Has("Workbook") || f.Has("Book")) || IsFlat(b) { // an old one under another name
		return XLS(x, b)
	}
	r, main, err := openXML(x, b, "xl/workbook.xml")
	if err != nil {
		return content.Content{}, err
	}
	w := xlsxWriter{sheetWriter: sheetWriter{out: &r.out}}
	for _, other := range r.relations(main) {
		switch other.kind {
		case "sharedStrings":
			r.read(other.target, w.share)
			r.err = cmp.Or(r.err, w.err)
		case "styles":
			w.styles(r.tree(other.target))
		}
	}
	people := r.authors(main)
	book := r.textTree(main)
	if v := book.first("workbookPr").attr("date1904"); v == "1" || v == "true" {
		w.epoch = 1462
	}
	for _, s := range r.listed(main, book, "sheet") {
		if r.err != nil {
			break
		}
		w.begin(s.name)
		r.read(s.part, w.token)
		w.endCells()
		r.beside(s.part, people)
		w.end()
	}
	if !w.filled { // names of sheets alone are no text
		r.out = content.Builder{}
	}
	return r.content(r.titleIn("docprops/core.xml"))
}

// styles reads the formats of cells.
func (w *xlsxWriter) styles(n *node) {
	formats := cellFormats{codes: map[int]string{}}
	for f := range n.first("numFmts").all("numFmt") {
		if len(formats.codes) < maxMembers {
			formats.codes[content.Atoi(f.attr("numFmtId"))] = f.attr("formatCode")
		}
	}
	for xf := range n.first("cellXfs").all("xf") {
		if len(w.formats) < 1<<16 {
			w.formats = append(w.formats, formats.format(content.Atoi(xf.attr("numFmtId"))))
		}
	}
}

type xlsxWriter struct {
	sheetWriter
	shared  []string
	err     error // there are too many of them
	formats []*cellFormat
	epoch   float64 // days from the usual first one to that of the workbook
	kind    string  // of the cell
	format  *cellFormat
	value   strings.Builder // of the cell, or of a shared string
	text    bool            // inside an element of a value
	reading bool            // inside a ruby text
}

func (w *xlsxWriter) share(t xml.Token) {
	w.strings(t)
	if e, ok := t.(xml.EndElement); ok && e.Name.Local == "si" {
		if len(w.shared) == maxShared {
			w.err = errShared
			return
		}
		w.shared = append(w.shared, unescapeXML(w.value.String()))
		w.value.Reset()
	}
}

// strings collects the value of a cell or a shared string.
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
			w.row()
			w.column = -1
		case "c":
			w.kind, w.format = content.Attr(t, "t"), &cellFormat{}
			if n := content.Atoi(content.Attr(t, "s")); n >= 0 && n < len(w.formats) { // no number: the first
				w.format = w.formats[n]
			}
			w.column = columnOf(content.Attr(t, "r"), w.column+1)
			w.value.Reset()
		}
	case xml.EndElement:
		if t.Name.Local == "c" {
			w.cell(w.value.String())
			w.value.Reset()
		}
	}
}

func (w *xlsxWriter) cell(v string) {
	isText := false
	switch w.kind {
	case "s":
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n >= len(w.shared) {
			return
		}
		v, isText = w.shared[n], true
	case "e": // an error
		return
	case "inlineStr", "str":
		v, isText = unescapeXML(v), true
	case "b":
		v = map[string]string{"0": "FALSE", "1": "TRUE"}[v]
	case "", "n":
		if n, err := strconv.ParseFloat(v, 64); err == nil && (len(w.format.sections) > 0 || math.Abs(n) < 1e15) {
			v = w.format.show(n, w.epoch)
		}
	case "d": // a date as ISO 8601 writes it
	}
	w.put(v, isText)
}

// columnOf returns the column, from 0, in the name of a cell such as C5; otherwise for other names.
func columnOf(cell string, otherwise int) int {
	n := 0
	for i := range min(len(cell), 4) {
		c := cell[i]
		if c < 'A' || c > 'Z' {
			break
		}
		n = 26*n + int(c-'A') + 1
	}
	if n == 0 {
		return otherwise
	}
	return n - 1
}
