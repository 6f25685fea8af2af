package web

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"example.com/searchd/extract/content"

	"golang.org/x/net/html/atom"
)

// headingLevel returns 1 to 6 for h1 to h6, else 0.
func headingLevel(tag atom.Atom) int {
	return slices.Index([]atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}, tag) + 1
}

// kind returns the kind of the block that begins here.
func (w *writer) kind() content.Block {
	switch {
	case w.pre > 0:
		return content.Block{Kind: content.Code, Language: w.code}
	case w.table.open:
		return content.Block{Kind: content.Table}
	case w.level > 0:
		return content.Block{Kind: content.Heading, Level: w.level}
	case w.items > 0:
		return content.Block{Kind: content.Item, Level: w.items}
	case w.quotes > 0:
		return content.Block{Kind: content.Quote}
	}
	return content.Block{}
}

// ofCode takes the language from the classes of a code element, or of a div around pre.
func (w *writer) ofCode(tag atom.Atom, class string) {
	switch {
	case tag == atom.Div && w.pre == 0:
		w.code = cmp.Or(codeLanguage(class), w.code)
	case tag == atom.Code && w.pre > 0 && w.out.Fresh() && codeLanguage(class) != "":
		w.code = codeLanguage(class)
		w.out.Begin(w.kind())
	}
}

var codeClass = regexp.MustCompile(`(?i)(?:^|\s)(?:lang(?:uage)?-|highlight-(?:source-|text-)?|brush:\s*|sourceCode\s+|src src-)([a-z0-9+#_.-]{1,30})`)

// codeLanguage returns the language that classes of Markdown renderers and highlighters name.
func codeLanguage(class string) string {
	m := codeClass.FindStringSubmatch(class)
	if m == nil {
		return ""
	}
	switch l := strings.ToLower(m[1]); l {
	case "none", "default", "text", "plaintext", "plain", "notranslate":
		return ""
	default:
		return strings.TrimSuffix(l, ";")
	}
}
