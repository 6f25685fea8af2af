package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// assistant is a session of the SDK's client.
type assistant struct {
	t *testing.T
	*mcp.ClientSession
}

func newAssistant(t *testing.T, transport mcp.Transport) assistant {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return assistant{t, s}
}

// calls calls a tool, whose result has to hold want.
func (a assistant) calls(tool string, arguments map[string]any, failed bool, want string) {
	a.t.Helper()
	r, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	if text := r.Content[0].(*mcp.TextContent).Text; r.IsError != failed || !strings.Contains(text, want) {
		a.t.Errorf("%s %v: got %q (error: %t), want %q", tool, arguments, text, r.IsError, want)
	}
}

// keyed sends a key.
type keyed string

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// TestAssistants has the same conversation over a data folder, over a server by the command and at
// /mcp of it.
func TestAssistants(t *testing.T) {
	dir := t.TempDir()
	a := newNode(t, dir, "a")
	mustRun(t, "ingest", "--data", a.data, filepath.Join(root, "testdata", "notes"))
	create := func(scopes string) string {
		out, _ := mustRun(t, "searchd", "keys", "create", "--data", a.data, "--name", scopes, "--scopes", scopes)
		return strings.TrimSpace(out)
	}
	finds, measures := create("search,documents:read"), create("metrics:read")
	talk := func(name string, transport func() mcp.Transport) {
		t.Run(name, func(t *testing.T) {
			as := newAssistant(t, transport())
			list, err := as.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 4 {
				t.Fatalf("tools: %v, %v", list, err)
			}
			as.calls("list_collections", nil, false, "docs: 55 documents")
			as.calls("search", map[string]any{"query": "cash reserves for unexpected bills", "limit": 1}, false, "1. id: emergency-fund.md\n")
			as.calls("search", map[string]any{"query": "repair", "filter": "year >"}, true, "filter: got")
			as.calls("similar", map[string]any{"id": "emergency-fund.md", "limit": 2}, false, "documents of docs like \"emergency-fund.md\"")
			as.calls("get_document", map[string]any{"id": "emergency-fund.md", "field": "text", "max_bytes": 100}, false, "offset 100]")
		})
	}
	stdio := func(args ...string) func() mcp.Transport {
		return func() mcp.Transport {
			cmd := command(t, "searchd", append([]string{"mcp"}, args...)...)
			cmd.Env = append(os.Environ(), "SEARCHD_KEY="+finds)
			return &mcp.CommandTransport{Command: cmd}
		}
	}
	post := func(n *node, key string) func() mcp.Transport {
		return func() mcp.Transport {
			return &mcp.StreamableClientTransport{Endpoint: n.url() + "/mcp", HTTPClient: &http.Client{Transport: keyed(key)}}
		}
	}
	talk("folder", stdio("--data", a.data))

	a.start()
	talk("server", stdio("--server", a.url()))
	talk("post", post(a, finds))
	if code, stdout, stderr := run(t, "", "searchd", "mcp", "--data", a.data); code != 2 || stdout != "" || !strings.Contains(stderr, "use --server, such as --server ") {
		t.Errorf("mcp over a folder that a server holds: exit code %d, %q, %s", code, stdout, stderr)
	}
	if _, err := mcp.NewClient(&mcp.Implementation{Name: "e2e"}, nil).Connect(t.Context(), post(a, measures)(), nil); err == nil {
		t.Error("a key without the scope is let in")
	}
}
