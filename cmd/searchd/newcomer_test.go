package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/searchd/api"
	"example.com/searchd/search"
)

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "searchd-home-") // of commands without --data
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_DATA_HOME", home)
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// serverOf serves the API until the test ends, and returns its URL.
func serverOf(t *testing.T, o api.Options) string {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	s, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// `searchd ingest notes && searchd query ...` works without another word, and each command names
// the folder that it uses.
func TestDefaultDataFolder(t *testing.T) {
	home, notes := t.TempDir(), t.TempDir()
	t.Setenv("XDG_DATA_HOME", home)
	data := filepath.Join(home, "searchd")
	writeFile(t, notes+"/a.md", "# Growing apples\n\nThey need sun.")
	writeFile(t, notes+"/b.csv", "id,text\nr1,Pears are green\n")
	if _, _, err := execute(t, "", "query", "apples"); err == nil || !strings.Contains(err.Error(), data) || !strings.Contains(err.Error(), "searchd ingest") {
		t.Errorf("query before there is anything: %v", err)
	}
	_, said, err := execute(t, "", "ingest", notes)
	if err != nil || !strings.Contains(said, "searchd: data folder "+data) || !strings.Contains(said, "2 documents from 2 files") {
		t.Errorf("ingest: %v\n%s", err, said)
	}
	out, said, err := execute(t, "", "query", "--mode", "keyword", "apples")
	if err != nil || !strings.Contains(out, " 1  Growing apples  ") || !strings.Contains(out, "\n    a.md\n") || !strings.Contains(out, "\n1 result, ") || !strings.Contains(said, data) {
		t.Errorf("query: %v\n%s%s", err, out, said)
	}
	if out := mustCommand(t, "config"); !strings.Contains(out, data) {
		t.Errorf("config: %s", out)
	}
	if out := mustCommand(t, "check"); out != "0 differences" {
		t.Errorf("check: %s", out)
	}
	defer func(was func(string) error) { openOnDesktop = was }(openOnDesktop)
	var opened string
	openOnDesktop = func(target string) error { opened = target; return nil }
	for _, c := range []struct{ word, file string }{{"apples", "a.md"}, {"pears", "b.csv"}} {
		if mustCommand(t, "query", "--mode", "keyword", "--open", c.word); opened != filepath.Join(notes, c.file) {
			t.Errorf("--open of %s: %s", c.word, opened)
		}
	}
	for args, want := range map[string]string{"--open=2 apples": "there is no hit 2", "--open=-1 apples": "--open: got -1", "--open=11 apples": "allowed: the number of a hit, 1 to 10", "--open 2 apples": "write --open=2 "} {
		if _, err := runCommand(t, append([]string{"query", "--mode", "keyword"}, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	if err := os.Remove(notes + "/a.md"); err != nil {
		t.Fatal(err)
	}
	if _, err := runCommand(t, "query", "--mode", "keyword", "--open", "apples"); err == nil || !strings.Contains(err.Error(), `"a.md" did not come from a file that is on this machine`) {
		t.Errorf("--open of a file that is gone: %v", err)
	}
}

// A data folder is not made among other files.
func TestForeignDataFolder(t *testing.T) {
	notes, empty := t.TempDir(), t.TempDir()
	writeFile(t, notes+"/a.md", "apples")
	writeFile(t, empty+"/.hidden", "")
	if err := os.Mkdir(empty+"/lost+found", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ingest", "--data", notes, notes}, {"serve", "--data", notes, "--addr", "127.0.0.1:0"}, {"keys", "create", "--name", "k", "--scopes", "all", "--data", notes}} {
		if _, err := runCommand(t, args...); err == nil || !strings.Contains(err.Error(), "is not a data folder and not empty: it has \"a.md\"") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if files, err := os.ReadDir(notes); err != nil || len(files) != 1 {
		t.Errorf("the notes are %v, %v", files, err)
	}
	for range 2 {
		if _, _, err := execute(t, "", "ingest", "--data", empty, notes); err != nil {
			t.Errorf("an empty folder: %v", err)
		}
	}
}

// A server may be named without its scheme; the journal is the same then.
func TestServerWithoutScheme(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	notes := t.TempDir()
	writeFile(t, notes+"/a.md", "apples")
	e, err := search.Open(filepath.Join(t.TempDir(), "data"), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	url := serverOf(t, api.Options{Engine: e, Inference: e.Inference()})
	host := strings.TrimPrefix(url, "http://")
	for _, c := range []struct{ server, want string }{{host, "1 created"}, {url, "1 unchanged"}, {host + "/", "1 unchanged"}} {
		if _, said, err := execute(t, "", "ingest", "--server", c.server, notes); err != nil || !strings.Contains(said, c.want) || strings.Contains(said, "data folder") {
			t.Errorf("%s: %v\n%s", c.server, err, said)
		}
	}
	if out := mustCommand(t, "query", "--server", host, "apples"); !strings.Contains(out, "\n    apples\n") {
		t.Errorf("query: %s", out)
	}
}

func TestAddrAdvice(t *testing.T) {
	for addr, want := range map[string]string{
		"9190": "such as 127.0.0.1:9190", "localhost": "such as localhost:8080", "0.0.0.0": "such as 0.0.0.0:8080", "::1": "such as [::1]:8080",
		"http://127.0.0.1:9000/": "such as 127.0.0.1:9000", "99999": "such as 99999:8080", "a:b:c": "such as 127.0.0.1:8080",
	} {
		for _, command := range []string{"serve", "health"} {
			if _, err := runCommand(t, command, "--addr", addr); err == nil || !strings.HasPrefix(err.Error(), "--addr: got \""+addr+"\", allowed: HOST:PORT, "+want) {
				t.Errorf("%s --addr %s: %v, want %s", command, addr, err, want)
			}
		}
	}
}

// searchd alone shows a guide on a terminal, and the list of commands elsewhere.
func TestGuide(t *testing.T) {
	var out bytes.Buffer
	alone := func() string {
		root := newRootCommand()
		root.SetOut(&out)
		root.SetArgs(nil)
		out.Reset()
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := alone(); !strings.Contains(got, "Available Commands:") {
		t.Errorf("in a pipe: %s", got)
	}
	defer func(was func(io.Writer) bool) { onTerminal = was }(onTerminal)
	onTerminal = func(io.Writer) bool { return true }
	got := alone()
	for _, want := range []string{"searchd ingest ", "searchd query ", "searchd serve ", "data folder " + os.Getenv("XDG_DATA_HOME")} {
		if !strings.Contains(got, want) {
			t.Errorf("on a terminal: %q is missing in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n"); n > 10 {
		t.Errorf("the guide has %d lines", n)
	}
}

// Weak results are named after the others, and not counted.
func TestQueryCutoff(t *testing.T) {
	data, notes := filepath.Join(t.TempDir(), "data"), t.TempDir()
	writeFile(t, notes+"/apples.md", "# Growing apples\n\nApple trees need sun and pruning in winter.")
	writeFile(t, notes+"/taxes.md", "# Income tax\n\nThe form is due at the end of January.")
	if _, _, err := execute(t, "", "ingest", "--data", data, notes); err != nil {
		t.Fatal(err)
	}
	query := func(args ...string) string {
		return mustCommand(t, append([]string{"query", "--data", data}, args...)...)
	}
	if out := query("apples"); !strings.HasPrefix(out, "1  Growing apples  ") || !strings.Contains(out, "\n1 result, ") {
		t.Errorf("a good query: %s", out)
	}
	if out := query("--cutoff", "0.999", "--facets", "path", "apples"); !strings.HasPrefix(out, "no results; try other words, or fewer filters, ") ||
		!strings.Contains(out, "\nLess relevant (--cutoff none lists them as results):\n    Growing apples  apples.md  ") || strings.Contains(out, "path:") {
		t.Errorf("a high cutoff: %s", out)
	}
	if out := query("--cutoff", "none", "--mode", "semantic", "trees in winter, forms in January"); !strings.Contains(out, "\n2 results, ") || strings.Contains(out, "Less relevant") {
		t.Errorf("no cutoff: %s", out)
	}
	if out := query("--json", "apples"); strings.Contains(out, `"less_relevant"`) {
		t.Errorf("JSON: %s", out)
	}
	writeFile(t, notes+"/tree.md", "# The tree\n\nAn apple tree for a small garden.")
	if _, _, err := execute(t, "", "ingest", "--data", data, notes); err != nil {
		t.Fatal(err)
	}
	if out := query("--mode", "keyword", `"apple tree"`); !strings.HasPrefix(out, "1  The tree  ") || !regexp.MustCompile(`\n 2  Growing apples  \d+\.\d+ \(the phrase in other forms of its words\)\n`).MatchString(out) || strings.Count(out, "other forms") != 1 {
		t.Errorf("a phrase: %s", out)
	}
	if _, err := runCommand(t, "query", "--data", data, "--cutoff", "much", "apples"); err == nil || !strings.Contains(err.Error(), "cutoff") {
		t.Errorf("a wrong cutoff: %v", err)
	}
}
