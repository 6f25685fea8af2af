package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"searchd/api"
	"searchd/internal/porttest"
	"searchd/search"
	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/search/remote"
)

// servedShard is a shard of a test behind a URL, whose folder changes.
type servedShard struct {
	t    *testing.T
	b    *embedded.Backend
	now  atomic.Pointer[http.Handler]
	url  string
	away atomic.Bool
}

func newServedShard(t *testing.T, dir string) *servedShard {
	s := &servedShard{t: t}
	s.open(dir)
	s.url = serveTest(t, func(w http.ResponseWriter, r *http.Request) {
		if s.away.Load() {
			panic(http.ErrAbortHandler)
		}
		(*s.now.Load()).ServeHTTP(w, r)
	})
	return s
}

// open serves another folder from now on.
func (s *servedShard) open(dir string) {
	s.t.Helper()
	b, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { b.Close() })
	h := remote.Handler(b, remote.HandlerOptions{})
	s.b = b
	s.now.Store(&h)
}

func (s *servedShard) put(id string) {
	s.t.Helper()
	if _, err := s.b.Apply(s.t.Context(), "docs", []backend.Write{{ID: id, Fields: []byte(`{"n":1}`)}}); err != nil {
		s.t.Fatal(err)
	}
}

// asked is a request that must be answered with a status.
func asked(t *testing.T, url string, want int) string {
	t.Helper()
	status, body := answerAt(t, url)
	if status != want {
		t.Fatalf("%s: status %d, want %d: %s", url, status, want, body)
	}
	return body
}

func answerAt(t *testing.T, url string) (status int, body string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(b)
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s", what)
		}
	}
}

// TestStandbyServes follows a shard, tells how far it is, makes another copy where the shard is another one, and is the shard without --follow.
func TestStandbyServes(t *testing.T) {
	shard := newServedShard(t, claimed(t))
	if err := shard.b.Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en", Payload: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	shard.put("a")
	log := slog.New(slog.DiscardHandler)
	f := shardFlags{data: filepath.Join(t.TempDir(), "standby"), follow: followFlags{url: shard.url}}
	fo, err := f.standby("", log)
	if err != nil {
		t.Fatal(err)
	}
	fo.first, fo.most, fo.copyPause = time.Millisecond, 2*time.Millisecond, time.Millisecond
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	s := newShardServer(l, nil, fo, log)
	if body := asked(t, url+"/readyz", 503); !strings.Contains(body, "copying the shard") {
		t.Errorf("before it serves: %s", body)
	}
	asked(t, url+"/livez", 200)
	ctx, cancel := context.WithCancel(t.Context())
	ended, copies := make(chan error, 1), make(chan struct{}, 10)
	go func() {
		err := fo.begin(ctx)
		for again := true; again && err == nil; {
			again, err = f.serveOnce(ctx, s, "", url)
			if again && err == nil {
				copies <- struct{}{}
				err = embedded.InstallCopy(f.data)
			}
		}
		ended <- err
	}()
	documents := func() int {
		r, err := remote.Dial(t.Context(), url, remote.Options{})
		if err != nil {
			return -1
		}
		defer r.Close()
		c, err := r.Collection(t.Context(), "docs")
		if err != nil {
			return -1
		}
		return c.Documents
	}
	waitFor(t, "like the shard", func() bool { return documents() == 1 })
	waitFor(t, "ready", func() bool { status, _ := answerAt(t, url+"/readyz"); return status == 200 })
	shard.put("b")
	waitFor(t, "following", func() bool { return documents() == 2 })
	for _, line := range []string{"searchd_replica_behind_changes 0", "searchd_replica_contact_seconds ", "searchd_replica_copies_total 1", "searchd_followers 0", "searchd_shard_index 1"} {
		if text := asked(t, url+"/metrics", 200); !strings.Contains(text, "\n"+line) {
			t.Errorf("/metrics lacks %s", line)
		}
	}
	if text := asked(t, shard.url+"/v1/replication/copy?follower=x", 200); text == "" || shard.b.Followers() != 2 {
		t.Errorf("%d followers", shard.b.Followers())
	}

	shard.away.Store(true)
	shard.put("c") // ends the question that waits
	waitFor(t, "without the shard", func() bool { return strings.Contains(asked(t, url+"/readyz", 200), "warning") })
	if documents() != 3 {
		t.Error("without the shard it does not answer what it had")
	}
	// It comes back as another one, restored from a backup.
	restored, backup := filepath.Join(t.TempDir(), "restored"), filepath.Join(t.TempDir(), "backup")
	file, err := os.Create(backup)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shard.b.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(search.Restore(t.Context(), file, restored), file.Close()); err != nil {
		t.Fatal(err)
	}
	shard.open(restored)
	shard.put("d")
	shard.away.Store(false)
	<-copies
	waitFor(t, "like the restored shard", func() bool { return documents() == 4 })
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the end: %v", err)
	}

	b, err := embedded.Open(f.data, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Marker() == nil {
		t.Error("an opening without --follow of other commands made it a shard")
	}
	b.Close()
	promoted := shardFlags{data: f.data, addr: porttest.Free(t), logFormat: "text"}
	ctx, cancel = context.WithCancel(t.Context())
	go func() { ended <- promoted.serve(ctx) }()
	waitFor(t, "the shard", func() bool { status, _ := answerAt(t, "http://"+promoted.addr+"/readyz"); return status == 200 })
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if b, err = embedded.Open(f.data, embedded.Options{}); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if id, err := b.Identity(t.Context()); err != nil || !id.Unclaimed || b.Marker() != nil {
		t.Errorf("started without --follow it is %+v, %v", id, err)
	}
}

// TestStandbyRefuses what cannot be a standby, and what it cannot follow.
func TestStandbyRefuses(t *testing.T) {
	shard := newServedShard(t, claimed(t))
	server := serveTest(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
	})
	ofServer := t.TempDir() // a replica of an ordinary server
	b, err := embedded.Open(ofServer, embedded.Options{})
	if err == nil {
		err = errors.Join(b.Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en", Payload: []byte("{}")}),
			b.SetMarker(t.Context(), search.Marker{URL: "http://a", Name: "b"}), b.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--data " + t.TempDir() + " --follow " + server:                          "what answers there is no shard",
		"--data " + claimed(t) + " --follow " + shard.url:                        "empty folder",
		"--data " + ofServer + " --follow " + shard.url:                          "ordinary data folder",
		"--data " + ofServer:                                                     "ordinary data folder",
		"--data " + t.TempDir() + " --follow-ca none":                            "--follow-ca goes with --follow",
		"--data " + t.TempDir() + " --follow " + shard.url + " --follow-ca none": "--follow-ca",
		"--data " + t.TempDir() + " --follow shard:8090":                         "--follow",
	} {
		if _, err := command(t, append([]string{"shard", "--addr", "127.0.0.1:0"}, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("shard %s: %v, want %q", args, err, want)
		}
	}
	if b, err = embedded.Open(ofServer, embedded.Options{}); err != nil {
		t.Fatal(err)
	}
	if b.Marker() == nil {
		t.Error("a replica that was refused follows nobody any more")
	}
	b.Close()
	denied := serveTest(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Searchd-Shard", "1")
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": "the key"})
	})
	if _, err := command(t, "shard", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--follow", denied); err == nil || !strings.Contains(err.Error(), shardKeyEnv) {
		t.Errorf("with another key: %v", err)
	}
}

// TestShardHolds: requests that are under way when another folder takes the place are ended, and none is answered from the old one after that.
func TestShardHolds(t *testing.T) {
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newShardServer(l, nil, &follower{}, slog.New(slog.DiscardHandler))
	defer s.srv.Close()
	b, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s.begin(b, "")
	url := "http://" + l.Addr().String()
	if body := asked(t, url+"/readyz", 503); !strings.Contains(body, "not caught up") {
		t.Errorf("before it has caught up: %s", body)
	}
	s.follower.mu.Following = api.Following{CaughtUp: true}
	asked(t, url+"/readyz", 200)
	began, over, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	stuck := &shardTurn{end: func() { close(over) }, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(began)
		<-over
		close(ended)
	})}
	s.turn.Store(stuck)
	go http.Get(url + "/metrics")
	<-began
	s.hold()
	<-ended
	if body := asked(t, url+"/readyz", 503); !strings.Contains(body, s.opening) {
		t.Errorf("between two folders: %s", body)
	}
}
