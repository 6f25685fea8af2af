package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/klauspost/compress/zstd"
	"github.com/labstack/echo/v4"
)

// contract holds every exchange of this package's tests against the description.
//
// The rules:
//  1. An answer is one that the operation describes: its status, media type, headers and body, and
//     no member of a body is without a description.
//  2. A request that was answered with success is one that the operation describes, and has no
//     parameter without a description. One that was refused is not looked at, nor is one of whose
//     items some were refused: it may be bad on purpose. Nor is a body that was not read to its
//     end, as that of a request that is answered again.
//  3. Every operation is seen with success at least once.
//  4. What is answered where there is no such method is an error as of the path's other methods,
//     and where there is no such path a Problem.
type contract struct {
	doc   *openapi3.T
	paths map[string]string // echo's form of a path -> the description's

	mu struct {
		sync.Mutex
		succeeded map[string]bool // by operationId
		late      []string        // what was found after its test had ended
	}
}

// described is the description as one contract for all tests.
var described = sync.OnceValues(func() (*contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		return nil, err
	}
	if !doc.IsOpenAPI31OrLater() {
		return nil, fmt.Errorf("openapi: %s, want 3.1 or later", doc.OpenAPI)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, err
	}
	for _, media := range []string{"application/yaml", "text/csv", "text/tab-separated-values", "text/markdown", "text/html", "text/plain", "application/pdf", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "message/rfc822", "application/x-ipynb+json",
		"application/epub+zip", "application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.spreadsheet", "application/vnd.oasis.opendocument.presentation", "application/rtf", "application/enex+xml", "text/vcard", "text/calendar", "application/x-canvas+json", "text/x-opml", "application/vnd.ms-outlook", "application/vnd.ms-excel", "application/rss+xml", "application/atom+xml", "application/zip", "application/x-tar",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "text/event-stream"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.PlainBodyDecoder)
	}
	lines := func(r io.Reader, h http.Header, schema *openapi3.SchemaRef, f openapi3filter.EncodingFn) (any, error) {
		if schema.Value.Type.Is("string") {
			return openapi3filter.PlainBodyDecoder(r, h, schema, f)
		}
		return openapi3filter.JSONBodyDecoder(r, h, schema, f) // one line
	}
	for _, media := range []string{"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"} {
		openapi3filter.RegisterBodyDecoder(media, lines)
	}
	c := &contract{doc: doc, paths: map[string]string{}}
	for path := range doc.Paths.Map() {
		c.paths[expandPath(path)] = path
	}
	c.mu.succeeded = map[string]bool{}
	return c, nil
})

// newServer is New for tests: what the server is asked and answers is held against the description,
// but not by a short run, which is under the race detector: nothing of that is done at the same
// time.
func newServer(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		return s
	}
	c, err := described()
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	plain, watched := s.handler, c.watch(t, s.handler, s.router())
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.ofMeilisearch(r.URL.Path) { // which describes them
			plain.ServeHTTP(w, r)
			return
		}
		watched.ServeHTTP(w, r)
	})
	return s
}

// ofMeilisearch reports whether a path is one of Meilisearch's.
func (s *Server) ofMeilisearch(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	for p := range s.meiliPaths {
		if p == "/"+first || strings.HasPrefix(p, "/"+first+"/") {
			return true
		}
	}
	return false
}

// wholeRun says whether all tests of the package run, and are held against the description.
func wholeRun() bool {
	if testing.Short() {
		return false
	}
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return true
}

func TestMain(m *testing.M) {
	code := m.Run()
	c, err := described()
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapi.yaml:", err)
		os.Exit(1)
	}
	for _, f := range c.mu.late {
		fmt.Fprintln(os.Stderr, f)
		code = 1
	}
	if code == 0 && wholeRun() {
		for path, item := range c.doc.Paths.Map() {
			for method, op := range item.Operations() {
				if !c.mu.succeeded[op.OperationID] {
					fmt.Fprintf(os.Stderr, "no test saw %s %s (%s) succeed\n", method, path, op.OperationID)
					code = 1
				}
			}
		}
	}
	os.Exit(code)
}

// watch serves like h, which has the routes of e, and reports exchanges that are not as described.
func (c *contract) watch(t *testing.T, h http.Handler, e *echo.Echo) http.Handler {
	var mu sync.Mutex
	var found []string
	ended := false
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		for _, f := range found {
			t.Error(f)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := *r.URL
		sent := r.Clone(context.WithoutCancel(r.Context()))
		body := &recorded{whole: true}
		if r.Body != nil && r.Body != http.NoBody {
			body.whole, body.from = false, r.Body
			r.Body = body
		}
		rec := &exchange{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(rec, r)
		if r.Context().Err() != nil {
			return // nobody read the answer to its end
		}
		sent.URL = &asked
		trimSlash(e, sent)
		if sent.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
			sent.Header.Set("Content-Type", "application/json") // what curl -d declares; not described
		}
		err := c.check(e, sent, body, rec)
		if err == nil {
			return
		}
		text := fmt.Sprintf("%s: %s %s, answered %d, is not as openapi.yaml describes it: %v\nrequest: %.500s\nanswer: %.500s",
			t.Name(), r.Method, asked.RequestURI(), rec.status, err, body.Bytes(), rec.body.Bytes())
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			found = append(found, text)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.mu.late = append(c.mu.late, text)
	})
}

// check holds one exchange against the description.
func (c *contract) check(e *echo.Echo, r *http.Request, asked *recorded, rec *exchange) error {
	if r.Method == http.MethodHead || r.Method == http.MethodOptions || rec.status == http.StatusPermanentRedirect {
		return nil // no body, preflights of CORS, and /docs/
	}
	answer, err := decoded(rec.body.Bytes(), rec.Header())
	if err != nil {
		return err
	}
	ec := e.AcquireContext()
	defer e.ReleaseContext(ec)
	ec.Reset(r, nil) // it may have the route of an earlier request
	e.Router().Find(r.Method, echo.GetPath(r), ec)
	path, ok := c.paths[ec.Path()]
	var op *openapi3.Operation
	if ok {
		op = c.doc.Paths.Value(path).GetOperation(r.Method)
	}
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: map[string]string{},
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true, SkipSettingDefaults: true, RejectWhenRequestBodyNotSpecified: true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}, // the matrix of scopes is tested elsewhere
	}
	if op == nil {
		if rec.status < 400 {
			return errors.New("there is no such operation")
		}
		problem := c.doc.Components.Responses["Problem"]
		if ok {
			for _, other := range c.doc.Paths.Value(path).Operations() {
				problem = other.Responses.Default()
			}
		}
		answers := openapi3.NewResponses(openapi3.WithName("default", problem.Value))
		input.Route = &routers.Route{Spec: c.doc, PathItem: &openapi3.PathItem{}, Operation: &openapi3.Operation{Responses: answers}, Method: r.Method}
		return c.checkAnswer(input, rec, answer)
	}
	input.Route = &routers.Route{Spec: c.doc, Path: path, PathItem: c.doc.Paths.Value(path), Method: r.Method, Operation: op}
	for i, name := range ec.ParamNames() {
		if name == "*" {
			name = strings.Trim(path[strings.LastIndex(path, "{"):], "{}")
		}
		if input.PathParams[name], err = url.PathUnescape(ec.ParamValues()[i]); err != nil {
			return err
		}
	}
	if err := c.checkAnswer(input, rec, answer); err != nil || rec.status >= 400 {
		return err
	}
	if rec.status < 300 {
		c.mu.Lock()
		c.mu.succeeded[op.OperationID] = true
		c.mu.Unlock()
	}
	if asked.cut || !asked.whole || bytes.Contains(answer, []byte(`"error":{`)) {
		return nil
	}
	for name := range r.URL.Query() {
		if input.Route.PathItem.Parameters.GetByInAndName("query", name) == nil && op.Parameters.GetByInAndName("query", name) == nil {
			return fmt.Errorf("no description of the parameter %s", name)
		}
	}
	plain, err := decoded(asked.Bytes(), r.Header)
	if err != nil {
		return err
	}
	r.Body, r.GetBody, r.ContentLength = io.NopCloser(bytes.NewReader(plain)), nil, int64(len(plain))
	return openapi3filter.ValidateRequest(r.Context(), input)
}

// checkAnswer holds an answer against the operation of input, each line of NDJSON by itself.
func (c *contract) checkAnswer(input *openapi3filter.RequestValidationInput, rec *exchange, answer []byte) error {
	if rec.body.cut {
		return nil
	}
	parts := [][]byte{answer}
	if rec.Header().Get("Content-Type") == "application/x-ndjson" {
		parts = bytes.Split(bytes.TrimSpace(answer), []byte("\n"))
	}
	for _, part := range parts {
		if len(parts) == 1 && len(part) == 0 && rec.Header().Get("Content-Type") == "application/x-ndjson" {
			break // no line
		}
		if err := openapi3filter.ValidateResponse(input.Request.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: input, Status: rec.status, Header: rec.Header(), Body: io.NopCloser(bytes.NewReader(part)), Options: input.Options,
		}); err != nil {
			return err
		}
		if schema := schemaOf(input.Route.Operation, rec); schema != nil {
			v, err := openapi3filter.JSONBodyDecoder(bytes.NewReader(part), nil, schema, nil)
			if err != nil {
				return err
			}
			if more := undescribed(schema, v, ""); len(more) > 0 {
				return fmt.Errorf("no description of %s", strings.Join(more, ", "))
			}
		}
	}
	return nil
}

// schemaOf returns the schema of an answer in JSON, nil where there is none.
func schemaOf(op *openapi3.Operation, rec *exchange) *openapi3.SchemaRef {
	media := rec.Header().Get("Content-Type")
	if !strings.Contains(media, "json") {
		return nil
	}
	ref := op.Responses.Status(rec.status)
	if ref == nil {
		ref = op.Responses.Default()
	}
	if m := ref.Value.Content.Get(media); m != nil {
		return m.Schema
	}
	return nil
}

// undescribed returns JSON pointers of the members of v that no branch of the schema names. An
// object whose schema names none is free.
func undescribed(schema *openapi3.SchemaRef, v any, at string) (found []string) {
	branches := branchesOf(schema)
	switch v := v.(type) {
	case map[string]any:
		var named, free bool
		for _, s := range branches {
			named = named || len(s.Properties) > 0
			free = free || s.AdditionalProperties.Has != nil && *s.AdditionalProperties.Has || s.AdditionalProperties.Schema != nil
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at, known := at+"/"+name, false
			for _, s := range branches {
				p := s.Properties[name]
				if p == nil {
					p = s.AdditionalProperties.Schema
				}
				if p != nil {
					known = true
					found = append(found, undescribed(p, v[name], at)...)
				}
			}
			if !known && named && !free {
				found = append(found, at)
			}
		}
	case []any:
		for i, e := range v {
			for _, s := range branches {
				if s.Items != nil {
					found = append(found, undescribed(s.Items, e, fmt.Sprintf("%s/%d", at, i))...)
				}
			}
		}
	}
	return found
}

// branchesOf returns a schema and all that it is composed of.
func branchesOf(ref *openapi3.SchemaRef) []*openapi3.Schema {
	out := []*openapi3.Schema{ref.Value}
	for _, list := range []openapi3.SchemaRefs{ref.Value.AllOf, ref.Value.OneOf, ref.Value.AnyOf} {
		for _, sub := range list {
			out = append(out, branchesOf(sub)...)
		}
	}
	return out
}

// decoded takes the Content-Encoding off a body.
func decoded(b []byte, h http.Header) ([]byte, error) {
	var r io.Reader = bytes.NewReader(b)
	switch coding := h.Get("Content-Encoding"); coding {
	case "", "identity":
		return b, nil
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		r = z
	case "zstd":
		z, err := zstd.NewReader(r)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	default:
		return nil, fmt.Errorf("Content-Encoding %q", coding)
	}
	return io.ReadAll(r)
}

// recorded is the beginning of a body, and of a request the body itself.
type recorded struct {
	bytes.Buffer
	cut   bool
	from  io.ReadCloser
	whole bool // read to its end
}

func (b *recorded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.Write(p[:n])
	b.whole = b.whole || err == io.EOF
	return n, err
}

func (b *recorded) Close() error { return b.from.Close() }

func (b *recorded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > 1<<20 {
		b.cut = true
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// exchange remembers what is answered.
type exchange struct {
	http.ResponseWriter
	status  int
	written bool
	body    recorded
}

func (r *exchange) Unwrap() http.ResponseWriter { return r.ResponseWriter }
func (r *exchange) Flush()                      { http.NewResponseController(r.ResponseWriter).Flush() }

func (r *exchange) WriteHeader(status int) {
	if !r.written && status >= 200 {
		r.status, r.written = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *exchange) Write(p []byte) (int, error) {
	r.written = true
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}
