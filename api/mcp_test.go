package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/searchd/access"
	"example.com/searchd/search"
)

// rpc is an answer of POST /mcp.
type rpc struct {
	ID     any
	Result struct {
		Content []struct{ Text string }
		IsError bool
		Tools   []struct{ Name string }
	}
	Error struct {
		Code    int
		Message string
	}
}

// tool calls a tool, with a token unless that is empty, and returns the text of its result.
func (f *fixture) tool(token, name, arguments string) (text string, failed bool) {
	f.t.Helper()
	var header []string
	if token != "" {
		header = []string{"Authorization", "Bearer " + token}
	}
	var m rpc
	f.do("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments), header...).want(200, &m)
	if len(m.Result.Content) != 1 {
		f.t.Fatalf("%s %s: %+v", name, arguments, m)
	}
	return m.Result.Content[0].Text, m.Result.IsError
}

func TestMCP(t *testing.T) {
	f := newFixture(t, Options{})
	var m rpc
	f.do("POST", "/mcp", `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`).want(200, &m)
	if m.ID != "i" {
		t.Errorf("initialize: %+v", m)
	}
	if a := f.do("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`).want(202, nil); a.Body.Len() > 0 {
		t.Errorf("a notification was answered %s", a.Body)
	}
	f.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Protocol-Version", "2025-06-18", "Accept", "application/json").want(200, &m)
	if len(m.Result.Tools) != 4 {
		t.Errorf("tools: %+v", m.Result.Tools)
	}
	for _, tt := range []struct{ tool, arguments, want string }{
		{"list_collections", `{}`, "docs: 3 documents"},
		{"search", `{"query":"pancakes"}`, "1. id: a1\n"},
		{"similar", `{"id":"a1"}`, `like "a1"`},
		{"get_document", `{"id":"notes/b 2.md"}`, "title: Bread"},
	} {
		if text, failed := f.tool("", tt.tool, tt.arguments); failed || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %s", tt.tool, text)
		}
	}
	if text, failed := f.tool("", "search", `{"query":"x","collection":"no such"}`); !failed || !strings.Contains(text, "collection") {
		t.Errorf("%s", text)
	}
	f.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"nope"}`).want(200, &m)
	if m.Error.Code != -32601 {
		t.Errorf("an unknown method: %+v", m)
	}
	f.do("POST", "/mcp", `[{"jsonrpc":"2.0","id":3,"method":"ping"}]`).want(400, &m)
	f.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen"}`).want(404, &m)
	f.do("POST", "/mcp", "").problem(415, "unsupported_media_type", "")
	f.do("POST", "/mcp", " ").problem(400, "malformed_request", "")
	f.do("POST", "/mcp", "{\"a\":\"\xff\"}").problem(400, "malformed_request", "")
	f.do("POST", "/mcp", `{}`, "Content-Type", "text/plain").problem(415, "unsupported_media_type", "")
	f.do("POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"ping"}`, "Origin", "http://evil.example").problem(403, "cross_origin", "")
	f.do("POST", "/mcp", strings.Repeat(" ", 1<<20+1)).problem(413, "too_large", "")
	for _, method := range []string{"GET", "DELETE"} {
		if a := f.do(method, "/mcp", ""); a.Code != 405 || !strings.Contains(a.Header().Get("Allow"), "POST") {
			t.Errorf("%s: %d, Allow: %s", method, a.Code, a.Header().Get("Allow"))
		}
	}
}

// TestMCPKeys: a key may do with the tools what it may do elsewhere, and sees no more.
func TestMCPKeys(t *testing.T) {
	g := newGuarded(t, Options{})
	if _, err := g.engine.CreateCollection(t.Context(), "other", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.engine.SetAlias(t.Context(), "live", "other"); err != nil {
		t.Fatal(err)
	}
	live := g.token(access.Search, "live")
	finds, reads, both := g.token(access.Search), g.token(access.DocumentsRead), g.token(access.Search|access.DocumentsRead, "doc*")
	g.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`).problem(401, "missing_api_key", "")
	g.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization", "Bearer "+g.token(access.DocumentsWrite)).problem(403, "insufficient_scope", "")
	for _, tt := range []struct {
		token, tool, arguments string
		failed                 bool
		want                   string
	}{
		{finds, "search", `{"query":"pancakes","collection":"docs"}`, false, "id: a1"},
		{finds, "get_document", `{"id":"a1","collection":"docs"}`, true, "has the scopes search, this tool needs documents:read"},
		{reads, "get_document", `{"id":"a1","collection":"docs"}`, false, "Pancakes"},
		{reads, "search", `{"query":"x","collection":"docs"}`, true, "this tool needs search"},
		{reads, "similar", `{"id":"a1","collection":"docs"}`, true, "this tool needs search"},
		{reads, "list_collections", `{}`, false, "docs: 3 documents in 3 passages, language en\nother:"},
		{finds, "search", `{"query":"x"}`, true, "allowed: docs, other"},
		{finds, "list_collections", `{}`, false, "other: 0 documents"},
		{both, "search", `{"query":"pancakes"}`, false, "id: a1"},
		{both, "search", `{"query":"x","collection":"other"}`, true, `got collection "other", allowed: doc*`},
		{both, "get_document", `{"id":"a1","collection":"other"}`, true, `got collection "other", allowed: doc*`},
		{both, "similar", `{"id":"a1","collection":"other"}`, true, `got collection "other", allowed: doc*`},
		{both, "get_document", `{"id":"a1"}`, false, "Pancakes"},
		{live, "list_collections", `{}`, false, "live: 0 documents"},
		{live, "search", `{"query":"x"}`, false, "live"},
		{live, "search", `{"query":"x","collection":"other"}`, true, `got collection "other", allowed: live`},
		{both, "search", `{"query":"x","collection":"docz"}`, true, "there are: docs"},
	} {
		text, failed := g.tool(tt.token, tt.tool, tt.arguments)
		if failed != tt.failed || !strings.Contains(text, tt.want) || tt.token == both && strings.Contains(text, "other:") {
			t.Errorf("%s %s: got %q (error: %v), want %q", tt.tool, tt.arguments, text, failed, tt.want)
		}
	}
	if text, _ := g.tool(both, "list_collections", `{}`); strings.Contains(text, "other") {
		t.Errorf("a key for docs sees %s", text)
	}
}

// TestMCPFailures: what a failure of the server was caused by stays in the log, a panic is one of
// the request, and so is its time.
func TestMCPFailures(t *testing.T) {
	f := newFixture(t, Options{SearchTimeout: 200 * time.Millisecond})
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"x","collection":"docs"}}}`
	f.engine.Hook = func(context.Context, string) error { return errors.New("secret path") }
	if text, failed := f.tool("", "search", `{"query":"x","collection":"docs"}`); !failed || strings.Contains(text, "secret") || !strings.Contains(text, "internal error") {
		t.Errorf("%s", text)
	}
	if !strings.Contains(f.log.String(), "secret path") {
		t.Errorf("log: %s", f.log)
	}
	f.engine.Hook = func(context.Context, string) error { return search.ErrBusy }
	if text, failed := f.tool("", "search", `{"query":"x","collection":"docs"}`); !failed || text != search.ErrBusy.Error() {
		t.Errorf("%s", text)
	}
	f.engine.Hook = func(context.Context, string) error { panic("boom") }
	f.do("POST", "/mcp", call).problem(500, "internal", "")
	began := time.Now()
	f.engine.Hook = func(ctx context.Context, _ string) error {
		if end, ok := ctx.Deadline(); !ok || end.Sub(began) > 2*time.Second {
			t.Errorf("the engine is given until %v, %v after the request", end, end.Sub(began))
		}
		<-ctx.Done()
		return ctx.Err()
	}
	f.do("POST", "/mcp", call).problem(503, "deadline_exceeded", "")
}
