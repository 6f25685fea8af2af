package extract

import (
	"encoding/xml"
	"strings"
)

// pptx reads the text of the slides of an Office Open XML presentation, as PowerPoint and others
// write it, each with its notes.
func (x *source) pptx(b []byte) (content, error) {
	r, err := x.archive(b)
	if err != nil {
		return content{}, err
	}
	main := r.mainPart("ppt/presentation.xml")
	if r.members[main] == nil {
		return content{}, x.reject("a ZIP archive without the text of %s", formatNouns[x.format])
	}
	var slides []string
	err = r.listed(main, "sldId", func(_ xml.StartElement, part string) { slides = append(slides, part) })
	var w pptxWriter
	visit := func(t xml.Token) error {
		w.token(t)
		return r.tooLong(w.out.b.Len())
	}
	for _, slide := range slides {
		if err == nil {
			err = r.eachUntil(slide, visit)
		}
		w.titled = w.title.b.Len() > 0
		if err != nil {
			break
		}
		err = r.drawn(slide, &w.out)
		for _, other := range r.parts(slide, "notesSlide", "comments") {
			if w.out.block(); err == nil {
				err = r.eachUntil(other.target, visit)
			}
		}
	}
	if err != nil {
		if err := r.torn(err, w.out.String()); err != nil {
			return content{}, err
		}
	}
	c := content{title: w.title.String(), text: w.out.String()}
	if c.title == "" {
		c.title = r.titleIn("docprops/core.xml")
	}
	if c.title == "" {
		c.title = titleLine(c.text)
	}
	return c, nil
}

// pptxWriter writes the text of slides: shapes and tables in their order, without the numbers,
// dates and footers that stand on every slide.
type pptxWriter struct {
	out    textBuilder
	title  textBuilder // of the first slide that has one
	titled bool        // which is complete
	place  string      // the kind of placeholder that the shape is
	text   bool        // inside an element of text
	number bool        // inside a field
	rows   int         // depth of tables
	skip   int         // depth of elements that are older renderings of what stands beside them
	math   ommlReader
}

func (w *pptxWriter) token(t xml.Token) {
	if w.math.prefix != "" {
		if s, done := w.math.token(t); done && w.skip == 0 {
			w.write(s)
		}
		return
	}
	switch t := t.(type) {
	case xml.StartElement:
		if t.Name.Local == "oMath" && t.Name.Space != "" {
			w.math.prefix = t.Name.Space
			w.math.token(t)
			return
		}
		if t.Name.Local == "Fallback" {
			w.skip++
		}
		if w.skip == 0 {
			w.start(t)
		}
	case xml.EndElement:
		if w.skip == 0 {
			w.end(t.Name.Local)
		} else if t.Name.Local == "Fallback" {
			w.skip--
		}
	case xml.CharData:
		if w.text && w.skip == 0 {
			w.write(unescapeXML(string(t)))
		}
	}
}

func (w *pptxWriter) start(t xml.StartElement) {
	switch t.Name.Local {
	case "sp", "graphicFrame", "pic":
		w.place = ""
		w.out.block()
	case "ph":
		w.place = attr(t, "type")
	case "fld":
		w.number = strings.HasPrefix(attr(t, "type"), "slidenum") || strings.HasPrefix(attr(t, "type"), "datetime")
	case "t", "text": // of a shape; of a comment
		w.text = true
	case "cNvPr":
		if s := attr(t, "descr"); valueHasText(s) { // what stands for a picture
			w.out.inline(s)
			w.out.line()
		}
	case "cm":
		w.out.block()
		w.out.prefix = by("Comment", "")
	case "br", "tab":
		w.write(" ")
	case "tbl":
		w.rows++
	case "tr":
		w.out.line()
	case "tc":
		w.out.cell()
	}
}

func (w *pptxWriter) end(name string) {
	switch name {
	case "t", "text":
		w.text = false
	case "fld":
		w.number = false
	case "p":
		if w.rows > 0 {
			w.out.inline(" ")
		} else {
			w.out.line()
		}
		if !w.titled {
			w.title.inline(" ")
		}
	case "tbl":
		w.rows = max(0, w.rows-1)
	case "sp", "graphicFrame", "pic":
		w.place = ""
		w.out.block()
	}
}

func (w *pptxWriter) write(s string) {
	switch {
	case w.number, w.place == "sldNum", w.place == "dt", w.place == "ftr", w.place == "hdr":
		return
	case !w.titled && (w.place == "title" || w.place == "ctrTitle"):
		w.title.inline(s)
	}
	w.out.inline(s)
}
