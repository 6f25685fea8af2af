package extract

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"

	"example.com/searchd/extract/content"
	"example.com/searchd/extract/web"

	"golang.org/x/net/html/charset"
)

// readENEX reads an export of Evernote, one document per note.
func (x *source) readENEX(br *bufio.Reader) error {
	in := &noteLimit{r: &dataCut{r: br}, limit: x.o.MaxFile}
	d := xml.NewDecoder(&content.TagLimit{R: in})
	d.Strict, d.CharsetReader = false, charset.NewReaderLabel
	n := enexNote{}
	for notes := 0; ; {
		t, err := d.RawToken()
		line, _ := d.InputPos()
		switch {
		case err == io.EOF && n.line > 0:
			return x.Errorf(n.line, "the file ends inside this note")
		case err == io.EOF && notes == 0:
			return x.Errorf(0, "no notes of Evernote in it")
		case err == io.EOF:
			return nil
		case errors.Is(err, errNoteTooLong):
			return x.Errorf(n.line, "%v of %d bytes, without its attachments; the rest of the file is left out", err, x.o.MaxFile)
		case err != nil:
			return x.Errorf(line, "cannot be read: %v; the rest of the file is left out", err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Local == "note" {
				n = enexNote{line: line}
				in.n = 0
				notes++
			}
			n.text.Reset()
		case xml.CharData:
			if n.line > 0 {
				n.text.Write(t)
			}
		case xml.EndElement:
			if n.line == 0 {
				continue
			}
			n.take(t.Name.Local)
			if t.Name.Local == "note" {
				if err := x.note(&n); err != nil {
					return err
				}
				n = enexNote{}
			}
		}
	}
}

// enexNote is the note that is being read.
type enexNote struct {
	line             int // where it begins; 0: outside of notes
	text             strings.Builder
	title, content   string
	created, updated string
	author, url      string
	tags, files      []any
}

// take takes the text of an element that has ended.
func (n *enexNote) take(element string) {
	s := n.text.String()
	if element == "content" {
		n.content = s
	} else {
		s = content.OneLine(s)
	}
	n.text.Reset()
	switch element {
	case "title":
		n.title = s
	case "created":
		n.created = enexTime(s)
	case "updated":
		n.updated = enexTime(s)
	case "author":
		n.author = s
	case "source-url":
		if n.url == "" { // that of the note stands before those of its attachments
			n.url = s
		}
	case "tag":
		if s != "" && len(n.tags) < maxAttachments {
			n.tags = append(n.tags, s)
		}
	case "file-name":
		if content.HasText(s) && len(s) <= maxAttachmentName && len(n.files) < maxAttachments {
			n.files = append(n.files, s)
		}
	}
}

func enexTime(s string) string {
	t, err := time.Parse("20060102T150405Z", s)
	if err != nil || t.Year() < 1 {
		return ""
	}
	return t.Format(time.RFC3339)
}

var enexCipher = regexp.MustCompile(`(?s)<en-crypt\b.*?</en-crypt>`)

func (x *source) note(n *enexNote) error {
	text, err := web.Text(&x.File, enexCipher.ReplaceAllLiteralString(strings.ToValidUTF8(n.content, "\ufffd"), ""), web.Options{XML: true, All: true})
	if err != nil {
		return err
	}
	switch {
	case int64(len(text)) > x.o.MaxText:
		return x.Errorf(n.line, "%v of %d bytes", content.ErrTooLong, x.o.MaxText)
	case !content.HasText(text) && !content.HasText(n.title):
		return x.Errorf(n.line, "no text in a note")
	}
	fields := map[string]any{}
	for name, v := range map[string]string{"created": n.created, "modified": n.updated, "author": n.author, "url": n.url} {
		if v != "" {
			fields[name] = v
		}
	}
	for name, v := range map[string][]any{"tags": n.tags, "attachments": n.files} {
		if len(v) > 0 {
			fields[name] = v
		}
	}
	return x.entryDocument(n.line, "", n.title, text, fields)
}

var errNoteTooLong = errors.New("note is longer than the limit")

// noteLimit fails after limit bytes since n was 0.
type noteLimit struct {
	r        io.Reader
	n, limit int64
}

func (l *noteLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.n += int64(n); l.n > l.limit {
		return 0, errNoteTooLong
	}
	return n, err
}

// dataCut removes attachments, base64 between <data> and </data>, but keeps their line ends.
type dataCut struct {
	r    *bufio.Reader
	tag  bool // inside <data ...>
	data bool // behind it
	last byte
}

func (c *dataCut) Read(p []byte) (int, error) {
	for {
		head, err := c.r.Peek(len("</data"))
		switch {
		case len(head) == 0:
			return 0, err
		case c.data:
			c.data = string(head) != "</data"
		case string(head) == "<data>", string(head) == "<data ":
			c.tag = true
		}
		part, _ := c.r.Peek(min(c.r.Buffered(), len(p)))
		cut := c.data
		if i := bytes.IndexByte(part, '>'); c.tag && i >= 0 {
			c.tag, c.data = false, i > 0 && part[i-1] != '/' || i == 0 && c.last != '/'
			part = part[:i+1]
		} else if i := bytes.IndexByte(part[1:], '<'); !c.tag && i >= 0 {
			part = part[:i+1]
		}
		c.last = part[len(part)-1]
		n := 0
		for _, b := range part {
			if b == '\n' || !cut {
				p[n] = b
				n++
			}
		}
		_, _ = c.r.Discard(len(part)) // cannot fail: these bytes are in the buffer
		if n > 0 {
			return n, nil
		}
	}
}
