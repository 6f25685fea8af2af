package main

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"searchd/client"
	"searchd/search"
	"searchd/search/wire"
	"searchd/store"
)

func TestFollowFlags(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv(followKeyEnv, "of the environment")
	log := slog.New(slog.DiscardHandler)
	for name, tt := range map[string]struct {
		f    followFlags
		says string
	}{
		"no URL":            {followFlags{url: "primary:8080"}, "--follow"},
		"key without":       {followFlags{keyFile: file("k", "x")}, "go with --follow"},
		"no key file":       {followFlags{url: "http://a", keyFile: filepath.Join(dir, "none")}, "--follow-key-file"},
		"empty key file":    {followFlags{url: "http://a", keyFile: file("e", "\n")}, "--follow-key-file"},
		"two keys":          {followFlags{url: "http://a", keyFile: file("t", "a\nb\n")}, "--follow-key-file"},
		"no certificate":    {followFlags{url: "https://a", ca: filepath.Join(dir, "none")}, "--follow-ca"},
		"not a certificate": {followFlags{url: "https://a", ca: file("c", "hello")}, "--follow-ca"},
	} {
		if _, err := tt.f.follower("data", log); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want an error that says %q", name, err, tt.says)
		}
	}
	if fo, err := (&followFlags{}).follower("data", log); fo != nil || err != nil {
		t.Errorf("without --follow: %v, %v", fo, err)
	}
	if key, err := (&followFlags{keyFile: file("good", "  sd_x_y\n")}).key(); key != "sd_x_y" || err != nil {
		t.Errorf("key of a file: %q, %v", key, err)
	}
	if key, err := (&followFlags{}).key(); key != "of the environment" || err != nil {
		t.Errorf("key of the environment: %q, %v", key, err)
	}
}

// newFollower follows a server of a test that answers with h.
func newFollower(t *testing.T, h http.HandlerFunc) *follower {
	t.Helper()
	primary := httptest.NewTLSServer(h)
	t.Cleanup(primary.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: primary.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := followFlags{url: primary.URL, ca: ca}
	fo, err := flags.follower(filepath.Join(t.TempDir(), "data"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	fo.first, fo.most = time.Millisecond, 5*time.Millisecond
	return fo
}

// A replica that begins waits for a primary that is not ready, and gives up where waiting cannot help. Its folder stays empty.
func TestFollowerBegins(t *testing.T) {
	for code, status := range map[string]int{"replica": 409, "insufficient_scope": 403, "route_not_found": 404} {
		var asked atomic.Int64
		fo := newFollower(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			if asked.Add(1) < 3 {
				w.WriteHeader(503)
				io.WriteString(w, `{"status":503,"code":"not_ready","title":"Not ready"}`)
				return
			}
			w.WriteHeader(status)
			io.WriteString(w, `{"status":1,"code":"`+code+`","title":"No"}`)
		})
		if err := fo.begin(t.Context()); err == nil || !strings.Contains(err.Error(), "--follow https://") || asked.Load() != 3 {
			t.Errorf("%s: %v after %d questions", code, err, asked.Load())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int64
	fo := newFollower(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 5 {
			cancel()
		}
		io.WriteString(w, "this is no backup")
	})
	if err := fo.begin(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("begin = %v, want that it is canceled", err)
	}
	if _, err := os.Stat(filepath.Join(fo.dir, "searchd.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a store of what was no backup: %v", err)
	}
}

func TestLost(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"the primary says so": {&client.Error{Status: 410, Code: "replication_lost"}, true},
		"a key":               {&client.Error{Status: 403, Code: "insufficient_scope"}, false},
		"away":                {io.ErrUnexpectedEOF, false},
		"does not fit":        {&notTaken{store.ErrInvalid}, true},
		"damaged here":        {&notTaken{search.ErrDamaged}, true},
		"no room here":        {&notTaken{search.ErrNoSpace}, false},
	} {
		if got := lost(tt.err); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

// Who wrote through a replica waits until it has what the primary had then.
func TestWaitFor(t *testing.T) {
	fo := newFollower(t, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		fo.waitFor(t.Context(), 5)
	}()
	for n := uint64(3); n <= 5; n++ {
		select {
		case <-done:
			t.Errorf("waited for less than 5 commits")
		case <-time.After(5 * time.Millisecond):
		}
		fo.reached(&wire.End{Commits: n})
	}
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("waits for ever")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	fo.waitFor(ctx, 99)
}
