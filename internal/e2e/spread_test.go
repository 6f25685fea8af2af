package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// newShards starts n shards with no server in front of them.
func newShards(t *testing.T, dir, name string, n int) *cluster {
	t.Helper()
	c := &cluster{}
	for i := range n {
		s := newNode(t, dir, fmt.Sprint(name, i+1))
		s.as = "shard"
		s.start()
		c.shards = append(c.shards, s)
	}
	c.node = c.front(dir, name)
	return c
}

// writers write documents through a server until they are stopped, and remember what was acknowledged.
type writers struct {
	stop chan struct{}
	wait sync.WaitGroup
	mu   struct {
		sync.Mutex
		texts   map[string]string   // of documents; empty: it is deleted
		unsure  map[string][]string // what was written since without an answer, or with one that leaves open whether it was carried out
		written int
		refused int // because the server writes no more
	}
}

// write has writers write through n. The documents of each are its own.
func write(n *node, count int) *writers {
	w := &writers{stop: make(chan struct{})}
	w.mu.texts, w.mu.unsure = map[string]string{}, map[string][]string{}
	for i := range count {
		w.wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 11))
			for {
				select {
				case <-w.stop:
					return
				default:
				}
				path := "/v1/collections/docs/documents/"
				id, text := fmt.Sprintf("w%d-%d", i, r.IntN(60)), words(r, 8)
				if r.IntN(4) == 0 {
					text = ""
					status, answer := n.ask("DELETE", path+id, "")
					w.note(id, text, status, answer)
				} else {
					status, answer := n.ask("PUT", path+id, fmt.Sprintf(`{"text":%q}`, text))
					w.note(id, text, status, answer)
				}
			}
		})
	}
	return w
}

func (w *writers) note(id, text string, status int, answer string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case status == http.StatusOK, status == http.StatusCreated, status == http.StatusNoContent:
		w.mu.texts[id] = text
		delete(w.mu.unsure, id)
		w.mu.written++
	case status == http.StatusNotFound: // nothing to delete
	case strings.Contains(answer, "front_replaced"), strings.Contains(answer, "not_ready"):
		w.mu.refused++
	default:
		w.mu.unsure[id] = append(w.mu.unsure[id], text)
	}
}

// some waits for more acknowledged writes.
func (w *writers) some(n *node, more int) {
	n.t.Helper()
	written := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.mu.written
	}
	from := written()
	n.until("writing", func() bool { return written() >= from+more })
}

// end stops the writers.
func (w *writers) end() {
	close(w.stop)
	w.wait.Wait()
}

// compare wants what was acknowledged in n, and nothing of what was deleted.
func (w *writers) compare(n *node) {
	n.t.Helper()
	deleted := 0
	for id, text := range w.mu.texts {
		if text == "" {
			deleted++
		}
		status, answer := n.ask("GET", "/v1/collections/docs/documents/"+id, "")
		is := func(text string) bool {
			return text == "" && status == 404 || text != "" && status == 200 && strings.Contains(answer, text)
		}
		if !is(text) && !slices.ContainsFunc(w.mu.unsure[id], is) {
			n.t.Errorf("%s: status %d: %s, want %q", id, status, answer, text)
		}
	}
	n.t.Logf("%d documents written, %d of them deleted, %d acknowledged writes, %d refused, %d documents unsure", len(w.mu.texts), deleted, w.mu.written, w.mu.refused, len(w.mu.unsure))
	if deleted == 0 {
		n.t.Error("nothing that was deleted was compared")
	}
}

// spreadKilled runs spread and kills it again and again, later each time, until it has ended by itself.
func spreadKilled(t *testing.T, kills int, args ...string) (stdout, stderr string) {
	t.Helper()
	for i := range kills {
		cmd := command(t, "searchd", append([]string{"spread"}, args...)...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(time.Duration(60+60*i)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err == nil {
			late.Stop()
			return out.String(), errs.String()
		}
		if cmd.ProcessState.Exited() { // by itself
			t.Fatalf("spread %v: %s%s", args, out.String(), errs.String())
		}
	}
	return mustRun(t, "searchd", append([]string{"spread"}, args...)...)
}

// TestGrow grows a cluster from two shards to three over the network while documents are written: nothing that was acknowledged is lost, and nothing that was
// deleted comes back. Reads go on.
func TestGrow(t *testing.T) {
	dir := t.TempDir()
	old := newCluster(t, dir, 2)
	mustRun(t, "ingest", "--server", old.url(), notesDir)
	old.want(201, "POST", "/v1/collections", `{"name":"gone"}`)
	old.want(201, "PUT", "/v1/collections/gone/documents/a", `{"text":"of what is dropped"}`)
	old.want(201, "PUT", "/v1/aliases/letters", `{"collection":"gone"}`)
	reader := old.reader(dir, "reader")
	reader.start()
	standby := newNode(t, dir, "standby", "--follow", old.shards[1].url())
	standby.as = "shard"
	standby.start()
	mixed := old.shards[0].url() + "," + standby.url()
	grown := newShards(t, dir, "new", 3)
	to := grown.urls()
	w := write(old.node, 3)
	w.some(old.node, 100)

	// Passes, one of them from a standby. What is filled is not served: the server in front waits.
	if out, _ := spreadKilled(t, 4, "--from", old.urls(), "--to", to, "--more"); !strings.HasPrefix(out, "docs: ") || !strings.Contains(out, "gone: 1 documents") {
		t.Errorf("a pass: %s", out)
	}
	grown.begin()
	grown.until("waiting", func() bool {
		status, answer := grown.ask("GET", "/readyz", "")
		return status == 503 && strings.Contains(answer, "copy not complete")
	})
	old.want(200, "PUT", "/v1/aliases/letters", `{"collection":"docs"}`)
	old.want(204, "DELETE", "/v1/collections/gone", "")
	old.want(204, "DELETE", "/v1/collections/docs/documents/"+notes(t, old.node)[0], "")
	w.some(old.node, 100)
	if out, _ := mustRun(t, "searchd", "spread", "--from", mixed, "--to", to, "--more"); !strings.Contains(out, " the same\n") {
		t.Errorf("a pass from a standby: %s", out)
	}
	for args, want := range map[string]string{
		"--from " + mixed + " --to " + to:                                    standby.url() + " follows " + old.shards[1].url(),
		"--from " + to + " --to " + old.urls() + " --more":                   "not empty",
		"--from " + old.urls() + " --to " + standby.url():                    "is a shard of the cluster that is copied",
		"--from " + old.shards[0].url() + " --to " + to + " --more":          "shards out of place",
		"--from " + old.urls() + " --to " + to + " --shard-key-file nothing": "--shard-key-file",
	} {
		if code, _, stderr := run(t, "", "searchd", append([]string{"spread"}, strings.Fields(args)...)...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("spread %s: exit code %d: %s, want %q", args, code, stderr, want)
		}
	}
	w.some(old.node, 50) // what was refused has stopped nobody

	// The last one, while the writers go on. Whatever is refused from its beginning on was not acknowledged.
	_, told := spreadKilled(t, 2, "--from", old.urls(), "--to", to)
	if !strings.Contains(told, "the copy is complete") || !strings.Contains(told, "spread --back") {
		t.Errorf("the last pass told: %s", told)
	}
	grown.ready()
	old.until("refusing", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.mu.refused > 0
	})
	w.end()
	w.compare(grown.node)
	reader.want(200, "POST", "/v1/collections/docs/search", `{"q":"bread"}`)
	old.want(200, "POST", "/v1/collections/docs/search", `{"q":"bread"}`)
	sameAnswers(old.node, grown.node)
	grown.want(200, "GET", "/v1/collections/letters", "")
	grown.want(404, "GET", "/v1/collections/gone", "")
	grown.want(201, "PUT", "/v1/collections/docs/documents/new", `{"text":"of the new cluster"}`)
	if code, _, stderr := run(t, "", "searchd", "spread", "--from", old.urls(), "--to", to, "--more"); code != 2 || !strings.Contains(stderr, "not empty") {
		t.Errorf("into the complete copy: exit code %d: %s", code, stderr)
	}
	grown.want(201, "PUT", "/v1/collections/docs/documents/newer", `{"text":"which still takes writes"}`)
	reader.stop()
	standby.stop()

	// The old shards say where their documents are, to a server that runs and to one that is started, also when they were started again. Until that is taken back.
	write := func(n *node, id string) (int, string) {
		return n.ask("PUT", "/v1/collections/docs/documents/"+id, `{"text":"of the old one"}`)
	}
	moved := "have moved to " + strings.ReplaceAll(to, ",", ", ")
	old.until("knowing where", func() bool {
		status, answer := write(old.node, "late")
		return status == 503 && strings.Contains(answer, "front_replaced") && strings.Contains(answer, moved)
	})
	old.stop()
	for _, s := range old.shards {
		s.stop()
		s.start()
	}
	old.begin()
	if err := old.cmd.Wait(); err == nil || !strings.Contains(old.log.String(), moved) {
		t.Errorf("a server over what has moved ended with %v: %s", err, old.log)
	}
	mustRun(t, "searchd", "spread", "--from", old.urls(), "--back")
	old.start()
	if status, answer := write(old.node, "late"); status != 201 {
		t.Errorf("a write after it was taken back: status %d: %s", status, answer)
	}
	old.stopAll()
	grown.stopAll()
}

// notes returns the ids of some documents.
func notes(t *testing.T, n *node) (ids []string) {
	t.Helper()
	var page struct{ Documents []struct{ ID string } }
	if err := json.Unmarshal([]byte(n.want(200, "GET", "/v1/collections/docs/documents?limit=3", "")), &page); err != nil || len(page.Documents) == 0 {
		t.Fatalf("documents: %v", err)
	}
	for _, d := range page.Documents {
		ids = append(ids, d.ID)
	}
	return ids
}

// TestGrowServer makes a cluster of an ordinary server while documents are written: from its backup, from the folder of a replica, and in the end from its own
// folder, when it has been stopped.
func TestGrowServer(t *testing.T) {
	dir := t.TempDir()
	server := newNode(t, dir, "server")
	server.start()
	mustRun(t, "ingest", "--server", server.url(), notesDir)
	replica := newNode(t, dir, "replica", "--follow", server.url())
	replica.start()
	grown := newShards(t, dir, "shard", 3)
	to := grown.urls()
	w := write(server, 3)
	w.some(server, 50)

	backup, restored := filepath.Join(dir, "backup"), filepath.Join(dir, "restored")
	mustRun(t, "searchd", "backup", "--server", server.url(), backup)
	mustRun(t, "searchd", "restore", backup, "--data", restored)
	if out, _ := spreadKilled(t, 3, "--from", restored, "--to", to, "--more"); !strings.HasPrefix(out, "docs: ") {
		t.Errorf("a pass from a backup: %s", out)
	}
	w.some(server, 100)
	replica.stop()
	if out, _ := mustRun(t, "searchd", "spread", "--from", replica.data, "--to", to, "--more"); !strings.HasPrefix(out, "docs: ") || strings.Contains(out, " 0 the same") {
		t.Errorf("a pass from a replica: %s", out)
	}
	if code, _, stderr := run(t, "", "searchd", "spread", "--from", replica.data, "--to", to); code != 2 || !strings.Contains(stderr, "follows "+server.url()) {
		t.Errorf("a last pass from a replica: exit code %d: %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "searchd", "spread", "--from", server.data, "--to", to); code != 2 || !strings.Contains(stderr, "in use") {
		t.Errorf("from the folder of a server that runs: exit code %d: %s", code, stderr)
	}
	w.some(server, 50)
	server.stop()
	w.end()
	if out, _ := spreadKilled(t, 2, "--from", server.data, "--to", to); !strings.HasPrefix(out, "docs: ") {
		t.Errorf("the last pass: %s", out)
	}
	grown.start()
	w.compare(grown.node)
	server.start()
	sameAnswers(server, grown.node)
	server.stop()
	grown.stopAll()
}
