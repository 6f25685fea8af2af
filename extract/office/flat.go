package office

import (
	"bytes"
	"encoding/xml"
	"io"
	"maps"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"example.com/searchd/extract/content"
)

// Namespaces of documents that are one file of XML.
const (
	sheets2003 = "urn:schemas-microsoft-com:office:spreadsheet"
	word2003   = "http://schemas.microsoft.com/office/word/2003/wordml"
	wordParts  = "http://schemas.microsoft.com/office/2006/xmlPackage"
	flatODF    = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
)

// IsFlat reports whether a file that begins with head is a document of an office program in one
// file of XML: a workbook or a document as Office 2003 writes it, a document of Word in one part,
// or a flat OpenDocument.
func IsFlat(head []byte) bool { return flatKind(head) != "" }

// IsFlatSheet reports whether a document of which [IsFlat] is true is a workbook of Office 2003.
func IsFlatSheet(head []byte) bool { return flatKind(head) == sheets2003 }

func flatKind(head []byte) string {
	head = head[:min(len(head), 4096)]
	if !bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf"), []byte("<")) {
		return ""
	}
	for _, kind := range []string{sheets2003, word2003, wordParts, flatODF} {
		if bytes.Contains(head, []byte(kind)) {
			return kind
		}
	}
	return ""
}

// Flat reads a document of which [IsFlat] is true.
func Flat(x *content.File, b []byte) (content.Content, error) {
	r := &archive{x: x, left: x.MaxFile, start: time.Now()}
	var visit func(xml.Token)
	var titles []*content.Builder
	filled := func() bool { return true }
	switch kind := flatKind(b); kind {
	case sheets2003:
		w := flatSheets{sheetWriter: sheetWriter{out: &r.out}}
		visit, filled = w.token, func() bool {
			w.end() // of a sheet that is cut off
			return w.filled
		}
	case word2003, wordParts:
		w := newDocxWriter(&r.out, map[string]paragraphStyle{}, nil)
		visit, titles = w.token, []*content.Builder{&w.title, &w.heading}
	case flatODF:
		w := newODFWriter(&r.out)
		w.skip = maps.Clone(odfSkipped)
		w.skip["office:binary-data"] = true // pictures
		visit, titles = w.token, []*content.Builder{&w.title, &w.heading}
	default:
		return content.Content{}, x.Reject("XML of an unknown kind")
	}
	title := flatTitle{}
	r.err = r.decode(bytes.NewReader(b), func(t xml.Token) error {
		title.token(t)
		visit(t)
		return x.TooLong(r.out.Len())
	})
	if !filled() { // names of sheets alone are no text
		r.out = content.Builder{}
	}
	all := []string{title.text.String()}
	for _, t := range titles {
		all = append(all, t.String())
	}
	return r.content(all...)
}

// flatTitle finds the title in the properties of a document.
type flatTitle struct {
	text  content.Builder
	state int // 0: before, 1: in properties, 2: in the title, 3: behind it
}

func (f *flatTitle) token(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		switch name := t.Name.Local; {
		case f.state == 0 && (name == "DocumentProperties" || name == "meta" || name == "coreProperties"):
			f.state = 1
		case f.state == 1 && strings.EqualFold(name, "title"):
			f.state = 2
		}
	case xml.EndElement:
		if f.state == 2 {
			f.state = 3
		}
	case xml.CharData:
		if f.state == 2 {
			f.text.Inline(string(t))
		}
	}
}

// decode hands the tokens of a part to visit. Tokens are raw, so depth costs nothing, and entities
// that a document defines are errors.
func (r *archive) decode(in io.Reader, visit func(xml.Token) error) error {
	d := xml.NewDecoder(&content.TagLimit{R: in})
	d.CharsetReader = charset.NewReaderLabel
	for n := 0; ; n++ {
		if n%1024 == 0 { // also of each of many members
			if err := r.x.Check(r.start); err != nil {
				return err
			}
		}
		t, err := d.RawToken()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := visit(t); err != nil {
			return err
		}
	}
}

// flatSheets writes a workbook as Excel 2003 writes it in XML (SpreadsheetML).
type flatSheets struct {
	sheetWriter
	value          strings.Builder // of the cell
	inData, isText bool
	inComment      bool
	author         string          // of the comment
	comment        strings.Builder // that is read
	comments       []string        // of the sheet
}

func (w *flatSheets) token(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		w.opens(t)
	case xml.EndElement:
		w.closes(t.Name.Local)
	case xml.CharData:
		switch {
		case w.inComment:
			w.comment.Write(t)
		case w.inData:
			w.value.Write(t)
		}
	}
}

func (w *flatSheets) opens(t xml.StartElement) {
	switch t.Name.Local {
	case "Worksheet":
		w.begin(content.Attr(t, "Name"))
	case "Row":
		w.row()
		w.column = -1
	case "Cell":
		w.column++
		if n := content.Atoi(content.Attr(t, "Index")); n > 0 {
			w.column = n - 1
		}
		w.value.Reset()
		w.isText = false
	case "Data":
		if !w.inComment {
			w.inData, w.isText = true, content.Attr(t, "Type") == "String"
		}
	case "Comment":
		w.inComment, w.author = true, content.Attr(t, "Author")
		w.comment.Reset()
	}
}

func (w *flatSheets) closes(name string) {
	switch name {
	case "Data":
		w.inData = false
	case "Comment":
		w.inComment = false
		if s := content.OneLine(w.comment.String()); s != "" && len(w.comments) < maxChanges {
			w.comments = append(w.comments, by("Comment", w.author)+withoutAuthor(s, w.author))
		}
	case "Cell":
		w.put(strings.TrimSuffix(w.value.String(), "T00:00:00.000"), w.isText)
	case "Worksheet":
		w.endCells()
		for _, s := range w.comments {
			w.out.Block()
			w.out.Inline(s)
		}
		w.comments = nil
		w.end()
	}
}

// withoutAuthor returns a comment without the name of its author in front, as Excel writes it.
func withoutAuthor(s, author string) string {
	if rest, ok := strings.CutPrefix(s, author+":"); ok && author != "" {
		return strings.TrimSpace(rest)
	}
	return s
}
