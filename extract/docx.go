package extract

import (
	"cmp"
	"encoding/xml"
	"path"
	"strings"
	"unicode"
)

// docx reads the text of an Office Open XML document, as Word and others write it: a ZIP archive of
// XML.
func (x *source) docx(b []byte) (content, error) {
	r, err := x.archive(b)
	if err != nil {
		return content{}, err
	}
	main := r.mainPart("word/document.xml")
	if r.members[main] == nil {
		return content{}, x.reject("a ZIP archive without the text of a Word document")
	}
	w := docxWriter{styles: r.styles(path.Dir(main)), lists: r.lists(path.Dir(main))}
	visit := func(t xml.Token) error {
		w.token(t)
		return r.tooLong(w.out.b.Len())
	}
	err = r.eachUntil(main, visit)
	if err == nil {
		err = r.drawn(main, &w.out)
	}
	for _, notes := range []string{"footnotes.xml", "endnotes.xml", "comments.xml"} {
		if err == nil {
			w.out.block()
			err = r.eachUntil(path.Join(path.Dir(main), notes), visit)
		}
	}
	if err == nil {
		w.changes()
		err = r.margins(main, &w)
	}
	if err != nil {
		if err := r.torn(err, w.out.String()); err != nil {
			return content{}, err
		}
	}
	c := content{title: w.title.String(), text: w.out.String()}
	for _, other := range []string{r.titleIn("docprops/core.xml"), w.heading.String()} {
		if c.title == "" {
			c.title = other
		}
	}
	if c.title == "" {
		c.title = ownTitle(c.text)
	} else if rest := strings.TrimPrefix(c.text, w.mark); strings.HasPrefix(rest, c.title+"\n\n") { // the heading that is the title stands there without its number
		c.text = rest
	}
	return c, nil
}

// margins writes the headers and footers of pages, those that say the same once.
func (r *archive) margins(main string, w *docxWriter) error {
	said := map[string]bool{}
	for _, p := range r.parts(main, "header", "footer") {
		m := docxWriter{styles: w.styles, lists: map[string]*docxList{}}
		err := r.eachUntil(p.target, func(t xml.Token) error {
			m.token(t)
			return r.tooLong(w.out.b.Len() + m.out.b.Len())
		})
		if text := m.out.String(); strings.ContainsFunc(text, unicode.IsLetter) && !said[text] { // not the number of the page alone
			said[text] = true
			w.out.block()
			w.out.verbatim(text)
			w.out.block()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changes writes what tracked changes have deleted: it is not in the text any more, and can still
// be read and found in the document.
func (w *docxWriter) changes() {
	w.out.block()
	for _, d := range w.deleted {
		if s := strings.Join(strings.Fields(d.text.String()), " "); valueHasText(s) {
			w.out.line()
			w.out.inline(by("Deleted", d.author) + s)
		}
	}
	w.out.block()
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
	_ = r.each(path.Join(dir, "styles.xml"), func(t xml.Token) {
		e, ok := t.(xml.StartElement)
		if !ok {
			return
		}
		switch val := attr(e, "val"); e.Name.Local {
		case "style":
			id, style = attr(e, "styleId"), paragraphStyle{}
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
	out            textBuilder
	mark           string      // the number of the first paragraph
	title, heading textBuilder // the paragraphs of style Title, and the first heading
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
		style := w.styles[attr(t, "val")]
		w.style, w.list, w.level = style.name, style.list, style.level
		w.item = w.item || strings.HasPrefix(w.style, "list ")
	case "ilvl":
		w.level = listLevel(attr(t, "val"))
	case "numId":
		w.list = attr(t, "val")
		w.item = w.list != "0" && !strings.HasPrefix(w.style, "heading ")
	case "r":
		w.hidden = false
	case "del":
		if w.gone = nil; len(w.deleted) < maxChanges {
			w.gone = &deletion{author: attr(t, "author")}
			w.deleted = append(w.deleted, w.gone)
		}
	case "delText":
		w.goneText = true
	case "comment":
		w.out.block()
		w.out.prefix = by("Comment", attr(t, "author"))
	case "docPr", "shape":
		name := map[string]string{"docPr": "descr", "shape": "alt"}[t.Name.Local]
		if s := attr(t, name); valueHasText(s) {
			w.out.inline(" ")
			w.write(s)
			w.out.inline(" ")
		}
	case "vanish":
		v := attr(t, "val")
		w.hidden = v != "0" && v != "false" && v != "off"
	case "t":
		w.text = true
	case "tab":
		w.write(" ")
	case "br", "cr":
		if w.begun && w.rows == 0 {
			w.out.line()
		} else {
			w.write(" ")
		}
	case "noBreakHyphen":
		w.write("-")
	case "tbl":
		w.out.block()
		w.rows++
	case "tr":
		w.out.line()
	case "tc":
		w.out.cell()
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
			w.out.inline(" ")
		case w.item:
			w.out.line()
		default:
			w.out.block()
		}
		if !w.begun {
			w.lists[w.list].next(w.level) // it is counted all the same
		}
		w.titled, w.headed = w.title.b.Len() > 0, w.heading.b.Len() > 0
		w.docxParagraph = docxParagraph{}
		if w.boxes = max(0, w.boxes-1); w.boxes > 0 && w.boxes == len(w.outer) {
			w.docxParagraph, w.outer = w.outer[w.boxes-1], w.outer[:w.boxes-1]
		}
	case "tbl":
		w.rows = max(0, w.rows-1)
		w.out.block()
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
		if w.out.b.Len() == 0 && !w.item && w.rows == 0 {
			w.mark = mark
		}
		switch {
		case w.rows > 0:
			w.out.inline(mark)
		case w.item:
			w.out.item(cmp.Or(mark, "- "))
		default:
			w.out.block()
			w.out.inline(mark)
		}
	}
	w.out.inline(s)
	switch {
	case w.style == "title" && !w.titled:
		w.title.inline(s)
	case w.style == "heading 1" && !w.headed:
		w.heading.inline(s)
	}
}
