package office

import (
	"encoding/xml"
	"strconv"

	"example.com/searchd/extract/content"
)

// beside writes comments, texts of boxes, alternative texts, and titles of charts, whose values are
// those of cells. people are the authors of threads by their ids.
func (r *archive) beside(sheet string, people map[string]string) {
	threads := map[string]bool{} // cells with a thread, which has a comment for older programs
	for _, p := range r.parts(sheet, "threadedComment", "comments", "drawing") {
		n := sheetNotes{r: r, people: people, threads: threads}
		r.read(p.target, n.token)
		for _, drawn := range r.parts(p.target, "chart", "diagramData") {
			if drawn.kind == "diagramData" {
				r.diagram(drawn.target)
			} else {
				r.chart(drawn.target, false)
			}
		}
	}
}

// sheetNotes writes a part of comments or drawings of a sheet.
type sheetNotes struct {
	r                          *archive
	people                     map[string]string
	threads                    map[string]bool
	authors                    []string // of comments
	author                     string   // of the comment that begins, which Excel repeats there
	inText, inAuthor, repeated bool
}

func (n *sheetNotes) token(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		n.opens(t)
	case xml.EndElement:
		n.inText, n.inAuthor = false, false
		if t.Name.Local == "p" {
			n.r.out.Line()
		}
	case xml.CharData:
		s := unescapeXML(string(t))
		switch {
		case n.inAuthor:
			n.authors[len(n.authors)-1] += s
		case n.inText:
			n.r.out.Inline(withoutAuthor(s, n.author))
			if content.HasText(s) {
				n.author = ""
			}
		}
	}
}

func (n *sheetNotes) opens(t xml.StartElement) {
	name := t.Name.Local
	switch name {
	case "author":
		if n.inAuthor = len(n.authors) < maxMembers; n.inAuthor {
			n.authors = append(n.authors, "")
		}
	case "comment", "threadedComment":
		cell := content.Attr(t, "ref")
		if n.repeated = name == "comment" && n.threads[cell]; n.repeated {
			return
		}
		n.threads[cell] = n.threads[cell] || name == "threadedComment"
		n.author = n.people[content.Attr(t, "personId")]
		if i, err := strconv.Atoi(content.Attr(t, "authorId")); err == nil && i >= 0 && i < len(n.authors) {
			n.author = content.OneLine(n.authors[i])
		}
		n.r.out.Block()
		n.r.out.Prefix = by("Comment", n.author)
	case "cNvPr":
		if s := content.Attr(t, "descr"); content.IsAlt(s) {
			n.r.out.Block()
			n.r.out.Inline(s)
		}
	case "sp":
		n.r.out.Block()
	}
	n.inText = !n.repeated && (name == "t" || name == "text")
}
