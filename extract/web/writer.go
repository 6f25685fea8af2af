package web

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"example.com/searchd/extract/content"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// writer writes the text of HTML token by token. It builds no tree, so depth and size cannot hurt,
// and unclosed or misnested elements do not matter.
type writer struct {
	Options
	out         *content.Builder
	title       content.Builder
	heading     string // text of the first h1
	lang        string
	description string
	left        bool // such was left out

	inTitle bool
	inHead  bool   // inside h1 to h6 or summary
	level   int    // of the heading that is open; 0: none is
	quotes  int    // depth of blockquote elements
	lists   int    // depth of lists
	numbers []int  // of the next item of each of them, 0 if it has none; maxListDepth at most
	items   int    // depth of their items
	anchors int    // depth of links
	page    *page  // where the blocks stand; nil: nobody asks
	code    string // language of the code that is open
	content int    // depth of article, main and blockquote elements
	pre     int    // depth of pre elements
	gap     []byte // white space of a line of one, after which no text has come yet
	h1      int    // 1 + where the text of the first h1 begins in out; 0 before it and after it
	ruby    bool   // inside a ruby element
	reading bool   // inside a reading of it, or the parentheses around that
	sup     Superscript
	table   table
	roles   []roleElement
	skip    atom.Atom
	loose   bool // skip is of an element beside the text: it ends where the content must begin
	depth   int  // of elements of the kind of skip
}

// skipped elements have no text to read.
var skipped = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Nav: true, atom.Svg: true, atom.Iframe: true,
	atom.Canvas: true, atom.Select: true, atom.Datalist: true, atom.Textarea: true, atom.Noembed: true, atom.Noframes: true, atom.Object: true,
	atom.Dialog: true, atom.Annotation: true,
}

// closed elements have mandatory end tags. Only they are left out because of their attributes.
var closed = map[atom.Atom]bool{
	atom.Div: true, atom.Span: true, atom.Section: true, atom.Aside: true, atom.Header: true, atom.Footer: true, atom.Ul: true, atom.Ol: true,
	atom.A: true, atom.Button: true, atom.Form: true, atom.Table: true, atom.Figure: true, atom.Details: true, atom.Menu: true, atom.Pre: true,
	atom.I: true, atom.B: true, atom.Em: true, atom.Strong: true, atom.Sup: true, atom.Sub: true, atom.Small: true, atom.Label: true,
}

// besideRoles are ARIA roles of menus and controls.
var besideRoles = map[string]bool{
	"navigation": true, "search": true, "dialog": true, "alertdialog": true, "menu": true, "menubar": true, "toolbar": true, "contentinfo": true,
}

// besideClasses mark links to headings, to editing and to the text.
var besideClasses = map[string]bool{
	"headerlink": true, "header-anchor": true, "hash-link": true, "heading-anchor": true, "anchor-link": true, "anchorjs-link": true,
	"mw-editsection": true, "mw-jump-link": true, "skip-link": true, "skip-to-content": true,
}

// banners are parts of classes of cookie banners, beside the word cookie.
var banners = []string{"banner", "consent", "notice", "dialog", "popup", "modal", "overlay", "-bar", "law"}

type tagAttrs struct {
	lang, name, content, alt, role, class, id string
	hidden, unseen, undisplayed               bool // unseen: aria-hidden; undisplayed: by its style
	noteRef                                   bool // a reference to a note, without a sup element
	local                                     bool // a link to a place in the page
	raised                                    bool // by its style
	columns, rows                             int  // that a cell spans
	start                                     int  // number of a list's first item
	level                                     int  // of a heading by its role
}

func readAttrs(z *html.Tokenizer) (a tagAttrs) {
	for more := true; more; {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch string(k) {
		case "lang", "xml:lang":
			if a.lang == "" {
				a.lang = strings.TrimSpace(string(v))
			}
		case "name", "property":
			a.name = strings.ToLower(string(v))
		case "content":
			a.content = string(v)
		case "alt":
			a.alt = string(v)
		case "role":
			a.role = strings.ToLower(strings.TrimSpace(string(v)))
		case "aria-level":
			a.level = content.Atoi(string(v))
		case "epub:type":
			a.noteRef = strings.Contains(string(v), "noteref")
		case "href":
			a.local = len(v) > 1 && v[0] == '#'
		case "class":
			a.class = string(v)
		case "id":
			a.id = string(v)
		case "hidden":
			a.hidden = string(bytes.ToLower(v)) != "until-found"
		case "aria-hidden":
			a.unseen = string(v) == "true"
		case "colspan":
			a.columns = content.Atoi(string(v))
		case "rowspan":
			a.rows = content.Atoi(string(v))
		case "start", "value":
			a.start = content.Atoi(string(v))
		case "style":
			a.undisplayed = undisplayed.Match(v)
			a.raised = raisedStyle.Match(v)
		}
	}
	return a
}

var (
	undisplayed = regexp.MustCompile(`(?i)(?:^|;)\s*display\s*:\s*none`)
	raisedStyle = regexp.MustCompile(`(?i)(?:^|;)\s*vertical-align\s*:\s*(?:super|text-top)`)
)

// beside reports whether an element is not text of its page: controls, navigation, hidden elements
// other than tab panels, the page footer and cookie banners.
func (w *writer) beside(tag atom.Atom, a *tagAttrs) bool {
	switch {
	case !closed[tag]:
		return false
	case tag == atom.Button:
		return !w.inHead
	case tag == atom.Footer && w.content == 0, a.hidden && a.role != "tabpanel", a.unseen, w.Mail && a.undisplayed, besideRoles[a.role]:
		return true
	}
	classes := strings.Fields(strings.ToLower(a.class))
	for _, c := range classes {
		switch {
		case besideClasses[c]:
			return true
		case c == "section": // its id is the heading's, as Sphinx has it
			return false
		}
	}
	if w.content > 0 || tag != atom.Div && tag != atom.Aside {
		return false
	}
	for _, c := range append(classes, strings.ToLower(a.id)) {
		if strings.HasPrefix(c, "onetrust-") || strings.HasPrefix(c, "cybotcookiebot") {
			return true
		}
		if strings.Contains(c, "cookie") && slices.ContainsFunc(banners, func(s string) bool { return strings.Contains(c, s) }) {
			return true
		}
	}
	return false
}

var blocks = map[atom.Atom]bool{
	atom.P: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true, atom.Blockquote: true,
	atom.Article: true, atom.Section: true, atom.Aside: true, atom.Main: true, atom.Header: true, atom.Footer: true, atom.Figure: true,
	atom.Ul: true, atom.Ol: true, atom.Dl: true, atom.Menu: true, atom.Table: true, atom.Hr: true, atom.Pre: true, atom.Form: true,
	atom.Fieldset: true, atom.Details: true, atom.Address: true, atom.Div: true, atom.Body: true, atom.Head: true, atom.Center: true,
}

var ownLine = map[atom.Atom]bool{
	atom.Br: true, atom.Tr: true, atom.Dt: true, atom.Dd: true, atom.Caption: true, atom.Figcaption: true, atom.Summary: true,
	atom.Legend: true, atom.Option: true, atom.Thead: true, atom.Tbody: true, atom.Tfoot: true,
}

// run reads s to its end. check, if not nil, is called now and then; its error ends the reading.
func (w *writer) run(s string, check func() error) error {
	w.table.data = dataTables(s)
	z := html.NewTokenizer(strings.NewReader(s))
	defer func() { w.sup.End(w.out, "") }()
	for n := 0; ; n++ {
		if n%1024 == 1023 && check != nil {
			if err := check(); err != nil {
				return err
			}
		}
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		case html.TextToken:
			w.text(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			name, attrs := z.TagName()
			tag := atom.Lookup(name)
			ended := w.XML && kind == html.SelfClosingTagToken
			var a tagAttrs
			if attrs && w.skip == 0 {
				a = readAttrs(z)
			}
			w.opens(tag, kind == html.SelfClosingTagToken && !ended, &a)
			if ended {
				z.NextIsNotRawText()
				w.closes(tag)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			w.closes(atom.Lookup(name))
		}
	}
}

func (w *writer) text(b []byte) {
	switch {
	case w.skip != 0, w.reading:
	case w.inTitle:
		w.title.Inline(string(b))
	case w.sup.Open:
		w.sup.Text.Inline(string(b))
	case w.pre > 0:
		w.preformatted(content.Newlines(string(b)))
		w.placed(0)
	default:
		s := string(b)
		w.table.plain = w.table.plain || w.table.bold == 0 && content.HasText(s)
		w.sup.End(w.out, s)
		if w.ruby {
			s = withoutEndLines(s)
		}
		before := w.out.Len()
		w.out.Inline(s)
		w.placed(w.out.Len() - before)
	}
}

// placed records the place of the block whose last n bytes were written.
func (w *writer) placed(n int) {
	if w.anchors == 0 {
		n = 0
	}
	w.page.placed(w.out.Count(), n)
}

// preformatted writes a piece of a pre element; the next piece may continue its last line.
func (w *writer) preformatted(s string) {
	for i, l := range strings.Split(s, "\n") {
		if i > 0 {
			w.out.Breaks = min(w.out.Breaks+1, 2)
			w.gap = w.gap[:0]
		}
		if strings.TrimSpace(l) == "" {
			w.gap = append(w.gap, l...)
			continue
		}
		w.out.Raw(string(w.gap) + l)
		w.gap = w.gap[:0]
	}
}

func (w *writer) opens(tag atom.Atom, selfClosing bool, a *tagAttrs) {
	if tag == atom.Table {
		w.table.seen++
	}
	switch {
	case w.skip != 0:
		if tag == w.skip && !selfClosing {
			w.depth++
		}
		if !w.loose || tag != atom.Main && tag != atom.Article && tag != atom.H1 {
			return
		}
		w.skip = 0
	case skipped[tag] && (tag != atom.Nav || !w.All):
		w.left = w.left || tag == atom.Nav
		if !selfClosing || tag != atom.Svg { // in HTML a slash means nothing, in SVG it closes
			w.skip, w.depth, w.loose = tag, 1, tag == atom.Nav || tag == atom.Dialog
		}
		return
	case !w.All && w.beside(tag, a):
		w.skip, w.depth, w.loose, w.left = tag, 1, true, true
		return
	}
	w.annotated(tag, true)
	w.separates(tag)
	w.page.opens(tag, a)
	as := w.asRole(tag, a)
	byRole := as != tag
	if tag = as; byRole {
		w.separates(tag)
	}
	switch tag {
	case atom.Title:
		w.inTitle = w.title.Len() == 0
		return
	case atom.Sup:
		w.sup.End(w.out, "")
		w.sup = Superscript{Open: w.pre == 0, Note: w.anchors > 0 || a.role == "doc-noteref" || IsReference(a.class) || IsReference(a.id)}
	case atom.A:
		w.anchors++
		w.sup.Note = w.sup.Note || w.sup.Open
		if (a.noteRef || a.role == "doc-noteref" || a.local && w.pre == 0 && w.out.Joins()) && !w.sup.Open {
			w.sup.End(w.out, "")
			w.sup = Superscript{Open: true, Note: a.noteRef || a.role == "doc-noteref", Link: true, link: true}
		}
	case atom.Span:
		if a.raised && w.pre == 0 && !w.sup.Open {
			w.sup.End(w.out, "")
			w.sup = Superscript{Open: true, Note: w.anchors > 0, styled: true}
		}
	case atom.Ul, atom.Ol, atom.Menu:
		w.lists++
		w.list(tag, a.start)
	case atom.Li:
		w.items = max(1, w.lists)
		if mark := w.mark(a.start); !w.table.open {
			w.out.Item(mark)
			w.out.Begin(w.kind())
		}
	case atom.Td, atom.Th:
		w.cell(tag, a)
	case atom.Table:
		if !byRole {
			w.table.begin(w.out)
		}
	case atom.B, atom.Strong:
		w.table.bold++
	case atom.Thead:
		w.table.inHead = true
	case atom.Tr:
		w.endRow()
	case atom.Pre:
		w.pre++
		w.gap = w.gap[:0]
		w.code = cmp.Or(w.code, codeLanguage(a.class))
	case atom.Code, atom.Div:
		w.ofCode(tag, a.class)
	case atom.P:
		if w.pre == 0 {
			w.code = ""
		}
	case atom.H1:
		if w.heading == "" {
			w.h1 = w.out.Len() + 1
		}
	case atom.Html, atom.Meta, atom.Img:
		w.attributes(tag, a)
		return
	case atom.Article, atom.Main:
		w.content++
	case atom.Blockquote:
		w.content++
		w.quotes++
	}
	w.inHead = w.inHead || isHeading[tag]
	if n := headingLevel(tag); n > 0 {
		w.level = n
	} else if tag == atom.P || tag == atom.Ul || tag == atom.Ol || tag == atom.Table || tag == atom.Section {
		w.level = 0 // headings hold none of these: an end tag is missing
	}
	w.breaks(tag)
}

// separates ends the superscript before an element that is not inline.
func (w *writer) separates(tag atom.Atom) {
	if blocks[tag] || ownLine[tag] || tag == atom.Li || tag == atom.Td || tag == atom.Th {
		w.sup.End(w.out, "")
	}
}

var isHeading = map[atom.Atom]bool{
	atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true, atom.Summary: true,
}

func (w *writer) closes(tag atom.Atom) {
	if w.skip != 0 {
		if tag == w.skip {
			w.depth--
		}
		if w.depth == 0 || tag == atom.Body {
			w.skip = 0
		}
		return
	}
	w.annotated(tag, false)
	w.separates(tag)
	w.page.closes(tag)
	if len(w.roles) > 0 {
		tag = w.endRole(tag)
	}
	switch tag {
	case atom.Title:
		w.inTitle = false
	case atom.Sup:
		w.sup.Open = false
	case atom.A:
		w.anchors = max(0, w.anchors-1)
		w.sup.Open = w.sup.Open && !w.sup.link
	case atom.Span:
		w.sup.Open = w.sup.Open && !w.sup.styled
	case atom.Ul, atom.Ol, atom.Menu:
		w.lists = max(0, w.lists-1)
		w.numbers = w.numbers[:min(w.lists, len(w.numbers))]
		w.items = min(w.items, w.lists)
	case atom.Table:
		w.endRow()
		w.table.open = false
	case atom.Thead:
		w.endRow()
		w.table.inHead = false
	case atom.Tr:
		w.endRow()
	case atom.B, atom.Strong:
		w.table.bold = max(0, w.table.bold-1)
	case atom.Pre:
		if w.pre = max(0, w.pre-1); w.pre == 0 {
			w.code = ""
		}
	case atom.H1:
		if w.h1 > 0 {
			w.heading = strings.TrimSpace(w.out.String()[w.h1-1:])
			w.h1 = 0
		}
	case atom.Li:
		w.items = max(0, w.lists-1)
		if !w.table.open {
			w.out.Line()
		}
	case atom.Article, atom.Main:
		w.content = max(0, w.content-1)
	case atom.Blockquote:
		w.content = max(0, w.content-1)
		w.quotes = max(0, w.quotes-1)
	}
	w.inHead = w.inHead && !isHeading[tag]
	if headingLevel(tag) > 0 {
		w.level = 0
	}
	w.breaks(tag)
}

func (w *writer) breaks(tag atom.Atom) {
	switch {
	case w.table.open && tag != atom.Table: // cells stay on the line of their row
		switch tag {
		case atom.Tr, atom.Caption, atom.Thead, atom.Tbody, atom.Tfoot:
			w.out.Line()
		default:
			if blocks[tag] || ownLine[tag] || tag == atom.Li {
				w.out.Inline(" ")
			}
		}
		return
	case ownLine[tag]:
		w.out.Line()
	case blocks[tag] && w.out.Prefix == "":
		w.out.Block()
	}
	if (blocks[tag] || ownLine[tag] && tag != atom.Br && tag != atom.Dd) && (w.pre == 0 || tag == atom.Pre) {
		w.out.Begin(w.kind())
	}
}

func (w *writer) attributes(tag atom.Atom, a *tagAttrs) {
	switch {
	case tag == atom.Html && w.lang == "":
		w.lang = a.lang
	case tag == atom.Meta && (a.name == "description" || a.name == "og:description") && w.description == "":
		w.description = strings.Join(strings.Fields(a.content), " ")
	case tag == atom.Img && strings.TrimSpace(a.alt) != "" && !a.unseen:
		w.out.Inline(" " + a.alt + " ")
		w.placed(0)
	}
}
