package extract

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"example.com/searchd/extract/content"
)

const (
	maxAttachments    = 100
	maxAttachmentName = 255 // bytes
)

// extensions are those of attachments without a known one, by media type.
var extensions = map[string]string{
	"application/pdf": ".pdf", "application/json": ".json", "application/zip": ".zip", "application/x-zip-compressed": ".zip", "application/rtf": ".rtf", "text/rtf": ".rtf",
	"application/epub+zip": ".epub", "application/vnd.ms-excel": ".xls", "application/vnd.ms-outlook": ".msg",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   ".docx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         ".xlsx",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
	"application/vnd.oasis.opendocument.text":                                   ".odt",
	"application/vnd.oasis.opendocument.spreadsheet":                            ".ods",
	"application/vnd.oasis.opendocument.presentation":                           ".odp",
	"text/plain": ".txt", "text/html": ".html", "text/csv": ".csv", "text/calendar": ".ics", "application/ics": ".ics", "text/vcard": ".vcf", "text/x-vcard": ".vcf",
	"text/directory": ".vcf", "text/markdown": ".md", "text/tab-separated-values": ".tsv", "application/xml": ".xml", "text/xml": ".xml",
}

// attachmentName returns a name for an attachment, without folders and with an extension.
func attachmentName(name, kind string) string {
	name = strings.Trim(readable(name[strings.LastIndexAny(name, `/\`)+1:]), ". ")
	if _, known := byName(name); known {
		return name
	}
	ext := extensions[kind]
	if name == "" {
		name = "attachment"
	} else if ext == ".txt" && content.Extension(name) != "" { // of a program perhaps: texts in folders are not read by that name either
		return name
	}
	return name + ext
}

// attachment records the name of an attachment and reads it as documents of its own. They refer to
// the message, and the message to them.
func (r *mailReader) attachment(name, kind string, body io.Reader) error {
	listed := content.HasText(name) && len(name) <= maxAttachmentName
	if listed && len(r.files) < maxAttachments {
		r.files = append(r.files, name)
	}
	if !listed && extensions[kind] == "" && kind != "" && kind != "application/octet-stream" { // such as a picture of the text
		return nil
	}
	if r.read++; r.read > maxAttachments {
		if r.read > maxAttachments+1 {
			return nil
		}
		return r.x.Warnf(r.line, "more than %d attachments; the others are not read", maxAttachments)
	}
	if !listed {
		name = ""
	}
	name = attachmentName(name, kind)
	if content.Extension(name) == ".ics" {
		b, err := io.ReadAll(io.LimitReader(body, r.x.o.MaxText))
		if sum := sha256.Sum256(bytes.TrimSpace(b)); err != nil && len(b) == 0 || r.dates[sum] {
			return nil
		} else if r.dates == nil {
			r.dates = map[[32]byte]bool{sum: true}
		} else {
			r.dates[sum] = true
		}
		body = bytes.NewReader(b)
	}
	name = r.names.unique(name)
	f := inner{name: name, path: r.x.path() + insideMark + name, docID: wholeID(r.id + insideMark + name), what: fmt.Sprintf("attachment %q", name), line: r.line, warn: true}
	f.emit = func(d *Document) {
		if d.ID != f.docID && !strings.HasPrefix(d.ID, f.docID+insideMark) {
			d.ID = wholeID(f.docID + "#" + d.ID) // a record, whose id is one in that attachment alone
		}
		if d.Fields["attached_to"] == nil {
			d.Fields["attached_to"] = r.id
			if len(r.linked) < maxAttachments {
				r.linked = append(r.linked, d.ID)
			}
		}
	}
	return outside(&r.start, func() error {
		_, err := r.x.readInside(f, body)
		return err
	})
}

// base64Only ignores characters outside of the base64 alphabet, as mail programs do.
type base64Only struct{ r io.Reader }

func (b base64Only) Read(p []byte) (int, error) {
	for {
		n, err := b.r.Read(p)
		kept := 0
		for _, c := range p[:n] {
			if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '=' {
				p[kept] = c
				kept++
			}
		}
		if kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// quotedPrintable decodes quoted-printable and leaves errors as they are. Package
// mime/quotedprintable stops at them.
type quotedPrintable struct{ r *bufio.Reader }

func (q quotedPrintable) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c, err := q.r.ReadByte()
		if err != nil {
			return n, err
		}
		if c != '=' {
			p[n] = c
			n++
			continue
		}
		next, _ := q.r.Peek(4)
		if line := bytes.TrimLeft(next, " \t"); len(line) > 0 && (line[0] == '\n' || bytes.HasPrefix(line, []byte("\r\n"))) { // the line goes on
			end := len(next) - len(line) + bytes.IndexByte(line, '\n') + 1
			_, _ = q.r.Discard(end) // it is in the buffer
			continue
		}
		if _, err := hex.Decode(p[n:n+1], next[:min(2, len(next))]); err == nil && len(next) >= 2 {
			_, _ = q.r.Discard(2)
		} else {
			p[n] = '='
		}
		n++
	}
	return n, nil
}
