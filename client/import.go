package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
)

// ImportSummary counts the outcomes of an import.
type ImportSummary struct {
	Created, Updated, Unchanged, Failed int
	Documents                           int   // answered, all together
	Passages                            int   //
	Bytes                               int64 // sent, without what was sent again
}

// Import writes any number of documents, which docs yields one by one; an error that it yields ends
// the import. It splits them into requests of Options.BatchDocuments or BatchBytes, and sends a
// request again when the server is busy or the connection breaks; one that is too large is halved.
// each, where not nil, is called with the number of the document, from 0, and its result, in the
// order of docs; its error ends the import.
//
// A failed document is counted and does not end the import; one whose Fields are no JSON object
// ends it (ErrInvalid). What is returned with an error counts what was answered until then;
// importing everything again is safe.
func (c *Client) Import(ctx context.Context, collection string, docs iter.Seq2[Document, error], each func(n int, r Result) error) (ImportSummary, error) {
	im := &importer{c: c, path: collectionPath(collection) + "/documents/import", each: each}
	err := im.take(ctx, docs)
	if last := im.flush(ctx); last != nil {
		err = errors.Join(err, last)
	}
	return im.sum, err
}

type importer struct {
	c     *Client
	path  string
	each  func(int, Result) error
	ended bool // by the error of each
	sum   ImportSummary
	lines [][]byte // of the next request
	bytes int
}

// take sends docs, but for the last of them, which are left in lines.
func (im *importer) take(ctx context.Context, docs iter.Seq2[Document, error]) error {
	for doc, err := range docs {
		if err != nil {
			return err
		}
		if doc.Fields, err = objectOf(doc.ID, doc.Fields); err != nil {
			return err
		}
		line, err := json.Marshal(doc)
		if err != nil {
			return fmt.Errorf("client: document %q: %w", doc.ID, err)
		}
		if len(im.lines) > 0 && (len(im.lines) >= im.c.o.BatchDocuments || im.bytes+len(line) > im.c.o.BatchBytes) {
			if err := im.flush(ctx); err != nil {
				return err
			}
		}
		im.lines = append(im.lines, line)
		im.bytes += len(line) + 1
	}
	return nil
}

func (im *importer) flush(ctx context.Context) error {
	lines := im.lines
	im.lines, im.bytes = im.lines[:0:0], 0
	return im.send(ctx, lines)
}

// send imports lines. What a broken stream leaves unanswered is sent again, as long as each attempt
// gets further.
func (im *importer) send(ctx context.Context, lines [][]byte) error {
	for stuck := 0; len(lines) > 0; {
		n, err := im.request(ctx, lines)
		lines = lines[n:]
		switch {
		case err == nil:
			continue
		case im.ended: // whatever kind of error it is
			return err
		}
		var e *Error
		if errors.As(err, &e) && e.Status == http.StatusRequestEntityTooLarge && len(lines) > 1 {
			if err := im.send(ctx, lines[:len(lines)/2]); err != nil {
				return err
			}
			lines = lines[len(lines)/2:]
			continue
		}
		if stuck++; n > 0 {
			stuck = 0
		}
		var cut *cutError
		if !errors.As(err, &cut) || stuck > im.c.o.Retries || ctx.Err() != nil {
			return err
		}
		if im.c.o.Again != nil {
			im.c.o.Again(err)
		}
		if err := im.c.pause(ctx, im.c.backOff(stuck)); err != nil {
			return err
		}
	}
	return nil
}

// cutError is an answer that ended before every document was answered.
type cutError struct{ err error }

func (e *cutError) Error() string { return "client: import: answer cut off: " + e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }

// request sends one request and returns how many of its lines were answered.
func (im *importer) request(ctx context.Context, lines [][]byte) (answered int, err error) {
	body := append(bytes.Join(lines, []byte("\n")), '\n')
	res, err := im.c.open(ctx, call{method: http.MethodPost, path: im.path, media: "application/x-ndjson", body: body, effect: repeats, keyed: true})
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	dec := json.NewDecoder(bufio.NewReaderSize(res.Body, 64<<10))
	for answered < len(lines) {
		var a struct {
			Result
			Line    int  `json:"line"`
			Stopped bool `json:"stopped"` // not the answer to a document: the error is why the server gave up
		}
		if err := dec.Decode(&a); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return answered, &cutError{err}
		}
		if a.Stopped && a.Error != nil {
			return answered, stoppedError(a.Error)
		}
		if a.Line != answered+1 {
			return answered, fmt.Errorf("client: import: got the answer to line %d, want line %d", a.Line, answered+1)
		}
		if err := im.count(a.Result); err != nil {
			return answered, err
		}
		im.sum.Bytes += int64(len(lines[answered]) + 1)
		answered++
	}
	io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	return answered, nil
}

// stoppedError returns a cutError where the server was busy or shuts down, so that another attempt
// may get further.
func stoppedError(e *ResultError) error {
	switch e.Code {
	case "deadline_exceeded", "canceled", "shutting_down", "overloaded", "body_too_slow":
		return &cutError{e}
	}
	return fmt.Errorf("client: import: %w", e)
}

func (im *importer) count(r Result) error {
	n := im.sum.Documents
	im.sum.Documents++
	im.sum.Passages += r.Passages
	switch r.Status {
	case Created:
		im.sum.Created++
	case Updated:
		im.sum.Updated++
	case Unchanged:
		im.sum.Unchanged++
	default:
		im.sum.Failed++
	}
	if im.each == nil {
		return nil
	}
	err := im.each(n, r)
	im.ended = err != nil
	return err
}
