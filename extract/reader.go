package extract

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"example.com/searchd/extract/content"
)

// Reader reads the documents of a stream and hands each to emit.
//
// name identifies the stream in errors and in Document.Source; with forward slashes it is the id of
// a whole-file document, unless it is empty or "-". f overrides o.Format; if both are Auto, the
// format is recognised by name and content. If r is an *os.File, its size and modification time are
// used.
//
// Errors of the input go to fail, and reading continues where it can, for example with the next
// line. With a nil fail the first error ends the reading, and warnings are dropped. Reader returns
// an error only if o is invalid, ctx ends, or emit or fail returns one. It does not close r, and
// cannot interrupt a blocked read.
func Reader(ctx context.Context, r io.Reader, name string, f Format, o Options, emit func(Document) error, fail func(ItemError) error) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if f == Auto {
		f = o.Format
	}
	x := newSource(ctx, o, name, new(Stats), emit, fail)
	x.format = f
	if name == "" || name == "-" {
		x.Name = "stdin"
	} else {
		x.id = filepath.ToSlash(name)
	}
	if s, ok := r.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := s.Stat(); err == nil && info.Mode().IsRegular() {
			x.info = info
		}
	}
	return x.read(r)
}

// source is a stream that is being read.
type source struct {
	content.File
	o      Options     // with defaults
	format Format      // Auto until recognised
	id     string      // of a whole-file document; empty for a hash of the content
	info   fs.FileInfo // nil if unknown
	quiet  bool        // content of no known format is skipped, not an error
	packed bool        // the stream is gzip-compressed
	blanks bool        // a stream of nothing but white space is no error
	emit   func(Document) error
	fail   func(ItemError) error
	stats  *Stats
	before int64 // bytes in stats that are of other streams

	left   *int64      // bytes that the archives around it, and it, may still unpack
	docID  string      // of a whole-file document, where it is not its path
	depth  int         // how many files it is inside of
	inside []Inside    // what was read inside it
	at     io.ReaderAt // the stream, where it is a file that is not packed; its size is that of info

	dates   map[string]*dateField         // by name
	readPDF func([]byte) (PDFText, error) // nil: PDF is not read
	ocr     func([]byte) (string, error)  // nil: pictures are not read
}

func newSource(ctx context.Context, o Options, name string, stats *Stats, emit func(Document) error, fail func(ItemError) error) *source {
	x := &source{o: o, format: o.Format, stats: stats, before: stats.Bytes, emit: emit, fail: fail}
	x.File = content.File{Name: name, MaxFile: o.MaxFile, MaxText: o.MaxText, WholePages: o.WholePages, Decoder: content.NewDecoder(o.Encoding), Ended: ctx.Err, Report: x.reportLine}
	if o.OCR != nil {
		x.ocr = func(b []byte) (string, error) { return o.OCR(ctx, b) }
	}
	if o.PDF != nil {
		x.readPDF = func(b []byte) (PDFText, error) { return o.PDF(ctx, b) }
	}
	return x
}

func (x *source) document(d Document) error {
	if err := x.Ended(); err != nil {
		return err
	}
	d.Source = x.Name
	x.noteDates(d)
	return x.hand(d)
}

// hand emits a document of x or of a file inside it.
func (x *source) hand(d Document) error {
	d.Offset = x.stats.Bytes - x.before
	if err := x.emit(d); err != nil {
		return err
	}
	x.stats.Documents++
	x.progress()
	return nil
}

func (x *source) progress() {
	if x.o.Progress != nil {
		x.o.Progress(*x.stats)
	}
}

func (x *source) reportLine(line int, warning bool, reason string) error {
	return x.report(ItemError{Path: x.Name, Line: line, Warning: warning, Reason: reason})
}

// report counts an error or a warning and hands it to fail. Its own error ends the reading.
func (x *source) report(e ItemError) error {
	// A stream that ends because the context has ended looks damaged.
	if err := x.Ended(); err != nil {
		return err
	}
	if e.Warning {
		x.stats.Warnings++
	} else {
		x.stats.Errors++
	}
	switch {
	case x.fail != nil:
		return x.fail(e)
	case e.Warning:
		return nil
	}
	return e
}

func (x *source) read(r io.Reader) error {
	defer x.progress()
	if err := x.readStream(r); err != nil {
		return err
	}
	return x.reportDates()
}

// readStream decompresses, decodes, recognises and parses a stream.
func (x *source) readStream(r io.Reader) error {
	raw := &countReader{r: content.Stoppable{R: r, Ended: x.Ended}, total: &x.stats.Bytes}
	br, packed, err := gunzip(bufio.NewReaderSize(raw, bufferSize), raw, x.o)
	if err != nil {
		return x.Errorf(0, "%v", err)
	}
	x.packed = packed
	br, x.Marked = content.SkipBOM(br)
	if x.blanks && blank(br) {
		x.stats.Empty++
		return nil
	}
	if skip, err := x.recognise(br); skip || err != nil {
		return err
	}
	if br, err = x.decode(br); err != nil {
		return err
	}
	if x.format == EML && inMaildir(x.Name) {
		return x.readLetter(br)
	}
	if x.format == EML && x.Ext() != ".eml" { // a message that was saved out of a mailbox may have kept its envelope
		if head, _ := br.Peek(maxEnvelope); isMailbox(head) {
			return x.readMailbox(br)
		}
	}
	switch x.format {
	case JSONL:
		return x.readJSON(br)
	case CSV:
		return x.readCSV(br)
	case ENEX:
		return x.readENEX(br)
	case VCF, ICS:
		return x.readCards(br)
	case Feed:
		return x.readFeed(br)
	case Archive:
		return x.readArchive(br)
	case Markdown, HTML, Text, Picture, PDF, DOCX, EML, IPYNB, EPUB, ODF, PPTX, XLSX, XLS, MSG, RTF, Canvas, OPML:
		return x.readWhole(br)
	}
	return fmt.Errorf("extract: no reader for format %v", x.format)
}

// blank reports whether the stream has only white space and fits into the buffer.
func blank(br *bufio.Reader) bool {
	for {
		head, _ := br.Peek(br.Buffered())
		if len(bytes.TrimSpace(head)) > 0 {
			return false
		}
		if _, err := br.Peek(len(head) + 1); err != nil {
			return err == io.EOF
		}
	}
}

// recognise sets x.format. skip means that the stream is not read, which has been reported if
// necessary.
func (x *source) recognise(br *bufio.Reader) (skip bool, err error) {
	if x.format != Auto && !x.quiet {
		return false, nil
	}
	// Filling the buffer would block on a slow pipe; a few kilobytes are enough.
	_, readErr := br.Peek(4096)
	head, _ := br.Peek(br.Buffered())
	ended := errors.Is(readErr, context.Canceled) && len(head) > 0 // by whoever feeds a pipe: it comes again after what has arrived
	if readErr != nil && !errors.Is(readErr, io.EOF) && !ended {
		return true, x.Errorf(0, "cannot be read: %v", readErr)
	}
	if x.format != Auto { // quiet: a file of unknown extension in a folder
		skip = !content.IsText(head)
	} else if f, ok := Detect(x.Name, head); ok {
		x.format = f
	} else {
		skip = true
	}
	switch {
	case !skip:
		return false, nil
	case x.quiet:
		x.stats.Skipped++
		if x.o.Skip != nil {
			x.o.Skip(x.Name, SkippedContent)
		}
		return true, nil
	case len(strings.TrimSpace(string(head))) == 0:
		return true, x.Errorf(0, "no text: the input is empty")
	case savedAs[x.Ext()] != "":
		return true, x.Errorf(0, "files of type %q are not read; save it as %s", x.Ext(), savedAs[x.Ext()])
	case x.Ext() != "":
		return true, x.Errorf(0, "unknown file type %q; say which format it is: %s", x.Ext(), strings.Join(formatNames[Auto+1:], ", "))
	}
	return true, x.Errorf(0, "binary data of unknown format")
}
