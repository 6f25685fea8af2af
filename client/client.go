// Package client talks to the REST API of a searchd server.
//
//	c, err := client.New("http://127.0.0.1:8080", client.Options{})
//	_, err = c.EnsureCollection(ctx, "notes", client.Settings{})
//	sum, err := c.Import(ctx, "notes", func(yield func(client.Document, error) bool) {
//		yield(client.Document{ID: "a", Fields: json.RawMessage(`{"text":"Flip them when bubbles show."}`)}, nil)
//	}, nil)
//	res, err := c.Search(ctx, "notes", client.Query{Q: "how to flip pancakes", Limit: 3})
//
// A request that a busy server refuses (429, 503) or that did not reach it is sent again, after the
// time that the server asks for, or after one that doubles with each attempt. Errors of the server
// are of type [*Error] and match [ErrNotFound] and the like.
//
// A request whose answer is lost may have been carried out. It is sent again only where that
// changes nothing:
//
//   - requests that only read: every GET, searches, embeddings, rankings, a deletion's dry run;
//   - writes that leave the same however often they are sent: EnsureCollection, SetAlias,
//     PutDocument without a condition, Import. The requests of an import carry an Idempotency-Key,
//     so that the server answers one sent again as it answered it first.
//
// Every other write returns an error that matches [ErrOutcomeUnknown]; look at what is stored
// before you send it again.
//
// A Client is safe for concurrent use.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options configure a [Client]. The zero value of each field means its default.
type Options struct {
	HTTP    *http.Client  // default: one of its own with a pool of connections and no overall timeout; contexts bound requests
	Key     string        // sent as a bearer token; default: none
	Retries int           // attempts after the first; default 8, negative: none
	MinWait time.Duration // before the second attempt where the server names no time; default 250 ms, doubled each time
	MaxWait time.Duration // default 30 s, also of what a server asks for

	Again func(err error) // called before a failed request is sent again; default: none

	BatchDocuments int // documents of one import request; default 1000
	BatchBytes     int // bytes of the documents or texts of one request, if there are several; default 4 MiB
}

// Client is a client of one server.
type Client struct {
	o    Options
	base *url.URL
}

// New returns a client of the server at base, such as "https://search.example.com" or
// "127.0.0.1:8080", which means http. It does not connect.
func New(base string, o Options) (*Client, error) {
	full := base
	if !strings.Contains(base, "://") {
		full = "http://" + base
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("client: server %q: allowed: HOST:PORT, or an http or https URL, such as http://127.0.0.1:8080", base)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	o.Retries = max(0, cmp.Or(o.Retries, 8))
	o.MinWait = cmp.Or(o.MinWait, 250*time.Millisecond)
	o.MaxWait = cmp.Or(o.MaxWait, 30*time.Second)
	o.BatchDocuments = cmp.Or(o.BatchDocuments, 1000)
	o.BatchBytes = cmp.Or(o.BatchBytes, 4<<20)
	return &Client{o: o, base: u}, nil
}

// call is one request of the API.
type call struct {
	method string
	path   string // escaped, from /
	query  url.Values
	media  string // of body; default application/json
	body   []byte
	header http.Header
	effect effect // of a GET always reads
	keyed  bool   // the route takes an Idempotency-Key
}

// do sends q and decodes the answer into out, unless that is nil.
func (c *Client) do(ctx context.Context, q call, out any) error {
	return c.persist(ctx, q, func(q call) error {
		res, err := c.once(ctx, q)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if out == nil {
			io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
			return nil
		}
		return readAnswer(q, res.Body, out)
	})
}

// readAnswer decodes an answer; one that is cut off is lost.
func readAnswer(q call, body io.Reader, out any) error {
	err := json.NewDecoder(body).Decode(out)
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax), errors.As(err, &typ):
		return fmt.Errorf("client: %s %s: answer: %w", q.method, q.path, err)
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return &transportError{fmt.Errorf("%s %s: answer: %w", q.method, q.path, err)}
}

// send marshals in and calls do.
func (c *Client) send(ctx context.Context, q call, in, out any) error {
	var err error
	if q.body, err = json.Marshal(in); err != nil {
		return fmt.Errorf("client: %s %s: %w", q.method, q.path, err)
	}
	return c.do(ctx, q, out)
}

// counted returns an error if q, of which want results were asked, was answered with another
// number, for example by a proxy that answers {}.
func (q call) counted(got, want int) error {
	if got == want {
		return nil
	}
	err := fmt.Errorf("client: %s %s: answer: %d results, want %d", q.method, q.path, got, want)
	if q.effect != reads {
		return &unknownError{err}
	}
	return err
}

// open sends q until it is answered or may not be sent again, and returns an answer of status 2xx
// with its body open.
func (c *Client) open(ctx context.Context, q call) (res *http.Response, err error) {
	err = c.persist(ctx, q, func(q call) error {
		res, err = c.once(ctx, q)
		return err
	})
	return res, err
}

func (c *Client) once(ctx context.Context, q call) (*http.Response, error) {
	target := c.base.Scheme + "://" + c.base.Host + c.base.EscapedPath() + q.path
	if len(q.query) > 0 {
		target += "?" + q.query.Encode()
	}
	var body io.Reader
	if q.body != nil {
		body = bytes.NewReader(q.body)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	req.URL.User = c.base.User
	for k, v := range q.header {
		req.Header[k] = v
	}
	if q.body != nil {
		req.Header.Set("Content-Type", cmp.Or(q.media, "application/json"))
	}
	if c.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.Key)
	}
	res, err := c.o.HTTP.Do(req)
	if err != nil {
		return nil, &transportError{err}
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, readError(res)
}

// Error is an answer of the server that is not a success: its problem document (RFC 9457).
type Error struct {
	Status     int           `json:"status"`
	Code       string        `json:"code"` // stable, e.g. "collection_not_found"
	Title      string        `json:"title"`
	Detail     string        `json:"detail"`
	RequestID  string        `json:"request_id"`
	Errors     []FieldError  `json:"errors"`
	RetryAfter time.Duration `json:"-"` // 0: the server names no time

	named bool // there was a Retry-After, perhaps of 0
}

// FieldError names one wrong value of a request.
type FieldError struct {
	Pointer string `json:"pointer"` // JSON pointer into the request, e.g. "/limit"
	Detail  string `json:"detail"`
}

func (e *Error) Error() string {
	what := cmp.Or(strings.TrimSpace(e.Detail), e.Title)
	switch {
	case e.Code == unknownCode && strings.Contains(what, "HTTP request to an HTTPS server"):
		return fmt.Sprintf("server: %d: it speaks HTTPS: write https:// before its name", e.Status)
	case e.Code == unknownCode:
		return fmt.Sprintf("server: %d, and not as searchd answers: %s", e.Status, what)
	}
	s := fmt.Sprintf("server: %d %s: %s", e.Status, e.Code, what)
	if e.Status >= 500 && e.RequestID != "" {
		s += " (request " + e.RequestID + ")"
	}
	return s
}

// Kinds of errors, for [errors.Is].
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists")
	ErrConflict = errors.New("revision conflict")
	ErrInvalid  = errors.New("invalid request")
	ErrBusy     = errors.New("server busy")
	ErrDenied   = errors.New("denied") // the API key is missing, not valid, or may not do it

	// ErrOutcomeUnknown: the answer to a write was lost, and the write may have been carried out or
	// not.
	ErrOutcomeUnknown = errors.New("outcome unknown")

	// ErrIncomplete: the server's time was up before it had looked at all documents.
	ErrIncomplete = errors.New("not all documents were looked at")
)

// Is makes an Error match the kind of its status.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Status == http.StatusNotFound
	case ErrExists:
		return e.Code == "collection_exists"
	case ErrConflict:
		return e.Status == http.StatusPreconditionFailed
	case ErrInvalid:
		return e.Status == http.StatusBadRequest
	case ErrDenied:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	case ErrBusy:
		return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable
	}
	return false
}

// unknownCode is the code of an answer that is no problem document.
const unknownCode = "unknown"

// readError reads an answer that is not a success. One that is not a problem document, such as a
// proxy's page, is cut to 200 bytes.
func readError(res *http.Response) *Error {
	e := &Error{}
	b, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	var openAI struct {
		Error struct{ Message, Code string } `json:"error"`
	}
	var tei struct{ Error, Code string } // of the routes of text-embeddings-inference
	switch {
	case json.Unmarshal(b, &tei) == nil && tei.Error != "" && tei.Code != "":
		e.Code, e.Detail = tei.Code, tei.Error
	case json.Unmarshal(b, e) == nil && e.Code != "":
	case json.Unmarshal(b, &openAI) == nil && openAI.Error.Message != "":
		e.Code, e.Detail = openAI.Error.Code, openAI.Error.Message
	default:
		e = &Error{Code: unknownCode, Detail: string(b[:min(len(b), 200)])}
	}
	e.Status = res.StatusCode
	e.Title = cmp.Or(e.Title, http.StatusText(e.Status))
	e.RequestID = cmp.Or(e.RequestID, res.Header.Get("X-Request-ID"))
	after := res.Header.Get("Retry-After")
	e.RetryAfter, e.named = retryAfterHeader(after), after != ""
	return e
}

// retryAfterHeader reads Retry-After: seconds, or a date.
func retryAfterHeader(v string) time.Duration {
	if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < 1<<20 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
