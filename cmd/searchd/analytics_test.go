package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/analytics"
	"example.com/searchd/api"
	"example.com/searchd/api/apitest"
	"example.com/searchd/client"
	"example.com/searchd/internal/eval"
	"example.com/searchd/search"
)

// loggingNode serves the documents a and b, and logs searches.
func loggingNode(t *testing.T) (url string, c *client.Client) {
	t.Helper()
	engine := apitest.New(t)
	if _, err := engine.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	_, err := engine.Ingest(t.Context(), "docs", []search.Document{
		{ID: "a", Fields: json.RawMessage(`{"title":"Pancakes","text":"Flip them."}`)},
		{ID: "b", Fields: json.RawMessage(`{"title":"Bread","body":"It rises."}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := analytics.Open(t.TempDir(), analytics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	url = serverOf(t, api.Options{Engine: engine, Inference: engine, Analytics: l})
	if c, err = client.New(url, client.Options{}); err != nil {
		t.Fatal(err)
	}
	return url, c
}

// searchAndOpen searches, and opens documents of what is found.
func searchAndOpen(t *testing.T, c *client.Client, q string, opened ...string) {
	t.Helper()
	res, err := c.Search(t.Context(), "docs", client.Query{Q: q, Mode: "keyword"})
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range opened {
		if err := client.EventsOf(c, "docs").Click(t.Context(), res.SearchID, id, i+1); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnalyticsCommands(t *testing.T) {
	one, first := loggingNode(t)
	two, second := loggingNode(t)
	searchAndOpen(t, first, "pancakes", "a", "b", "gone")
	searchAndOpen(t, second, "Pancakes", "a", "gone")
	searchAndOpen(t, second, "pancakes", "a", "gone")
	res, err := first.Search(t.Context(), "docs", client.Query{Q: "bread", Mode: "keyword"})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.EventsOf(second, "docs").Click(t.Context(), res.SearchID, "b", 4); err != nil { // on another node than the search
		t.Fatal(err)
	}
	searchAndOpen(t, second, "unicorn \x1b[31m")
	servers := one + "," + two
	out := mustCommand(t, "analytics", "report", "--server", servers)
	for _, want := range []string{"5 searches since ", ": 4 with a click, 1 without results, 0 with weak ones", "clicks by position:  1: 3  2: 3  3: 1  4: 1"} {
		if !strings.Contains(out, want) {
			t.Errorf("report lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("a query reaches the terminal as it is: %q", out)
	}
	var r analytics.Report
	if err := json.Unmarshal([]byte(mustCommand(t, "analytics", "report", "--server", one, "--json")), &r); err != nil || r.Searches != 2 || r.Clicked != 1 {
		t.Errorf("report of one node as JSON: %+v, %v", r, err)
	}

	dir := filepath.Join(t.TempDir(), "judged")
	if out, want := mustCommand(t, "analytics", "export", "--server", servers, dir), dir+": 1 queries with judgments, 2 documents"; out != want {
		t.Errorf("export: %q, want %q", out, want)
	}
	set, err := eval.ReadCollection(os.DirFS(dir))
	if err != nil || len(set.Queries) != 1 || set.Queries[0].Text != "pancakes" || len(set.Qrels["q1"]) != 1 || set.Qrels["q1"]["a"] != 2 {
		t.Errorf("what eval reads: %+v, %v", set, err)
	}
	if d := set.Documents[1]; d != (eval.Document{ID: "b", Title: "Bread", Text: "It rises."}) {
		t.Errorf("document %+v", d)
	}
	if _, err := runCommand(t, "analytics", "export", "--server", servers, dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("export over a test set: %v", err)
	}
	if _, err := runCommand(t, "analytics", "export", "--server", servers, "--min-clicks", "9", dir+"2"); err == nil || !strings.Contains(err.Error(), "--min-clicks") {
		t.Errorf("export without judgments: %v", err)
	}
	mustCommand(t, "analytics", "delete", "--server", two, "--collection", "docs")
	if out := mustCommand(t, "analytics", "report", "--server", servers); !strings.HasPrefix(out, "2 searches since ") {
		t.Errorf("report after the deletion on one node: %s", out)
	}
	for _, args := range [][]string{{"report", "--days", "0"}, {"export", "--min-clicks", "0", "x"}, {"delete"}} {
		if _, err := runCommand(t, append([]string{"analytics", "--server", one}, args...)...); err == nil {
			t.Errorf("analytics %q: no error", args)
		}
	}
}

// TestAnalyticsOfAFolder: the log of a server that has stopped is read from its data folder.
func TestAnalyticsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ingest(t.Context(), "docs", []search.Document{{ID: "a", Fields: json.RawMessage(`{"text":"Flip them."}`)}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if out := mustCommand(t, "analytics", "report", "--data", dir); !strings.HasPrefix(out, "0 searches since ") {
		t.Errorf("report without a log: %s", out)
	}
	l, err := analytics.Open(analyticsFolder(dir), analytics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		id := l.Search(analytics.Event{Collection: "docs", Query: "flip", Mode: "keyword", Hits: 1}, false)
		l.Act(analytics.Event{Kind: analytics.Click, Collection: "docs", SearchID: id, Document: "a", Position: 1})
	}
	l.Search(analytics.Event{Collection: "other", Query: "not of docs"}, false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	out := mustCommand(t, "analytics", "report", "--data", dir)
	if !strings.HasPrefix(out, "2 searches since ") || !strings.Contains(out, "flip         2         2        0           0     1.0") {
		t.Errorf("report: %s", out)
	}
	if out := mustCommand(t, "analytics", "export", "--data", dir, filepath.Join(dir, "judged")); !strings.HasSuffix(out, "1 queries with judgments, 1 documents") {
		t.Errorf("export: %s", out)
	}
}

func TestServeRefusesAnalyticsFlags(t *testing.T) {
	for args, want := range map[string]string{"--analytics-days=-1": "--analytics-days", "--analytics-days=1 --analytics-mib=0": "--analytics-mib", "--suggest-queries": "--analytics-days"} {
		_, err := runCommand(t, append([]string{"serve", "--data", t.TempDir(), "--addr", "127.0.0.1:0"}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("serve %s: %v, want an error that names %s", args, err, want)
		}
	}
}
