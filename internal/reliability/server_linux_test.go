package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/searchd/internal/interpose"
	"example.com/searchd/internal/porttest"
)

// build builds searchd once for all tests and returns its path.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "reliability-bin")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "searchd")
	out, err := exec.Command("go", "build", "-o", bin, "example.com/searchd/cmd/searchd").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return bin, nil
})

func searchd(t testing.TB) string {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// alone skips a test that loads the machine, or waits for long, unless the scoreboard runs it.
func alone(t *testing.T) {
	t.Helper()
	if os.Getenv("RELIABILITY_REQUIRE") == "" {
		t.Skip("run by make reliability alone, because it needs the machine for itself: set RELIABILITY_REQUIRE=1 to run it")
	}
}

// server is searchd serve over a data folder.
type server struct {
	t     testing.TB
	url   string
	data  string
	args  []string
	env   []string
	cmd   *exec.Cmd
	log   lockedBuffer
	fault atomic.Int32 // the error of all calls that change files; 0: none. Only with calls
	calls bool         // run under interpose
	ended chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts the server and waits until it is ready.
func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(searchd(s.t), append([]string{"serve", "--data", s.data, "--addr", strings.TrimPrefix(s.url, "http://")}, s.args...)...)
	s.cmd.Stderr, s.cmd.Env = &s.log, append(os.Environ(), s.env...)
	s.ended = make(chan struct{})
	unsupported := make(chan error, 1)
	if s.calls {
		p := &interpose.Program{Cmd: s.cmd, Root: filepath.Dir(s.data), Decide: func(_ int, c interpose.Call) syscall.Errno {
			if c.Op == interpose.Output {
				return 0
			}
			return syscall.Errno(s.fault.Load())
		}}
		go func() {
			_, err := p.Run()
			if errors.Is(err, interpose.ErrUnsupported) {
				unsupported <- err
			}
			close(s.ended)
		}()
	} else {
		if err := s.cmd.Start(); err != nil {
			s.t.Fatal(err)
		}
		go func() { _ = s.cmd.Wait(); close(s.ended) }()
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if res, err := http.Get(s.url + "/readyz"); err == nil {
			res.Body.Close()
			if res.StatusCode == 200 {
				return
			}
		}
		select {
		case err := <-unsupported:
			if os.Getenv("INTERPOSE_REQUIRE") != "" {
				s.t.Fatal(err)
			}
			s.t.Skip(err)
		default:
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the server is not ready:\n%s", &s.log)
		}
	}
}

// newServer returns a server that is stopped when the test ends.
func newServer(t testing.TB, dir string, args ...string) *server {
	t.Helper()
	s := &server{t: t, url: "http://" + porttest.Free(t), data: filepath.Join(dir, "data"), args: args}
	t.Cleanup(func() {
		s.fault.Store(0)
		s.stop(syscall.SIGKILL)
		if t.Failed() {
			t.Logf("log of the server:\n%.4000s", s.log.String())
		}
	})
	return s
}

// stop sends a signal and waits for the end.
func (s *server) stop(sig syscall.Signal) {
	if s.ended == nil {
		return
	}
	if s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(sig)
	}
	<-s.ended
}

// do sends a request and returns the status and the body.
func (s *server) do(method, path, body string, header ...string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
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

// want sends a request and wants one of some statuses.
func (s *server) want(method, path, body string, statuses ...int) string {
	s.t.Helper()
	got, answer := s.do(method, path, body)
	for _, w := range statuses {
		if got == w {
			return answer
		}
	}
	s.t.Errorf("%s %s: %d, want %v: %.300s", method, path, got, statuses, answer)
	return answer
}

const docs = "/v1/collections/docs"

// ids returns the ids of all documents of a collection.
func (s *server) ids() map[string]bool {
	s.t.Helper()
	found := map[string]bool{}
	for line := range strings.Lines(s.want("GET", docs+"/documents/export", "", 200)) {
		var d struct {
			ID string `json:"id"`
		}
		if json.Unmarshal([]byte(line), &d) == nil && d.ID != "" {
			found[d.ID] = true
		}
	}
	return found
}

// checked stops the server and wants check --deep to find nothing.
func (s *server) checked() {
	s.t.Helper()
	s.stop(syscall.SIGTERM)
	if out, err := exec.Command(searchd(s.t), "check", "--data", s.data, "--deep").Output(); err != nil || !strings.HasSuffix(string(out), "0 differences\n") {
		s.t.Errorf("check --deep: %v\n%s", err, out)
	}
}

// TestServerOnBrokenDisk breaks the disk under a server: with ENOSPC writes are refused with 507
// until there is room, with EIO and EROFS with 503 until the next start. Searches, reads and health
// go on, and nothing is acknowledged that is not there afterwards.
func TestServerOnBrokenDisk(t *testing.T) {
	alone(t)
	for _, tt := range []struct {
		fault    syscall.Errno
		statuses []int
		restart  bool
	}{{syscall.ENOSPC, []int{507}, false}, {syscall.EIO, []int{503}, true}, {syscall.EROFS, []int{503}, true}} {
		t.Run(tt.fault.Error(), func(t *testing.T) {
			s := newServer(t, memory(t))
			s.calls = true
			s.start()
			s.want("PUT", docs, "{}", 201)
			acked := map[string]bool{}
			put := func(id string, statuses ...int) {
				t.Helper()
				status, answer := s.do("PUT", docs+"/documents/"+id, `{"text":"a pancake to flip"}`)
				if ok := status == 200 || status == 201; ok {
					acked[id] = true
				}
				for _, w := range statuses {
					if w == status {
						return
					}
				}
				t.Errorf("PUT %s: %d, want %v: %.300s", id, status, statuses, answer)
			}
			for i := range 20 {
				put(fmt.Sprint("before", i), 201)
			}
			s.fault.Store(int32(tt.fault))
			for i := range 5 {
				put(fmt.Sprint("broken", i), tt.statuses...)
			}
			s.want("DELETE", docs+"/documents/before0", "", tt.statuses...)
			s.want("POST", docs+"/documents/delete", `{"filter":"id = 'before1'"}`, append(tt.statuses, 404, 405)...)
			s.want("PUT", "/v1/collections/more", "{}", tt.statuses...)
			s.want("POST", "/v1/snapshots", "", append(tt.statuses, 202)...)
			if line := s.want("POST", docs+"/documents/import", `[{"id":"imported","text":"x"}]`, append(tt.statuses, 200)...); strings.Contains(line, `"created"`) {
				t.Errorf("an import was acknowledged: %s", line)
			}
			s.want("GET", "/livez", "", 200)
			s.want("GET", docs+"/documents/before2", "", 200)
			if hits := s.want("GET", docs+"/search?q=pancake", "", 200); !strings.Contains(hits, "before") {
				t.Errorf("a search finds %.300s", hits)
			}
			s.fault.Store(0)
			if tt.restart {
				put("still", tt.statuses...)
				s.stop(syscall.SIGTERM)
				s.start()
			}
			put("after", 201)
			deadline := time.Now().Add(90 * time.Second)
			for { // the keyword index catches up within a minute
				if _, hits := s.do("GET", docs+"/search?q=pancake&mode=keyword&filter=id%20%3D%20%27after%27", ""); strings.Contains(hits, `"after"`) || time.Now().After(deadline) {
					break
				}
				time.Sleep(200 * time.Millisecond)
			}
			if hits := s.want("GET", docs+"/search?q=pancake&mode=keyword&limit=100", "", 200); !strings.Contains(hits, `"after"`) {
				t.Errorf("what was written afterwards is not found: %.500s", hits)
			}
			found := s.ids()
			for id := range acked {
				if !found[id] {
					t.Errorf("%s was acknowledged and is not there", id)
				}
			}
			s.checked()
		})
	}
}

// TestDataFolderMoved renames the data folder under a server, and back.
func TestDataFolderMoved(t *testing.T) {
	s := newServer(t, memory(t))
	s.start()
	s.want("PUT", docs, "{}", 201)
	s.want("PUT", docs+"/documents/a", `{"text":"a pancake to flip"}`, 201)
	if err := os.Rename(s.data, s.data+"-away"); err != nil {
		t.Fatal(err)
	}
	s.want("PUT", docs+"/documents/b", `{"text":"bread"}`, 503)
	s.want("GET", docs+"/search?q=pancake", "", 200)
	if err := os.Rename(s.data+"-away", s.data); err != nil {
		t.Fatal(err)
	}
	s.want("PUT", docs+"/documents/b", `{"text":"bread"}`, 201)
	s.checked()
}
