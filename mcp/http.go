package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Answer is the answer to a POST.
type Answer struct {
	Status int
	JSON   []byte // empty: no body
}

func newHTTP(s *sdk.Server) *sdk.StreamableHTTPHandler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, MaxRequestBodyBytes: -1, // both are the caller's
	})
}

// request is the HTTP request or conversation of a call.
type request struct {
	recovers bool         // panics are reported in panicked and do not end the program
	panicked atomic.Value // string: the value and the stack
}

// Keys of context values: a *request, and its context, since the one that the SDK passes to a tool
// has neither its end nor its deadline.
type (
	requestKey struct{}
	contextKey struct{}
)

// with returns ctx with a request.
func with(ctx context.Context, r *request) context.Context {
	return context.WithValue(context.WithValue(ctx, requestKey{}, r), contextKey{}, ctx)
}

// Post answers one message of the stateless HTTP transport, given the body and headers of a POST.
// An invalid message gets a JSON-RPC error. If ctx ends first, Post returns its error.
func (s *Server) Post(ctx context.Context, header http.Header, body []byte) (Answer, error) {
	var members map[string]json.RawMessage // by their exact names, as the SDK reads them
	err := json.Unmarshal(body, &members)  // which bounds the depth, as the SDK does not
	id, method := members["id"], ""
	_ = json.Unmarshal(members["method"], &method) // what is no string is no method
	var typ *json.UnmarshalTypeError
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
		return refusal(http.StatusBadRequest, nil, jsonrpc.CodeInvalidRequest, "body: got an array, allowed: one message; batches are not taken"), nil
	case err != nil && !errors.As(err, &typ):
		return refusal(http.StatusBadRequest, nil, jsonrpc.CodeParseError, "body: not JSON: "+err.Error()), nil
	case method == "subscriptions/listen": // it would hold the request open for news of which there are none
		return refusal(http.StatusNotFound, id, jsonrpc.CodeMethodNotFound, method+": not supported, the tools never change"), nil
	}
	asked := &request{recovers: true}
	r, err := http.NewRequestWithContext(with(ctx, asked), http.MethodPost, "/mcp", bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	maps.Copy(r.Header, header)
	r.Header.Set("Accept", "application/json, text/event-stream") // the answer is JSON, whatever they take besides
	w := &recorder{header: http.Header{}}
	s.http.ServeHTTP(w, r)
	if v := asked.panicked.Load(); v != nil {
		panic(v)
	}
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) { // ctx may not have noticed yet
		return Answer{}, context.DeadlineExceeded
	}
	switch {
	case ctx.Err() != nil:
		return Answer{}, ctx.Err()
	case w.status < 400 || strings.HasPrefix(w.header.Get("Content-Type"), "application/json"):
		return Answer{Status: w.status, JSON: w.body.Bytes()}, nil
	case strings.Contains(w.body.String(), "not handled"): // in the words of the SDK
		return refusal(http.StatusOK, id, jsonrpc.CodeMethodNotFound, "method: no such method: "+shown([]byte(method))), nil
	}
	return refusal(w.status, id, jsonrpc.CodeInvalidRequest, shown(bytes.TrimSpace(w.body.Bytes()))), nil
}

// refusal returns a JSON-RPC error. id is that of the message; invalid ones become null.
func refusal(status int, id json.RawMessage, code int64, text string) Answer {
	if id == nil || bytes.IndexByte([]byte("{[tf"), id[0]) >= 0 {
		id = json.RawMessage("null")
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": jsonrpc.Error{Code: code, Message: text}})
	if err != nil {
		return Answer{Status: http.StatusBadRequest}
	}
	return Answer{Status: status, JSON: b}
}

// recorder records an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements io.Writer.
func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}
