package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVersionsCommand runs the commands on a data folder, through the client.
func TestVersionsCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	write := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	settings := write("settings.json", `{"versions": {"keep": 2}}`)
	mustCommand(t, "ingest", "--data", dir, "--settings", settings, write("a.jsonl", `{"id":"a/b c","text":"first"}`))
	list := func() string {
		return strings.Join(strings.Fields(mustCommand(t, "versions", "list", "--data", dir, "a/b c")), " ")
	}
	if got := list(); got != "revision bytes until 1 now" {
		t.Errorf("list: %s", got)
	}
	mustCommand(t, "ingest", "--data", dir, write("a.jsonl", `{"id":"a/b c","text":"second"}`))
	if got := list(); !strings.HasPrefix(got, "revision bytes until 2 now 1 16 replaced 20") {
		t.Errorf("list: %s", got)
	}
	if got := mustCommand(t, "versions", "show", "--data", dir, "a/b c", "1"); got != `{"text":"first"}` {
		t.Errorf("show: %s", got)
	}
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"restore", "a/b c", "1", "--if-revision", "1"}, "revision_conflict"}, {[]string{"restore", "a/b c", "0"}, `REVISION: got "0"`}, {[]string{"show", "a/b c", "x"}, `REVISION: got "x"`},
		{[]string{"show", "a/b c", "9"}, "document_not_found"}, {[]string{"list", "x"}, "document_not_found"}, {[]string{"list", "x", "--collection", "nix"}, "nix"}, {[]string{"show", "x"}, "got 1 arguments"},
	} {
		if _, err := runCommand(t, append([]string{"versions", "--data", dir}, x.args...)...); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v: %v, want an error with %s", x.args, err, x.want)
		}
	}
	if got := mustCommand(t, "versions", "restore", "--data", dir, "a/b c", "1", "--if-revision", "2"); got != "a/b c: updated, revision 3" {
		t.Errorf("restore: %s", got)
	}
	mustCommand(t, "versions", "delete", "--data", dir, "a/b c")
	if got := list(); got != "revision bytes until 3 now" {
		t.Errorf("list: %s", got)
	}
}
