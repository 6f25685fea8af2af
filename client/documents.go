package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Document is a document to be written: an id and a JSON object of fields. Without an id the server
// takes the hash of the content.
type Document struct {
	ID     string             `json:"id,omitempty"`
	Fields json.RawMessage    `json:"document"`
	Blocks map[string][]Block `json:"blocks,omitempty"` // structure of texts, by the name of their field

	// The vectors, where those of the collection are given: one of the document, or several.
	Vector  []float32 `json:"vector,omitempty"`
	Vectors []Vector  `json:"vectors,omitempty"`
}

// Vector is a given vector and the part of a text that it stands for, in bytes; without Field it
// stands for the document.
type Vector struct {
	Vector []float32 `json:"vector"`
	Field  string    `json:"field,omitempty"`
	Start  int       `json:"start,omitempty"`
	End    int       `json:"end,omitempty"`
}

// Block is a part of a text that is read as a whole: bytes [Start, End) of it.
type Block struct {
	Kind     string `json:"kind"`            // paragraph, heading, item, table, code, quote
	Level    int    `json:"level,omitempty"` // of a heading or an item
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Head     int    `json:"head,omitempty"` // where the header of a table ends
	Language string `json:"language,omitempty"`
	Page     int    `json:"page,omitempty"` // page or slide, from 1
}

// StoredDocument is a document as the server has it.
type StoredDocument struct {
	ID       string             `json:"id"`
	Revision uint64             `json:"revision"`
	Fields   json.RawMessage    `json:"document"`
	Passages []Passage          `json:"passages,omitempty"`
	Blocks   map[string][]Block `json:"blocks,omitempty"`
	Vector   []float32          `json:"vector,omitempty"` // of an export, where the collection's vectors are given
	Vectors  []Vector           `json:"vectors,omitempty"`
}

// The statuses of a [Result].
const (
	Created   = "created"
	Updated   = "updated"
	Unchanged = "unchanged"
	Deleted   = "deleted"
	Failed    = "error"
)

// Result is the outcome of one document.
type Result struct {
	ID       string       `json:"id"`
	Status   string       `json:"status"`
	Revision uint64       `json:"revision"`
	Passages int          `json:"passages"`
	Error    *ResultError `json:"error"`             // not nil exactly when Status is Failed
	Warning  string       `json:"warning,omitempty"` // what of it is not searched or not likely to be meant; it is stored
}

// ResultError is the reason of a failed item.
type ResultError struct {
	Code   string       `json:"code"`
	Detail string       `json:"detail"`
	Errors []FieldError `json:"errors"`
}

func (e *ResultError) Error() string { return e.Code + ": " + e.Detail }

// documentPath escapes slashes too. The words that are routes below documents/ get one letter
// escaped, which keeps them ids.
func documentPath(collection, id string) string {
	escaped := url.PathEscape(id)
	switch id {
	case "import", "export", "delete":
		escaped = fmt.Sprintf("%%%02X", id[0]) + id[1:]
	case ".", "..":
		escaped = strings.ReplaceAll(id, ".", "%2E")
	}
	return collectionPath(collection) + "/documents/" + escaped
}

// A Condition makes a write depend on the stored revision. The zero value is none.
type Condition struct {
	Revision uint64 // only if the stored revision is this one
	Absent   bool   // only if there is no such document
}

func (w Condition) header() http.Header {
	h := http.Header{}
	switch {
	case w.Absent:
		h.Set("If-None-Match", "*")
	case w.Revision > 0:
		h.Set("If-Match", `"`+strconv.FormatUint(w.Revision, 10)+`"`)
	}
	return h
}

// effect of a PUT: with a condition, a second one would meet what the first left.
func (w Condition) effect() effect {
	if w == (Condition{}) {
		return repeats
	}
	return writes
}

// Document returns a document; ErrNotFound.
func (c *Client) Document(ctx context.Context, collection, id string) (*StoredDocument, error) {
	out := &StoredDocument{}
	return out, c.do(ctx, call{method: http.MethodGet, path: documentPath(collection, id)}, out)
}

// PutDocument writes the document id with these fields, which marshal to a JSON object;
// ErrConflict, ErrInvalid, and with a condition ErrOutcomeUnknown.
func (c *Client) PutDocument(ctx context.Context, collection, id string, fields any, w Condition) (*Result, error) {
	out := &Result{}
	object, err := objectOf(id, fields)
	if err != nil {
		return out, err
	}
	body := Document{Fields: object}
	return out, c.send(ctx, call{method: http.MethodPut, path: documentPath(collection, id), header: w.header(), effect: w.effect()}, body, out)
}

// objectOf returns the fields of a document as JSON. The server would take anything but an object
// for the value of a field "document".
func objectOf(id string, fields any) (json.RawMessage, error) {
	b, err := json.Marshal(fields)
	if err == nil && b[0] != '{' {
		err = fmt.Errorf("%w: the fields are no JSON object", ErrInvalid)
	}
	if err != nil {
		return nil, fmt.Errorf("client: document %q: %w", id, err)
	}
	return b, nil
}

// PatchDocument merges a patch (RFC 7396: null removes a member) into the fields of a document;
// ErrNotFound, ErrConflict, ErrOutcomeUnknown.
func (c *Client) PatchDocument(ctx context.Context, collection, id string, patch any, w Condition) (*Result, error) {
	out := &Result{}
	return out, c.send(ctx, call{method: http.MethodPatch, path: documentPath(collection, id), header: w.header()}, patch, out)
}

// DeleteDocument deletes a document; ErrNotFound, ErrConflict, ErrOutcomeUnknown.
func (c *Client) DeleteDocument(ctx context.Context, collection, id string, w Condition) error {
	return c.do(ctx, call{method: http.MethodDelete, path: documentPath(collection, id), header: w.header()}, nil)
}

// DeleteDocuments deletes documents, at most 1000 with one request; results are in the order of
// ids. With an error they are those of the requests that were answered before; ErrOutcomeUnknown.
func (c *Client) DeleteDocuments(ctx context.Context, collection string, ids []string) ([]Result, error) {
	const page = 1000
	var results []Result
	for len(ids) > 0 {
		n := min(page, len(ids))
		var out struct {
			Results []Result `json:"results"`
		}
		body := map[string][]string{"ids": ids[:n]}
		q := call{method: http.MethodPost, path: collectionPath(collection) + "/documents/delete"}
		if err := c.send(ctx, q, body, &out); err != nil {
			return results, err
		}
		if err := q.counted(len(out.Results), n); err != nil {
			return results, err
		}
		results = append(results, out.Results...)
		ids = ids[n:]
	}
	return results, nil
}

// DeleteByFilter deletes the documents that pass a filter, or with dryRun only counts them; it
// sends the request again until all are gone. It returns how many passed and how many were deleted;
// ErrInvalid, ErrOutcomeUnknown, and ErrIncomplete where a dry run is too long for the server,
// which has counted only some, or a request came to its end without a deletion: try again later.
func (c *Client) DeleteByFilter(ctx context.Context, collection, filter string, dryRun bool) (matched, deleted int, err error) {
	for {
		var out struct {
			Matched  int  `json:"matched"`
			Deleted  int  `json:"deleted"`
			Complete bool `json:"complete"`
		}
		body := map[string]any{"filter": filter, "dry_run": dryRun}
		q := call{method: http.MethodPost, path: collectionPath(collection) + "/documents/delete"}
		if dryRun {
			q.effect = reads
		}
		if err := c.send(ctx, q, body, &out); err != nil {
			return matched, deleted, err
		}
		matched, deleted = matched+out.Matched, deleted+out.Deleted
		if out.Complete {
			return matched, deleted, nil
		}
		if dryRun || out.Deleted == 0 {
			return matched, deleted, fmt.Errorf("client: %w", ErrIncomplete)
		}
	}
}

// Export streams all documents of a collection. An error ends it; one comes too when the stream is
// cut off.
func (c *Client) Export(ctx context.Context, collection string) iter.Seq2[*StoredDocument, error] {
	return lines[StoredDocument](ctx, c, collectionPath(collection)+"/documents/export", "export of "+collection)
}

// lines streams the lines of JSON at path, as Export does. name is what errors call them.
func lines[T any](ctx context.Context, c *Client, path, name string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		res, err := c.open(ctx, call{method: http.MethodGet, path: path})
		if err != nil {
			yield(nil, err)
			return
		}
		defer res.Body.Close()
		dec := json.NewDecoder(bufio.NewReaderSize(res.Body, 64<<10))
		for {
			v := new(T)
			if err := dec.Decode(v); err == io.EOF {
				return
			} else if err != nil {
				yield(nil, fmt.Errorf("client: %s: %w", name, err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}
