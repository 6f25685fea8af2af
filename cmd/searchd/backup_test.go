package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/searchd/access"
	"example.com/searchd/api"
	"example.com/searchd/client"
	"example.com/searchd/search"
)

// adminOf serves an engine and returns the URL with a key that may do everything. Requests go
// through the handler that around makes.
func adminOf(t *testing.T, e *search.Engine, around func(http.Handler) http.Handler) (url, key string) {
	t.Helper()
	ring, root := rootKey(t)
	s, err := api.New(api.Options{Engine: e, Inference: e.Inference(), Logger: slog.New(slog.DiscardHandler), Keys: ring})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(around(s.Handler()))
	t.Cleanup(server.Close)
	return server.URL, root
}

// TestInterruptedBackup interrupts a backup of a server at each of its requests: no snapshot is
// left there, nor half a file here.
func TestInterruptedBackup(t *testing.T) {
	e, err := search.Open(filledFolder(t), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, tt := range []struct{ name, method, path string }{
		{"while it is asked for", "POST", "/v1/snapshots"},
		{"while it is written", "GET", "/v1/tasks/"},
		{"while it is downloaded", "GET", "/v1/snapshots/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			url, key := adminOf(t, e, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == tt.method && strings.HasPrefix(r.URL.Path, tt.path) {
						interrupt()
					}
					next.ServeHTTP(w, r)
				})
			})
			file := filepath.Join(t.TempDir(), "backup")
			root := newRootCommand()
			root.SetArgs([]string{"backup", "--server", url, "--key", key, file})
			if err := root.ExecuteContext(ctx); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "left") {
				t.Errorf("backup: %v, want %v alone", err, context.Canceled)
			}
			if list, err := e.Snapshots(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("snapshots on the server: %v, %v", list, err)
			}
			tasks, err := e.Tasks(t.Context())
			for _, task := range tasks {
				if !task.Ended() {
					t.Errorf("task %+v goes on", task)
				}
			}
			if left, _ := filepath.Glob(file + "*"); err != nil || len(left) > 0 {
				t.Errorf("files: %q, %v", left, err)
			}
		})
	}
}

func TestSnapshotsCommand(t *testing.T) {
	e, err := search.Open(filledFolder(t), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	url, key := adminOf(t, e, func(next http.Handler) http.Handler { return next })
	at := []string{"--server", url, "--key", key}
	c, err := client.New(url, client.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		task, err := c.CreateSnapshot(t.Context())
		if err == nil {
			_, err = client.Wait(t.Context(), c, task.ID, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var list []client.Snapshot
	out := mustCommand(t, append([]string{"snapshots", "list", "--json"}, at...)...)
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 2 || list[0].Bytes == 0 {
		t.Fatalf("list --json: %s, %v", out, err)
	}
	if out := mustCommand(t, append([]string{"snapshots", "list"}, at...)...); !strings.Contains(out, list[0].ID) || !strings.Contains(out, list[1].ID) {
		t.Errorf("list: %s", out)
	}
	mustCommand(t, append([]string{"snapshots", "rm", list[0].ID, list[1].ID}, at...)...)
	if out := mustCommand(t, append([]string{"snapshots", "list"}, at...)...); strings.Contains(out, "\n") {
		t.Errorf("list after rm: %s", out)
	}
	for _, args := range [][]string{{"snapshots", "list"}, append([]string{"snapshots", "rm", list[0].ID}, at...), append([]string{"snapshots", "rm"}, at...)} {
		if out, err := runCommand(t, args...); err == nil {
			t.Errorf("%q: %s", args, out)
		}
	}
}

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
	s, err := api.New(api.Options{Engine: e, Inference: e.Inference(), Logger: slog.New(slog.DiscardHandler), Keys: ring})
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
		if _, err := runCommand(t, append([]string{"backup"}, tt.args...)...); err == nil || !strings.Contains(err.Error(), tt.want) {
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
	if _, err := runCommand(t, "restore", file, "--data", copied); err == nil || !strings.Contains(err.Error(), copied) {
		t.Errorf("over a folder with data: %v", err)
	}
}

// TestBackupWithoutIndexes backs up a folder whose indexes cannot be opened or made: what is
// restored has the document. A file that a backup left when it was killed is named.
func TestBackupWithoutIndexes(t *testing.T) {
	data, file := filledFolder(t), filepath.Join(t.TempDir(), "backup")
	indexes := filepath.Join(data, "indexes")
	if err := errors.Join(os.RemoveAll(indexes), os.WriteFile(indexes, nil, 0o600), os.WriteFile(file+".part", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	backup := func() error {
		root := newRootCommand()
		root.SetArgs([]string{"backup", "--data", data, "--model", "none", file})
		return root.ExecuteContext(t.Context())
	}
	if err := backup(); err == nil || !strings.Contains(err.Error(), "was interrupted") {
		t.Errorf("with an old part: %v", err)
	}
	if err := os.Remove(file + ".part"); err != nil {
		t.Fatal(err)
	}
	if err := backup(); err != nil {
		t.Fatal(err)
	}
	root := newRootCommand()
	root.SetArgs([]string{"restore", file, "--data", filepath.Join(t.TempDir(), "new")})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestBackupOfNoServer: whoever names a wrong port learns it at once.
func TestBackupOfNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	began := time.Now()
	if _, err := downloadBackup(ctx, "http://"+l.Addr().String(), "", nil); err == nil || !strings.Contains(err.Error(), "no server listens") || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
