package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"

	"example.com/searchd/extract"
	"example.com/searchd/search"
	"example.com/searchd/search/passage"
)

// bodyFile describes how the body of an import is read.
type bodyFile struct {
	format extract.Format // JSONL: NDJSON, or with array a JSON array, which the API reads itself
	array  bool
	name   string // of a file: the id of its document, where it is one document
}

// importMedia are the media types of imports. text/plain is NDJSON, as curl sends it; a plain text
// needs format=txt.
var importMedia = []struct {
	name string
	file bodyFile
}{
	{"application/x-ndjson", bodyFile{format: extract.JSONL}},
	{"application/ndjson", bodyFile{format: extract.JSONL}},
	{"application/jsonl", bodyFile{format: extract.JSONL}},
	{"application/x-jsonlines", bodyFile{format: extract.JSONL}},
	{"text/plain", bodyFile{format: extract.JSONL}},
	{"application/json", bodyFile{format: extract.JSONL, array: true}},
	{"text/csv", bodyFile{format: extract.CSV}},
	{"text/tab-separated-values", bodyFile{format: extract.CSV}},
	{"text/markdown", bodyFile{format: extract.Markdown}},
	{"text/html", bodyFile{format: extract.HTML}},
	{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", bodyFile{format: extract.DOCX}},
	{"message/rfc822", bodyFile{format: extract.EML}},
	{"application/x-ipynb+json", bodyFile{format: extract.IPYNB}},
	{"application/epub+zip", bodyFile{format: extract.EPUB}},
	{"application/vnd.oasis.opendocument.text", bodyFile{format: extract.ODF}},
	{"application/vnd.oasis.opendocument.spreadsheet", bodyFile{format: extract.ODF}},
	{"application/vnd.oasis.opendocument.presentation", bodyFile{format: extract.ODF}},
	{"application/vnd.openxmlformats-officedocument.presentationml.presentation", bodyFile{format: extract.PPTX}},
	{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", bodyFile{format: extract.XLSX}},
	{"application/rtf", bodyFile{format: extract.RTF}},
	{"application/enex+xml", bodyFile{format: extract.ENEX}},
	{"text/vcard", bodyFile{format: extract.VCF}},
	{"text/calendar", bodyFile{format: extract.ICS}},
	{"application/x-canvas+json", bodyFile{format: extract.Canvas}},
	{"text/x-opml", bodyFile{format: extract.OPML}},
	{"application/vnd.ms-outlook", bodyFile{format: extract.MSG}},
	{"application/vnd.ms-excel", bodyFile{format: extract.XLS}},
	{"application/rss+xml", bodyFile{format: extract.Feed}},
	{"application/atom+xml", bodyFile{format: extract.Feed}},
	{"application/zip", bodyFile{format: extract.Archive}},
	{"application/x-tar", bodyFile{format: extract.Archive}},
	{"application/pdf", bodyFile{format: extract.PDF}}, // with Options.PDF only
}

// maxFile bounds files whose text is a small part of them: PDF, office files, e-books, notebooks,
// mail.
const maxFile = 64 << 20

// textInFile reports whether files of a format may have maxFile bytes.
func textInFile(f extract.Format) bool {
	switch f {
	case extract.PDF, extract.DOCX, extract.IPYNB, extract.EML, extract.EPUB, extract.ODF, extract.PPTX, extract.XLSX, extract.RTF, extract.ENEX, extract.MSG, extract.XLS, extract.Feed, extract.Archive:
		return true
	}
	return false
}

// maxWarning is the length from which a warning does not grow.
const maxWarning = 1000

// importedFile reads the media type and the parameters format and name.
func (s *Server) importedFile(r *http.Request) (bodyFile, error) {
	p := queryParams(r)
	format, _ := p.text("format")
	name, named := p.text("name")
	if err := p.err(); err != nil {
		return bodyFile{}, err
	}
	var media []string
	for _, m := range importMedia {
		if m.file.format != extract.PDF || s.o.PDF != nil {
			media = append(media, m.name)
		}
	}
	t, err := mediaType(r, media...)
	if err != nil {
		return bodyFile{}, err
	}
	var f bodyFile
	for _, m := range importMedia {
		if m.name == t {
			f = m.file
		}
	}
	switch format {
	case "":
	case "txt":
		f = bodyFile{format: extract.Text}
	default:
		return f, &search.FieldError{Field: "format", Value: format, Allowed: "txt, or none: the Content-Type says it"}
	}
	if f.name = name; named && (name == "" || len(name) > 512) {
		return f, &search.FieldError{Field: "name", Value: name, Allowed: "1 to 512 bytes of UTF-8"}
	}
	return f, nil
}

// items returns the items of a JSON body.
func (f bodyFile) items(r io.Reader, max int) *items {
	if f.array {
		return newArrayItems(r, max)
	}
	return newLineItems(r, max)
}

// runFile imports a body that is not JSON.
func (im *importer) runFile(ctx context.Context, body io.Reader, f bodyFile) error {
	watched := &watchedReader{r: body}
	im.line = 1
	o := extract.Options{MaxLine: int64(im.s.o.MaxItem), MaxFile: int64(im.s.o.MaxItem), MaxText: int64(im.s.o.MaxItem), MaxUnpacked: im.s.o.MaxImport}
	if textInFile(f.format) {
		o.MaxFile = max(maxFile, o.MaxFile)
	}
	if im.s.o.PDF != nil && textInFile(f.format) { // what holds it is in memory already
		o.PDF = func(_ context.Context, b []byte) (extract.PDFText, error) { return im.s.readPDF(ctx, b) } // not for a client that has gone
	}
	if textInFile(f.format) && f.format != extract.PDF {
		h := fileMemory{s: im.s}
		defer h.charge(math.MinInt64)
		o.Hold = h.charge
	}
	err := extract.Reader(context.WithoutCancel(ctx), watched, f.name, f.format, o, func(d extract.Document) error {
		im.line = max(1, d.Line)
		fields, err := json.Marshal(d.Fields)
		if err == nil && textInFile(f.format) && len(fields) > im.s.o.MaxItem {
			err = &requestError{kind: errTooLarge, detail: fmt.Sprintf("file: got %d bytes of text, allowed: %d in one document", len(fields), im.s.o.MaxItem)}
			fields = nil
		}
		return im.add(ctx, search.Document{ID: d.ID, Fields: fields, Blocks: blocksOf(d)}, err, len(fields))
	}, func(e extract.ItemError) error {
		if watched.err != nil {
			return nil // which is said at the end
		}
		if e.Warning {
			if len(im.warning) < maxWarning {
				im.warning = joined(im.warning, e.Reason)
			}
			return nil
		}
		im.line = max(1, e.Line)
		return im.add(ctx, search.Document{}, &requestError{kind: errMalformed, detail: e.Reason}, 0)
	})
	if err != nil && watched.err == nil {
		return im.abort(err)
	}
	return im.end(ctx, watched.err)
}

// blocksOf returns the structure of a document's text.
func blocksOf(d extract.Document) map[string][]passage.Block {
	if len(d.Blocks) == 0 {
		return nil
	}
	blocks := make([]passage.Block, len(d.Blocks))
	for i, b := range d.Blocks {
		blocks[i] = passage.Block{Kind: passage.Kind(b.Kind), Level: b.Level, Start: b.Start, End: b.End, Head: b.Head, Language: b.Language, Page: b.Page}
	}
	return map[string][]passage.Block{"text": blocks}
}

// fileMemory counts the memory that an import needs for a file. Everything beyond the limit of a
// document counts twice, as it is copied when it grows and when it is read.
type fileMemory struct {
	s       *Server
	bytes   int64
	charged int64
}

// charge counts n more bytes, or refuses them.
func (h *fileMemory) charge(n int64) error {
	h.bytes = max(0, h.bytes+n)
	more := 2*max(0, h.bytes-int64(h.s.o.MaxItem)) - h.charged
	if total := h.s.inFlight.Add(more); more > 0 && total > h.s.o.MaxInFlight {
		h.s.inFlight.Add(-more)
		h.bytes -= n
		return errFullOfBodies
	}
	h.charged += more
	return nil
}

// pdfBytes is the limit of a PDF, 0 if none are accepted.
func (s *Server) pdfBytes() int64 {
	if s.o.PDF == nil {
		return 0
	}
	return maxFile
}

// readPDF calls Options.PDF for a few PDFs at a time, since each needs much memory.
func (s *Server) readPDF(ctx context.Context, b []byte) (extract.PDFText, error) {
	if err := s.pdfs.enterEventually(ctx); err != nil {
		return extract.PDFText{}, err
	}
	defer s.pdfs.leave()
	return s.o.PDF(ctx, b)
}

// watchedReader remembers why a body could not be read. The readers of files report a broken file
// instead.
type watchedReader struct {
	r   io.Reader
	err error
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}
