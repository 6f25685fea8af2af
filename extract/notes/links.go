package notes

import (
	"bytes"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	gtext "github.com/yuin/goldmark/text"
)

// noteLinks parses the links and callouts of Obsidian and Logseq: [[Note]],
// [[folder/Note#Heading|text]] and ![[picture.png|300]] become the text that these programs show,
// and > [!warning]- Title becomes its title.
type noteLinks struct{}

// Trigger returns the first characters of links and callouts.
func (noteLinks) Trigger() []byte { return []byte{'[', '!'} }

const maxNoteLink = 500

var calloutMark = regexp.MustCompile(`^\[!([A-Za-z][A-Za-z-]{0,30})\][+-]?[ \t]*`)

// Parse returns the text of a link or, raw, the mark of a callout; nil if there is none here.
func (noteLinks) Parse(parent ast.Node, block gtext.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	line = line[:min(len(line), maxNoteLink)]
	if bytes.HasPrefix(line, []byte("[!")) {
		m := calloutMark.FindSubmatch(line)
		if m == nil || parent.HasChildren() || parent.Kind() != ast.KindParagraph || parent.Parent().Kind() != ast.KindBlockquote || parent.PreviousSibling() != nil {
			return nil
		}
		block.Advance(len(m[0]))
		mark := ast.NewString(nil)
		if len(bytes.TrimSpace(line[len(m[0]):])) == 0 { // without a title its kind is shown
			mark.Value = append(bytes.ToUpper(m[1][:1]), bytes.ToLower(m[1][1:])...)
		}
		mark.SetRaw(true)
		return mark
	}
	rest, embedded := bytes.CutPrefix(line, []byte("!"))
	rest, ok := bytes.CutPrefix(rest, []byte("[["))
	n := bytes.IndexAny(rest, "[]\n")
	if !ok || n <= 0 || !bytes.HasPrefix(rest[n:], []byte("]]")) {
		return nil
	}
	target, after := string(rest[:n]), rest[n+2:]
	if strings.TrimSpace(target) == "" || len(after) > 0 && (after[0] == '(' || after[0] == '[') { // [[1]](url) is a link whose text is [1]
		return nil
	}
	block.Advance(len(line) - len(after))
	return ast.NewString([]byte(linkText(target, embedded)))
}

// linkText returns the text that is shown for a link, followed by its target in parentheses if the
// text does not name it, so that a note's name finds the links to it.
func linkText(s string, embedded bool) string {
	shown := shownLink(s, embedded)
	target := shownLink(strings.TrimSuffix(before(s, "|"), `\`), embedded)
	if name := path.Base(before(target, " > ")); strings.Contains(strings.ToLower(shown), strings.ToLower(name)) {
		return shown
	}
	return shown + " (" + target + ")"
}

func before(s, sep string) string {
	s, _, _ = strings.Cut(s, sep)
	return s
}

// shownLink returns the text that is shown for the inside of a link.
func shownLink(s string, embedded bool) string {
	target, text, named := strings.Cut(s, "|")
	target = strings.TrimSuffix(target, `\`) // in tables
	if text = strings.TrimSpace(text); named && text != "" && !(embedded && strings.Trim(text, "0123456789x") == "") {
		return text
	}
	note, heading, _ := strings.Cut(target, "#")
	switch note, heading = strings.TrimSpace(note), strings.TrimSpace(heading); {
	case heading == "", strings.HasPrefix(heading, "^"): // a block, by a name that nobody reads
		return note
	case note == "":
		return heading
	default:
		return note + " > " + heading
	}
}

var noteLink = regexp.MustCompile(`!?\[\[([^\[\]\n]{1,500})\]\]`)

// withoutBrackets replaces links in properties, such as people: ["[[Anna]]"], by their text.
func withoutBrackets(fields map[string]any) {
	for key, value := range fields {
		fields[key] = shownValue(value)
	}
}

func shownValue(value any) any {
	switch v := value.(type) {
	case string:
		return noteLink.ReplaceAllStringFunc(v, func(link string) string {
			inner, embedded := strings.CutPrefix(link, "!")
			return shownLink(inner[2:len(inner)-2], embedded)
		})
	case []any:
		for i := range v {
			v[i] = shownValue(v[i])
		}
	case map[string]any:
		withoutBrackets(v)
	}
	return value
}

// isProperty reports whether s is a line of Logseq's own data.
func isProperty(n *ast.Text, s string) bool {
	if !strings.HasPrefix(s, "id:: ") && !strings.HasPrefix(s, "collapsed:: ") {
		return false
	}
	before, ok := n.PreviousSibling().(*ast.Text)
	return n.PreviousSibling() == nil || ok && before.SoftLineBreak()
}

// noteDefinitions keeps one-word footnotes such as [^1]: Ibid, which CommonMark takes for link
// definitions.
type noteDefinitions struct{}

var noteDefinition = regexp.MustCompile(`^ {0,3}\[\^[^\]\s]+\]:`)

// Transform moves the footnotes of a paragraph of definitions into blocks of their own before it.
func (noteDefinitions) Transform(n *ast.Paragraph, reader gtext.Reader, _ parser.Context) {
	lines := n.Lines()
	if lines.Len() == 0 {
		return
	}
	begins := func(i int, mark string) bool {
		at := lines.At(i)
		return bytes.HasPrefix(bytes.TrimLeft(at.Value(reader.Source()), " "), []byte(mark))
	}
	if !begins(0, "[") {
		return // definitions do not stand behind other text of a paragraph
	}
	rest := gtext.NewSegments()
	var note *ast.TextBlock
	for i := range lines.Len() {
		at := lines.At(i)
		switch {
		case noteDefinition.Match(at.Value(reader.Source())):
			note = ast.NewTextBlock()
			n.Parent().InsertBefore(n.Parent(), n, note)
		case begins(i, "["):
			note = nil
		}
		if note != nil {
			note.Lines().Append(at)
		} else {
			rest.Append(at)
		}
	}
	if rest.Len() == 0 {
		n.Parent().RemoveChild(n.Parent(), n)
		return
	}
	n.SetLines(rest)
}
