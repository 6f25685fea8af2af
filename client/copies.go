package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Copies copies a collection between servers, with passages and vectors as they are stored. The
// command `searchd migrate` does that for all collections.
type Copies struct {
	client *Client
	name   string
}

// CopiesOf returns what reads a collection of a server to be copied, or makes one a copy.
func CopiesOf(c *Client, collection string) Copies { return Copies{c, collection} }

// Original is what a copy has to begin with: Of is the incarnation of the collection.
type Original struct {
	Of   string
	Body json.RawMessage
}

// Original describes the collection for Begin of another server; ErrNotFound.
func (c Copies) Original(ctx context.Context) (o Original, err error) {
	if err := c.client.do(ctx, call{method: http.MethodGet, path: collectionPath(c.name) + "/copy"}, &o.Body); err != nil {
		return o, err
	}
	var head struct {
		Of string `json:"of"`
	}
	err = json.Unmarshal(o.Body, &head)
	o.Of = head.Of
	return o, err
}

func (c Copies) path(of string) string {
	return collectionPath(c.name) + "/copy/" + url.PathEscape(of)
}

// Begin makes the collection a copy, or goes on with one that has not ended; ErrExists.
func (c Copies) Begin(ctx context.Context, o Original) error {
	return c.client.do(ctx, call{method: http.MethodPut, path: c.path(o.Of), body: o.Body, effect: repeats}, nil)
}

// End makes a copy a collection like others; ErrInvalid where it is none.
func (c Copies) End(ctx context.Context, of string) error {
	return c.client.do(ctx, call{method: http.MethodDelete, path: c.path(of)}, nil)
}

// Write puts what Read returned into a copy, and deletes the documents that were not there.
func (c Copies) Write(ctx context.Context, of string, documents []byte) error {
	return c.client.do(ctx, call{method: http.MethodPost, path: c.path(of) + "/documents", media: "application/octet-stream", body: documents, effect: repeats}, nil)
}

// Digest is a sum over all that is stored of a document, but for its revision; empty where there is
// none, or a value of it is damaged.
type Digest struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
}

type digestRequest struct {
	IDs    []string `json:"ids,omitempty"`
	Cursor string   `json:"cursor,omitempty"`
	Limit  int      `json:"limit,omitempty"`
}

// List returns the digests of a page of documents, at most 1000. cursor is empty at first and then
// what next was, which is empty at the end.
func (c Copies) List(ctx context.Context, cursor string, limit int) (list []Digest, next string, err error) {
	return c.digests(ctx, digestRequest{Cursor: cursor, Limit: limit})
}

// Digests returns the digests of documents by id, at most 1024.
func (c Copies) Digests(ctx context.Context, ids []string) ([]Digest, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, _, err := c.digests(ctx, digestRequest{IDs: ids})
	if err == nil && len(list) != len(ids) {
		err = fmt.Errorf("client: %d digests of %d documents", len(list), len(ids))
	}
	return list, err
}

func (c Copies) digests(ctx context.Context, q digestRequest) ([]Digest, string, error) {
	var out struct {
		Documents []Digest `json:"documents"`
		Next      string   `json:"next"`
	}
	err := c.client.send(ctx, call{method: http.MethodPost, path: collectionPath(c.name) + "/documents/digests", effect: reads}, q, &out)
	return out.Documents, out.Next, err
}

// maxStored bounds an answer with stored documents.
const maxStored = 512 << 20

// Read returns the first n documents of ids, at least one, in the form that Write takes.
func (c Copies) Read(ctx context.Context, ids []string) (documents []byte, n int, err error) {
	body, err := json.Marshal(digestRequest{IDs: ids})
	if err != nil {
		return nil, 0, err
	}
	q := call{method: http.MethodPost, path: collectionPath(c.name) + "/documents/stored", body: body, effect: reads}
	err = c.client.persist(ctx, q, func(q call) error {
		res, err := c.client.once(ctx, q)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		documents, err = io.ReadAll(io.LimitReader(res.Body, maxStored+1))
		if err != nil {
			return &transportError{fmt.Errorf("%s %s: answer: %w", q.method, q.path, err)}
		}
		n, err = strconv.Atoi(res.Header.Get("Documents-Count"))
		if err != nil || n < 1 || n > len(ids) || len(documents) > maxStored {
			return fmt.Errorf("client: %s %s: answer: %d documents of %d in %d bytes", q.method, q.path, n, len(ids), len(documents))
		}
		return nil
	})
	return documents, n, err
}
