package e2e

import (
	"bytes"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/searchd/internal/porttest"
)

// node is a server over a data folder of its own.
type node struct {
	t    *testing.T
	addr string
	data string
	cmd  *exec.Cmd
	log  lockedLog
}

type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newNode returns a server that is killed when the test ends.
func newNode(t *testing.T, dir, name string) *node {
	t.Helper()
	n := &node{t: t, addr: porttest.Free(t), data: filepath.Join(dir, name)}
	t.Cleanup(func() {
		if n.cmd != nil {
			_ = n.cmd.Process.Kill()
			_ = n.cmd.Wait()
		}
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, &n.log)
		}
	})
	return n
}

func (n *node) url() string { return "http://" + n.addr }

// start starts the server and waits until it is ready.
func (n *node) start() {
	n.t.Helper()
	n.cmd = command(n.t, "searchd", "serve", "--data", n.data, "--addr", n.addr)
	n.cmd.Stderr = &n.log
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); !n.ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("%s is not ready: %s", n.data, &n.log)
		}
	}
}

func (n *node) ready() bool {
	res, err := http.Get(n.url() + "/readyz")
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}
