package main

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"searchd/access"
	"searchd/api"
	"searchd/search"
)

// TestBackupOfAServer takes a backup of a server that goes on, and makes a folder of it.
func TestBackupOfAServer(t *testing.T) {
	e, err := search.Open(filledFolder(t), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ring, root := rootKey(t)
	_, reader, err := ring.Create(t.Context(), access.Spec{Name: "reader", Scopes: access.Search})
	if err != nil {
		t.Fatal(err)
	}
	s, err := api.New(api.Options{Engine: e, Logger: slog.New(slog.DiscardHandler), Keys: ring})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	defer server.Close()

	dir := t.TempDir()
	file, copied := filepath.Join(dir, "backup"), filepath.Join(dir, "copied")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no key":        {[]string{"--server", server.URL, file}, "key"},
		"a lesser key":  {[]string{"--server", server.URL, "--key", reader, file}, "collections:admin"},
		"no URL":        {[]string{"--server", "somewhere", file}, "somewhere"},
		"nothing named": {[]string{file}, "--data"},
		"a file that is": {[]string{"--server", server.URL, "--key", root, func() string {
			there := filepath.Join(dir, "there")
			if err := os.WriteFile(there, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			return there
		}()}, "exists"},
	} {
		if _, err := command(t, append([]string{"backup"}, tt.args...)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %s", name, err, tt.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("what failed left files: %q", left)
	}

	mustCommand(t, "backup", "--server", server.URL, "--key", root, file)
	if list, err := e.Snapshots(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("snapshots left on the server: %v, %v", list, err)
	}
	mustCommand(t, "restore", file, "--data", copied)
	if got := collectionsOf(t, copied)["docs"]; got.Documents != 2 {
		t.Errorf("the restored collection: %+v", got)
	}
	if _, err := command(t, "restore", file, "--data", copied); err == nil || !strings.Contains(err.Error(), copied) {
		t.Errorf("over a folder with data: %v", err)
	}
}
