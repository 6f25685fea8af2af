package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"searchd/internal/porttest"
)

// node is a server of a test that is stopped and started again.
type node struct {
	t    *testing.T
	as   string // command that it runs; serve
	addr string
	data string
	args []string
	env  []string
	key  string
	cmd  *exec.Cmd
	log  *lockedLog
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

func newNode(t *testing.T, dir, name string, args ...string) *node {
	t.Helper()
	n := &node{t: t, addr: porttest.Free(t), data: filepath.Join(dir, name), args: args, log: &lockedLog{}}
	t.Cleanup(func() {
		if n.cmd != nil {
			n.kill()
		}
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, n.log)
		}
	})
	return n
}

func (n *node) url() string { return "http://" + n.addr }

// start starts the server and waits until it is ready.
func (n *node) start() {
	n.t.Helper()
	n.begin()
	n.ready()
}

// begin starts the server.
func (n *node) begin() {
	n.t.Helper()
	n.cmd = command(n.t, "searchd", append([]string{cmp.Or(n.as, "serve"), "--data", n.data, "--addr", n.addr}, n.args...)...)
	n.cmd.Stderr, n.cmd.Env = n.log, append(os.Environ(), n.env...)
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) ready() {
	n.t.Helper()
	n.until("ready", func() bool { return n.status("GET", "/readyz", "") == 200 })
}

// until waits for something that will be so.
func (n *node) until(what string, is func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("%s: not %s: %s", n.data, what, n.log)
		}
	}
}

func (n *node) kill() {
	n.t.Helper()
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
	n.cmd = nil
}

// stop ends the server as an operator does.
func (n *node) stop() {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Fatal(err)
	}
	if err := n.cmd.Wait(); err != nil {
		n.t.Errorf("the server ended with %v: %s", err, n.log)
	}
	n.cmd = nil
}

// ask sends a request; status 0: it was not answered.
func (n *node) ask(method, path, body string) (status int, answer string) {
	r, err := http.NewRequestWithContext(n.t.Context(), method, n.url()+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if n.key != "" {
		r.Header.Set("Authorization", "Bearer "+n.key)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, ""
	}
	return res.StatusCode, string(b)
}

func (n *node) status(method, path, body string) int {
	status, _ := n.ask(method, path, body)
	return status
}

func (n *node) want(status int, method, path, body string) string {
	n.t.Helper()
	got, answer := n.ask(method, path, body)
	if got != status {
		n.t.Fatalf("%s %s: status %d, want %d: %s", method, path, got, status, answer)
	}
	return answer
}

// holds is all documents with their revisions, and the answers to some searches without what differs by time.
func (n *node) holds() string {
	n.t.Helper()
	out := n.want(200, "GET", "/v1/collections/docs/documents/export", "")
	for _, q := range []string{`{"q":"river mountain"}`, `{"q":"unique7","mode":"keyword"}`, `{"q":"winter letter","mode":"semantic","limit":30}`} {
		var r struct {
			Hits []struct {
				ID    string
				Score float64
			}
		}
		if err := json.Unmarshal([]byte(n.want(200, "POST", "/v1/collections/docs/search", q)), &r); err != nil {
			n.t.Fatal(err)
		}
		for _, h := range r.Hits {
			out += fmt.Sprintf("%s %s %.4f\n", q, h.ID, h.Score)
		}
	}
	return out
}

// same waits until both nodes hold the same.
func same(a, b *node) {
	a.t.Helper()
	want := a.holds()
	b.until("like its primary", func() bool { return b.holds() == want })
}

func sound(nodes ...*node) {
	for _, n := range nodes {
		n.t.Helper()
		if out, _ := mustRun(n.t, "searchd", "check", "--data", n.data, "--deep"); out != "0 differences\n" {
			n.t.Errorf("check of %s: %s", n.data, out)
		}
	}
}

func words(r *rand.Rand, n int) string {
	w := make([]string, n)
	for i := range w {
		w[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(w, " ")
}

// writeRandomly puts and deletes documents, whatever the answers.
func writeRandomly(n *node, r *rand.Rand, writes int) {
	for range writes {
		id := fmt.Sprintf("/v1/collections/docs/documents/d%05d", r.IntN(80))
		if r.IntN(4) == 0 {
			n.status("DELETE", id, "")
		} else {
			n.status("PUT", id, fmt.Sprintf(`{"text":%q}`, words(r, 12)+fmt.Sprintf(" unique%d", r.IntN(9))))
		}
	}
}

// TestReplica writes through a primary and its replica while the replica is killed and started again, and the primary restarted; in the end both hold
// the same. Then the replica takes the primary's place, and another one follows it. E2E_FULL=1 writes and kills more.
func TestReplica(t *testing.T) {
	writes, kills := 120, 3
	if os.Getenv("E2E_FULL") != "" {
		writes, kills = 2000, 20
	}
	dir := t.TempDir()
	a := newNode(t, dir, "a")
	b := newNode(t, dir, "b", "--follow", a.url())
	a.start()
	corpus := filepath.Join(dir, "corpus.jsonl")
	writeCorpus(t, corpus, 60)
	mustRun(t, "ingest", "--server", a.url(), corpus)
	b.start()
	same(a, b)

	b.want(201, "PUT", "/v1/collections/docs/documents/through", `{"text":"it is found where it was written"}`)
	b.want(200, "GET", "/v1/collections/docs/documents/through", "")

	if _, summary := mustRun(t, "ingest", "--server", b.url(), corpus); !strings.Contains(summary, "60 unchanged") {
		t.Errorf("ingest through the replica: %s", summary)
	}
	r := rand.New(rand.NewPCG(3, 4))
	var wait sync.WaitGroup
	wait.Go(func() { writeRandomly(a, rand.New(rand.NewPCG(5, 6)), writes) })
	for range kills {
		writeRandomly(b, r, r.IntN(writes/kills)) // what it passes on while it is killed is lost, or not
		b.kill()
		b.begin()
	}
	a.stop()
	a.start()
	b.ready()
	writeRandomly(b, r, writes/4)
	wait.Wait()
	a.want(201, "PUT", "/v1/collections/docs/documents/last", `{"text":"the end"}`)
	same(a, b)
	if copies := strings.Count(b.log.String(), `msg="copied the primary"`); copies != 1 {
		t.Errorf("the replica made %d copies, want one", copies)
	}

	// The primary is away: reads go on, writes are refused by name.
	a.stop()
	b.until("without its primary", func() bool { return strings.Contains(b.want(200, "GET", "/readyz", ""), "warning") })
	b.want(200, "GET", "/v1/collections/docs/documents/last", "")
	if answer := b.want(503, "PUT", "/v1/collections/docs/documents/x", `{"text":"x"}`); !strings.Contains(answer, "primary_unavailable") {
		t.Errorf("a write without the primary: %s", answer)
	}
	b.stop()
	sound(a, b)

	// A replica's folder takes no writes of others, and a primary's is not overwritten.
	if code, _, stderr := run(t, "", "ingest", "--data", b.data, corpus); code == 0 || !strings.Contains(stderr, "replica") {
		t.Errorf("ingest into a replica's folder: exit code %d: %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "searchd", "keys", "create", "--data", b.data, "--name", "k", "--scopes", "search"); code == 0 || !strings.Contains(stderr, "replica") {
		t.Errorf("a key for a replica's folder: exit code %d: %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "searchd", "serve", "--data", a.data, "--addr", a.addr, "--follow", b.url()); code != 2 || !strings.Contains(stderr, "empty folder") {
		t.Errorf("following from a primary's folder: exit code %d: %s", code, stderr)
	}

	// The replica takes over, and another one follows it.
	b.args = nil
	b.start()
	b.want(201, "PUT", "/v1/collections/docs/documents/new", `{"text":"of the new primary"}`)
	c := newNode(t, dir, "c", "--follow", b.url())
	c.start()
	same(b, c)
	if code, _, stderr := run(t, "", "searchd", "serve", "--data", filepath.Join(dir, "d"), "--addr", a.addr, "--follow", c.url()); code != 2 || !strings.Contains(stderr, "replica itself") {
		t.Errorf("following a replica: exit code %d: %s", code, stderr)
	}
	c.stop()
	// One of another primary's begins anew, by itself.
	b.stop()
	mustRun(t, "searchd", "backup", "--data", b.data, filepath.Join(dir, "backup"))
	if err := os.RemoveAll(b.data); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "searchd", "restore", filepath.Join(dir, "backup"), "--data", b.data)
	b.start()
	b.want(201, "PUT", "/v1/collections/docs/documents/newer", `{"text":"after a restore"}`)
	c.start()
	same(b, c)
	// One that has lost its disk empties nobody.
	c.stop()
	b.stop()
	lost := newNode(t, dir, "lost")
	lost.addr = b.addr
	lost.start()
	c.start()
	c.until("told of an empty primary", func() bool { return strings.Contains(c.log.String(), "holds nothing") })
	c.want(200, "GET", "/v1/collections/docs/documents/newer", "")
	lost.stop()
	c.stop()
	sound(b, c)
}

// TestReplicaKeys: a replica needs a key for its primary, and asks for those of its primary.
func TestReplicaKeys(t *testing.T) {
	dir := t.TempDir()
	a := newNode(t, dir, "a", "--require-key")
	create := func(scopes ...string) string {
		args := []string{"keys", "create", "--data", a.data, "--name", "k"}
		for _, s := range scopes {
			args = append(args, "--scopes", s)
		}
		out, _ := mustRun(t, "searchd", args...)
		for word := range strings.FieldsSeq(out) {
			if strings.HasPrefix(word, "sd_") {
				return word
			}
		}
		t.Fatalf("no key: %s", out)
		return ""
	}
	a.key = create("all")
	follow, wrong := create("replication"), create("search")
	a.start()
	a.want(201, "POST", "/v1/collections", `{"name":"docs"}`)
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte(wrong+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newNode(t, dir, "b", "--follow", a.url(), "--follow-key-file", file)
	if code, _, stderr := run(t, "", "searchd", append([]string{"serve", "--data", b.data, "--addr", b.addr}, b.args...)...); code != 2 || !strings.Contains(stderr, "scope replication") {
		t.Errorf("a wrong key: exit code %d: %s", code, stderr)
	}
	b.args, b.env = b.args[:2], []string{"SEARCHD_FOLLOW_KEY=" + follow}
	b.start()
	b.want(401, "GET", "/v1/collections", "")
	b.key = a.key
	b.want(200, "GET", "/v1/collections", "")
	var made struct{ ID, Key string }
	if err := json.Unmarshal([]byte(b.want(201, "POST", "/v1/keys", `{"name":"n","scopes":["search"]}`)), &made); err != nil {
		t.Fatal(err)
	}
	reader := *b
	reader.key = made.Key
	reader.want(200, "GET", "/v1/collections", "")
	a.want(201, "POST", "/v1/collections", `{"name":"more"}`) // so that the replica asks
	a.until("told of the use of a key", func() bool { return strings.Contains(a.want(200, "GET", "/v1/keys/"+made.ID, ""), "last_used") })
	a.want(204, "DELETE", "/v1/keys/"+made.ID, "")
	reader.until("closed to a revoked key", func() bool { return reader.status("GET", "/v1/collections", "") == 401 })
	b.stop()
	a.stop()
}

// TestReplicaLoop: of two servers that follow each other the second one refuses to start.
func TestReplicaLoop(t *testing.T) {
	dir := t.TempDir()
	a, b := newNode(t, dir, "a"), newNode(t, dir, "b")
	a.args, b.args = []string{"--follow", b.url()}, []string{"--follow", a.url()}
	a.begin()
	a.until("alive", func() bool { return a.status("GET", "/livez", "") == 200 })
	if status := a.status("GET", "/readyz", ""); status != 503 {
		t.Errorf("readyz of a replica without a copy: %d, want 503", status)
	}
	code, _, stderr := run(t, "", "searchd", "serve", "--data", b.data, "--addr", b.addr, "--follow", a.url())
	if code != 2 || !strings.Contains(stderr, "is a replica itself") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	a.stop()
}
