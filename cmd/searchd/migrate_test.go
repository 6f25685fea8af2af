package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"example.com/searchd/client"
	"example.com/searchd/search"
)

// TestMigrate copies a folder to another, which then answers as it does.
func TestMigrate(t *testing.T) {
	from, to := filledFolder(t), filepath.Join(t.TempDir(), "to")
	if said := mustCommand(t, "migrate", "--from", from, "--to", to); said != "docs: 2 documents, 2 passages, the same on both sides with their vectors" {
		t.Errorf("said %q", said)
	}
	query := func(dir string) string {
		return mustCommand(t, "query", "--data", dir, "--json", "sleeping cat")
	}
	cut := func(answer string) string { // what follows are times
		hits, _, _ := strings.Cut(answer, `"took`)
		return hits
	}
	if got, want := cut(query(to)), cut(query(from)); got != want || !strings.Contains(want, `"cat"`) {
		t.Errorf("answer %s, want %s", got, want)
	}
	notes := t.TempDir()
	if err := os.WriteFile(filepath.Join(notes, "a.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := search.Open(to, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for want, args := range map[string][]string{
		"name where to copy":                   {"--from", from},
		"--from: " + notes + " is no data":     {"--from", notes, "--to", from},
		"--from: got \"127.0.0.1:1\"":          {"--from", "127.0.0.1:1", "--to", from},
		"http://127.0.0.1:1":                   {"--from", "127.0.0.1:1", "--to", from},
		"needs no key":                         {"--from", from, "--from-key", "x", "--to", to},
		"--to: ":                               {"--from", from, "--to", to}, // it is open
		"if it is a server, give its URL":      {"--from", from, "--to", to},
		"--to: client: server \"ftp://x\"":     {"--from", from, "--to", "ftp://x"},
		"--collection: got \"other\", allowed": {"--from", from, "--to", filepath.Join(t.TempDir(), "new"), "--collection", "other"},
	} {
		if _, err := runCommand(t, append([]string{"migrate"}, args...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("migrate %q: %v, want an error with %q", args, err, want)
		}
	}
}

// TestMigrateWarns: what is waited for is named at once.
func TestMigrateWarns(t *testing.T) {
	c, err := client.New("http://127.0.0.1:1", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetErr(&b)
	warnAbsent(cmd, c)
	if want := "client: no server listens at http://127.0.0.1:1: connection refused; trying for two minutes\n"; b.String() != want {
		t.Errorf("the warning is %q, want %q", b.String(), want)
	}
}
