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
)

// Reader reads the documents of one stream and hands each to emit as soon as it is complete.
//
// name stands for the stream in errors and in Document.Source; with forward slashes it is the id of
// a whole-file document, unless it is empty or "-". f overrides o.Format; if both are Auto, the
// format is recognised by name and content. If r is an *os.File, its size and time of change are
// used.
//
// What is wrong with the input goes to fail, and reading goes on where that makes sense: after a
// bad line with the next line. With a nil fail the first error ends the reading; warnings are
// dropped. Reader itself returns an error only if o is not usable, ctx ends, or emit or fail
// returns one. It does not close r, and cannot interrupt a blocked read of r when ctx ends.
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
		x.name = "stdin"
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

// source is one stream on its way to documents.
type source struct {
	ended  func() error // why the caller's context has ended; nil while it has not
	o      Options      // with defaults
	format Format       // Auto until recognised
	name   string
	id     string      // of a whole-file document; empty for a hash of the content
	info   fs.FileInfo // nil if unknown
	quiet  bool        // content of no known format is skipped, not an error
	packed bool        // the stream is gzip-compressed
	blanks bool        // a stream of nothing but white space is no error
	marked bool        // the stream began with a byte order mark, so it is UTF-8 by now
	dec    decoder
	emit   func(Document) error
	fail   func(ItemError) error
	stats  *Stats
	before int64 // bytes in stats that are of other streams

	left   *int64      // bytes that the archives around it, and it, may still unpack
	docID  string      // of a whole-file document, where it is not its path
	depth  int         // how many files it is inside of
	inside []Inside    // what was read inside it
	at     io.ReaderAt // the stream, where it is a file that is not packed; its size is that of info

	readPDF func([]byte) (PDFText, error) // nil: PDF is not read
}

func newSource(ctx context.Context, o Options, name string, stats *Stats, emit func(Document) error, fail func(ItemError) error) *source {
	x := &source{ended: ctx.Err, o: o, format: o.Format, name: name, stats: stats, before: stats.Bytes, emit: emit, fail: fail, dec: newDecoder(o.Encoding)}
	if o.PDF != nil {
		x.readPDF = func(b []byte) (PDFText, error) { return o.PDF(ctx, b) }
	}
	return x
}

// document hands d on.
func (x *source) document(d Document) error {
	if err := x.ended(); err != nil {
		return err
	}
	d.Source = x.name
	return x.hand(d)
}

// hand hands on a document of x or of a file inside it.
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

// errorf reports what is wrong at line (0: the whole file). Its own error, not nil, ends the
// reading.
func (x *source) errorf(line int, format string, args ...any) error {
	return x.report(ItemError{Path: x.name, Line: line, Reason: fmt.Sprintf(format, args...)})
}

func (x *source) warnf(line int, format string, args ...any) error {
	return x.report(ItemError{Path: x.name, Line: line, Reason: fmt.Sprintf(format, args...), Warning: true})
}

func (x *source) report(e ItemError) error {
	// A stream that stops because the context has ended looks like a broken file; say what it is.
	if err := x.ended(); err != nil {
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

// text makes valid UTF-8 of b and reports what it had to change.
func (x *source) text(line int, b []byte) (string, error) {
	s, warning := x.dec.text(b)
	if warning != "" {
		if err := x.warnf(line, "%s", warning); err != nil {
			return "", err
		}
	}
	return s, nil
}

// stoppable reads from r until the caller's context has ended.
type stoppable struct {
	r     io.Reader
	ended func() error
}

func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ended(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// read unpacks, decodes, recognises and parses.
func (x *source) read(r io.Reader) error {
	defer x.progress()
	raw := &countReader{r: stoppable{r, x.ended}, total: &x.stats.Bytes}
	br, packed, err := gunzip(bufio.NewReaderSize(raw, bufferSize), raw, x.o)
	if err != nil {
		return x.errorf(0, "%v", err)
	}
	x.packed = packed
	br, x.marked = skipBOM(br)
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
	if x.format == EML && inMaildir(x.name) {
		return x.readLetter(br)
	}
	if x.format == EML && extension(x.name) != ".eml" { // a message that was saved out of a mailbox may have kept its envelope
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
	case Markdown, HTML, Text, PDF, DOCX, EML, IPYNB, EPUB, ODF, PPTX, XLSX, XLS, MSG, RTF, Canvas, OPML:
		return x.readWhole(br)
	}
	return fmt.Errorf("extract: no reader for format %v", x.format)
}

// blank reports whether the stream ends before there is anything but white space in it, as far as
// the buffer goes.
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

// recognise settles x.format. skip means that the stream is not to be read, for a reason that has
// been reported if it needed to be.
func (x *source) recognise(br *bufio.Reader) (skip bool, err error) {
	if x.format != Auto && !x.quiet {
		return false, nil
	}
	// A full buffer would make a slow pipe wait for long; a few kilobytes are enough to recognise
	// all formats.
	_, readErr := br.Peek(4096)
	head, _ := br.Peek(br.Buffered())
	ended := errors.Is(readErr, context.Canceled) && len(head) > 0 // by whoever feeds a pipe: it comes again after what has arrived
	if readErr != nil && !errors.Is(readErr, io.EOF) && !ended {
		return true, x.errorf(0, "cannot be read: %v", readErr)
	}
	if x.format != Auto { // quiet: a file of unknown extension in a folder
		skip = !isText(head)
	} else if f, ok := Detect(x.name, head); ok {
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
			x.o.Skip(x.name, SkippedContent)
		}
		return true, nil
	case len(strings.TrimSpace(string(head))) == 0:
		return true, x.errorf(0, "no text: the input is empty")
	case savedAs[extension(x.name)] != "":
		return true, x.errorf(0, "files of type %q are not read; save it as %s", extension(x.name), savedAs[extension(x.name)])
	case extension(x.name) != "":
		return true, x.errorf(0, "unknown file type %q; say which format it is: %s", extension(x.name), strings.Join(formatNames[Auto+1:], ", "))
	}
	return true, x.errorf(0, "binary data of unknown format")
}
