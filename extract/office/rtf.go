package office

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"example.com/searchd/extract/content"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// RTF reads rich text, as word processors have written it since 1987.
func RTF(x *content.File, b []byte) (content.Content, error) {
	b = bytes.TrimLeft(b, " \t\r\n")
	if !bytes.HasPrefix(b, []byte(`{\rtf`)) {
		return content.Content{}, x.Reject("not RTF: it does not begin with {\\rtf")
	}
	r := rtfReader{page: 1252, fonts: map[int]int{}, rtfGroup: rtfGroup{skipped: 1, font: -1}}
	for n := 0; len(b) > 0; n++ {
		b = r.token(b)
		if err := x.TooLong(r.out.Len()); err != nil {
			return content.Content{}, x.Reject("%v", err)
		}
		if n%4096 == 0 {
			if err := x.Ended(); err != nil {
				return content.Content{}, err
			}
		}
	}
	r.flush()
	r.writeBeside()
	c := content.Content{Title: r.title.String(), Text: r.out.String(), Blocks: r.out.Blocks()}
	if c.Title == "" {
		c.Title = content.OwnTitle(c.Text)
	}
	return c, nil
}

// rtfPlace is the destination of the text of a group.
type rtfPlace uint8

const (
	rtfText   rtfPlace = iota
	rtfSkip            // nowhere
	rtfInfo            // nowhere, but for the title in it
	rtfTitle           // into the title
	rtfFonts           // nowhere: it is the table of fonts
	rtfMarker          // in front of the paragraph, which is an item of a list
	rtfBeside          // behind all other text
)

// rtfPlaces are the destinations that are not the text of the document. Unknown ones behind \* are
// skipped.
var rtfPlaces = map[string]rtfPlace{
	"fonttbl": rtfFonts, "title": rtfTitle, "listtext": rtfMarker, "pntext": rtfMarker, "shptxt": rtfText, "footnote": rtfBeside, "annotation": rtfBeside,
	"colortbl": rtfSkip, "stylesheet": rtfSkip, "info": rtfInfo, "pict": rtfSkip, "object": rtfSkip, "fldinst": rtfSkip,
	"header": rtfBeside, "headerl": rtfBeside, "headerr": rtfBeside, "headerf": rtfBeside, "footer": rtfBeside, "footerl": rtfBeside, "footerr": rtfBeside, "footerf": rtfBeside,
	"ftnsep": rtfSkip, "ftnsepc": rtfSkip, "ftncn": rtfSkip, "aftnsep": rtfSkip, "aftnsepc": rtfSkip, "aftncn": rtfSkip,
	"filetbl": rtfSkip, "revtbl": rtfSkip, "listtable": rtfSkip, "listoverridetable": rtfSkip, "leveltext": rtfSkip, "levelnumbers": rtfSkip, "listname": rtfSkip, "liststylename": rtfSkip, "nonshppict": rtfSkip, "shprslt": rtfSkip, "xe": rtfSkip, "tc": rtfSkip, "tcn": rtfSkip,
	"private": rtfSkip, "template": rtfSkip, "rsidtbl": rtfSkip, "generator": rtfSkip, "datastore": rtfSkip, "themedata": rtfSkip,
}

var rtfSigns = map[string]string{
	"tab": " ", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": " ", "enspace": " ",
}

var rtfBreaks = map[string]bool{"par": true, "sect": true, "page": true, "line": true, "cell": true, "nestcell": true, "row": true, "nestrow": true}

// rtfPages are the code pages of font character sets; -1 is for symbols.
var rtfPages = map[int]int{
	2: -1, 77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250,
}

// rtfGroup is the state that ends with a group.
type rtfGroup struct {
	place   rtfPlace
	hidden  bool // or deleted
	font    int
	skipped int // characters that stand behind one of Unicode for old readers
}

// maxGroups is the depth of groups whose state is kept.
const maxGroups = 1000

type rtfReader struct {
	out           content.Builder
	title, marker content.Builder
	beside        content.Builder // notes, comments, headers and footers
	rtfGroup
	outer []rtfGroup
	deep  int         // groups beyond maxGroups
	star  bool        // a \* was last
	skip  int         // characters still to pass over
	page  int         // code page
	fonts map[int]int // the code pages of fonts, where they are not that of the document
	bytes []byte      // that wait to be decoded
	high  rune        // the first half of a surrogate pair; else 0
	row   bool        // in a table
	table bool        // a row has ended

	marked      bool // the paragraph has a marker, which is not written yet
	item, after bool // the paragraph is an item of a list; and the one before was
}

// token reads a token and returns the rest of b.
func (r *rtfReader) token(b []byte) []byte {
	switch c := b[0]; c {
	case '{', '}':
		r.flush()
		r.skip, r.star = 0, false
		switch {
		case c == '{' && len(r.outer) == maxGroups:
			r.deep++
		case c == '{':
			r.outer = append(r.outer, r.rtfGroup)
		case r.deep > 0:
			r.deep--
		case len(r.outer) > 0:
			r.rtfGroup, r.outer = r.outer[len(r.outer)-1], r.outer[:len(r.outer)-1]
		}
		return b[1:]
	case '\r', '\n', 0:
		return b[1:]
	case '\\':
		return r.control(b[1:])
	default:
		r.char(c)
		return b[1:]
	}
}

func (r *rtfReader) control(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	n := 0
	for n < len(b) && n < 32 && (b[n]|0x20 >= 'a' && b[n]|0x20 <= 'z') {
		n++
	}
	if n == 0 {
		return r.symbol(b)
	}
	word := string(b[:n])
	b = b[n:]
	n = 0
	if len(b) > 0 && b[0] == '-' {
		n++
	}
	for n < len(b) && n < 11 && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	given, value := n > 0, content.Atoi(string(b[:n]))
	if b = b[n:]; len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	if word == "bin" {
		return b[min(max(value, 0), len(b)):]
	}
	r.word(word, value, given)
	return b
}

func (r *rtfReader) symbol(b []byte) []byte {
	switch c := b[0]; c {
	case '\'':
		if len(b) < 3 {
			return nil
		}
		if c, err := strconv.ParseUint(string(b[1:3]), 16, 8); err == nil {
			r.char(byte(c))
		}
		return b[3:]
	case '\\', '{', '}':
		r.char(c)
	case '*':
		r.star = true
	case '~':
		r.sign(" ")
	case '_':
		r.sign("-")
	case '\r', '\n': // a paragraph, as TextEdit has it
		r.word("line", 0, false)
	}
	return b[1:]
}

func (r *rtfReader) word(word string, value int, given bool) {
	on := !given || value != 0
	star := r.star
	r.star = false
	if word == "u" {
		r.unicode(value)
		return
	}
	r.flush()
	if place, ok := rtfPlaces[word]; ok || star {
		switch {
		case !ok:
			r.place = rtfSkip
		case word == "title" && r.place != rtfInfo:
		case r.place != rtfSkip, word == "shptxt": // inside what is skipped
			r.place = place
		}
		switch {
		case r.place == rtfMarker:
			r.marker, r.marked = content.Builder{}, true
		case r.place == rtfBeside && place == rtfBeside:
			if r.beside.Block(); word == "annotation" {
				r.beside.Inline("Comment: ")
			}
		}
		return
	}
	if r.place != rtfText && rtfBreaks[word] {
		if r.place == rtfBeside {
			r.beside.Block()
		}
		return
	}
	switch word {
	case "par", "sect", "page":
		if r.row {
			r.out.Inline(" ")
		} else {
			r.out.Block()
		}
		r.item, r.after, r.marked = false, r.item, false
	case "line":
		r.lineEnd()
	case "pard":
		r.row = false
	case "intbl":
		r.row = true
	case "cell", "nestcell":
		r.out.Cell()
	case "row", "nestrow":
		r.out.Line()
		r.table = true
	case "uc":
		r.skipped = max(0, min(value, 16))
	case "v", "deleted":
		r.hidden = on
	case "plain":
		r.hidden = false
	case "f", "deff":
		r.font = value
	case "fcharset":
		if page, ok := rtfPages[value]; ok && r.place == rtfFonts && len(r.fonts) < maxLists {
			r.fonts[r.font] = page
		}
	case "ansicpg":
		r.page = value
	case "mac":
		r.page = 10000
	case "pc":
		r.page = 437
	case "pca":
		r.page = 850
	default:
		if s := rtfSigns[word]; s != "" {
			r.sign(s)
		}
	}
}

// lineEnd ends a line; two make a paragraph.
func (r *rtfReader) lineEnd() {
	switch {
	case r.row:
		r.out.Inline(" ")
	case r.out.Breaks > 0:
		r.out.Block()
	default:
		r.out.Line()
	}
}

func (r *rtfReader) char(c byte) {
	r.star = false
	if r.skip > 0 {
		r.skip--
		return
	}
	if r.place == rtfText || r.place == rtfTitle || r.place == rtfMarker || r.place == rtfBeside { // pictures are long
		r.bytes = append(r.bytes, c)
	}
}

// sign takes a character that a control word stands for.
func (r *rtfReader) sign(s string) {
	r.flush()
	if r.skip > 0 {
		r.skip--
		return
	}
	r.write(s)
}

// unicode takes a UTF-16 unit, which is negative from 32768 on.
func (r *rtfReader) unicode(value int) {
	r.flush()
	c := rune(uint16(value))
	switch {
	case c >= 0xd800 && c < 0xdc00:
		r.high = c
	case c >= 0xdc00 && c < 0xe000:
		r.write(string(utf16.DecodeRune(r.high, c)))
		r.high = 0
	case c > 0:
		r.write(string(c))
	}
	r.skip = r.skipped
}

// flush decodes and writes the pending bytes.
func (r *rtfReader) flush() {
	if len(r.bytes) == 0 {
		return
	}
	b := r.bytes
	r.bytes = r.bytes[:0]
	page, ok := r.fonts[r.font]
	if !ok {
		page = r.page
	}
	if bad, multi := content.ScanUTF8(b); bad == 0 && multi == 0 {
		if page != -1 {
			r.write(string(b))
		}
		return
	}
	if page == -1 {
		return
	}
	var enc encoding.Encoding = charmap.Windows1252
	switch name, known := content.Charsets[page]; {
	case known:
		enc, _ = charset.Lookup(name)
	case page == 437:
		enc = charmap.CodePage437
	case page == 850:
		enc = charmap.CodePage850
	}
	if s, err := content.Decode(b, enc); err == nil {
		r.write(s)
	}
}

func (r *rtfReader) write(s string) {
	if r.hidden || !utf8.ValidString(s) {
		return
	}
	s = strings.ReplaceAll(s, "\x00", "\ufffd")
	switch r.place {
	case rtfTitle:
		r.title.Inline(s)
	case rtfMarker:
		r.marker.Inline(s)
	case rtfBeside:
		r.beside.Inline(s)
	case rtfText:
		if r.marked && strings.TrimSpace(s) != "" {
			r.begin()
		}
		if r.table && !r.row {
			r.out.Block()
		}
		r.table = false
		r.out.Inline(s)
	}
}

// writeBeside writes what is beside the text behind it, equal paragraphs once.
func (r *rtfReader) writeBeside() {
	seen := map[string]bool{}
	for p := range strings.SplitSeq(r.beside.String(), "\n\n") {
		if content.HasText(p) && !seen[p] {
			seen[p] = true
			r.out.Block()
			r.out.Inline(p)
		}
	}
}

// begin begins a list item with its number, if it has one.
func (r *rtfReader) begin() {
	if r.after {
		r.out.Breaks = min(r.out.Breaks, 1)
	}
	r.item, r.marked = true, false
	if mark := r.marker.String(); strings.ContainsFunc(mark, unicode.IsLetter) || strings.ContainsFunc(mark, unicode.IsNumber) {
		r.out.Item(mark + " ")
	} else {
		r.out.Item("- ")
	}
}
