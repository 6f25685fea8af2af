package office

import (
	"cmp"
	"encoding/xml"
	"maps"
	"slices"
	"strings"

	"example.com/searchd/extract/content"
)

// ODF reads an OpenDocument text, spreadsheet or presentation.
func ODF(x *content.File, b []byte) (content.Content, error) {
	if IsFlat(b) {
		return Flat(x, b)
	}
	r, err := openArchive(x, b)
	if err != nil {
		return content.Content{}, err
	}
	if r.tree("meta-inf/manifest.xml").first("encryption-data") != nil {
		return content.Content{}, x.Reject("an encrypted document; save it without a password")
	}
	if r.members["content.xml"] == nil {
		return content.Content{}, x.Reject("a ZIP archive without the text of %s", x.Noun)
	}
	w := newODFWriter(&r.out)
	w.objects = r.odfObjects()
	r.read("content.xml", w.token)
	w.out.Block()
	w.out.Begin(content.Block{})
	w.out.Verbatim(strings.TrimSpace(w.notes.String()))
	r.odfMargins()
	c, err := r.content(w.title.String(), r.titleIn("meta.xml"), w.heading.String())
	if c.Title == "" && !w.sheets {
		c.Title = content.OwnTitle(c.Text)
	}
	return c, err
}

// odfObjects returns the texts of charts and formulas, which are documents inside the document, by
// their names. Those of charts in spreadsheets are without values, which are those of cells.
func (r *archive) odfObjects() map[string]string {
	objects := map[string]string{}
	kind, _ := r.member("mimetype")
	for _, name := range slices.Sorted(maps.Keys(r.members)) {
		object, ok := strings.CutSuffix(name, "/content.xml")
		if !ok || len(objects) == maxMembers {
			continue
		}
		w := newODFWriter(new(content.Builder))
		if strings.HasSuffix(string(kind), "spreadsheet") {
			w.skip = map[string]bool{"table:table": true}
		}
		var math []string // operands and operators of a formula
		inMath := false
		r.read(name, func(t xml.Token) {
			switch t := t.(type) {
			case xml.StartElement:
				inMath = mathTexts[t.Name.Local]
			case xml.EndElement:
				inMath = false
			case xml.CharData:
				if s := strings.Map(visible, strings.TrimSpace(string(t))); inMath && s != "" {
					math = append(math, s)
				}
			}
			w.token(t)
		})
		objects[object] = cmp.Or(strings.Join(math, " "), strings.TrimSpace(w.out.String()))
	}
	return objects
}

// mathTexts are the elements of MathML with text that is shown.
var mathTexts = map[string]bool{"mi": true, "mn": true, "mo": true, "mtext": true, "ms": true}

// object writes the chart or formula that an element of the text refers to.
func (w *odfWriter) object(name string) {
	text := w.objects[partName("", name)]
	switch {
	case text == "":
	case strings.Contains(text, "\n") && w.table.depth == 0:
		w.charts = append(w.charts, text)
	default:
		w.out.Inline(" " + text + " ")
	}
}

// flush writes the charts of a paragraph or a slide behind it.
func (w *odfWriter) flush() {
	for _, text := range w.charts {
		w.out.Block()
		w.out.Begin(content.Block{})
		for line := range strings.SplitSeq(text, "\n") {
			w.out.Line()
			w.out.Inline(line)
		}
		w.out.Block()
	}
	w.charts = nil
}

// odfMargins writes headers and footers, which are in the styles.
func (r *archive) odfMargins() {
	seen := map[string]bool{}
	var m *odfWriter // of the one that is read
	r.read("styles.xml", func(t xml.Token) {
		switch t := t.(type) {
		case xml.StartElement:
			if odfMargin[t.Name.Space+":"+t.Name.Local] {
				m = newODFWriter(new(content.Builder))
				return
			}
		case xml.EndElement:
			if m != nil && odfMargin[t.Name.Space+":"+t.Name.Local] {
				r.margin(m.out.String(), seen)
				m = nil
			}
		}
		if m != nil {
			m.token(t)
		}
	})
}

var odfMargin = map[string]bool{"style:header": true, "style:header-left": true, "style:header-first": true, "style:footer": true, "style:footer-left": true, "style:footer-first": true}

// odfWriter writes an OpenDocument: paragraphs, headings, lists, tables, notes and alternative
// texts. It collects comments and deleted text.
type odfWriter struct {
	titles map[string]bool // styles of titles
	elements
	sheetWriter
	title, heading content.Builder // the first paragraph of a style of titles, and the first heading
	to             *content.Builder
	paragraphs     int // depth of them
	lists          int // depth of lists
	table          textTable
	header         bool // inside the header rows of a table
	slideTitle     bool // inside the frame of a slide's title
	isText         bool // the cell is of text
	sheets         bool
	notes          content.Builder
	note           string          // the element of a comment or a deletion that is read; empty: none
	author, said   content.Builder // of that
	byName, inDate bool            // inside the name of its author, or its date
	picture        bool            // inside what stands for a picture
	value          string          // of a cell, as it is shown where it has no text
	cell           int             // length of the text where the cell begins
	objects        map[string]string
	charts         []string // of the paragraph
}

// odfChanges holds the text that tracked changes deleted.
const odfChanges = "text:tracked-changes"

// odfSkipped are numbers of notes, tables of contents, ruby and forms.
var odfSkipped = map[string]bool{
	odfChanges: true, "text:note-citation": true, "text:table-of-content": true, "text:ruby-text": true, "office:forms": true,
}

// odfNotes are comments and deletions, which are written behind the text.
var odfNotes = map[string]string{"office:annotation": "Comment", "text:deletion": "Deleted"}

// noted takes a token of a comment or a deletion, and reports whether it is one.
func (w *odfWriter) noted(t xml.Token) bool {
	switch t := t.(type) {
	case xml.StartElement:
		name := t.Name.Space + ":" + t.Name.Local
		switch {
		case w.note == "" && odfNotes[name] != "":
			w.note, w.author, w.said = name, content.Builder{}, content.Builder{}
			return true
		case w.note == "":
			return false
		case name == "text:p" || name == "text:h":
			w.said.Inline(" ")
		}
		w.byName = name == "dc:creator"
		w.inDate = name == "dc:date" || name == "meta:date-string" || name == "meta:creator-initials"
		return true
	case xml.EndElement:
		name := t.Name.Space + ":" + t.Name.Local
		if w.byName, w.inDate = false, false; w.note == "" {
			return false
		}
		if name == w.note {
			if s := w.said.String(); content.HasText(s) {
				w.notes.Line()
				w.notes.Inline(by(odfNotes[name], w.author.String()) + s)
			}
			w.note = ""
		}
		return true
	case xml.CharData:
		switch {
		case w.note == "":
			return false
		case w.byName:
			w.author.Inline(string(t))
		case !w.inDate:
			w.said.Inline(string(t))
		}
		return true
	}
	return w.note != ""
}

func newODFWriter(out *content.Builder) *odfWriter {
	w := &odfWriter{sheetWriter: sheetWriter{out: out}, titles: map[string]bool{"Title": true}}
	w.elements = elements{skip: odfSkipped, prefix: true, start: w.start, end: w.end, text: w.chars}
	return w
}

func (w *odfWriter) token(t xml.Token) {
	if (w.skipping == "" || w.skipping == odfChanges) && w.noted(t) {
		return
	}
	w.elements.token(t)
}

func (w *odfWriter) chars(s string) {
	if w.paragraphs > 0 || w.picture {
		w.write(s)
	}
}

func (w *odfWriter) write(s string) {
	w.out.Inline(s)
	if w.to != nil {
		w.to.Inline(s)
	}
}

func (w *odfWriter) start(name string, t xml.StartElement) {
	switch name {
	case "style:style":
		if w.titles[content.Attr(t, "parent-style-name")] && len(w.titles) < maxLists {
			w.titles[content.Attr(t, "name")] = true
		}
	case "office:spreadsheet":
		w.sheets = true
	case "text:p", "text:h":
		w.paragraph(name, content.Attr(t, "style-name"), content.Atoi(content.Attr(t, "outline-level")))
	case "text:s", "text:tab":
		w.write(" ")
	case "text:line-break":
		if w.table.depth == 0 && w.out.Breaks == 0 {
			w.out.Line()
		} else {
			w.write(" ")
		}
	case "text:list":
		if w.lists++; w.lists == 1 && w.table.depth == 0 {
			w.out.Block()
		}
	case "text:list-item":
		if w.table.depth == 0 {
			w.out.Item("- ")
		}
	case "table:table":
		if w.table.begin(w.out); w.sheets {
			w.begin(content.Attr(t, "name"))
		}
	case "table:table-header-rows":
		w.header = true
	case "table:table-row":
		if w.table.row(w.out); w.sheets {
			w.row()
		}
		w.table.header = w.header
	case "table:table-cell":
		if w.sheets {
			w.out.Cell()
		} else {
			w.table.cell(w.out, content.Atoi(content.Attr(t, "number-columns-spanned")), content.Atoi(content.Attr(t, "number-rows-spanned")))
		}
		if w.cell = w.out.Len(); w.sheets {
			w.value, w.isText = "", content.Attr(t, "value-type") == "string"
			for _, name := range []string{"string-value", "date-value", "time-value", "boolean-value", "value"} {
				w.value = cmp.Or(w.value, content.Attr(t, name))
			}
		}
	case "svg:title", "svg:desc":
		w.picture = true
		w.out.Inline(" ")
	case "draw:object":
		w.object(content.Attr(t, "href"))
	case "draw:page":
		w.out.Block()
		w.out.Page++
		w.out.Begin(content.Block{})
	case "draw:frame":
		w.slideTitle = content.Attr(t, "class") == "title"
	}
}

// paragraph begins a paragraph, which may be inside another, as in notes and boxes.
func (w *odfWriter) paragraph(name, style string, level int) {
	switch w.paragraphs++; {
	case w.paragraphs > 1, w.table.depth > 0:
		w.out.Inline(" ")
		return
	case w.lists == 0:
		w.out.Block()
	case w.out.Prefix == "":
		w.out.Line()
	}
	switch {
	case name == "text:h":
		w.out.Begin(content.Block{Kind: content.Heading, Level: min(max(level, 1), 6)})
	case w.titles[style]:
		w.out.Begin(content.Block{Kind: content.Heading, Level: 1})
	case w.slideTitle:
		w.out.Begin(content.Block{Kind: content.Heading, Level: 2})
	case w.lists > 0:
		w.out.Begin(content.Block{Kind: content.Item, Level: w.lists})
	default:
		w.out.Begin(content.Block{})
	}
	switch {
	case w.titles[style] && w.title.Len() == 0:
		w.to = &w.title
	case name == "text:h" && w.heading.Len() == 0:
		w.to = &w.heading
	}
}

func (w *odfWriter) end(name string) {
	switch name {
	case "text:p", "text:h":
		if w.paragraphs = max(0, w.paragraphs-1); w.paragraphs == 0 {
			w.to = nil
			w.flush()
		} else {
			w.out.Inline(" ")
		}
	case "svg:title", "svg:desc":
		w.picture = false
		w.out.Inline(" ")
	case "draw:frame":
		if w.paragraphs == 0 {
			w.flush()
		}
	case "table:table-cell":
		if w.value != "" && w.out.Len() == w.cell { // as some programs write it
			w.out.Inline(w.value)
		}
		if w.value = ""; w.out.Len() > w.cell {
			if w.cells++; w.isText {
				w.texts++
			}
		}
	case "text:list":
		if w.lists = max(0, w.lists-1); w.lists == 0 && w.table.depth == 0 {
			w.out.Block()
		}
	case "table:table-header-rows":
		w.header = false
	case "table:table-row":
		if !w.sheets {
			w.table.endRow(w.out)
		}
	case "table:table":
		w.table.end(w.out)
	}
}
