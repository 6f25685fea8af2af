package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"example.com/searchd/access"
	"example.com/searchd/search"

	"github.com/labstack/echo/v4"
)

// The errors of the HTTP side. Those of the engine are in package search.
var (
	errMalformed     = errors.New("malformed request")
	errTooLarge      = errors.New("request too large")
	errMediaType     = errors.New("unsupported media type")
	errNoRoute       = errors.New("no such route")
	errNoModel       = errors.New("no such model")
	errMethod        = errors.New("method not allowed")
	errHost          = errors.New("host not allowed")
	errOrigin        = errors.New("cross-origin request refused")
	errOverloaded    = errors.New("overloaded")
	errTooManyWrites = errors.New("too many writes")
	errNotReady      = errors.New("not ready")
	errKeyInUse      = errors.New("Idempotency-Key: the first request with this key is still running")
	errKeyReused     = errors.New("Idempotency-Key: already used for another request")
	errBodyTimeout   = errors.New("request body too slow")
	errNoKey         = errors.New("API key missing")
	errBadKey        = errors.New("API key not valid")
	errScope         = errors.New("scope missing")
	errCollection    = errors.New("collection not allowed")
	errRate          = errors.New("too many requests")
)

// failure is the answer to one kind of error.
type failure struct {
	is     error
	status int
	code   string
	title  string
	retry  string // Retry-After, in seconds
}

// failures maps errors to a status and a stable code. The first match counts.
var failures = []failure{
	{search.ErrCollectionNotFound, 404, "collection_not_found", "Collection not found", ""},
	{search.ErrDocumentNotFound, 404, "document_not_found", "Document not found", ""},
	{search.ErrCollectionExists, 409, "collection_exists", "Collection exists", ""},
	{search.ErrTooManyCollections, 409, "too_many_collections", "Too many collections", ""},
	{search.ErrAliasNotFound, 404, "alias_not_found", "Alias not found", ""},
	{search.ErrSnapshotNotFound, 404, "snapshot_not_found", "Snapshot not found", ""},
	{search.ErrTooManySnapshots, 409, "too_many_snapshots", "Too many snapshots", ""},
	{search.ErrTaskNotFound, 404, "task_not_found", "Task not found", ""},
	{search.ErrTaskFinished, 409, "task_finished", "Task has ended or cannot be cancelled", ""},
	{search.ErrTaskRunning, 409, "task_running", "Another task is working on this collection", ""},
	{search.ErrAliased, 409, "collection_aliased", "Collection has an alias", ""},
	{search.ErrModelMismatch, 409, "model_mismatch", "Collection was built with another checkpoint", ""},
	{search.ErrConflict, 412, "revision_conflict", "Revision is not the expected one", ""},
	{search.ErrInvalid, 400, "invalid_request", "Invalid request", ""},
	{search.ErrUnsupported, 422, "not_supported", "Not supported by this server", ""},
	{search.ErrEmbedder, 502, "embedder_failed", "The collection's embedder did not encode a text", ""},
	{search.ErrBusy, 503, "overloaded", "Too many requests at once", "1"},
	{search.ErrDamaged, 503, "collection_damaged", "Collection is damaged", ""},
	{search.ErrUnavailable, 503, "unavailable", "Part of the cluster is unavailable", "1"},
	{search.ErrOutcomeUnknown, 503, "outcome_unknown", "Outcome of the write is unknown", ""},
	{search.ErrReadOnly, 503, "read_only", "Data folder is read-only", ""},
	{search.ErrNoSpace, 507, "no_space", "No space left", ""},
	{search.ErrClosed, 503, "shutting_down", "Server is shutting down", "5"},
	{errNoKey, 401, "missing_api_key", "API key missing", ""},
	{errBadKey, 401, "invalid_api_key", "API key not valid", ""},
	{errScope, 403, "insufficient_scope", "The API key may not do this", ""},
	{errCollection, 403, "collection_not_allowed", "The API key is not for this collection", ""},
	{errRate, 429, "rate_limited", "Too many requests", ""},
	{access.ErrExceeds, 403, "exceeds_key", "Exceeds the permissions of the request's API key", ""},
	{access.ErrUnknown, 404, "key_not_found", "API key not found", ""},
	{access.ErrTooMany, 409, "too_many_keys", "Too many API keys", ""},
	{errMalformed, 400, "malformed_request", "Malformed request", ""},
	{errTooLarge, 413, "too_large", "Request too large", ""},
	{errMediaType, 415, "unsupported_media_type", "Unsupported media type", ""},
	{errNoRoute, 404, "route_not_found", "No such route", ""},
	{errNoModel, 404, "model_not_found", "Model not found", ""},
	{errMethod, 405, "method_not_allowed", "Method not allowed", ""},
	{errHost, 403, "host_not_allowed", "Host not allowed", ""},
	{errOrigin, 403, "cross_origin", "Cross-origin request refused", ""},
	{errTooManyWrites, 429, "too_many_writes", "Too many writes at once", "1"},
	{errOverloaded, 503, "overloaded", "Too many requests at once", "1"},
	{errKeyInUse, 409, "idempotency_key_in_use", "First request is still running", "1"},
	{errKeyReused, 422, "idempotency_key_reused", "Key was used for another request", ""},
	{errNotReady, 503, "not_ready", "Not ready", "1"},
	{errBodyTimeout, 408, "body_too_slow", "Request body arrived too slowly", ""},
	{context.DeadlineExceeded, 503, "deadline_exceeded", "Request took too long", "1"},
	{context.Canceled, 503, "canceled", "Request was canceled", "1"},
}

var internalFailure = failure{nil, 500, "internal", "Internal error", ""}

func classify(err error) failure {
	for _, f := range failures {
		if errors.Is(err, f.is) {
			return f
		}
	}
	return internalFailure
}

// requestError is an error in a request, described for the client.
type requestError struct {
	kind    error
	detail  string
	pointer string // JSON pointer of the wrong value, empty when the request as a whole is meant
	said    string // of the value there, which detail names; default: detail
}

// pointedError returns e with a pointer that cannot be derived from its field.
func pointedError(pointer string, e *search.FieldError) error {
	return &requestError{kind: search.ErrInvalid, pointer: pointer, detail: e.Error(), said: e.Said()}
}

func (e *requestError) Error() string { return e.detail }
func (e *requestError) Unwrap() error { return e.kind }

// problem is the body of an error answer (RFC 9457).
type problem struct {
	Type      string        `json:"type"`
	Title     string        `json:"title"`
	Status    int           `json:"status"`
	Detail    string        `json:"detail,omitempty"`
	Instance  string        `json:"instance,omitempty"`
	Code      string        `json:"code"`
	RequestID string        `json:"request_id,omitempty"`
	Errors    []problemItem `json:"errors,omitempty"`

	// For clients of other APIs, on their routes alone.
	Message string       `json:"message,omitempty"` // Cohere's
	Error   *openAIError `json:"error,omitempty"`   // OpenAI's
}

func (p problem) message() string { return cmp.Or(p.Detail, p.Title) }

// problemItem names one wrong value of a request.
type problemItem struct {
	Pointer string `json:"pointer"` // RFC 6901, empty where it is all of the body; of a query parameter, of the member of the same name
	Detail  string `json:"detail"`
}

// detail returns the text of err for the client. The cause of a server failure may name files, so
// it is logged only.
func (f failure) detail(err error) string {
	var re *requestError
	var damaged *search.DamagedError
	switch {
	case errors.As(err, &damaged):
		return damaged.Error()
	case f.status < 500, errors.As(err, &re), errors.Is(err, errNotReady):
		return err.Error()
	case f.is == context.DeadlineExceeded:
		return "took longer than the server allows"
	case f.is != nil:
		return f.is.Error()
	}
	return ""
}

// describe returns the problem of an error.
func describe(err error, r *http.Request) (problem, failure) {
	f := classify(err)
	p := problem{Type: "urn:searchd:problem:" + f.code, Title: f.title, Status: f.status, Code: f.code,
		Detail:   f.detail(err),
		Instance: r.URL.EscapedPath(), RequestID: requestID(r.Context())}
	p.Errors = problemItems(err)
	return p, f
}

func problemItems(err error) []problemItem {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var items []problemItem
		for _, e := range many.Unwrap() {
			items = append(items, problemItems(e)...)
		}
		return items
	}
	var fe *search.FieldError
	if errors.As(err, &fe) {
		return []problemItem{{Pointer: pointerOf(fe.Field), Detail: fe.Said()}}
	}
	var de *search.DocumentError
	if errors.As(err, &de) {
		return []problemItem{{Pointer: pointerTo(de.Steps()...), Detail: de.Said()}}
	}
	var re *requestError
	if errors.As(err, &re) && re.pointer != "" {
		return []problemItem{{Pointer: re.pointer, Detail: cmp.Or(re.said, re.detail)}}
	}
	return nil
}

// pointerTo returns the JSON pointer of a path of names and indexes.
func pointerTo(path ...any) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteByte('/')
		b.WriteString(pointerEscape.Replace(fmt.Sprint(step)))
	}
	return b.String()
}

// pointerOf returns the JSON pointer of a dotted field name with indexes in brackets.
func pointerOf(field string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		b.WriteByte('/')
		b.WriteString(pointerEscape.Replace(part))
	}
	return b.String()
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// writeError answers err. If the answer has already begun, the error is only logged.
func (s *Server) writeError(err error, c echo.Context) {
	r, w := c.Request(), c.Response()
	var he *echo.HTTPError
	if errors.As(err, &he) { // of the router, whose words are not for clients
		switch he.Code {
		case http.StatusNotFound:
			err = &requestError{kind: errNoRoute, detail: fmt.Sprintf("no such route: %s %s", r.Method, short(r.URL.EscapedPath()))}
		case http.StatusMethodNotAllowed:
			err = &requestError{kind: errMethod, detail: fmt.Sprintf("method %s: not allowed for %s", short(r.Method), short(r.URL.EscapedPath()))}
		}
	}
	p, f := describe(err, r)
	if clientLeft(err, r) {
		s.log.Info("client disconnected before the response was complete", "method", r.Method, "route", c.Path(), "error", err, "request_id", p.RequestID)
	} else if f.status >= 500 && f.retry == "" || w.Committed {
		s.log.Error("request failed", "method", r.Method, "route", c.Path(), "code", f.code, "error", err, "request_id", p.RequestID)
	}
	if w.Committed {
		return
	}
	var rate *rateError
	errors.As(err, &rate)
	setRetryAfter(w.Header(), f, rate)
	var ae *authError
	if errors.As(err, &ae) {
		w.Header().Set("WWW-Authenticate", ae.challenge)
	}
	switch path := c.Path(); {
	case openAIPaths[path]:
		writeJSON(w, p.Status, map[string]*openAIError{"error": p.openAI()})
		return
	case teiPaths[path]:
		writeTEIError(w, p)
		return
	case s.meiliPaths[path]:
		writeMeiliError(w, r, err, p)
		return
	case path == "/v1/rerank", path == "/v2/rerank":
		p.Message = p.message()
	case f.is == errNoRoute || f.is == errMethod: // a client may look for a route that only the server it was made for has
		p.Message, p.Error = p.message(), p.openAI()
	}
	writeProblem(w, r, p)
}

func writeProblem(w http.ResponseWriter, r *http.Request, p problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		json.NewEncoder(w).Encode(p)
	}
}

// clientLeft reports whether err only means that the client has closed the connection or stopped
// reading.
func clientLeft(err error, r *http.Request) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "write" || errors.Is(err, context.Canceled) && r.Context().Err() != nil
}

// writeCreated sends v with 201 and its location if it was created, else with 200.
func writeCreated(w http.ResponseWriter, created bool, location string, v any) error {
	if !created {
		return writeJSON(w, http.StatusOK, v)
	}
	w.Header().Set("Location", location)
	return writeJSON(w, http.StatusCreated, v)
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the media type and nosniff keep it from being taken for HTML
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if h, ok := w.(*bufferedAnswer); ok {
		h.take(b.Bytes())
		return nil
	}
	w.Write(b.Bytes()) // an error means that the client has gone
	return nil
}
