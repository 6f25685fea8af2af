package notes

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	gtext "github.com/yuin/goldmark/text"
)

// noteTags collects tags such as #home/kitchen and #[[two words]]. The text stays as it is.
//
// A tag begins a line or follows white space. These are not tags: numbers (#123), single letters,
// colours (#fff) and directives of C (#include); what continues without white space, as in #main{
// or #a.b; and headings without a space: lines of #Two words, in texts with such lines #Word, and
// in texts with ##Word all at the beginning of a line.
type noteTags struct{}

const (
	maxTags    = 256 // that are noted of one text
	maxNoteTag = 200 // bytes
)

// tagSet is a set of tags without #, ignoring case.
type tagSet struct {
	list []any
	seen map[string]bool
}

func (t *tagSet) add(tag string) {
	tag = strings.TrimSpace(tag)
	if key := strings.ToLower(tag); tag != "" && len(tag) <= maxNoteTag && len(t.list) < maxTags && !t.seen[key] {
		if t.seen == nil {
			t.seen = map[string]bool{}
		}
		t.seen[key] = true
		t.list = append(t.list, tag)
	}
}

// noteTagger is the state of the parser for tags.
type noteTagger struct {
	tags           tagSet
	bare, oneWords bool // the text has ##Words; #Two words
}

var noteTaggerKey = parser.NewContextKey()

// newNoteTagger looks for headings without a space.
func newNoteTagger(body string) *noteTagger {
	t := &noteTagger{}
	for line := range strings.Lines(body) {
		if rest := strings.TrimLeft(line, "#"); rest != line && rest != "" && !isBlank(rune(rest[0])) {
			hashes := len(line) - len(rest)
			t.bare = t.bare || hashes > 1 && hashes <= 6
			t.oneWords = t.oneWords || hashes == 1 && isHeadingLike(rest)
		}
	}
	return t
}

// isHeadingLike reports whether the text behind a # begins with a capital and has words without #.
func isHeadingLike(rest string) bool {
	first, _ := utf8.DecodeRuneInString(rest)
	words := strings.Fields(rest[:min(len(rest), 2*maxNoteTag)])
	return unicode.IsUpper(first) && slices.ContainsFunc(words[1:], func(w string) bool { return w[0] != '#' })
}

// Trigger is the character at which Parse is asked.
func (noteTags) Trigger() []byte { return []byte{'#'} }

// Parse notes a tag that begins here, and returns nil always, which leaves it in the text.
func (noteTags) Parse(_ ast.Node, block gtext.Reader, pc parser.Context) ast.Node {
	t, _ := pc.Get(noteTaggerKey).(*noteTagger)
	before := block.PrecendingCharacter()
	if t == nil || !unicode.IsSpace(before) {
		return nil
	}
	b, _ := block.PeekLine()
	line := string(b[1:min(len(b), 2*maxNoteTag)])
	if inner, ok := strings.CutPrefix(line, "[["); ok {
		if inner, _, ok = strings.Cut(inner, "]]"); ok && !strings.Contains(inner, "[") {
			t.tags.add(shownLink(inner, false))
		}
		return nil
	}
	if before == '\n' && t.isHeading(line) {
		return nil
	}
	t.tags.add(tagAtFront(line))
	return nil
}

func (t *noteTagger) isHeading(rest string) bool {
	first, _ := utf8.DecodeRuneInString(rest)
	return t.bare || t.oneWords && unicode.IsUpper(first)
}

// hexColour is for colours of CSS.
var hexColour = regexp.MustCompile(`^(?i:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$`)

// directives of C and its relatives.
var directives = map[string]bool{
	"include": true, "import": true, "define": true, "undef": true, "if": true, "ifdef": true, "ifndef": true, "elif": true, "else": true, "endif": true,
	"pragma": true, "error": true, "warning": true, "line": true, "region": true, "endregion": true,
}

// tagAtFront returns the tag that s begins with, behind its #; nothing where there is none.
func tagAtFront(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_' && r != '-' && r != '/'
	})
	if end < 0 {
		end = len(s)
	}
	tag, rest := strings.TrimRight(s[:end], "-/"), strings.TrimLeft(s[end:], ".,;:!?)]\"'*|%")
	switch {
	case rest != "" && rest[0] < utf8.RuneSelf && !isBlank(rune(rest[0])),
		!strings.ContainsFunc(tag, unicode.IsLetter), utf8.RuneCountInString(tag) < 2, tag[0] == '/',
		hexColour.MatchString(tag), directives[tag]:
		return ""
	}
	return tag
}

// tagLine is a property of Logseq with tags.
var tagLine = regexp.MustCompile(`^[ \t]*tags?:: +(.+)`)

// property notes the tags that a line of its own names as Logseq has it.
func (t *noteTagger) property(lines *gtext.Segments, source []byte) {
	for i := range lines.Len() {
		at := lines.At(i)
		if m := tagLine.FindSubmatch(at.Value(source)); m != nil {
			for _, tag := range tagList(shownValue(string(m[1])).(string)) {
				t.tags.add(tag.(string))
			}
		}
	}
}

// tagList splits the tags of a string: at commas, or at white space where each word has a #.
func tagList(s string) []any {
	parts := strings.Split(s, ",")
	if words := strings.Fields(s); !slices.ContainsFunc(words, func(w string) bool { return w[0] != '#' }) {
		parts = words
	}
	list := []any{}
	for _, tag := range parts {
		if tag = withoutHash(strings.Trim(tag, ", \t\n\"'[]")); tag != "" {
			list = append(list, tag)
		}
	}
	return list
}

func withoutHash(tag string) string { return strings.TrimSpace(strings.TrimPrefix(tag, "#")) }

// listTags makes lists of the fields of front matter that hold such, where they are strings.
func listTags(fields map[string]any) {
	for key, value := range fields {
		switch strings.ToLower(key) {
		case "tags", "tag", "keywords", "categories":
		default:
			continue
		}
		switch v := value.(type) {
		case string:
			fields[key] = tagList(v)
		case []any:
			for i := range v {
				if s, ok := v[i].(string); ok && len(s) > 1 {
					v[i] = withoutHash(s)
				}
			}
		}
	}
}

// addTags adds to the field tags those that it has not.
func addTags(fields map[string]any, found []any) map[string]any {
	if len(found) == 0 {
		return fields
	}
	if fields == nil {
		fields = map[string]any{}
	}
	key := "tags"
	for k := range fields {
		if strings.EqualFold(k, key) && fields[key] == nil {
			key = k
		}
	}
	list, ok := fields[key].([]any)
	if value := fields[key]; !ok && value != nil {
		if _, object := value.(map[string]any); object {
			return fields
		}
		list = []any{value}
	}
	has := map[string]bool{}
	for _, tag := range list {
		if s, ok := tag.(string); ok {
			has[strings.ToLower(s)] = true
		}
	}
	list = slices.Clone(list)
	for _, tag := range found {
		if !has[strings.ToLower(tag.(string))] {
			list = append(list, tag)
		}
	}
	fields[key] = list
	return fields
}
