// Package notes reads Markdown and what note-taking programs write: Obsidian's and Logseq's
// dialects with front matter, Jupyter notebooks, canvases and outlines.
package notes

import (
	"bufio"
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/web"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	gext "github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	ghtml "github.com/yuin/goldmark/renderer/html"
	gtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdownParser is safe for concurrent use. It has no table extension: that pads each short row to
// the width of the header, so that 64 KiB make a hundred million cells. The method paragraph of
// markdownWriter recognises tables instead.
var markdownParser = func() parser.Parser {
	p := goldmark.New(goldmark.WithExtensions(gext.Strikethrough, gext.TaskList)).Parser()
	p.AddOptions(parser.WithAttribute())                                                                           // # Heading {#id}
	p.AddOptions(parser.WithInlineParsers(util.Prioritized(noteLinks{}, 150), util.Prioritized(noteMarks{}, 500))) // links of notes before others, which have 200
	p.AddOptions(parser.WithInlineParsers(util.Prioritized(noteTags{}, 900)))
	p.AddOptions(parser.WithParagraphTransformers(util.Prioritized(noteDefinitions{}, 50))) // before definitions of links, which have 100
	return p
}()

// Markdown reads Markdown with its front matter and the tags in its text.
func Markdown(x *content.File, b []byte) (content.Content, error) { return markdown(x, b, true) }

func markdown(x *content.File, b []byte, tags bool) (content.Content, error) {
	s, err := x.Text(0, b)
	if err != nil {
		return content.Content{}, err
	}
	fields, body, bad := frontMatter(content.Newlines(s))
	if x.Ext() == ".mdx" {
		body = withoutScript(body)
	}
	body = withoutGrids(body)
	for _, b := range bad {
		if err := x.Warnf(b.line, "front matter: %s", b.reason); err != nil {
			return content.Content{}, err
		}
	}
	withoutBrackets(fields)
	content.StandardTimes(fields)
	listTags(fields)
	c := content.Content{Fields: fields}
	if t, ok := fields["title"].(string); ok {
		c.Title = t
	}
	w := markdownWriter{}
	if tags {
		w.tagger = newNoteTagger(body)
	}
	if err := writeMarkdown(x, &w, body, time.Now()); err != nil {
		return content.Content{}, err
	}
	c.Text, c.Blocks = w.out.String(), w.out.Blocks()
	if w.tagger != nil {
		c.Fields = addTags(c.Fields, w.tagger.tags.list)
	}
	switch _, drawing := fields["excalidraw-plugin"]; {
	case c.Title != "":
	case drawing: // has the same headings as all others
		c.Title = strings.TrimSuffix(x.Stem(), ".excalidraw")
	case w.entitled:
		c.Title = w.title
	}
	return c, nil
}

// writeMarkdown writes the text of body, section by section.
func writeMarkdown(x *content.File, w *markdownWriter, body string, start time.Time) error {
	open := "" // the line that opens the code fence in which a section begins
	for len(body) > 0 {
		if err := x.Ended(); err != nil {
			return err
		}
		n, next := sectionEnd(body, open)
		err := content.BudgetSpent(start)
		if err == nil {
			err = w.parse(open + body[:n])
		}
		open = next
		if err != nil {
			if err := x.Warnf(0, "Markdown is too contorted to parse (%v); the rest is kept as it stands", err); err != nil {
				return err
			}
			w.out.Block()
			w.out.Verbatim(body)
			break
		}
		body = body[n:]
	}
	return nil
}

type markdownWriter struct {
	out      content.Builder
	title    string // text of the first heading
	level    int    // of it
	atop     bool   // it stands before all else
	entitled bool   // it is the title of the text, not of a section: # first of all or once, another level first of all and once
	source   []byte
	rows     bool        // inside a paragraph that is a table: line ends are kept
	callout  bool        // in the first line of a callout, which is its title
	settings bool        // behind the mark of the settings of a board
	tagger   *noteTagger // nil: tags are not noted
	sup      web.Superscript
	anchor   bool // inside an a element
}

// parse writes the text of a section. A panic of the parser becomes an error.
func (w *markdownWriter) parse(section string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parser: %v", p)
		}
	}()
	w.source = []byte(section)
	pc := parser.NewContext()
	pc.Set(noteTaggerKey, w.tagger)
	return ast.Walk(markdownParser.Parse(gtext.NewReader(w.source), parser.WithContext(pc)), w.visit)
}

func (w *markdownWriter) visit(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if n.Type() == ast.TypeInline {
		return w.inline(n, entering), nil
	}
	w.sup.End(&w.out, "")
	w.anchor = false
	switch n := n.(type) {
	case *ast.Heading:
		if entering {
			w.heads(n.Level)
		}
		w.out.Block()
		w.out.Begin(w.kind(n))
		if !entering && w.title == "" {
			t := markdownWriter{source: w.source}
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				_ = ast.Walk(c, t.visit) // visit never fails
			}
			w.title = t.out.String()
		}
	case *ast.Paragraph:
		leftOut, settings := isLeftOut(n.Lines().Value(w.source))
		if w.settings = w.settings && !entering || settings; leftOut {
			return ast.WalkSkipChildren, nil
		}
		w.paragraph(n, entering)
		w.tagsOf(n, entering)
	case *ast.TextBlock, *ast.List:
		w.tagsOf(n, entering)
		if _, nested := n.Parent().(*ast.ListItem); nested || !isList(n) {
			w.out.Line()
		} else {
			w.out.Block()
		}
		if entering {
			w.out.Begin(w.kind(n))
		}
	case *ast.ListItem:
		w.listItem(n, entering)
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		w.out.Block()
		if fenced, ok := n.(*ast.FencedCodeBlock); ok && string(fenced.Language(w.source)) == "compressed-json" || w.settings {
			return ast.WalkSkipChildren, nil // a drawing of Excalidraw, or settings of a board
		}
		if entering {
			w.out.Begin(w.kind(n))
			w.out.Verbatim(string(n.Lines().Value(w.source)))
		}
		return ast.WalkSkipChildren, nil
	case *ast.HTMLBlock:
		if entering {
			raw := n.Lines().Value(w.source)
			if n.HasClosure() {
				raw = append(bytes.Clone(raw), n.ClosureLine.Value(w.source)...)
			}
			w.out.Block()
			w.out.Begin(w.kind(n))
			if bytes.Contains(raw, []byte("<!--")) && !bytes.Contains(raw, []byte("-->")) { // never closed: all that follows would be lost
				w.out.Verbatim(string(raw))
				w.out.Block()
				return ast.WalkSkipChildren, nil
			}
			_ = web.Write(&w.out, string(raw), web.Options{All: true}, nil) // without a check it cannot fail
			w.out.Block()
		}
		return ast.WalkSkipChildren, nil
	default:
		w.out.Block()
	}
	return ast.WalkContinue, nil
}

// kind returns the kind of the block of a node.
func (w *markdownWriter) kind(n ast.Node) content.Block {
	switch n := n.(type) {
	case *ast.Heading:
		return content.Block{Kind: content.Heading, Level: n.Level}
	case *ast.FencedCodeBlock:
		return content.Block{Kind: content.Code, Language: fenceLanguage(n, w.source)}
	case *ast.CodeBlock:
		return content.Block{Kind: content.Code}
	}
	b := content.Block{}
	for p, depth := n.Parent(), 0; p != nil && depth < maxAncestors; p, depth = p.Parent(), depth+1 {
		switch p.Kind() {
		case ast.KindListItem:
			b.Kind, b.Level = content.Item, b.Level+1
		case ast.KindBlockquote:
			if b.Kind == content.Paragraph {
				b.Kind = content.Quote
			}
		}
	}
	return b
}

// maxAncestors is the number of lists and quotes around a block that count.
const maxAncestors = 100

// tagsOf collects the tags in lines of their own.
func (w *markdownWriter) tagsOf(n ast.Node, entering bool) {
	if entering && w.tagger != nil && !isList(n) {
		w.tagger.property(n.Lines(), w.source)
	}
}

// heads takes a heading and decides whether the first one is the title.
func (w *markdownWriter) heads(level int) {
	switch {
	case w.title == "":
		w.level, w.atop = level, w.out.Len() == 0
		w.entitled = level == 1 || w.atop
	case w.level == 1 && w.atop:
	case level <= w.level:
		w.entitled = false
	}
}

func isList(n ast.Node) bool {
	_, ok := n.(*ast.List)
	return ok
}

func (w *markdownWriter) listItem(n *ast.ListItem, entering bool) {
	if !entering {
		w.out.Line()
		return
	}
	prefix := "- "
	if list, ok := n.Parent().(*ast.List); ok && list.IsOrdered() {
		number := list.Start
		for p := n.PreviousSibling(); p != nil && number < list.Start+999; p = p.PreviousSibling() {
			number++
		}
		prefix = fmt.Sprintf("%d. ", number)
	}
	w.out.Item(prefix)
	if first := n.FirstChild(); first != nil {
		w.out.Begin(w.kind(first))
	}
}

// tableRule matches the second line of a table:
//
// ---
//
// :-: |
var tableRule = regexp.MustCompile(`^[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)

// paragraph begins or ends a paragraph. The rows of a table keep their lines, without the rule and
// the outer bars.
func (w *markdownWriter) paragraph(n *ast.Paragraph, entering bool) {
	if entering {
		if n.PreviousSibling() != nil || !isListItem(n.Parent()) {
			w.out.Block()
		}
		w.out.Begin(w.kind(n))
		lines := n.Lines()
		if lines.Len() < 2 {
			return
		}
		first, second := lines.At(0), lines.At(1)
		rule := bytes.TrimRight(second.Value(w.source), "\n")
		w.rows = bytes.IndexByte(first.Value(w.source), '|') >= 0 && bytes.IndexByte(rule, '|') >= 0 && tableRule.Match(rule)
		if w.rows {
			w.out.Begin(content.Block{Kind: content.Table})
		}
		return
	}
	if b := w.out.Last(); w.rows && b != nil {
		if n := strings.IndexByte(w.out.String()[b.Start:], '\n'); n > 0 {
			b.Head = b.Start + n
		}
	}
	w.rows, w.callout = false, false
	w.out.Block()
}

func isListItem(n ast.Node) bool {
	_, ok := n.(*ast.ListItem)
	return ok
}

func (w *markdownWriter) inline(n ast.Node, entering bool) ast.WalkStatus {
	switch n := n.(type) {
	case *ast.Text:
		if entering {
			w.text(n)
		}
	case *ast.String:
		if entering {
			w.out.Inline(string(n.Value))
			w.callout = w.callout || n.IsRaw()
		}
	case *ast.AutoLink:
		if entering {
			w.out.Inline(string(n.Label(w.source)))
		}
		return ast.WalkSkipChildren
	case *ast.Link:
		w.sup.Note = w.sup.Note || w.sup.Open && !w.sup.Link
		if entering {
			w.link(bytes.HasPrefix(n.Destination, []byte("#")))
		} else {
			w.sup.Open = w.sup.Open && !w.sup.Link
		}
	case *ast.RawHTML:
		if entering {
			w.tag(n.Segments.Value(w.source))
		}
		return ast.WalkSkipChildren
	case *east.TaskCheckBox:
		if entering && n.IsChecked {
			w.out.Inline("[x] ")
		} else if entering {
			w.out.Inline("[ ] ")
		}
	}
	return ast.WalkContinue
}

// tag takes an HTML tag within a line.
func (w *markdownWriter) tag(tag []byte) {
	switch lower := bytes.ToLower(tag); {
	case isBreak(tag):
		w.sup.End(&w.out, "")
		w.out.Line()
	case bytes.HasPrefix(lower, []byte("<sup>")), bytes.HasPrefix(lower, []byte("<sup ")):
		w.sup.End(&w.out, "")
		w.sup = web.Superscript{Open: true, Note: w.anchor || web.IsReference(string(tag))}
	case bytes.HasPrefix(lower, []byte("</sup")):
		w.sup.Open = false
	case bytes.HasPrefix(lower, []byte("<a ")):
		w.anchor = true
		w.sup.Note = w.sup.Note || w.sup.Open && !w.sup.Link
		w.link(bytes.Contains(lower, []byte(`href="#`)))
	case bytes.HasPrefix(lower, []byte("</a")):
		w.anchor = false
		w.sup.Open = w.sup.Open && !w.sup.Link
	}
}

// link begins a link. One to a place in the text, right behind a word, may be a footnote mark.
func (w *markdownWriter) link(local bool) {
	if local && !w.sup.Open && w.out.Joins() {
		w.sup.End(&w.out, "")
		w.sup = web.Superscript{Open: true, Link: true}
	}
}

func isBreak(tag []byte) bool { return len(tag) > 3 && strings.EqualFold(string(tag[:3]), "<br") }

func (w *markdownWriter) text(n *ast.Text) {
	raw := n.Segment.Value(w.source)
	_, code := n.Parent().(*ast.CodeSpan)
	s := string(raw)
	if !n.IsRaw() && !code && bytes.ContainsAny(raw, `\&`) {
		// The writer of the HTML renderer resolves backslashes and entities together, as CommonMark
		// asks.
		var b bytes.Buffer
		bw := bufio.NewWriter(&b)
		ghtml.DefaultWriter.Write(bw, raw)
		_ = bw.Flush() // a Buffer does not fail
		s = html.UnescapeString(b.String())
	}
	if w.rows {
		if s = w.row(n, s); code {
			s = strings.ReplaceAll(s, `\|`, "|")
		}
	}
	if !code && isProperty(n, s) {
		return
	}
	if endsBlock(n) {
		s = blockName.ReplaceAllString(s, "")
	}
	if w.sup.Open {
		w.sup.Text.Inline(s)
		return
	}
	w.sup.End(&w.out, s)
	w.out.Inline(s)
	switch {
	case n.HardLineBreak(), n.SoftLineBreak() && (w.rows || w.callout):
		w.out.Line()
		w.callout = false
	case n.SoftLineBreak():
		w.out.Inline(" ")
	}
}

// row removes the outer bars of a table's row, and the rule.
func (w *markdownWriter) row(n *ast.Text, s string) string {
	if tableRule.MatchString(s) && strings.IndexByte(s, '-') >= 0 {
		return ""
	}
	if prev, ok := n.PreviousSibling().(*ast.Text); n.PreviousSibling() == nil || ok && prev.SoftLineBreak() {
		s = strings.TrimPrefix(strings.TrimLeft(s, " \t"), "|")
	}
	if n.NextSibling() == nil || n.SoftLineBreak() {
		s = strings.TrimSuffix(strings.TrimRight(s, " \t"), "|")
	}
	return s
}
