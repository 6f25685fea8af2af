package office

import (
	"cmp"
	"encoding/xml"
	"strings"

	"example.com/searchd/extract/content"
)

// PPTX reads the slides of an Office Open XML presentation with their notes.
func PPTX(x *content.File, b []byte) (content.Content, error) {
	r, main, err := openXML(x, b, "ppt/presentation.xml")
	if err != nil {
		return content.Content{}, err
	}
	w := newPptxWriter(&r.out)
	w.authors = r.authors(main)
	for n, slide := range r.listed(main, r.textTree(main), "sldId") {
		r.out.Page = n + 1
		w.out.Block()
		w.out.Begin(content.Block{})
		r.read(slide.part, w.token)
		w.titled = w.title.Len() > 0
		r.drawn(slide.part)
		for _, other := range r.parts(slide.part, "notesSlide", "comments") {
			w.out.Block()
			r.read(other.target, w.token)
		}
	}
	c, err := r.content(w.title.String(), r.titleIn("docprops/core.xml"))
	if c.Title == "" {
		c.Title = content.TitleLine(c.Text)
	}
	return c, err
}

// authors returns the names of those who wrote comments, by their ids: of a presentation, or of the
// threads of a workbook.
func (r *archive) authors(main string) map[string]string {
	names := map[string]string{}
	for _, p := range r.parts(main, "commentAuthors", "authors", "person") {
		for _, element := range []string{"cmAuthor", "author", "person"} {
			for a := range r.tree(p.target).all(element) {
				if len(names) < maxMembers {
					names[a.attr("id")] = cmp.Or(a.attr("name"), a.attr("displayName"))
				}
			}
		}
	}
	return names
}

// pptxWriter writes the shapes and tables of slides, without slide numbers, dates and footers.
type pptxWriter struct {
	elements
	out    *content.Builder
	title  content.Builder // of the first slide that has one
	titled bool            // which is complete
	place  string          // the kind of placeholder that the shape is
	text   bool            // inside an element of text
	number bool            // inside a field
	table  textTable
	skip   int // depth of elements that are older renderings of what stands beside them

	authors map[string]string // of comments, by their ids
}

func newPptxWriter(out *content.Builder) *pptxWriter {
	w := &pptxWriter{out: out}
	w.elements = elements{skip: map[string]bool{"Fallback": true}, start: w.start, end: w.end, text: w.chars, math: w.write}
	return w
}

func (w *pptxWriter) chars(s string) {
	if w.text {
		w.write(unescapeXML(s))
	}
}

func (w *pptxWriter) start(name string, t xml.StartElement) {
	switch name {
	case "sp", "graphicFrame", "pic":
		w.place = ""
		w.out.Block()
	case "ph":
		if w.place = content.Attr(t, "type"); w.place == "title" || w.place == "ctrTitle" {
			w.out.Begin(content.Block{Kind: content.Heading, Level: 2})
		}
	case "fld":
		w.number = strings.HasPrefix(content.Attr(t, "type"), "slidenum") || strings.HasPrefix(content.Attr(t, "type"), "datetime")
	case "t", "text": // of a shape; of a comment
		w.text = true
	case "cNvPr":
		if s := content.Attr(t, "descr"); content.IsAlt(s) { // what stands for a picture
			w.out.Inline(s)
			w.out.Line()
		}
	case "cm", "reply":
		w.out.Block()
		w.out.Prefix = by("Comment", w.authors[content.Attr(t, "authorId")])
	case "br", "tab":
		w.write(" ")
	case "tbl":
		w.table.begin(w.out)
	case "tr":
		w.table.row(w.out)
	case "tc":
		if content.Attr(t, "hMerge") == "" && content.Attr(t, "vMerge") == "" { // it covers no cell
			w.table.cell(w.out, content.Atoi(content.Attr(t, "gridSpan")), content.Atoi(content.Attr(t, "rowSpan")))
		}
	}
}

func (w *pptxWriter) end(name string) {
	switch name {
	case "t", "text":
		w.text = false
	case "fld":
		w.number = false
	case "p":
		if w.table.depth > 0 {
			w.out.Inline(" ")
		} else {
			w.out.Line()
		}
		if !w.titled {
			w.title.Inline(" ")
		}
	case "tr":
		w.table.endRow(w.out)
	case "tbl":
		w.table.end(w.out)
	case "sp", "graphicFrame", "pic":
		w.place = ""
		w.out.Block()
		w.out.Begin(content.Block{})
	}
}

func (w *pptxWriter) write(s string) {
	switch {
	case w.number, w.place == "sldNum", w.place == "dt", w.place == "ftr", w.place == "hdr":
		return
	case !w.titled && (w.place == "title" || w.place == "ctrTitle"):
		w.title.Inline(s)
	}
	w.out.Inline(s)
}
