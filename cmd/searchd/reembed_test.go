package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/search"
)

func TestReembedSettings(t *testing.T) {
	dir, small := filledFolder(t), filepath.Join("..", "..", "encoder", "testdata", "bert-mean")
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "settings.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	german := file(`{"language":"de","fields":{"note":{"type":"text"}}}`)
	for content, want := range map[string]string{
		`{"langauge":"de"}`: "langauge", `{"Language":"de"}`: "Language", `{"language":"de","language":"en"}`: "more than once", `{"language":"xx"}`: "language",
		`{"language":"de"} {}`: "unexpected data", `null`: "an object", `{"language":`: "cut off", `[]`: "an object", ``: "cut off", "{" + strings.Repeat(" ", 1<<20) + "}": "longer",
	} {
		if _, err := runCommand(t, "reembed", "--data", dir, "--settings", file(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want an error with %s", content, err, want)
		}
	}
	if _, err := runCommand(t, "reembed", "--data", dir, "--settings", german+"-none"); err == nil || !strings.Contains(err.Error(), "--settings") {
		t.Errorf("no such file: %v", err)
	}
	before := collectionsOf(t, dir)["docs"]
	mustCommand(t, "reembed", "--data", dir, "--model", small) // not the default one
	other := collectionsOf(t, dir)["docs"].Model.SHA256
	if out, want := mustCommand(t, "reembed", "--data", dir, "--settings", german), "2 documents re-embedded with bert-mean: 2 passages, 2 of them not encoded again"; out != want {
		t.Errorf("said %q, want %q", out, want)
	}
	if got := collectionsOf(t, dir)["docs"]; got.Settings.Language != "de" || got.Settings.Fields["note"].Type != "text" || got.Model.SHA256 != other || got.Documents != 2 {
		t.Errorf("with other settings: %+v", got)
	}
	mustCommand(t, "reembed", "--data", dir, "--model", "embedded", "--settings", file(`{}`))
	if got := collectionsOf(t, dir)["docs"]; got.Settings.Language == "de" || len(got.Settings.Fields) != 0 || got.Model.SHA256 != before.Model.SHA256 {
		t.Errorf("with both: %+v", got)
	}
	mustCommand(t, "reembed", "--data", dir, "--model", small, "--settings", german)
	if got := collectionsOf(t, dir)["docs"]; got.Settings.Language != "de" || got.Model.SHA256 != other {
		t.Errorf("with both, from a folder: %+v", got)
	}
}

// filledFolder is a data folder with a collection named docs of two documents, made with the
// embedded checkpoint.
func filledFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	docs := []search.Document{{ID: "cat", Fields: []byte(`{"text":"a kitten sleeps"}`)}, {ID: "car", Fields: []byte(`{"text":"oil for the engine"}`)}}
	if _, err := e.Ingest(t.Context(), "docs", docs); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// collectionsOf describes the collections of a folder.
func collectionsOf(t *testing.T, dir string) map[string]search.CollectionInfo {
	t.Helper()
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	list, err := e.Collections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]search.CollectionInfo{}
	for _, c := range list {
		all[c.Name] = c
	}
	return all
}

func TestReembedCommand(t *testing.T) {
	dir, small := filledFolder(t), filepath.Join("..", "..", "encoder", "testdata", "bert-mean")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no folder":            {[]string{"--model", small}, "--data"},
		"no such collection":   {[]string{"--data", dir, "--model", small, "--collection", "none"}, `"none"`},
		"no such checkpoint":   {[]string{"--data", dir, "--model", filepath.Join(dir, "none")}, "none"},
		"an argument":          {[]string{"--data", dir, "docs"}, "docs"},
		"a folder that is not": {[]string{"--data", dir + "-none", "--model", small}, dir + "-none"},
	} {
		if _, err := runCommand(t, append([]string{"reembed"}, tt.args...)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %s", name, err, tt.want)
		}
	}
	before := collectionsOf(t, dir)["docs"].Model
	if out := mustCommand(t, "reembed", "--data", dir, "--model", small, "--keep-old"); out != "2 documents re-embedded with bert-mean: 2 passages; the previous collection is docs-old" {
		t.Errorf("output %q", out)
	}
	after := collectionsOf(t, dir)
	if got := after["docs"]; got.Model.Dimension == before.Dimension || got.Documents != 2 || got.Passages != 2 {
		t.Errorf("the collection is %+v, want it with another checkpoint than %+v", got, before)
	}
	if got := after["docs-old"]; got.Model.SHA256 != before.SHA256 || got.Documents != 2 {
		t.Errorf("the kept collection is %+v, want that of before", got)
	}
	mustCommand(t, "reembed", "--data", dir, "--model", "embedded") // docs, of two
	if got := collectionsOf(t, dir)["docs"].Model; got.SHA256 != before.SHA256 {
		t.Errorf("back again, the model is %+v", got)
	}
	var r search.Response
	if err := json.Unmarshal([]byte(mustCommand(t, "query", "--data", dir, "--collection", "docs", "--mode", "semantic", "--json", "cat")), &r); err != nil || len(r.Hits) == 0 || r.Hits[0].ID != "cat" {
		t.Errorf("a search afterwards: %+v, %v", r.Hits, err)
	}
}

// TestMissingCheckpointIsToldOnce: what the opening tells of a collection is also why the search in
// it fails.
func TestMissingCheckpointIsToldOnce(t *testing.T) {
	dir, small := filledFolder(t), filepath.Join(t.TempDir(), "small")
	if err := os.CopyFS(small, os.DirFS("../../encoder/testdata/bert-mean")); err != nil {
		t.Fatal(err)
	}
	mustCommand(t, "reembed", "--data", dir, "--model", small)
	if err := os.RemoveAll(small); err != nil {
		t.Fatal(err)
	}
	root := newRootCommand()
	var said bytes.Buffer
	root.SetErr(&said)
	root.SetArgs([]string{"query", "--data", dir, "cat"})
	err := root.ExecuteContext(t.Context())
	if err == nil {
		t.Fatal("a search without the checkpoint succeeds")
	}
	command.Failure(root, err) // as main does
	if strings.Count(said.String(), "searchd reembed --data DIR --collection docs") != 1 {
		t.Errorf("%q, want it once", said.String())
	}
}
