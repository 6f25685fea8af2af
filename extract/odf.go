package extract

import (
	"cmp"
	"encoding/xml"
	"strings"
	"unicode"
)

// odf reads the text of an OpenDocument: a text, a table or slides of LibreOffice and others.
func (x *source) odf(b []byte) (content, error) {
	r, err := x.archive(b)
	if err != nil {
		return content{}, err
	}
	locked := false
	_ = r.each("meta-inf/manifest.xml", func(t xml.Token) { // what cannot be read says nothing
		e, ok := t.(xml.StartElement)
		locked = locked || ok && e.Name.Local == "encryption-data"
	})
	if locked {
		return content{}, x.reject("an encrypted document; save it without a password")
	}
	if r.members["content.xml"] == nil {
		return content{}, x.reject("a ZIP archive without the text of %s", formatNouns[x.format])
	}
	w := odfWriter{titles: map[string]bool{"Title": true}}
	err = r.eachUntil("content.xml", func(t xml.Token) error {
		w.token(t)
		return r.tooLong(w.out.b.Len())
	})
	if err == nil {
		w.out.block()
		w.out.verbatim(strings.TrimSpace(w.notes.String()))
		err = r.odfMargins(&w)
	}
	if err != nil {
		if err := r.torn(err, w.out.String()); err != nil {
			return content{}, err
		}
	}
	c := content{title: w.title.String(), text: w.out.String()}
	for _, other := range []string{r.titleIn("meta.xml"), w.heading.String()} {
		if c.title == "" {
			c.title = other
		}
	}
	if c.title == "" && !w.sheets {
		c.title = ownTitle(c.text)
	}
	return c, nil
}

// odfMargins writes the headers and footers of pages, which the styles hold, those that say the
// same once.
func (r *archive) odfMargins(w *odfWriter) error {
	said := map[string]bool{}
	var m *odfWriter
	return r.eachUntil("styles.xml", func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && odfMargin[e.Name.Space+":"+e.Name.Local] {
			m = &odfWriter{}
			return nil
		}
		if m == nil {
			return nil
		}
		if e, ok := t.(xml.EndElement); ok && odfMargin[e.Name.Space+":"+e.Name.Local] {
			if text := m.out.String(); strings.ContainsFunc(text, unicode.IsLetter) && !said[text] && len(said) < maxMembers {
				said[text] = true
				w.out.block()
				w.out.verbatim(text)
			}
			m = nil
			return nil
		}
		m.token(t)
		return r.tooLong(w.out.b.Len() + m.out.b.Len())
	})
}

var odfMargin = map[string]bool{"style:header": true, "style:header-left": true, "style:header-first": true, "style:footer": true, "style:footer-left": true, "style:footer-first": true}

// odfWriter writes the text of an OpenDocument: paragraphs, headings, lists, tables and notes, and
// what stands for pictures. Comments and what was deleted are kept beside it.
type odfWriter struct {
	titles         map[string]bool // styles of titles
	out            textBuilder
	title, heading textBuilder // the first paragraph of a style of titles, and the first heading
	to             *textBuilder
	paragraphs     int // depth of them
	lists, rows    int // depth of lists and tables
	sheets         bool
	skip           string // the element whose end is awaited
	depth          int    // of elements of that name
	notes          textBuilder
	note           string      // the element of a comment or a deletion that is read; empty: none
	author, said   textBuilder // of that
	byName, inDate bool        // inside the name of its author, or its date
	picture        bool        // inside what stands for a picture
	value          string      // of a cell, as it is shown where it has no text
	cell           int         // length of the text where the cell begins
}

// odfChanges holds what tracked changes have deleted.
const odfChanges = "text:tracked-changes"

// odfSkipped elements hold what is not to be read: the numbers of notes, lists of the headings,
// ruby, and forms.
var odfSkipped = map[string]bool{
	odfChanges: true, "text:note-citation": true, "text:table-of-content": true, "text:ruby-text": true, "office:forms": true,
}

// odfNotes are comments and deletions: their texts stand behind the text.
var odfNotes = map[string]string{"office:annotation": "Comment", "text:deletion": "Deleted"}

// noted takes a token of a comment or a deletion, and tells whether it is one.
func (w *odfWriter) noted(t xml.Token) bool {
	switch t := t.(type) {
	case xml.StartElement:
		name := t.Name.Space + ":" + t.Name.Local
		switch {
		case w.note == "" && odfNotes[name] != "":
			w.note, w.author, w.said = name, textBuilder{}, textBuilder{}
			return true
		case w.note == "":
			return false
		case name == "text:p" || name == "text:h":
			w.said.inline(" ")
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
			if s := w.said.String(); valueHasText(s) {
				w.notes.line()
				w.notes.inline(by(odfNotes[name], w.author.String()) + s)
			}
			w.note = ""
		}
		return true
	case xml.CharData:
		switch {
		case w.note == "":
			return false
		case w.byName:
			w.author.inline(string(t))
		case !w.inDate:
			w.said.inline(string(t))
		}
		return true
	}
	return w.note != ""
}

func (w *odfWriter) token(t xml.Token) {
	if (w.skip == "" || w.skip == odfChanges) && w.noted(t) {
		return
	}
	switch t := t.(type) {
	case xml.StartElement:
		name := t.Name.Space + ":" + t.Name.Local
		if w.skip == "" && odfSkipped[name] {
			w.skip, w.depth = name, 0
		}
		if w.skip == name {
			w.depth++
		}
		if w.skip == "" {
			w.start(name, t)
		}
	case xml.EndElement:
		name := t.Name.Space + ":" + t.Name.Local
		if w.skip == name {
			if w.depth--; w.depth == 0 {
				w.skip = ""
			}
		} else if w.skip == "" {
			w.end(name)
		}
	case xml.CharData:
		if (w.paragraphs > 0 || w.picture) && w.skip == "" {
			w.write(string(t))
		}
	}
}

func (w *odfWriter) write(s string) {
	w.out.inline(s)
	if w.to != nil {
		w.to.inline(s)
	}
}

func (w *odfWriter) start(name string, t xml.StartElement) {
	switch name {
	case "style:style":
		if w.titles[attr(t, "parent-style-name")] && len(w.titles) < maxLists {
			w.titles[attr(t, "name")] = true
		}
	case "office:spreadsheet":
		w.sheets = true
	case "text:p", "text:h":
		w.paragraph(name, attr(t, "style-name"))
	case "text:s", "text:tab":
		w.write(" ")
	case "text:line-break":
		if w.rows == 0 && w.out.breaks == 0 {
			w.out.line()
		} else {
			w.write(" ")
		}
	case "text:list":
		if w.lists++; w.lists == 1 && w.rows == 0 {
			w.out.block()
		}
	case "text:list-item":
		if w.rows == 0 {
			w.out.item("- ")
		}
	case "table:table":
		w.rows++
		if w.out.block(); w.sheets {
			w.out.inline(attr(t, "name"))
			w.out.block()
		}
	case "table:table-row":
		w.out.line()
	case "table:table-cell":
		w.out.cell()
		if w.cell = w.out.b.Len(); w.sheets {
			w.value = ""
			for _, name := range []string{"string-value", "date-value", "time-value", "boolean-value", "value"} {
				w.value = cmp.Or(w.value, attr(t, name))
			}
		}
	case "svg:title", "svg:desc":
		w.picture = true
		w.out.inline(" ")
	case "draw:page":
		w.out.block()
	}
}

// paragraph begins a paragraph, or one inside another, as those of notes and boxes are.
func (w *odfWriter) paragraph(name, style string) {
	switch w.paragraphs++; {
	case w.paragraphs > 1, w.rows > 0:
		w.out.inline(" ")
		return
	case w.lists == 0:
		w.out.block()
	case w.out.prefix == "":
		w.out.line()
	}
	switch {
	case w.titles[style] && w.title.b.Len() == 0:
		w.to = &w.title
	case name == "text:h" && w.heading.b.Len() == 0:
		w.to = &w.heading
	}
}

func (w *odfWriter) end(name string) {
	switch name {
	case "text:p", "text:h":
		if w.paragraphs = max(0, w.paragraphs-1); w.paragraphs == 0 {
			w.to = nil
		} else {
			w.out.inline(" ")
		}
	case "svg:title", "svg:desc":
		w.picture = false
		w.out.inline(" ")
	case "table:table-cell":
		if w.value != "" && w.out.b.Len() == w.cell { // as some programs write it
			w.out.inline(w.value)
		}
		w.value = ""
	case "text:list":
		if w.lists = max(0, w.lists-1); w.lists == 0 && w.rows == 0 {
			w.out.block()
		}
	case "table:table":
		w.rows = max(0, w.rows-1)
		w.out.block()
	}
}
