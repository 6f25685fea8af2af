package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/searchd/api/apitest"
	"example.com/searchd/search"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Lines that are no messages are answered, and what was asked before the end of the input is, too.
func TestLines(t *testing.T) {
	slow := apitest.New(t)
	slow.Hook = func(_ context.Context, method string) error {
		if method == "Search" {
			time.Sleep(100 * time.Millisecond)
		}
		return nil
	}
	if _, err := slow.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n")
	in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n\r\n")
	bad := []struct{ line, want string }{
		{"garbage", "not JSON"},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "batches are not taken"},
		{`{"jsonrpc":"2.0"`, "not JSON"},
		{`"text"`, "no JSON-RPC message"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, "no JSON-RPC message"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 1e6) + strings.Repeat("]", 1e6) + "}", "depth"},
		{strings.Repeat("x", maxLine+1), "longer than"},
	}
	for _, b := range bad {
		in.WriteString(b.line + "\n")
	}
	const calls = 3 * maxCalls
	for i := range calls {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":{"query":"q%d"}}}`+"\n", i, i)
	}
	in.WriteString(`{"jsonrpc":"2.0","id":"half"`)
	bad = append(bad, struct{ line, want string }{"", "not JSON"})

	var out strings.Builder
	if err := New(slow, "").Serve(t.Context(), strings.NewReader(in.String()), &out); err != nil {
		t.Fatal(err)
	}
	answered, refused := map[string]int{}, []string{}
	sc := bufio.NewScanner(strings.NewReader(out.String()))
	for sc.Scan() {
		var m struct {
			ID     json.RawMessage
			Result *struct{ IsError bool }
			Error  *struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal(sc.Bytes(), &m); err != nil {
			t.Fatalf("%s: %v", sc.Text(), err)
		}
		switch {
		case m.Error != nil:
			refused = append(refused, m.Error.Message)
			if string(m.ID) != "null" || m.Error.Code != -32700 && m.Error.Code != -32600 {
				t.Errorf("%s", sc.Text())
			}
		case m.Result.IsError:
			t.Errorf("%s", sc.Text())
		default:
			answered[string(m.ID)]++
		}
	}
	if len(answered) != calls+1 {
		t.Errorf("%d calls of %d were answered", len(answered), calls+1)
	}
	for id, n := range answered {
		if n != 1 {
			t.Errorf("%s was answered %d times", id, n)
		}
	}
	if len(refused) != len(bad) {
		t.Fatalf("refused: %q, want %d", refused, len(bad))
	}
	for i, b := range bad {
		if !strings.Contains(refused[i], b.want) {
			t.Errorf("%.60q: %q, want %q", b.line, refused[i], b.want)
		}
	}
}

// A call with the id of one that is not answered yet is refused, and the conversation goes on to
// its end.
func TestRepeatedID(t *testing.T) {
	e, began, _ := blocking(t)
	in, theirs := io.Pipe()
	back, out := io.Pipe()
	go func() {
		New(e, "").Serve(t.Context(), in, out)
		out.Close()
	}()
	answers := json.NewDecoder(back)
	answered := make(chan string, 2*maxCalls)
	go func() {
		defer close(answered)
		for m := map[string]any{}; answers.Decode(&m) == nil; m = map[string]any{} {
			answered <- fmt.Sprint(m["id"], m["error"])
		}
	}()
	next := func() string {
		select {
		case a := <-answered:
			return a
		case <-time.After(10 * time.Second):
			t.Fatal("not within 10 s")
			return ""
		}
	}
	const init = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	io.WriteString(theirs, init+"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+searching+"\n")
	if got := next(); !strings.HasPrefix(got, "i") {
		t.Fatalf("initialize: %s", got)
	}
	await(t, "search", began)
	for range 2 * maxCalls {
		io.WriteString(theirs, searching+"\n")
		if got := next(); !strings.Contains(got, "<nil> map[code:-32600 message:id: got 1, ") {
			t.Fatalf("the same id: %s", got)
		}
	}
	io.WriteString(theirs, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n")
	if got := next(); !strings.HasPrefix(got, "1 ") {
		t.Errorf("the cancelled call: %s", got)
	}
	for range 2 { // an id that was answered may be used again
		io.WriteString(theirs, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		if got := next(); got != "1 <nil>" {
			t.Errorf("ping: %s", got)
		}
	}
	theirs.Close()
	select {
	case _, more := <-answered:
		if more {
			t.Error("one more answer")
		}
	case <-time.After(10 * time.Second):
		t.Error("the conversation does not end with its input")
	}
}

// blocking is an engine whose searches last until they are cancelled.
func blocking(t *testing.T) (e *apitest.Engine, began, cancelled chan struct{}) {
	t.Helper()
	began, cancelled = make(chan struct{}, 8), make(chan struct{}, 8)
	e = apitest.New(t)
	e.Hook = func(ctx context.Context, method string) error {
		if method != "Search" {
			return nil
		}
		began <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return ctx.Err()
	}
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	return e, began, cancelled
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: not within 10 s", what)
	}
}

const searching = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"x","collection":"docs"}}}`

// The engine learns that nobody waits any more: by a notification, at the end of the program, and
// when an HTTP client leaves.
func TestCancellation(t *testing.T) {
	e, began, cancelled := blocking(t)
	c := session(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	go c.CallTool(ctx, &sdk.CallToolParams{Name: "search", Arguments: map[string]any{"query": "x"}})
	await(t, "search", began)
	cancel()
	await(t, "cancelled by the client", cancelled)

	ctx, cancel = context.WithCancel(t.Context())
	ours, theirs := io.Pipe()
	ended := make(chan struct{})
	go func() {
		if err := New(e, "").Serve(ctx, ours, io.Discard); err != nil {
			t.Errorf("Serve: %v", err)
		}
		close(ended)
	}()
	io.WriteString(theirs, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+searching+"\n")
	await(t, "search", began)
	cancel()
	await(t, "cancelled by the end", cancelled)
	await(t, "the end of Serve", ended)

	ctx, cancel = context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := New(e, "").Post(ctx, http.Header{"Content-Type": {"application/json"}}, []byte(searching))
		answered <- err
	}()
	await(t, "search", began)
	cancel()
	await(t, "cancelled by the HTTP client", cancelled)
	if err := <-answered; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Post: %v", err)
	}
}

// An assistant that does not read its answers does not hold the program, whether the first of them
// waits or a later one.
func TestUnreadAnswers(t *testing.T) {
	for lines := range 2 {
		e, _, _ := blocking(t)
		ctx, cancel := context.WithCancel(t.Context())
		ours, theirs := io.Pipe()
		back, out := io.Pipe()
		defer back.Close()
		ended := make(chan struct{})
		go func() {
			if err := New(e, "").Serve(ctx, ours, out); err != nil {
				t.Errorf("Serve: %v", err)
			}
			close(ended)
		}()
		const init = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		io.WriteString(theirs, init+"\n")
		read := bufio.NewReader(back)
		for range lines {
			if _, err := read.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			io.WriteString(theirs, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n")
		}
		if _, err := back.Read(make([]byte, 1)); err != nil { // the answer is being written
			t.Fatal(err)
		}
		cancel()
		await(t, "the end of Serve", ended)
	}
}

// A panic in the engine ends the request that it belongs to, not the program.
func TestPanic(t *testing.T) {
	e := apitest.New(t)
	e.Hook = func(context.Context, string) error { panic("boom") }
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "boom") || !strings.Contains(fmt.Sprint(v), "messages_test.go") {
			t.Errorf("recovered: %.200v", v)
		}
	}()
	New(e, "").Post(t.Context(), http.Header{"Content-Type": {"application/json"}}, []byte(searching))
	t.Error("Post returned")
}

func TestPost(t *testing.T) {
	s := New(opened(t, notes), "")
	for _, tt := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, 200, `"id":7,"result":{`},
		{`{"jsonrpc":"2.0","id":7,"method":"ping"}`, 200, `"result":{}`},
		{`{"jsonrpc":"2.0","id":7,"method":"resources/list"}`, 200, `"id":7`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		{`{"jsonrpc":"2.0","id":7,"method":"nope/nope"}`, 200, `{"error":{"code":-32601,"message":"method: no such method: nope/nope"},"id":7,"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":"a","method":"subscriptions/listen"}`, 404, `"id":"a"`},
		{`{"jsonrpc":"2.0","id":7,"result":{}}`, 202, ""},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, 400, `-32600`},
		{`{"jsonrpc":"2.0","id":"a","method":"subscriptions/listen","Method":"ping"}`, 404, `"id":"a"`},
		{`{"jsonrpc":"2.0","id":{},"method":5}`, 400, `"id":null`},
		{`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, 400, "batches are not taken"},
		{"garbage", 400, `-32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 1e5) + strings.Repeat("]", 1e5) + "}", 400, "depth"},
	} {
		a, err := s.Post(t.Context(), http.Header{"Content-Type": {"application/json"}}, []byte(tt.body))
		if err != nil || a.Status != tt.status || !strings.Contains(string(a.JSON), tt.want) || (tt.want == "") != (len(a.JSON) == 0) {
			t.Errorf("%.80s: got %d %.300s, %v, want %d with %s", tt.body, a.Status, a.JSON, err, tt.status, tt.want)
		}
	}
	if a, err := s.Post(t.Context(), nil, []byte(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)); err != nil || a.Status < 400 || !strings.Contains(string(a.JSON), `"id":7`) {
		t.Errorf("without headers: got %d %s, %v, want a refusal", a.Status, a.JSON, err)
	}
	for range s.sdk.Sessions() {
		t.Error("a session is left")
	}
}
