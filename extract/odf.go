package extract

import "encoding/xml"

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

// odfWriter writes the text of an OpenDocument: paragraphs, headings, lists, tables and notes; not what was deleted, and no comments.
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
}

// odfSkipped elements hold what is not to be read: what was deleted, comments, the numbers of notes, lists of the headings, ruby, and what the
// program says of pictures. The names of other elements of theirs are in XML of other kinds.
var odfSkipped = map[string]bool{
	"text:tracked-changes": true, "office:annotation": true, "text:note-citation": true, "text:table-of-content": true, "text:ruby-text": true,
	"svg:title": true, "svg:desc": true, "office:forms": true,
}

func (w *odfWriter) token(t xml.Token) {
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
		if w.paragraphs > 0 && w.skip == "" {
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
	case "text:list":
		if w.lists = max(0, w.lists-1); w.lists == 0 && w.rows == 0 {
			w.out.block()
		}
	case "table:table":
		w.rows = max(0, w.rows-1)
		w.out.block()
	}
}
