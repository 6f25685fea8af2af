package api

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/searchd/search"
)

// TestReadOnlyIsTold lets a commit fail, by putting a read-only descriptor in the place of the
// store's: what goes on and what does not is to be seen from outside.
func TestReadOnlyIsTold(t *testing.T) {
	dir := t.TempDir()
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	f := &fixture{t: t, server: newServer(t, Options{Engine: e, Inference: e.Inference(), Logger: slog.New(slog.DiscardHandler)})}
	f.do("PUT", "/v1/collections/docs", "").want(201, nil)
	f.do("PUT", "/v1/collections/docs/documents/a", `{"text":"flip a pancake"}`).want(201, nil)
	seen := func(gauge string, warns bool) {
		t.Helper()
		if a := f.do("GET", "/metrics", "").want(200, nil); !strings.Contains(a.Body.String(), "\nsearchd_store_read_only "+gauge+"\n") {
			t.Errorf("no metric searchd_store_read_only %s", gauge)
		}
		var h health
		if f.do("GET", "/readyz", "").want(200, &h); strings.Contains(h.Warning, "read-only") != warns {
			t.Errorf("/readyz warns of %q", h.Warning)
		}
	}
	seen("0", false)
	path := filepath.Join(dir, "searchd.db")
	ro, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range fds {
		var fd int
		fmt.Sscan(entry.Name(), &fd)
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name())); err == nil && to == path && fd != int(ro.Fd()) {
			if err := syscall.Dup3(int(ro.Fd()), fd, syscall.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, code := range []string{"outcome_unknown", "read_only", "read_only"} { // of the commit that fails, and of what comes after it
		f.do("PUT", "/v1/collections/docs/documents/b", `{"text":"bread"}`).problem(503, code, "")
	}
	f.do("GET", "/v1/collections/docs/search?q=pancake", "").want(200, nil)
	seen("1", true)
}
