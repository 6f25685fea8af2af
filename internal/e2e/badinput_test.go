package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadInput gives the programs what they must refuse, and wants an error that names the thing,
// the value or what is allowed.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data := filepath.Join(dir, "data")
	mustRun(t, "ingest", "--data", data, file("good.jsonl", `{"_id":"a","text":"good milk"}`))
	long, err := json.Marshal(map[string]string{"text": strings.Repeat("word ", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken-model")
	file("broken-model/config.json", `{"model_type":"bert","hidden_size":-5}`)
	file("broken-model/model.safetensors", "not tensors")
	file("broken-model/tokenizer.json", "{}")
	ingest := func(path string) []string { return []string{"ingest", "--data", data, path} }
	query := func(args ...string) []string { return append([]string{"searchd", "query", "--data", data}, args...) }
	for _, tc := range []struct {
		name string
		args []string
		code int
		want []string // all in what is written to standard error
	}{
		{"unknown file type", ingest(file("x.bin", "\x00\x01\x02")), 1, []string{"x.bin"}},
		{"broken JSON line", ingest(file("broken.jsonl", "{\"text\":\"fine\"}\n{\"text\":\n{\"text\":\"fine too\"}\n")), 1, []string{"broken.jsonl:2", "JSON"}},
		{"empty document", ingest(file("empty.jsonl", `{"text":"  "}`)), 1, []string{"empty.jsonl:1", "no text"}},
		{"5 MB line", ingest(file("long.jsonl", string(long)+"\n{\"text\":\"next\"}\n")), 1, []string{"long.jsonl:1", "4194304"}},
		{"missing path", ingest(filepath.Join(dir, "nowhere")), 2, []string{"nowhere"}},
		{"unknown format", []string{"ingest", "--data", data, "--format", "doc", dir}, 2, []string{"doc", "jsonl"}},
		{"two sinks", []string{"ingest", "--data", data, "--server", "localhost:1", dir}, 2, []string{"--data", "--server"}},
		{"a data folder among files", []string{"ingest", "--data", dir, dir}, 2, []string{"not a data folder", "broken-model"}},
		{"unknown collection", query("--collection", "nope", "milk"), 2, []string{`has no "nope", but docs`, "nope"}},
		{"k = -1", query("--limit", "-1", "milk"), 2, []string{"limit", "got -1", "0 to 1000"}},
		{"k = 1e9", query("--limit", "1000000000", "milk"), 2, []string{"limit", "1000000000", "0 to 1000"}},
		{"k no number", query("--limit", "many", "milk"), 2, []string{"limit", "many"}},
		{"unknown mode", query("--mode", "fuzzy", "milk"), 2, []string{"mode", "fuzzy", "hybrid"}},
		{"broken filter", query("--filter", "year >", "milk"), 2, []string{"filter", "at byte 6", "expected a value"}},
		{"no data folder", []string{"searchd", "query", "--data", filepath.Join(dir, "none"), "milk"}, 2, []string{"none", "ingest"}},
		{"unreadable checkpoint", []string{"searchd", "embed", "--model", broken}, 2, []string{"broken-model", "config.json", "hidden_size", "-5"}},
		{"no checkpoint", []string{"searchd", "embed", "--model", filepath.Join(dir, "nothing")}, 2, []string{"checkpoint not found", "nothing"}},
		{"wrong dimension", []string{"searchd", "embed", "--dimensions", "100000"}, 2, []string{"dimension", "100000", "384"}},
		{"wrong pooling", []string{"searchd", "embed", "--pooling", "median"}, 2, []string{"pooling", "median"}},
		{"damaged store", []string{"searchd", "check", "--data", filepath.Dir(file("damaged/searchd.db", strings.Repeat("x", 100000)))}, 2, []string{"searchd.db", "damaged"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := run(t, "\"text\"\n", tc.args[0], tc.args[1:]...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d\n%s%s", code, tc.code, stdout, stderr)
			}
			for _, want := range tc.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("standard error lacks %q:\n%s", want, stderr)
				}
			}
		})
	}
	// What was good went in all the same, also from the files with bad lines.
	out, _ := mustRun(t, "searchd", "query", "--data", data, "--mode", "keyword", "--json", "fine next good")
	if n := strings.Count(out, `"id":`); n != 4 {
		t.Errorf("found %d documents, want the 4 good ones: %s", n, out)
	}
}
