package extract

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// errBudget is the cause of the context of a parser that takes too long.
var errBudget = errors.New("time budget spent")

// errReported ends the reading of a file about which everything has been said.
var errReported = errors.New("reported")

// reject reports why the file is given up.
func (x *source) reject(format string, args ...any) error {
	if err := x.errorf(0, format, args...); err != nil {
		return err
	}
	return errReported
}

// content is what a parser finds in a whole file.
type content struct {
	title   string
	text    string
	blocks  []Block        // of text; nil where the format has none
	fields  map[string]any // what else the file says about itself
	deleted bool           // a message that a mailbox has no more
}

// reserved fields of whole-file documents come from the file, never from its front matter.
var reserved = map[string]bool{"text": true, "path": true, "modified": true}

// isBinary is for formats whose files may hold NUL bytes.
var isBinary = map[Format]bool{PDF: true, DOCX: true, EPUB: true, ODF: true, PPTX: true, XLSX: true, XLS: true, MSG: true}

// readWhole reads a file that is one document.
func (x *source) readWhole(br *bufio.Reader) error {
	if x.info != nil && !x.packed && x.info.Size() > x.o.MaxFile {
		return x.errorf(0, "file of %d bytes is larger than the limit of %d for %s", x.info.Size(), x.o.MaxFile, formatNouns[x.format])
	}
	k := kept{x: x}
	defer k.drop()
	err, held := k.readAll(br, x.o.MaxFile)
	b := k.b
	switch {
	case held != nil:
		return held
	case err != nil:
		return x.errorf(0, "cannot be read: %v", err)
	case int64(len(b)) > x.o.MaxFile:
		return x.errorf(0, "file is larger than the limit of %d bytes for %s", x.o.MaxFile, formatNouns[x.format])
	}
	if bytes.HasPrefix(b, []byte("%PDF-")) && x.format != PDF {
		return x.errorf(0, "a PDF under the name of %s; call it .pdf, or say --format pdf", formatNouns[x.format])
	}
	if i := bytes.IndexByte(b, 0); i >= 0 && !isBinary[x.format] {
		return x.errorf(1+bytes.Count(b[:i], []byte("\n")), "%v, not %s", errNUL, formatNouns[x.format])
	}
	var c content
	switch x.format {
	case PDF:
		c, err = x.pdf(b)
	case DOCX:
		c, err = x.docx(b)
	case EML:
		c, err = x.eml(b)
	case IPYNB:
		c, err = x.ipynb(b)
	case EPUB:
		c, err = x.epub(b)
	case ODF:
		c, err = x.odf(b)
	case PPTX:
		c, err = x.pptx(b)
	case XLSX:
		c, err = x.xlsx(b)
	case XLS:
		c, err = x.xls(b)
	case MSG:
		c, err = x.msg(b)
	case RTF:
		c, err = x.rtf(b)
	case Canvas:
		c, err = x.canvas(b)
	case OPML:
		c, err = x.opml(b)
	case Markdown:
		c, err = x.markdown(b)
	case HTML:
		c, err = x.html(b)
	default:
		c, err = x.plainText(b)
	}
	switch {
	case errors.Is(err, errReported):
		return nil
	case err != nil:
		return err
	}
	size := len(b)
	k.drop()
	return x.whole(c, size)
}

// whole emits the document of a whole file of size bytes.
func (x *source) whole(c content, size int) error {
	fields := c.fields
	if fields == nil {
		fields = make(map[string]any, 4)
	}
	text := withoutTitle(c.text, c.title)
	fields["text"] = text
	if c.title != "" {
		fields["title"] = c.title
	}
	note := x.format == Markdown && c.fields != nil // one of front matter alone is found by its name and what it says there
	if !valueHasText(c.text) && !valueHasText(c.title) && !note && fields["attachments"] == nil {
		if (x.format == HTML || x.format == Canvas) && x.blanks { // a page that leads elsewhere, a frame, a canvas without cards
			x.stats.Empty++
			return nil
		}
		return x.errorf(0, "no text in %s of %s", formatNouns[x.format], plural(size, "byte"))
	}
	id := cmp.Or(x.docID, wholeID(x.id))
	if id == "" {
		id = contentID(fields, "")
	}
	x.locate(fields, c.title)
	if x.info != nil && (x.depth == 0 || x.info.ModTime().Year() >= 1980) { // members of archives may have none
		fields["modified"] = x.info.ModTime().UTC().Format(time.RFC3339)
	}
	return x.document(Document{ID: id, Fields: fields, Blocks: moved(c.blocks, len(c.text)-len(text))})
}

// locate says in fields where the document comes from: its path and, without a title of its own,
// the name of the file.
func (x *source) locate(fields map[string]any, title string) {
	if title == "" {
		fields["title"] = readable(stem(x.name))
	}
	fields["path"] = readable(cmp.Or(x.id, filepath.ToSlash(x.name)))
}

// wholeID returns the id of the document of a file: its path, with what an id cannot hold as in
// quotes of Go. Of one that is too long it is the end, behind a hash of all of it.
func wholeID(path string) string {
	id := readable(path)
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(path))
	front := hex.EncodeToString(sum[:16]) + "…"
	return front + strings.TrimLeftFunc(id[len(id)-maxID+len(front):], func(r rune) bool { return r == utf8.RuneError })
}

// readable returns the name of a file as text: bytes that are not UTF-8 and control characters,
// which it may hold, as \xe9 and \n.
func readable(name string) string {
	if utf8.ValidString(name) && strings.IndexFunc(name, unicode.IsControl) < 0 {
		return name
	}
	var b strings.Builder
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && n == 1 || unicode.IsControl(r) {
			q := strconv.QuoteToASCII(name[:n])
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteString(name[:n])
		}
		name = name[n:]
	}
	return b.String()
}

// withoutTitle takes the title off the front of text, where it stands as a block of its own: it is
// a field already, and would be searched and shown twice. A text that is nothing but its title is
// kept.
func withoutTitle(text, title string) string {
	rest, ok := strings.CutPrefix(text, title+"\n\n")
	if rest = strings.TrimLeft(rest, "\n"); !ok || title == "" || !valueHasText(rest) {
		return text
	}
	return rest
}

// pdf reads the text of a PDF.
func (x *source) pdf(b []byte) (content, error) {
	if x.readPDF == nil {
		return content{}, x.reject("PDF is not read here; convert it to text first, for example with pdftotext")
	}
	t, err := x.readPDF(b)
	if err != nil {
		return content{}, x.reject("%v", err)
	}
	if t.Warning != "" {
		if err := x.warnf(0, "%s", t.Warning); err != nil {
			return content{}, err
		}
	}
	if t.Title == "" {
		t.Title = ownTitle(t.Text)
	}
	return content{title: t.Title, text: t.Text}, nil
}

// stem returns the last element of name without its extensions.
func stem(name string) string {
	base := path.Base(filepath.ToSlash(name))
	if len(base) > 3 && strings.EqualFold(base[len(base)-3:], ".gz") {
		base = base[:len(base)-3]
	}
	if ext := path.Ext(base); ext != base {
		base = strings.TrimSuffix(base, ext)
	}
	return base
}

func (x *source) plainText(b []byte) (content, error) {
	s, err := x.text(0, b)
	if err != nil {
		return content{}, err
	}
	if !isText([]byte(s[:min(len(s), bufferSize)])) {
		return content{}, x.reject("binary data, not text")
	}
	if strings.HasPrefix(s, `{\rtf`) {
		return content{}, x.reject("RTF, not plain text; call it .rtf, or say --format rtf")
	}
	s = newlines(s)
	if without := markups[extension(x.name)]; without != nil {
		if c := without(s); valueHasText(c.text) || valueHasText(c.title) {
			return c, nil
		}
	}
	return content{title: ownTitle(s), text: strings.TrimRight(s, " \t\n")}, nil
}

// budgetSpent reports whether parsing since start has taken too long, as an error for the reader of
// the warning.
func budgetSpent(start time.Time) error {
	if d := time.Since(start); d > parseBudget {
		return fmt.Errorf("%w after %v", errBudget, d.Round(time.Millisecond))
	}
	return nil
}
