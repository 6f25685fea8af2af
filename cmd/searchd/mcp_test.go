package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/api"
	"example.com/searchd/search"
)

// conversation returns what `searchd mcp` answers to calls of tools, by their number.
func conversation(t *testing.T, calls []string, args ...string) map[float64]string {
	t.Helper()
	in := `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for i, c := range calls {
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`+"\n", i, c)
	}
	out, _, err := execute(t, in, append([]string{"mcp"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[float64]string{}
	for line := range strings.Lines(out) {
		var m struct {
			ID     any
			Result json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if id, ok := m.ID.(float64); ok {
			answers[id] = string(m.Result)
		}
	}
	return answers
}

// TestMCPOfFolderAndServer: the same is answered over the data folder and over a server that serves
// it, errors too.
func TestMCPOfFolderAndServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.CreateCollection(t.Context(), "notes", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ingest(t.Context(), "notes", []search.Document{
		{ID: "a/b c", Fields: []byte(`{"title":"Cats","text":"A kitten sleeps.","n":9007199254740993,"tags":["x"]}`)},
		{ID: "d", Fields: []byte(`{"text":"Rates of the bank rose."}`)},
	}); err != nil {
		t.Fatal(err)
	}
	server := serverOf(t, api.Options{Engine: e, Inference: e.Inference()})
	calls := []string{
		`{"name":"list_collections"}`,
		`{"name":"search","arguments":{"query":"kittn"}}`,
		`{"name":"search","arguments":{"query":"cat","filter":"n = 9007199254740993","mode":"semantic"}}`,
		`{"name":"similar","arguments":{"id":"a/b c"}}`,
		`{"name":"get_document","arguments":{"id":"a/b c"}}`,
		`{"name":"get_document","arguments":{"id":"zz"}}`,
		`{"name":"search","arguments":{"query":"x","filter":"n ="}}`,
		`{"name":"search","arguments":{"query":"x","collection":"none"}}`,
		`{"name":"search","arguments":{"query":"x","mode":"fuzzy"}}`,
	}
	if _, err := e.SetAlias(t.Context(), "live", "notes"); err != nil {
		t.Fatal(err)
	}
	remote := conversation(t, calls, "--server", server)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	local := conversation(t, calls, "--data", dir)
	for i, c := range calls {
		if i := float64(i); local[i] != remote[i] || local[i] == "" {
			t.Errorf("%s:\nof the folder %s\nof the server %s", c, local[i], remote[i])
		}
	}
	for i, want := range map[float64]string{0: "9007199254740993", 1: "1. id: a/b c", 2: "1 of 1 documents", 3: "1. id: d", 4: "n: 9007199254740993", 7: "there are: notes"} {
		if !strings.Contains(local[i], want) {
			t.Errorf("%s: %s, want %s", calls[int(i)], local[i], want)
		}
	}
	if _, _, err := execute(t, "", "mcp"); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("without a folder: %v", err)
	}
}
