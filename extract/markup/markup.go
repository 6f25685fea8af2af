// Package markup reads plain text, and lightweight markup line by line: Org, reStructuredText,
// AsciiDoc, LaTeX and subtitles. It removes most of the markup; it is no complete parser of any of
// them.
package markup

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"example.com/searchd/extract/content"
)

// markups remove the markup of texts by extension. Line ends are LF.
var markups = map[string]func(string) content.Content{
	".org": orgText, ".rst": rstText, ".adoc": adocText, ".asciidoc": adocText, ".tex": texText, ".srt": subtitles, ".vtt": subtitles,
}

// maxMarkedLine is the length in bytes from which a line is kept as it is: the expressions may take
// quadratic time.
const maxMarkedLine = 4 << 10

var (
	orgKeyword  = regexp.MustCompile(`^[ \t]*#\+([A-Za-z_-]+)(?:\[[^\]]*\])?:[ \t]*(.*)$`)
	orgBlock    = regexp.MustCompile(`(?i)^[ \t]*#\+(begin|end)_(\S+)`)
	orgHeading  = regexp.MustCompile(`^\*+[ \t]+(.*)$`)
	orgPriority = regexp.MustCompile(`\[#[A-Z0-9]\] ?`)
	orgLink     = regexp.MustCompile(`\[\[(?:file:)?([^\[\]\n]+)\](?:\[([^\[\]\n]+)\])?\]`)
	orgRule     = regexp.MustCompile(`^[ \t]*\|[-+]+\|?[ \t]*$`)
	orgRow      = regexp.MustCompile(`^[ \t]*\|(.*?)\|?[ \t]*$`)
	orgDate     = regexp.MustCompile(`\d{4}-\d\d-\d\d`)
)

// orgText reads Org; the keywords title, author, date and filetags become fields.
func orgText(s string) content.Content {
	c := content.Content{Fields: map[string]any{}}
	var p plainLines
	verbatim := false // in a block of code
	lines := strings.Split(s, "\n")
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if p.raw(l) {
			p.line(l)
			continue
		}
		if n := orgDrawer(lines[i:]); n > 0 && !verbatim {
			i += n
			continue
		}
		if m := orgBlock.FindStringSubmatch(l); m != nil {
			kind := strings.ToLower(m[2])
			verbatim = strings.EqualFold(m[1], "begin") && (kind == "src" || kind == "example")
			p.line("")
			continue
		}
		m := orgKeyword.FindStringSubmatch(l)
		switch {
		case verbatim:
			p.add(l, content.Block{Kind: content.Code})
			continue
		case m != nil:
			takeKeyword(&c, strings.ToLower(m[1]), m[2])
			continue
		case l == "#", strings.HasPrefix(strings.TrimLeft(l, " \t"), "# "), orgRule.MatchString(l):
			continue
		}
		l = orgLink.ReplaceAllStringFunc(l, func(link string) string {
			m := orgLink.FindStringSubmatch(link)
			if m[2] != "" {
				return m[2]
			}
			return m[1]
		})
		if m := orgHeading.FindStringSubmatch(l); m != nil {
			p.heading(strings.Join(strings.Fields(orgPriority.ReplaceAllLiteralString(m[1], "")), " "), strings.IndexAny(l, " \t"))
		} else if m := orgRow.FindStringSubmatch(l); m != nil {
			p.add(cells(m[1]), content.Block{Kind: content.Table})
		} else {
			p.line(l)
		}
	}
	c.Text, c.Blocks = p.String(), p.blocks()
	return c
}

// orgDrawer returns the number of lines of a drawer behind its first one, 0 if there is none.
func orgDrawer(lines []string) int {
	switch strings.ToUpper(strings.TrimSpace(lines[0])) {
	case ":PROPERTIES:", ":LOGBOOK:", ":CLOCK:":
		for n, l := range lines[1:min(len(lines), 200)] {
			if strings.EqualFold(strings.TrimSpace(l), ":END:") {
				return n + 1
			}
			if strings.HasPrefix(l, "*") {
				break
			}
		}
	}
	return 0
}

func takeKeyword(c *content.Content, key, value string) {
	value = strings.TrimSpace(value)
	switch key {
	case "title":
		c.Title = strings.TrimSpace(c.Title + " " + value)
	case "author":
		if value != "" {
			c.Fields["author"] = value
		}
	case "date":
		if date := orgDate.FindString(value); date != "" {
			c.Fields["date"] = date
		}
	case "filetags":
		tags := []any{}
		for _, tag := range strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ' ' }) {
			tags = append(tags, tag)
		}
		if len(tags) > 0 {
			c.Fields["tags"] = tags
		}
	}
}

// cells normalises the spaces of a table row.
func cells(row string) string {
	all := strings.Split(row, "|")
	for i, cell := range all {
		all[i] = strings.TrimSpace(cell)
	}
	return strings.Trim(strings.Join(all, " | "), " |")
}

var (
	rstAdornment = regexp.MustCompile("^(={2,}|-{2,}|~{2,}|\\^{2,}|\"{2,}|'{2,}|`{2,}|#{2,}|\\*{2,}|\\+{2,}|_{2,}|:{2,}|\\.{2,}|<{2,}|>{2,})$")
	rstTable     = regexp.MustCompile(`^[ \t]*(={2,}( +={2,})+|\+([-=]+\+)+)[ \t]*$`)
	rstDirective = regexp.MustCompile(`^[ \t]*\.\. (?:\|[^|]+\| )?([A-Za-z][\w:.+-]*)::[ \t]*(.*)$`)
	rstOption    = regexp.MustCompile(`^[ \t]+:[\w -]+:(?:[ \t].*)?$`)
	rstComment   = regexp.MustCompile(`^[ \t]*\.\.([ \t].*)?$`)
	rstNote      = regexp.MustCompile(`^[ \t]*\.\. \[([^\]]+)\][ \t]*(.*)$`)
	rstRole      = regexp.MustCompile("(?::[A-Za-z][\\w:.+-]*:)?`+([^`<\n]*?)[ ]?(?:<([^<>`\n]*)>)?`+_{0,2}")
)

// rstWords are the directives whose argument is text.
var rstWords = map[string]bool{"note": true, "warning": true, "tip": true, "hint": true, "important": true, "caution": true, "danger": true, "attention": true, "error": true,
	"admonition": true, "seealso": true, "topic": true, "sidebar": true, "rubric": true, "versionadded": true, "versionchanged": true, "deprecated": true, "glossary": true,
	"function": true, "class": true, "method": true, "attribute": true, "option": true, "envvar": true, "data": true, "table": true, "csv-table": true, "list-table": true}

// rstCode are the directives whose content is code.
var rstCode = map[string]bool{"code": true, "code-block": true, "sourcecode": true, "parsed-literal": true, "prompt": true, "ipython": true}

// rstText reads reStructuredText.
func rstText(s string) content.Content {
	var p plainLines
	title, options := "", false
	marks := ""      // of headings, by level
	literal := false // in an indented block of code
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if p.raw(l) {
			p.line(l)
			continue
		}
		if options = options && rstOption.MatchString(l); options {
			continue
		}
		l = strings.TrimRight(l, " \t")
		if literal = literal && (l == "" || l[0] == ' ' || l[0] == '\t'); literal {
			p.add(l, content.Block{Kind: content.Code})
			continue
		}
		if rstAdornment.MatchString(l) || rstTable.MatchString(l) {
			continue
		}
		if i+1 < len(lines) && underlined(l, lines[i+1]) {
			h := strings.TrimSpace(rstInline(l))
			mark := lines[i+1][:1]
			if !strings.Contains(marks, mark) {
				marks += mark
			}
			if p.heading(h, strings.Index(marks, mark)+1); title == "" && len(p.out) <= 2 {
				title = h
			}
			continue
		}
		if m := rstDirective.FindStringSubmatch(l); m != nil {
			options = true
			name := m[1][strings.LastIndexByte(m[1], ':')+1:]
			if rstWords[name] && m[2] != "" {
				p.line(rstInline(m[2]))
			}
			if literal = rstCode[name]; literal {
				p.line("")
			}
			continue
		}
		if m := rstNote.FindStringSubmatch(l); m != nil {
			p.line("[" + m[1] + "] " + rstInline(m[2]))
			continue
		}
		if rstComment.MatchString(l) {
			continue
		}
		if code, ok := strings.CutSuffix(l, "::"); ok {
			l, literal = code+":", !strings.HasPrefix(l, " ")
		} else if m := orgRow.FindStringSubmatch(l); m != nil && strings.HasSuffix(l, "|") {
			p.add(rstInline(cells(m[1])), content.Block{Kind: content.Table})
			continue
		}
		p.line(rstInline(l))
	}
	c := content.Content{Title: title, Text: p.String(), Blocks: p.blocks()}
	if c.Title == "" {
		c.Title = content.TitleLine(c.Text)
	}
	return c
}

// underlined reports whether next makes l a heading.
func underlined(l, next string) bool {
	l, next = strings.TrimRight(l, " \t"), strings.TrimRight(next, " \t")
	return strings.TrimSpace(l) != "" && len(next) >= 3 && rstAdornment.MatchString(next) && !rstAdornment.MatchString(l) && len(next) >= utf8.RuneCountInString(strings.TrimSpace(l))-2
}

// rstInline removes roles, links and quotes.
func rstInline(l string) string {
	return rstRole.ReplaceAllStringFunc(l, func(s string) string {
		m := rstRole.FindStringSubmatch(s)
		if m[1] != "" {
			return m[1]
		}
		return m[2]
	})
}

var (
	adocHeading   = regexp.MustCompile(`^(={1,6}|#{1,6})[ \t]+(.+?)(?:[ \t]+=+)?[ \t]*$`)
	adocAttribute = regexp.MustCompile(`^:!?[\w-]+!?:(?:[ \t].*)?$`)
	adocDelimiter = regexp.MustCompile(`^(-{4,}|={4,}|\*{4,}|_{4,}|\.{4,}|\+{4,}|/{4,}|[|,:!]===+|--)[ \t]*$`)
	adocStyle     = regexp.MustCompile(`^\[[^\]]*\]+[ \t]*$`)
	adocMacro     = regexp.MustCompile(`^(image|video|audio|include|toc|ifdef|ifndef|endif)::[^\[]*\[([^\],]*).*\][ \t]*$`)
	adocLink      = regexp.MustCompile(`(?:link:|xref:|mailto:|(https?://))([^\s\[\]]+)\[([^\]\n]*)\]`)
	adocRef       = regexp.MustCompile(`<<([^<>,\n]+)(?:,[ ]*([^<>\n]+))?>>`)
	adocNote      = regexp.MustCompile(`footnote:\w*\[([^\]\n]*)\]`)
)

// adocText reads AsciiDoc.
func adocText(s string) content.Content {
	c := content.Content{}
	var p plainLines
	verbatim := "" // the line that ends the block of code or the comment
	for l := range strings.Lines(s) {
		l = strings.TrimRight(l, " \t\n")
		if p.raw(l) {
			p.line(l)
			continue
		}
		delimiter := adocDelimiter.MatchString(l)
		switch {
		case verbatim != "" && l != verbatim:
			if verbatim[0] != '/' {
				p.add(l, content.Block{Kind: content.Code})
			}
			continue
		case verbatim != "":
			verbatim = ""
			p.line("")
			continue
		case delimiter:
			if len(l) >= 4 && strings.IndexByte("-./+", l[0]) >= 0 {
				verbatim = l
			}
			p.line("")
			continue
		case strings.HasPrefix(l, "//"), adocAttribute.MatchString(l), adocStyle.MatchString(l):
			continue
		}
		if m := adocMacro.FindStringSubmatch(l); m != nil {
			if m[1] == "image" || m[1] == "video" {
				p.line(m[2])
			}
			continue
		}
		l = adocNote.ReplaceAllString(adocRef.ReplaceAllStringFunc(adocLink.ReplaceAllStringFunc(l, func(link string) string {
			m := adocLink.FindStringSubmatch(link)
			if m[3] != "" {
				return m[3]
			}
			return m[1] + m[2]
		}), func(ref string) string {
			m := adocRef.FindStringSubmatch(ref)
			if m[2] != "" {
				return m[2]
			}
			return m[1]
		}), " $1")
		switch m := adocHeading.FindStringSubmatch(l); {
		case m != nil && len(m[1]) == 1 && c.Title == "":
			c.Title = m[2]
		case m != nil:
			p.heading(m[2], len(m[1]))
		case strings.HasPrefix(l, "|"):
			p.add(cells(l), content.Block{Kind: content.Table})
		case len(l) > 2 && l[0] == '.' && l[1] != '.' && l[1] != ' ':
			p.line(l[1:]) // the title of a block
		default:
			p.line(l)
		}
	}
	c.Text, c.Blocks = p.String(), p.blocks()
	return c
}

var (
	cueTime = regexp.MustCompile(`^(?:\d+:)?\d+:\d\d[.,]\d+[ \t]+-->[ \t]`)
	cueTag  = regexp.MustCompile(`</?[a-zA-Z0-9][^<>\n]*>|\{\\[^{}\n]*\}`)
	cueNum  = regexp.MustCompile(`^\d+$`)
)

// subtitles reads SubRip and WebVTT: the spoken text without times and numbers.
func subtitles(s string) content.Content {
	var p plainLines
	var said []string
	cue, head := false, false
	end := func() {
		l := strings.Join(said, " ")
		if n := len(p.out); l != "" && (n == 0 || p.out[n-1] != l) {
			p.line(l)
		}
		said, cue = nil, false
	}
	for l := range strings.Lines(s) {
		l = strings.TrimSpace(l)
		switch {
		case l == "":
			end()
			head = false
		case cueTime.MatchString(l):
			if !cue {
				said = nil // the number, or the name, of the cue
			}
			cue, head = true, false
		case head, !cue && (strings.HasPrefix(l, "WEBVTT") || l == "NOTE" || strings.HasPrefix(l, "NOTE ") || l == "STYLE" || l == "REGION"):
			head = true
		case !cue && cueNum.MatchString(l):
		default:
			if !p.raw(l) {
				l = strings.TrimSpace(cueTag.ReplaceAllLiteralString(l, ""))
			}
			if l != "" {
				said = append(said, l)
			}
		}
	}
	end()
	return content.Content{Text: p.String()}
}

// Text reads plain text and removes the markup of its extension.
func Text(x *content.File, b []byte) (content.Content, error) {
	s, err := x.Text(0, b)
	if err != nil {
		return content.Content{}, err
	}
	if !content.IsText([]byte(s[:min(len(s), 64<<10)])) {
		return content.Content{}, x.Reject("binary data, not text")
	}
	if strings.HasPrefix(s, `{\rtf`) {
		return content.Content{}, x.Reject("RTF, not plain text; call it .rtf, or say --format rtf")
	}
	s = content.Newlines(s)
	if without := markups[x.Ext()]; without != nil {
		if c := without(s); content.HasText(c.Text) || content.HasText(c.Title) {
			return c, nil
		}
	}
	return content.Content{Title: content.OwnTitle(s), Text: strings.TrimRight(s, " \t\n")}, nil
}
