// Package office reads the documents of office programs: Office Open XML, OpenDocument, the Excel
// format of before 2007, rich text, and e-books. It also opens compound files for others.
package office

import (
	"cmp"
	"encoding/xml"
	"path"
	"strings"
	"unicode"

	"searchd/extract/content"
)

// DOCX reads an Office Open XML document, as Word and others write it.
func DOCX(x *content.File, b []byte) (content.Content, error) {
	r, main, err := openXML(x, b, "word/document.xml")
	if err != nil {
		return content.Content{}, err
	}
	dir := path.Dir(main)
	w := docxWriter{out: &r.out, styles: r.styles(dir), lists: r.lists(dir)}
	r.read(main, w.token)
	r.drawn(main)
	for _, notes := range []string{"footnotes.xml", "endnotes.xml", "comments.xml"} {
		w.out.Block()
		r.read(path.Join(dir, notes), w.token)
	}
	w.changes()
	r.margins(main, &w)
	c, err := r.content(w.title.String(), r.titleIn("docprops/core.xml"), w.heading.String())
	if c.Title == "" {
		c.Title = content.OwnTitle(c.Text)
	} else if rest := strings.TrimPrefix(c.Text, w.mark); strings.HasPrefix(rest, c.Title+"\n\n") { // the title stands there without its number
		c.Blocks = content.Moved(c.Blocks, len(c.Text)-len(rest))
		c.Text = rest
	}
	return c, err
}

// margins writes the headers and footers of pages, equal ones once.
func (r *archive) margins(main string, w *docxWriter) {
	seen := map[string]bool{}
	for _, p := range r.parts(main, "header", "footer") {
		var out content.Builder
		m := docxWriter{out: &out, styles: w.styles}
		r.read(p.target, m.token)
		r.margin(out.String(), seen)
	}
}

// margin writes a header or a footer that has more than a page number and was not written before.
func (r *archive) margin(text string, seen map[string]bool) {
	if strings.ContainsFunc(text, unicode.IsLetter) && !seen[text] && len(seen) < maxMembers {
		seen[text] = true
		r.out.Begin(content.Block{})
		r.out.Block()
		r.out.Verbatim(text)
		r.out.Block()
	}
}

// changes writes what tracked changes have deleted: it is not in the text any more, and can still
// be read and found in the document.
func (w *docxWriter) changes() {
	w.out.Block()
	for _, d := range w.deleted {
		if s := content.OneLine(d.text.String()); content.HasText(s) {
			w.out.Line()
			w.out.Inline(by("Deleted", d.author) + s)
		}
	}
	w.out.Block()
}

// by returns what stands in front of a comment or a change.
func by(what, author string) string {
	if author = strings.TrimSpace(author); author == "" {
		return what + ": "
	}
	return what + " (" + author + "): "
}

// maxChanges is the number of deletions of one document that are kept.
const maxChanges = 10000

// deletion is a tracked change that took text away.
type deletion struct {
	author string
	text   strings.Builder
}

// paragraphStyle is a style of paragraphs.
type paragraphStyle struct {
	name  string // in lower case
	list  string // id of the list that its paragraphs belong to
	level int    // in it
}

// styles returns the styles that matter, by their ids: ids are in the language of the program,
// names of built-in styles are not.
func (r *archive) styles(dir string) map[string]paragraphStyle {
	styles, id, style := map[string]paragraphStyle{}, "", paragraphStyle{}
	r.scan(path.Join(dir, "styles.xml"), func(t xml.Token) {
		e, ok := t.(xml.StartElement)
		if !ok {
			return
		}
		switch val := content.Attr(e, "val"); e.Name.Local {
		case "style":
			id, style = content.Attr(e, "styleId"), paragraphStyle{}
			return
		case "name":
			switch name := strings.ToLower(val); {
			case name == "title", strings.HasPrefix(name, "heading "), strings.HasPrefix(name, "toc "), strings.HasPrefix(name, "list bullet"), strings.HasPrefix(name, "list number"):
				style.name = name
			}
		case "numId":
			style.list = val
		case "ilvl":
			style.level = listLevel(val)
		}
		if id != "" && style != (paragraphStyle{}) && (len(styles) < maxLists || styles[id] != paragraphStyle{}) {
			styles[id] = style
		}
	})
	return styles
}

// docxWriter writes the text of WordprocessingML: paragraphs, headings, lists, tables, notes,
// comments, formulas and what stands for pictures; not what was moved away or hidden. What was
// deleted is kept beside it.
type docxWriter struct {
	styles         map[string]paragraphStyle
	lists          map[string]*docxList
	out            *content.Builder
	mark           string          // the number of the first paragraph
	title, heading content.Builder // the paragraphs of style Title, and the first heading
	docxParagraph
	outer          []docxParagraph // around it, of a paragraph in a box
	boxes          int             // depth of paragraphs, beyond maxBoxes too
	rows           int             // depth of tables
	skip           string          // the element whose end is awaited
	depth          int             // of elements of that name
	text, hidden   bool            // inside an element of text; of a run that is not shown
	titled, headed bool            // title and heading are complete
	math           ommlReader
	deleted        []*deletion
	gone           *deletion // that is read
	goneText       bool      // inside an element of deleted text
}

// docxParagraph is a paragraph that is being written.
type docxParagraph struct {
	style string // the name of its style
	item  bool   // it is one of a list
	list  string // the id of that
	level int    // in the list
	begun bool   // it has text
}

// maxBoxes is the depth of paragraphs in one another to which the outer ones are remembered.
const maxBoxes = 16

// docxSkipped elements hold what is not to be read: older renderings of what stands beside them,
// what was moved away, ruby, and what a paragraph or a run was before it was changed.
var docxSkipped = map[string]bool{"Fallback": true, "moveFrom": true, "rt": true, "pPrChange": true, "rPrChange": true}

func (w *docxWriter) token(t xml.Token) {
	if w.math.prefix != "" {
		if s, done := w.math.token(t); done {
			w.write(s)
		}
		return
	}
	switch t := t.(type) {
	case xml.StartElement:
		if t.Name.Local == "oMath" && t.Name.Space != "" && w.skip == "" {
			w.math.prefix, w.hidden = t.Name.Space, false
			w.math.token(t)
			return
		}
		if w.skip == "" && docxSkipped[t.Name.Local] {
			w.skip, w.depth = t.Name.Local, 0
		}
		if w.skip == t.Name.Local {
			w.depth++
		}
		if w.skip == "" {
			w.start(t)
		}
	case xml.EndElement:
		if w.skip == t.Name.Local {
			if w.depth--; w.depth == 0 {
				w.skip = ""
			}
		} else if w.skip == "" {
			w.end(t.Name.Local)
		}
	case xml.CharData:
		if w.text && w.skip == "" && !w.hidden {
			w.write(string(t))
		}
		if w.goneText && w.gone != nil {
			w.gone.text.Write(t)
		}
	}
}

func (w *docxWriter) start(t xml.StartElement) {
	switch t.Name.Local {
	case "p":
		if w.boxes++; w.boxes > 1 && len(w.outer) < maxBoxes {
			w.outer = append(w.outer, w.docxParagraph)
		}
		w.docxParagraph, w.hidden = docxParagraph{}, false
	case "pStyle":
		style := w.styles[content.Attr(t, "val")]
		w.style, w.list, w.level = style.name, style.list, style.level
		w.item = w.item || strings.HasPrefix(w.style, "list ")
	case "ilvl":
		w.level = listLevel(content.Attr(t, "val"))
	case "numId":
		w.list = content.Attr(t, "val")
		w.item = w.list != "0" && !strings.HasPrefix(w.style, "heading ")
	case "r":
		w.hidden = false
	case "del":
		if w.gone = nil; len(w.deleted) < maxChanges {
			w.gone = &deletion{author: content.Attr(t, "author")}
			w.deleted = append(w.deleted, w.gone)
		}
	case "delText":
		w.goneText = true
	case "comment":
		w.out.Block()
		w.out.Prefix = by("Comment", content.Attr(t, "author"))
	case "docPr", "shape":
		name := map[string]string{"docPr": "descr", "shape": "alt"}[t.Name.Local]
		if s := content.Attr(t, name); content.HasText(s) {
			w.out.Inline(" ")
			w.write(s)
			w.out.Inline(" ")
		}
	case "vanish":
		v := content.Attr(t, "val")
		w.hidden = v != "0" && v != "false" && v != "off"
	case "t":
		w.text = true
	case "tab":
		w.write(" ")
	case "br", "cr":
		if w.begun && w.rows == 0 {
			w.out.Line()
		} else {
			w.write(" ")
		}
	case "noBreakHyphen":
		w.write("-")
	case "tbl":
		w.out.Block()
		w.rows++
	case "tr":
		w.out.Line()
	case "tc":
		w.out.Cell()
	}
}

func (w *docxWriter) end(name string) {
	switch name {
	case "t":
		w.text = false
	case "delText":
		w.goneText = false
	case "p":
		switch {
		case w.rows > 0:
			w.out.Inline(" ")
		case w.item:
			w.out.Line()
		default:
			w.out.Block()
		}
		if !w.begun {
			w.lists[w.list].next(w.level) // it is counted all the same
		}
		w.titled, w.headed = w.title.Len() > 0, w.heading.Len() > 0
		w.docxParagraph = docxParagraph{}
		if w.boxes = max(0, w.boxes-1); w.boxes > 0 && w.boxes == len(w.outer) {
			w.docxParagraph, w.outer = w.outer[w.boxes-1], w.outer[:w.boxes-1]
		}
	case "tbl":
		w.rows = max(0, w.rows-1)
		w.out.Block()
	}
}

// write writes text of the paragraph.
func (w *docxWriter) write(s string) {
	if strings.HasPrefix(w.style, "toc ") {
		return // it repeats the headings
	}
	if !w.begun && strings.TrimSpace(s) != "" {
		w.begun = true
		mark := w.lists[w.list].next(w.level)
		if mark != "" {
			mark += " "
		}
		if w.out.Len() == 0 && !w.item && w.rows == 0 {
			w.mark = mark
		}
		switch {
		case w.rows > 0:
			w.out.Inline(mark)
		case w.item:
			w.out.Item(cmp.Or(mark, "- "))
		default:
			w.out.Block()
			w.out.Inline(mark)
		}
	}
	w.out.Inline(s)
	switch {
	case w.style == "title" && !w.titled:
		w.title.Inline(s)
	case w.style == "heading 1" && !w.headed:
		w.heading.Inline(s)
	}
}
