package reference

import (
	"embed"
	"html"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html
var files embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"prose": func(s string) template.HTML { return prose(s, true) },
	"line":  func(s string) template.HTML { return prose(s, false) },
	"lower": strings.ToLower,
	"join":  strings.Join,
	"usual": func(a Answer) bool { return a.Status != "default" },
	"path": func(s string) template.HTML { // may break after slashes
		return template.HTML(strings.ReplaceAll(html.EscapeString(s), "/", "/<wbr>"))
	},
}).ParseFS(files, "page.html"))

// Render writes the page. It loads its style and its script from ui/ beside it, and nothing from
// elsewhere.
func (d *Document) Render(w io.Writer) error { return page.Execute(w, d) }

// prose turns a description into HTML: text between backticks is code, and, with paragraphs, an
// empty line begins another.
func prose(s string, paragraphs bool) template.HTML {
	var b strings.Builder
	parts := []string{s}
	if paragraphs {
		parts = strings.Split(strings.TrimSpace(s), "\n\n")
	}
	for _, p := range parts {
		if paragraphs {
			b.WriteString("<p>")
		}
		for i, span := range strings.Split(p, "`") {
			text := html.EscapeString(span)
			if i%2 == 1 {
				text = "<code>" + text + "</code>"
			}
			b.WriteString(text)
		}
		if paragraphs {
			b.WriteString("</p>")
		}
	}
	return template.HTML(b.String())
}
