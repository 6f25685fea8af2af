package passage

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Markdown returns the headings, fenced code and tables of a text that looks like Markdown. Prose
// is in no block.
//
//  1. A heading is a line that begins with one to six '#' and a space, or a line behind an empty
//     one that is underlined by three or more '=' or '-'.
//  2. Code stands between two fences of three or more '`' or '~'. A fence that is not closed is
//     none.
//  3. A table is a line with '|' and all lines with '|' behind it, if the second separates a header
//     as in "--|--".
func Markdown(text string) []Block {
	if !strings.ContainsAny(text, "#=-`~") {
		return nil
	}
	var out []Block
	lines := linesOf(text)
	line := func(i int) string {
		if i < 0 || i >= len(lines) {
			return ""
		}
		return text[lines[i].Start:lines[i].End]
	}
	unclosed := map[byte]int{} // shortest fence of a character that is not closed
	behindBlock := true
	for i := 0; i < len(lines); i++ {
		b := Block{Start: lines[i].Start, End: lines[i].End}
		last := i
		switch {
		case isHeading(line(i)):
			b.Kind, b.Level = Heading, len(line(i))-len(strings.TrimLeft(line(i), "#"))
		case strings.ContainsAny(line(i), "`~") && fence.MatchString(line(i)):
			last = closing(lines, line, i, unclosed)
			b.Kind, b.Language = Code, codeLanguage(line(i))
		case strings.Contains(line(i), "|") && delimiter.MatchString(line(i+1)):
			b.Kind, b.Head = Table, lines[i+1].End
			for last = i + 1; strings.Contains(line(last+1), "|"); last++ {
			}
		case behindBlock && isUnderlined(line(i), line(i+1)):
			b.Kind, b.Level, last = Heading, 1, i+1
			if line(last)[0] == '-' {
				b.Level = 2
			}
		}
		if behindBlock = b.Kind != Paragraph && last >= i; behindBlock {
			b.End = lines[last].End
			out = append(out, b)
			i = last
		}
		behindBlock = behindBlock || strings.TrimSpace(line(i)) == ""
	}
	return out
}

var (
	fence     = regexp.MustCompile("^ {0,3}(```+[^`]*|~~~+.*)$")
	underline = regexp.MustCompile(`^(=+|-+)\s*$`)
	delimiter = regexp.MustCompile(`^\s*(\|\s*:?-+:?\s*\|?|\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?)\s*$`)
)

// linesOf returns the lines of a text without their ends.
func linesOf(text string) (out []Span) {
	for at := 0; at < len(text); {
		end := len(text)
		next := end
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end, next = at+i, at+i+1
		}
		if end > at && text[end-1] == '\r' {
			end--
		}
		out = append(out, Span{at, end})
		at = next
	}
	return out
}

// closing returns the line that closes the fence of a line, or a line before that if there is none.
func closing(lines []Span, line func(int) string, from int, unclosed map[byte]int) int {
	open := strings.TrimLeft(line(from), " ")
	length := len(open) - len(strings.TrimLeft(open, open[:1]))
	if n, ok := unclosed[open[0]]; ok && n <= length {
		return from - 1
	}
	for i := from + 1; i < len(lines); i++ {
		mark := strings.TrimSpace(line(i))
		if len(mark) >= length && strings.Trim(mark, open[:1]) == "" {
			return i
		}
	}
	unclosed[open[0]] = length
	return from - 1
}

// codeLanguage returns the language that an opening fence names.
func codeLanguage(line string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "`~")), " ")
	if name = strings.ToLower(strings.Trim(name, "{}.")); len(name) > maxLanguage || !utf8.ValidString(name) {
		return ""
	}
	return name
}

// isUnderlined reports whether a line is the title of a heading that the next line underlines.
func isUnderlined(line, next string) bool {
	return len(strings.TrimRight(next, " \t")) >= 3 && strings.IndexByte("=-", next[0]) >= 0 && underline.MatchString(next) && strings.TrimSpace(line) != "" &&
		utf8.RuneCountInString(line) <= maxTitle && !listItem.MatchString(line) && !underline.MatchString(line) && !strings.Contains(line, "|")
}

// maxTitle is how many characters a heading has at most if it is underlined.
const maxTitle = 200

// isHeading reports whether a line is a Markdown heading: one to six '#' and a space.
func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	n := len(line) - len(rest)
	return n >= 1 && n <= 6 && strings.HasPrefix(rest, " ") && !strings.Contains(strings.TrimRight(line, "\r\n"), "\n")
}

// regions returns blocks, those of [Markdown] if there are none, with paragraphs for the text
// between them.
func regions(text string, blocks []Block) []Block {
	if len(blocks) == 0 {
		blocks = Markdown(text)
	}
	out := make([]Block, 0, len(blocks)+1)
	at, page := 0, 0
	fill := func(end int) {
		if strings.TrimSpace(text[at:end]) != "" {
			out = append(out, Block{Kind: Paragraph, Start: at, End: end, Page: page})
		}
	}
	for _, b := range blocks {
		fill(b.Start)
		out = append(out, b)
		at, page = b.End, b.Page
	}
	fill(len(text))
	return out
}

// Context is what a passage needs to be understood and does not contain itself.
type Context struct {
	Trail    []string // headings of the sections that it lies in, outermost first
	Header   string   // of the table in whose rows it begins
	Language string   // of the code in which it begins
	Page     int      // on which it begins; 0: none
}

// Breadcrumb returns a document's title and the headings below it, outermost first.
func (c Context) Breadcrumb(title string) []string {
	if title = strings.TrimSpace(title); title == "" || len(c.Trail) > 0 && strings.EqualFold(c.Trail[0], title) {
		return c.Trail
	}
	return append([]string{title}, c.Trail...)
}

// Lead returns the context as text in front of a passage of a document with a title: the
// breadcrumb, the header of the table and the language of the code.
func (c Context) Lead(title string) string {
	lines := []string{strings.Join(c.Breadcrumb(title), " > "), c.Header, c.Language}
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
}

// same reports whether two contexts are equal.
func (c Context) same(d Context) bool {
	return c.Header == d.Header && c.Language == d.Language && c.Page == d.Page && slices.Equal(c.Trail, d.Trail)
}

// Bounds of a context, in bytes.
const (
	maxHeading = 256
	maxHeader  = 1024
)

// outline keeps the headings above a place while regions are read in order.
type outline struct {
	text   string
	trail  []string
	levels []int
}

// context returns the context of a passage that begins at a place in a region.
func (o *outline) context(b Block, start int) Context {
	c := Context{Page: b.Page}
	above := len(o.levels)
	if b.Kind == Heading {
		for above > 0 && o.levels[above-1] >= b.Level {
			above--
		}
	}
	c.Trail = o.trail[:above:above]
	switch {
	case b.Kind == Table && b.Head > 0 && start >= b.Head:
		for line := range strings.Lines(o.text[b.Start:b.Head]) {
			if !delimiter.MatchString(strings.TrimRight(line, "\r\n")) {
				c.Header += line
			}
		}
		c.Header = shortened(c.Header, maxHeader)
	case b.Kind == Code:
		c.Language = b.Language
	}
	return c
}

// enter notes a heading.
func (o *outline) enter(b Block) {
	if b.Kind != Heading {
		return
	}
	n := len(o.levels)
	for n > 0 && o.levels[n-1] >= b.Level {
		n--
	}
	title, _, _ := strings.Cut(strings.TrimSpace(o.text[b.Start:b.End]), "\n")
	if isHeading(title) {
		title = strings.TrimRight(strings.TrimLeft(title, "#"), "# ")
	}
	o.trail, o.levels = append(slices.Clip(o.trail[:n]), shortened(title, maxHeading)), append(o.levels[:n:n], b.Level)
}

// shortened returns text on one line, cut to n bytes.
func shortened(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > n {
		text = strings.TrimSpace(text[:RuneEnd(text, n-utf8.UTFMax)])
	}
	return text
}

// Contexts returns the contexts of passages of a text that begin at starts, which are sorted.
func Contexts(text string, blocks []Block, starts []int) []Context {
	out := make([]Context, len(starts))
	o := outline{text: text}
	i := 0
	for _, b := range regions(text, blocks) {
		for ; i < len(starts) && starts[i] < b.End; i++ {
			out[i] = o.context(b, starts[i])
		}
		o.enter(b)
	}
	return out
}
