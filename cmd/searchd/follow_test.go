package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"searchd/access"
	"searchd/api"
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
	if key, err := secret("follow-key-file", file("good", "  sd_x_y\n"), followKeyEnv); key != "sd_x_y" || err != nil {
		t.Errorf("key of a file: %q, %v", key, err)
	}
	if key, err := secret("follow-key-file", "", followKeyEnv); key != "of the environment" || err != nil {
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

// A replica that was started while its primary is away counts from its start how long that has been so.
func TestContactBegins(t *testing.T) {
	fo := newFollower(t, nil)
	var log bytes.Buffer
	fo.log = slog.New(slog.NewTextHandler(&log, nil))
	fo.away(errors.New("down"))
	if contact := fo.state().Contact; time.Since(contact) > time.Minute {
		t.Errorf("last contact %v, want the start", contact)
	}
	if fo.reached(&wire.End{}); strings.Contains(log.String(), "e+") {
		t.Errorf("it was away for ages: %s", &log)
	}
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

// A copy that arrives and is of no use is not asked for again and again: it may be large. One of a later version never is of use.
func TestUselessCopy(t *testing.T) {
	garbage := bytes.Repeat([]byte("garbage "), 1<<13)
	binary.NativeEndian.PutUint32(garbage[16:], 0xED0CDAED) // by which a backup begins as a file of bbolt does
	trailer := binary.LittleEndian.AppendUint64([]byte("searchd-backup-1"), uint64(len(garbage)))
	sum := sha256.Sum256(garbage)
	var asked atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fo := newFollower(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			time.AfterFunc(500*time.Millisecond, cancel)
		}
		w.Write(append(append(garbage, trailer...), sum[:]...))
	})
	if err := fo.begin(ctx); !errors.Is(err, context.Canceled) || asked.Load() != 1 {
		t.Errorf("begin = %v after %d copies, want one", err, asked.Load())
	}
	if err := error(&uselessError{fmt.Errorf("%w: format 2", store.ErrNewerFormat)}); !hopeless(err) {
		t.Errorf("%v is tried again", err)
	}
}

// Copies that do not help come less and less often.
func TestCopiesThatDoNotHelp(t *testing.T) {
	fo := newFollower(t, func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct{ served, want time.Duration }{
		{24 * time.Hour, 0}, {time.Second, 39 * time.Second}, {time.Minute, 20 * time.Second}, {0, 160 * time.Second}, {0, 320 * time.Second},
		{0, 640 * time.Second}, {0, longCopy}, {5 * time.Minute, 10 * time.Minute}, {time.Hour, 0}, {0, 40 * time.Second},
	} {
		if got := fo.untilCopy(tt.served); got != tt.want {
			t.Errorf("after a copy that served for %v: %v, want %v", tt.served, got, tt.want)
		}
	}
}

// Requests that are passed on at the same time keep their connections for the next ones.
func TestPassingConnections(t *testing.T) {
	const at = 16
	var addresses sync.Map
	together := make(chan struct{})
	fo := newFollower(t, func(w http.ResponseWriter, r *http.Request) {
		addresses.Store(r.RemoteAddr, true)
		<-together
	})
	for range 5 {
		var wait sync.WaitGroup
		for range at {
			wait.Go(func() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fo.url.String(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				res, err := fo.transport.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
			})
		}
		for range at {
			together <- struct{}{}
		}
		wait.Wait()
		time.Sleep(50 * time.Millisecond) // what was read gives its connection back
	}
	n := 0
	addresses.Range(func(any, any) bool { n++; return true })
	if n > 2*at { // some are late on a busy machine; with two idle ones alone there are more than four times as many
		t.Errorf("%d connections for %d requests at a time", n, at)
	}
}

// replica is a follower with its primary and what it has.
type replica struct {
	*follower
	a, b *search.Engine
	keys *access.Keyring
	stop func() (replace bool)
}

// newReplica follows a primary with one collection; wrap, if not nil, is asked in the primary's place.
func newReplica(t *testing.T, wrap func(primary http.Handler) http.HandlerFunc) *replica {
	t.Helper()
	r := &replica{a: openEngine(t, t.TempDir())}
	if _, err := r.a.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	s, err := api.New(api.Options{Engine: r.a, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Handler().ServeHTTP
	if wrap != nil {
		h = wrap(s.Handler())
	}
	r.follower = newFollower(t, h)
	if err := r.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.b = openEngine(t, r.dir)
	vault, err := r.b.Vault()
	if err == nil {
		r.keys, err = access.Open(vault, access.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func openEngine(t *testing.T, dir string) *search.Engine {
	t.Helper()
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// run follows until stop is called, or there is a copy to be put in the place of what the replica has.
func (r *replica) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool, 1)
	go func() { done <- r.follow(ctx, r.b, r.keys) }()
	r.stop = sync.OnceValue(func() bool {
		cancel()
		return <-done
	})
	t.Cleanup(func() { r.stop() })
}

// until waits for something that will be so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s", what)
		}
	}
}

// A replica that needs another copy says so as long as it has none, and goes on with what it has.
func TestFollowLost(t *testing.T) {
	lost, copies := &atomic.Bool{}, make(chan struct{})
	r := newReplica(t, func(primary http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			switch {
			case !lost.Load():
				primary.ServeHTTP(w, r)
			case strings.HasSuffix(r.URL.Path, "/copy"):
				<-copies
				primary.ServeHTTP(w, r)
			default:
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(410)
				io.WriteString(w, `{"status":410,"code":"replication_lost","title":"Lost"}`)
			}
		}
	})
	release := sync.OnceFunc(func() { close(copies) })
	t.Cleanup(release)
	r.copied = time.Time{} // the next copy need not wait
	r.run(t)
	until(t, "caught up", func() bool { return r.state().CaughtUp })
	lost.Store(true)
	if _, err := r.a.CreateCollection(t.Context(), "more", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	until(t, "told of", func() bool { return r.state().Away != "" })
	if !r.state().CaughtUp {
		t.Error("it is not ready any more")
	}
	release()
	until(t, "copied", func() bool { return r.state().Copies == 2 })
	if !r.stop() {
		t.Error("the copy is not to be put in its place")
	}
}

// While a copy is made the primary is reminded of the replica, which it would forget otherwise.
func TestReminds(t *testing.T) {
	var asked atomic.Int64
	fo := newFollower(t, func(w http.ResponseWriter, r *http.Request) {
		var q wire.Question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			return // the last one may be cut off
		}
		if q.Follower != "b" || q.Store != "s" {
			t.Errorf("asked %+v", q)
		}
		asked.Add(1)
	})
	fo.name, fo.reminds = "b", time.Millisecond
	stop := fo.remind("s")
	until(t, "asked", func() bool { return asked.Load() > 2 })
	stop()
	until(t, "silent, but for a question that was on its way", func() bool {
		before := asked.Load()
		time.Sleep(20 * time.Millisecond)
		return asked.Load() == before
	})
}

// A marker that is damaged names nobody: the replica gives itself a name, notes it, and makes a copy.
func TestFollowUnnamed(t *testing.T) {
	r := newReplica(t, nil)
	first := r.name
	if err := r.b.SetMarker(t.Context(), search.Marker{}); err != nil { // what reading a damaged one gives
		t.Fatal(err)
	}
	r.name, r.copied = newName(), time.Time{}
	r.run(t)
	until(t, "copied", func() bool { return r.state().Copies == 2 })
	if !r.stop() {
		t.Error("the copy is not to be put in its place")
	}
	if m := r.b.Marker(); m.Name != r.name || m.Name == first || m.URL != r.url.Redacted() {
		t.Errorf("marker %+v of %s, named %s before", m, r.name, first)
	}
}

// A primary that is back may count its commits anew: who writes then waits for them too, the replica asks at once, and is answered.
func TestWaitForRestarted(t *testing.T) {
	down := &atomic.Bool{}
	r := newReplica(t, func(primary http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if down.Load() {
				w.WriteHeader(502)
				return
			}
			primary.ServeHTTP(w, r)
		}
	})
	r.most = time.Hour
	r.run(t)
	until(t, "caught up", func() bool { return r.state().CaughtUp })
	down.Store(true)
	if _, err := r.a.CreateCollection(t.Context(), "one", search.Settings{}); err != nil { // ends a question
		t.Fatal(err)
	}
	until(t, "away", func() bool { return r.state().Away != "" })
	time.Sleep(200 * time.Millisecond) // pauses grow
	down.Store(false)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r.waitFor(ctx, 1)
	if r.state().Away != "" || ctx.Err() != nil {
		t.Errorf("state %+v, %v: want that it was waited for", r.state(), ctx.Err())
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
