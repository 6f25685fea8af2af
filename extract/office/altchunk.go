package office

import (
	"bytes"
	"path"
	"strings"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/web"
)

// maxChunks is the number of files inserted into a document of Word that are read.
const maxChunks = 100

// chunks reads the files that a document of Word inserts as they are (altChunk): web pages, rich
// text, plain text and other documents of Word, whose own insertions are not read.
type chunks struct {
	r     *archive
	parts map[string]relation
	count int
}

// insert writes the text of the file with a reference.
func (c *chunks) insert(w *docxWriter, id string) {
	part := c.parts[id]
	if c.count++; c.count > maxChunks || part.target == "" || c.r.err != nil {
		return
	}
	b, err := c.r.member(part.target)
	if err != nil {
		c.r.err = err
		return
	}
	w.out.Block()
	w.out.Begin(content.Block{})
	if !c.write(w, part.target, b) {
		c.r.err = c.r.x.Warnf(0, "the inserted file %q is not read", path.Base(part.target))
	}
	w.out.Block()
	w.out.Begin(content.Block{})
}

// write reports whether it could read the file.
func (c *chunks) write(w *docxWriter, name string, b []byte) bool {
	f := *c.r.x
	f.Report = func(int, bool, string) error { return nil } // what cannot be read is reported by its name
	head := bytes.TrimLeft(b, " \t\r\n\xef\xbb\xbf")
	switch ext := path.Ext(name); {
	case bytes.HasPrefix(b, []byte("PK")):
		r, main, err := openXML(&f, b, "word/document.xml")
		if err != nil {
			return false
		}
		r.left, r.start = min(r.left, c.r.left), c.r.start
		dir := path.Dir(main)
		inner := newDocxWriter(w.out, r.styles(dir), r.lists(dir))
		r.read(main, inner.token)
		c.r.left = r.left
		return r.err == nil
	case bytes.HasPrefix(head, []byte(`{\rtf`)):
		inner, err := RTF(&f, b)
		w.out.Verbatim(inner.Text)
		return err == nil
	case strings.HasPrefix(ext, ".htm"), ext == ".xhtml", bytes.HasPrefix(head, []byte("<")):
		s, err := f.Text(0, b)
		if err == nil {
			err = web.Write(w.out, s, web.Options{All: true}, func() error { return f.Check(c.r.start) })
		}
		return err == nil
	case ext == ".txt":
		s, err := f.Text(0, b)
		w.out.Verbatim(content.Newlines(s))
		return err == nil
	}
	return false
}
