package main

import (
	"bytes"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/models"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// smallHub serves a fixture of the encoder as the repository owner/name, all of it as small files.
func smallHub(t *testing.T) *httptest.Server {
	t.Helper()
	files := os.DirFS("../../encoder/testdata/bert-mean")
	var tree []map[string]any
	err := fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, p)
		sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...))
		tree = append(tree, map[string]any{"type": "file", "path": p, "size": len(b), "oid": fmt.Sprintf("%x", sum)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/models/owner/name/revision/main", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]string{"sha": commit})
	})
	mux.HandleFunc("/api/models/owner/name/tree/"+commit, func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(tree) })
	mux.Handle("/owner/name/resolve/"+commit+"/", http.StripPrefix("/owner/name/resolve/"+commit, http.FileServerFS(files)))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// execute runs searchd with the arguments inside this process.
func execute(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	err = root.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func TestModelsCommands(t *testing.T) {
	server := smallHub(t)
	cache := t.TempDir()
	t.Setenv(models.CacheEnv, cache)
	t.Setenv("HF_ENDPOINT", "http://192.0.2.1") // refused, were it used
	t.Setenv("SEARCHD_HUB", server.URL)
	for _, tt := range []struct {
		name, stdin string
		args        []string
		out, fail   string // what standard output, or the error, holds
	}{
		{"embed before", `"a"`, []string{"embed", "--model", "owner/name"}, "", "searchd models pull owner/name"},
		{"list before", "", []string{"models", "list"}, "embedded", ""},
		{"pull", "", []string{"models", "pull", "owner/name"}, "pulled owner/name@" + commit[:12] + ", bert, ", ""},
		{"pull again", "", []string{"models", "pull", "owner/name"}, "already there: owner/name@", ""},
		{"list", "", []string{"models", "list"}, "\nowner/name  bert", ""},
		{"list as JSON", "", []string{"models", "list", "--json"}, `"commit": "` + commit + `"`, ""},
		{"info", "", []string{"models", "info", "owner/name"}, `"name": "owner/name"`, ""},
		{"embed", `"a"`, []string{"embed", "--model", "owner/name"}, `{"embedding":[`, ""},
		{"pull of what is not there", "", []string{"models", "pull", "owner/other"}, "", "no such repository"},
		{"pull of no name", "", []string{"models", "pull", "name"}, "", "OWNER/NAME"},
		{"pull from elsewhere", "", []string{"models", "pull", "owner/other", "--hub", "http://192.0.2.1"}, "", "https"},
		{"pull of too much", "", []string{"models", "pull", "owner/name", "--max-size", "0"}, "", "--max-size"},
		{"pull into", "", []string{"models", "pull", "owner/name", "--into", filepath.Join(cache, "x", "y", "z")}, filepath.Join(cache, "x", "y", "z"), ""},
		{"rm", "", []string{"models", "rm", "owner/name"}, "", ""},
		{"rm again", "", []string{"models", "rm", "owner/name"}, "", "not pulled"},
		{"embed after", `"a"`, []string{"embed", "--model", "owner/name"}, "", "searchd models pull owner/name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, err := execute(t, tt.stdin, tt.args...)
			if (err != nil) != (tt.fail != "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
				t.Fatalf("error %v, want one with %q; standard error: %s", err, tt.fail, stderr)
			}
			if got := "\n" + stdout; !strings.Contains(got, tt.out) {
				t.Errorf("standard output %q, want %q in it", stdout, tt.out)
			}
		})
	}
}
