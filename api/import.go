package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"example.com/searchd/extract"
	"example.com/searchd/search"
	"example.com/searchd/trace"
)

// An import is ingested in batches of this many documents or bytes, whichever comes first.
const (
	importBatchDocs  = 128
	importBatchBytes = 512 << 10 // some hundred passages: what is lost where a batch fails, and how long an answer takes
)

// importDocuments reads documents and sends one answer per document, as soon as its batch is
// committed. The body is NDJSON, a JSON array, or a file of another format (see importedFile),
// plain or compressed with gzip or zstd.
//
// If something ends the stream early, the last line is an error with "stopped": true and the first
// line without an answer. Ingesting is idempotent by id, so the whole body can be sent again.
func (s *Server) importDocuments(w http.ResponseWriter, r *http.Request) error {
	c := r.PathValue("collection")
	if err := unconditional(r); err != nil {
		return err
	}
	file, err := s.importedFile(r)
	if err != nil {
		return err
	}
	if err := s.imports.enter(r.Context()); err != nil {
		return err
	}
	defer s.imports.leave()
	info, err := s.o.Engine.Collection(r.Context(), c)
	if err != nil {
		return err
	}
	var b io.Reader
	if file.format == extract.PDF { // is read from its end
		whole, done, err := s.readWhole(w, r, maxFile, s.o.IdleBody)
		if err != nil {
			return err
		}
		defer done()
		b = whole
	} else {
		stream, err := openBody(w, r, s.o.MaxImport, s.o.IdleBody)
		if err != nil {
			return err
		}
		defer stream.close()
		b = stream
		http.NewResponseController(w).EnableFullDuplex() // answers go out while the body comes in
		// net/http cannot always find the end of a body that failed, so nothing that follows may be
		// read as a request.
		w.Header().Set("Connection", "close")
	}
	rc := http.NewResponseController(w)
	rc.SetWriteDeadline(time.Time{}) // a batch may take longer than the server's; each piece of the answer has its own
	defer func() { rc.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)) }()
	im := &importer{s: s, collection: c, items: file.items(b, s.o.MaxItem), out: newLineWriter(w, s.o.WriteTimeout), language: newLanguageCheck(info.Settings), dates: map[string]bool{}}
	defer im.out.finish()
	_, im.decode = s.o.Tracer.Start(r.Context(), "decode")
	run := im.run
	if file.format != extract.JSONL {
		im.dates = nil // its reader reports them
		run = func(ctx context.Context) error { return im.runFile(ctx, b, file) }
	}
	if err := run(r.Context()); err != nil || im.out.begun {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson") // an empty body has the empty answer
	w.WriteHeader(http.StatusOK)
	return nil
}

// importer is one import in progress.
type importer struct {
	s          *Server
	collection string
	items      *items
	out        *lineWriter
	language   languageCheck
	decode     *trace.Span // of the next batch

	docs    []search.Document
	line    int             // of the body, where the last document began
	warning string          // about the next document, or the last
	dates   map[string]bool // fields that were reported as no dates; nil for a file
	answers []itemAnswer    // of the batch, in the order of the body; those of docs are filled in by flush
	at      []int           // answers[at[i]] is that of docs[i]
	bytes   int
}

func (im *importer) run(ctx context.Context) error {
	for im.items.next() {
		doc, err := im.items.document()
		im.line = im.items.n
		if err := im.add(ctx, doc, err, len(im.items.buf)); err != nil {
			return im.abort(err)
		}
	}
	im.line = im.items.n
	return im.end(ctx, im.items.err)
}

// add takes the next document of size bytes, or the error in it.
func (im *importer) add(ctx context.Context, doc search.Document, wrong error, size int) error {
	full := func() bool { return len(im.answers) >= importBatchDocs || im.bytes >= importBatchBytes }
	if im.dates == nil && full() { // of a file, whose last document may get a warning about all
		if err := im.flush(ctx); err != nil {
			return err
		}
	}
	a := itemAnswer{Line: im.line, ID: doc.ID, Warning: im.warning}
	im.warning = ""
	if wrong != nil {
		a.Status, a.Error = search.Failed, im.s.answerItemError(doc.ID, wrong)
	} else {
		im.at = append(im.at, len(im.answers))
		im.docs = append(im.docs, doc)
		im.language.add(doc.Fields)
	}
	im.answers = append(im.answers, a)
	if im.bytes += size; im.dates != nil && full() {
		return im.flush(ctx)
	}
	return nil
}

// end ingests the rest after the body has ended, with an error unless nil.
func (im *importer) end(ctx context.Context, body error) error {
	if body != nil {
		ctx = context.WithoutCancel(ctx) // a body that fails ends ctx; what came before it is kept
	}
	if n := len(im.answers); n > 0 {
		im.answers[n-1].Warning = joined(im.answers[n-1].Warning, im.warning)
	}
	if err := im.flush(ctx); err != nil {
		return im.abort(err)
	}
	if body != nil {
		return im.abort(body)
	}
	return nil
}

// flush ingests the batch and writes its answers.
func (im *importer) flush(ctx context.Context) error {
	im.decode.End(nil)
	defer func() { _, im.decode = im.s.o.Tracer.Start(ctx, "decode") }()
	if len(im.docs) > 0 {
		if err := im.s.writes.enterEventually(ctx); err != nil {
			return err
		}
		if err := im.s.stillAllowed(ctx); err != nil {
			im.s.writes.leave()
			return err
		}
		batch, cancel := context.WithTimeout(ctx, im.s.o.EmbedTimeout)
		results, err := im.s.o.Engine.Ingest(batch, im.collection, im.docs)
		cancel()
		im.s.writes.leave()
		if err != nil {
			return err
		}
		for i, res := range results {
			a := im.s.answerWrite(im.answers[im.at[i]].Line, im.docs[i], res)
			if a.Warning = joined(im.answers[im.at[i]].Warning, a.Warning); a.Error == nil && im.dates != nil {
				a.Warning = joined(a.Warning, extract.DateWarning(im.docs[i].Fields, im.dates))
			}
			im.answers[im.at[i]] = a
		}
		im.answers[len(im.answers)-1].LooksLike = im.language.report()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, a := range im.answers {
		if err := enc.Encode(a); err != nil {
			return err
		}
	}
	clear(im.docs)
	im.docs, im.at, im.answers, im.bytes = im.docs[:0], im.at[:0], im.answers[:0], 0
	return im.out.write(ctx, b.Bytes())
}

// joined joins two warnings, either of which may be empty.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// abort ends the answer with a line that has err. Before the first line it returns err instead.
func (im *importer) abort(err error) error {
	if rec, ok := im.out.w.(*recorder); ok {
		rec.failed.Store(true) // the rest is still to be sent: such an answer is not kept for Idempotency-Key
	}
	if !im.out.begun {
		return err
	}
	first := im.line
	if len(im.answers) > 0 {
		first = im.answers[0].Line
	}
	e := im.s.answerItemError("", err)
	e.Detail = fmt.Sprintf("import stopped, the outcome of line %d and later is unknown: %s", first, e.Detail)
	b, _ := json.Marshal(itemAnswer{Line: first, Status: search.Failed, Error: e, Stopped: true})
	return im.out.write(context.Background(), append(b, '\n'))
}

// lineWriter sends lines from its own goroutine. A client that sends all documents before it reads
// the first answer would otherwise deadlock with the server; up to lineBacklog pieces are queued.
type lineWriter struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	idle   time.Duration
	pieces chan []byte
	done   chan struct{}
	begun  bool
}

const lineBacklog = 4096 // pieces of at most one batch each: about 40 MB

func newLineWriter(w http.ResponseWriter, idle time.Duration) *lineWriter {
	return &lineWriter{w: w, rc: http.NewResponseController(w), idle: idle, pieces: make(chan []byte, lineBacklog), done: make(chan struct{})}
}

// write queues b; the first call sends the header.
func (l *lineWriter) write(ctx context.Context, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", "application/x-ndjson")
		l.w.WriteHeader(http.StatusOK)
		go l.send()
	}
	select {
	case l.pieces <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.done:
		return errors.New("client does not read the response")
	}
}

func (l *lineWriter) send() {
	defer close(l.done)
	for b := range l.pieces {
		l.rc.SetWriteDeadline(time.Now().Add(l.idle))
		if _, err := l.w.Write(b); err != nil {
			return
		}
		if len(l.pieces) == 0 {
			l.rc.Flush()
			l.rc.SetWriteDeadline(time.Time{})
		}
	}
}

// finish waits until everything is sent.
func (l *lineWriter) finish() {
	if l.begun {
		close(l.pieces)
		<-l.done
	}
}
