package extract

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/markup"
	"example.com/searchd/extract/notes"
	"example.com/searchd/extract/office"
	"example.com/searchd/extract/web"
)

// isBinary are the formats whose files may hold NUL bytes.
var isBinary = map[Format]bool{PDF: true, Picture: true, DOCX: true, EPUB: true, ODF: true, PPTX: true, XLSX: true, XLS: true, MSG: true}

// maxNULShare is the number of bytes of a web page of which one may be NUL.
const maxNULShare = 1000

// readWhole reads a file with one document.
func (x *source) readWhole(br *bufio.Reader) error {
	if x.info != nil && !x.packed && x.info.Size() > x.o.MaxFile {
		return x.Errorf(0, "file of %d bytes is larger than the limit of %d for %s", x.info.Size(), x.o.MaxFile, formatNouns[x.format])
	}
	k := kept{x: x}
	defer k.drop()
	if ok, err := k.readFile(br); !ok {
		return err
	}
	b := k.b
	if bytes.HasPrefix(b, []byte("%PDF-")) && x.format != PDF {
		return x.Errorf(0, "a PDF under the name of %s; call it .pdf, or say --format pdf", formatNouns[x.format])
	}
	if !isBinary[x.format] {
		text := bytes.TrimRight(b, "\x00\x1a") // of C strings, blocks of one size, and DOS
		if n := len(b) - len(text); n > 1 {
			if err := x.Warnf(0, "%s at the end left out", content.Plural(n, "NUL byte")); err != nil {
				return err
			}
		}
		b = text
	}
	if n := bytes.Count(b, []byte{0}); n > 0 && x.format == HTML && n < len(b)/maxNULShare { // browsers ignore them, too
		if err := x.Warnf(0, "%s left out", content.Plural(n, "NUL byte")); err != nil {
			return err
		}
		b = bytes.ReplaceAll(b, []byte{0}, nil)
	}
	if i := bytes.IndexByte(b, 0); i >= 0 && !isBinary[x.format] {
		return x.Errorf(1+bytes.Count(b[:i], []byte("\n")), "%v, not %s", errNUL, formatNouns[x.format])
	}
	c, err := x.parse(b)
	switch {
	case errors.Is(err, content.ErrReported):
		return nil
	case err != nil:
		return err
	}
	size := len(b)
	k.drop()
	return x.whole(c, size)
}

// readers are the formats with one document that need only the file.
var readers = map[Format]func(*content.File, []byte) (content.Content, error){
	DOCX: office.DOCX, PPTX: office.PPTX, XLSX: office.XLSX, XLS: office.XLS, ODF: office.ODF, EPUB: office.EPUB, RTF: office.RTF,
	HTML: web.Page, Markdown: notes.Markdown, IPYNB: notes.Notebook, Canvas: notes.Canvas, OPML: notes.Outline, Text: markup.Text,
}

func (x *source) parse(b []byte) (content.Content, error) {
	x.Format, x.Noun = x.format.String(), formatNouns[x.format]
	switch x.format {
	case PDF:
		return x.pdf(b)
	case Picture:
		return x.picture(b)
	case EML:
		return x.eml(b)
	case MSG:
		return x.msg(b)
	}
	return readers[x.format](&x.File, b)
}

// whole emits the document of a file of size bytes.
func (x *source) whole(c content.Content, size int) error {
	fields := c.Fields
	if fields == nil {
		fields = make(map[string]any, 4)
	}
	text := withoutTitle(c.Text, c.Title)
	fields["text"] = text
	if c.Title != "" {
		fields["title"] = c.Title
	}
	note := x.format == Markdown && c.Fields != nil // one of front matter alone is found by its name and what it says there
	if !content.HasText(c.Text) && !content.HasText(c.Title) && !note && fields["attachments"] == nil {
		if (x.format == HTML || x.format == Canvas || x.format == Picture) && x.blanks { // a page that leads elsewhere, a frame, a canvas without cards
			x.stats.Empty++
			return nil
		}
		return x.Errorf(0, "no text in %s of %s", formatNouns[x.format], content.Plural(size, "byte"))
	}
	id := cmp.Or(x.docID, wholeID(x.id))
	if id == "" {
		id = contentID(fields, "")
	}
	x.locate(fields, c.Title)
	if x.info != nil && (x.depth == 0 || x.info.ModTime().Year() >= 1980) { // members of archives may have none
		fields["modified"] = x.info.ModTime().UTC().Format(time.RFC3339)
	}
	return x.document(Document{ID: id, Fields: fields, Blocks: content.Moved(c.Blocks, len(c.Text)-len(text))})
}

// locate sets the path, and the file name as title if there is none.
func (x *source) locate(fields map[string]any, title string) {
	if title == "" {
		fields["title"] = readable(x.Stem())
	}
	fields["path"] = readable(cmp.Or(x.id, filepath.ToSlash(x.Name)))
}

// wholeID returns the id for the path of a file. Long ones are shortened and prefixed with a hash.
func wholeID(path string) string {
	id := readable(path)
	if len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(path))
	front := hex.EncodeToString(sum[:16]) + "…"
	return front + strings.TrimLeftFunc(id[len(id)-maxID+len(front):], func(r rune) bool { return r == utf8.RuneError })
}

// readable escapes control characters and invalid UTF-8 in a file name, as \n and \xe9.
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

// withoutTitle removes the title from the front of text, as it is a field of its own. A text that
// is only its title is kept.
func withoutTitle(text, title string) string {
	rest, ok := strings.CutPrefix(text, title+"\n\n")
	if rest = strings.TrimLeft(rest, "\n"); !ok || title == "" || !content.HasText(rest) {
		return text
	}
	return rest
}

// picture recognises the text of a picture.
func (x *source) picture(b []byte) (content.Content, error) {
	if x.ocr == nil {
		return content.Content{}, x.Reject("a picture; %s", content.InstallOCR)
	}
	text, err := x.ocr(b)
	if err != nil {
		return content.Content{}, x.Reject("%v", err)
	}
	return content.Content{Title: content.OwnTitle(text), Text: text}, nil
}

func (x *source) pdf(b []byte) (content.Content, error) {
	if x.readPDF == nil {
		return content.Content{}, x.Reject("PDF is not read here; convert it to text first, for example with pdftotext")
	}
	t, err := x.readPDF(b)
	if err != nil {
		return content.Content{}, x.Reject("%v", err)
	}
	if t.Warning != "" {
		if err := x.Warnf(0, "%s", t.Warning); err != nil {
			return content.Content{}, err
		}
	}
	if t.Title == "" {
		t.Title = content.OwnTitle(t.Text)
	}
	return content.Content{Title: t.Title, Text: t.Text, Blocks: t.Blocks}, nil
}
