// Package office reads the documents of office programs: Office Open XML, OpenDocument, the Excel
// format of before 2007, rich text, and e-books. It also opens compound files for others.
package office

import (
	"cmp"
	"encoding/xml"
	"path"
	"regexp"
	"strings"
	"unicode"

	"example.com/searchd/extract/content"
)

// DOCX reads an Office Open XML document, as Word and others write it.
func DOCX(x *content.File, b []byte) (content.Content, error) {
	if IsFlat(b) {
		return Flat(x, b)
	}
	r, main, err := openXML(x, b, "word/document.xml")
	if err != nil {
		return content.Content{}, err
	}
	dir := path.Dir(main)
	w := newDocxWriter(&r.out, r.styles(dir), r.lists(dir))
	w.chunks = &chunks{r: r, parts: r.relations(main)}
	r.read(main, w.token)
	r.drawn(main)
	for _, notes := range []string{"footnotes.xml", "endnotes.xml", "comments.xml"} {
		w.out.Block()
		r.read(path.Join(dir, notes), w.token)
	}
	w.changes()
	r.margins(main, w)
	c, err := r.content(w.title.String(), r.titleIn("docprops/core.xml"), w.heading.String())
	if c.Title == "" {
		c.Title = content.OwnTitle(c.Text)
	} else if rest := strings.TrimPrefix(c.Text, w.mark); strings.HasPrefix(rest, c.Title+"\n\n") { // the title stands there without its number
		c.Blocks = content.Moved(c.Blocks, len(c.Text)-len(rest))
		c.Text = rest
	}
	return c, err
}

// margins writes headers and footers, equal ones once.
func (r *archive) margins(main string, w *docxWriter) {
	seen := map[string]bool{}
	for _, p := range r.parts(main, "header", "footer") {
		var out content.Builder
		m := newDocxWriter(&out, w.styles, nil)
		r.read(p.target, m.token)
		r.margin(out.String(), seen)
	}
}

// margin writes a header or a footer that has letters and was not written before.
func (r *archive) margin(text string, seen map[string]bool) {
	if strings.ContainsFunc(text, unicode.IsLetter) && !seen[text] && len(seen) < maxMembers {
		seen[text] = true
		r.out.Begin(content.Block{})
		r.out.Block()
		r.out.Verbatim(text)
		r.out.Block()
	}
}

// changes writes the text that tracked changes deleted.
func (w *docxWriter) changes() {
	w.out.Block()
	w.out.Begin(content.Block{})
	for _, d := range w.deleted {
		if s := content.OneLine(d.text.String()); content.HasText(s) {
			w.out.Line()
			w.out.Inline(by("Deleted", d.author) + s)
		}
	}
	w.out.Block()
}

// by returns the prefix of a comment or a change.
func by(what, author string) string {
	if author = strings.TrimSpace(author); author == "" {
		return what + ": "
	}
	return what + " (" + author + "): "
}

// maxChanges limits the deletions of a document.
const maxChanges = 10000

// deletion is text deleted by a tracked change.
type deletion struct {
	author string
	text   strings.Builder
}

type paragraphStyle struct {
	name  string // in lower case
	list  string // id of the list that its paragraphs belong to
	level int    // in it
}

// styles returns paragraph styles by their ids. Ids depend on the language of the program, the
// names of built-in styles do not.
func (r *archive) styles(dir string) map[string]paragraphStyle {
	styles := map[string]paragraphStyle{}
	for s := range r.tree(path.Join(dir, "styles.xml")).all("style") {
		style := paragraphStyle{list: s.first("numId").attr("val"), level: max(0, listLevel(s.first("ilvl").attr("val")))}
		if name := strings.ToLower(s.child("name").attr("val")); usualStyle.MatchString(name) {
			style.name = name
		}
		if style != (paragraphStyle{}) {
			styles[s.attr("styleId")] = style
		}
	}
	return styles
}

// usualStyle matches the names of built-in styles that matter.
var usualStyle = regexp.MustCompile(`^(title$|heading |toc |list bullet|list number|quote$|intense quote$|html preformatted$|source code$)`)

// docxWriter writes WordprocessingML: paragraphs, headings, lists, tables, notes, comments,
// formulas and alternative texts, but no moved or hidden text. It collects deleted text.
type docxWriter struct {
	elements
	styles         map[string]paragraphStyle
	lists          map[string]*docxList
	out            *content.Builder
	mark           string          // the number of the first paragraph
	title, heading content.Builder // the paragraphs of style Title, and the first heading
	docxParagraph
	outer          []docxParagraph // around it, of a paragraph in a box
	boxes          int             // depth of paragraphs, beyond maxBoxes too
	table          textTable
	text, hidden   bool // inside an element of text; of a run that is not shown
	titled, headed bool // title and heading are complete
	deleted        []*deletion
	gone           *deletion // that is read
	goneText       bool      // inside an element of deleted text
	chunks         *chunks   // nil: inserted files are not read
}

// docxParagraph is the state of a paragraph.
type docxParagraph struct {
	style string // the name of its style
	item  bool   // it is one of a list
	list  string // the id of that
	level int    // in the list
	begun bool   // it has text
}

// maxBoxes is the depth of nested paragraphs whose state is kept.
const maxBoxes = 16

// docxSkipped are older renderings of other elements, moved text, ruby, and former properties.
var docxSkipped = map[string]bool{"Fallback": true, "moveFrom": true, "rt": true, "pPrChange": true, "rPrChange": true}

func newDocxWriter(out *content.Builder, styles map[string]paragraphStyle, lists map[string]*docxList) *docxWriter {
	w := &docxWriter{out: out, styles: styles, lists: lists}
	w.elements = elements{skip: docxSkipped, start: w.start, end: w.end, text: w.chars, math: func(s string) { w.hidden = false; w.write(s) }}
	return w
}

func (w *docxWriter) chars(s string) {
	if w.text && !w.hidden {
		w.write(s)
	}
	if w.goneText && w.gone != nil {
		w.gone.text.WriteString(s)
	}
}

func (w *docxWriter) start(name string, t xml.StartElement) {
	switch name {
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
	case "altChunk":
		if w.chunks != nil {
			w.chunks.insert(w, content.Attr(t, "id"))
		}
	case "delText":
		w.goneText = true
	case "comment":
		w.out.Block()
		w.out.Prefix = by("Comment", content.Attr(t, "author"))
	case "docPr", "shape":
		if s := content.Attr(t, map[string]string{"docPr": "descr", "shape": "alt"}[name]); content.IsAlt(s) {
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
		if w.begun && w.table.depth == 0 {
			w.out.Line()
		} else {
			w.write(" ")
		}
	case "noBreakHyphen":
		w.write("-")
	case "tbl":
		w.table.begin(w.out)
	case "tr":
		w.table.row(w.out)
	case "tblHeader":
		w.table.header = true
	case "tc":
		w.table.cell(w.out, 1, 1)
	case "gridSpan":
		w.table.widened(content.Atoi(content.Attr(t, "val")))
	case "vMerge":
		w.table.merged(content.Attr(t, "val") == "restart")
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
		case w.table.depth > 0:
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
	case "tr":
		w.table.endRow(w.out)
	case "tbl":
		w.table.end(w.out)
	}
}

// kind returns the kind of the paragraph.
func (w *docxWriter) kind() content.Block {
	switch level, heading := strings.CutPrefix(w.style, "heading "); {
	case heading:
		return content.Block{Kind: content.Heading, Level: min(max(content.Atoi(level), 1), 6)}
	case w.style == "title":
		return content.Block{Kind: content.Heading, Level: 1}
	case w.item:
		level := content.Atoi(strings.TrimLeft(w.style, "abcdefghijklmnopqrstuvwxyz ")) // of List Bullet 2
		return content.Block{Kind: content.Item, Level: max(w.level+1, level, 1)}
	case strings.HasSuffix(w.style, "quote"):
		return content.Block{Kind: content.Quote}
	case w.style == "html preformatted", w.style == "source code":
		return content.Block{Kind: content.Code}
	}
	return content.Block{}
}

func (w *docxWriter) write(s string) {
	if strings.HasPrefix(w.style, "toc ") {
		return // it repeats the headings
	}
	if !w.begun && strings.TrimSpace(s) != "" {
		w.begun = true
		if w.table.depth == 0 {
			w.out.Begin(w.kind())
		}
		mark := w.lists[w.list].next(w.level)
		if mark != "" {
			mark += " "
		}
		if w.out.Len() == 0 && !w.item && w.table.depth == 0 {
			w.mark = mark
		}
		switch {
		case w.table.depth > 0:
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
