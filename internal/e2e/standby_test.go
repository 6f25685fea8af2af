package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"searchd/internal/porttest"
)

var stored = regexp.MustCompile(`(?m)^searchd_collection_(documents|passages).*$`)

// upToDate waits until a standby says that it has as much as its shard, and knows of no more.
func (n *node) upToDate(shard *node) {
	n.t.Helper()
	n.ready()
	n.until("up to date", func() bool {
		own, its := n.want(200, "GET", "/metrics", ""), shard.want(200, "GET", "/metrics", "")
		return strings.Contains(own, "\nsearchd_replica_behind_changes 0\n") && strings.Contains(its, "\nsearchd_followers 1\n") &&
			fmt.Sprint(stored.FindAllString(own, -1)) == fmt.Sprint(stored.FindAllString(its, -1))
	})
}

// TestStandby: a shard is killed while documents are written through the server in front, and its standby takes its place. What was acknowledged before the
// standby said that it has everything is found. The old shard is not taken for the shard when it comes back.
func TestStandby(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, 2)
	standby := newNode(t, dir, "standby", "--follow", c.shards[1].url())
	standby.as = "shard"
	standby.start() // before there is anything
	c.want(201, "POST", "/v1/collections", `{"name":"docs"}`)
	c.want(201, "PUT", "/v1/aliases/letters", `{"collection":"docs"}`)
	corpus := filepath.Join(dir, "corpus.jsonl")
	writeCorpus(t, corpus, 60)
	mustRun(t, "ingest", "--server", c.url(), corpus)

	// It is no shard as long as it follows, and takes no standby of its own.
	if code, _, stderr := run(t, "", "searchd", "serve", "--addr", porttest.Free(t), "--shards", c.shards[0].url()+","+standby.url()); code != 2 ||
		!strings.Contains(stderr, standby.url()+" is a standby of "+c.shards[1].url()) || !strings.Contains(stderr, "without --follow") {
		t.Errorf("a standby as a shard: exit code %d: %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "searchd", "shard", "--data", filepath.Join(dir, "second"), "--addr", porttest.Free(t), "--follow", standby.url()); code != 2 || !strings.Contains(stderr, "replica itself") {
		t.Errorf("a standby of a standby: exit code %d: %s", code, stderr)
	}
	c.want(201, "PUT", "/v1/collections/docs/documents/after", `{"text":"the server in front still writes"}`)

	// It is killed and started again, follows the shard through a restart, and the copy is made once.
	standby.kill()
	c.shards[1].stop()
	c.shards[1].start()
	c.ready()
	standby.start()
	writes := 40
	if os.Getenv("E2E_FULL") != "" {
		writes = 1000
	}
	writeRandomly(c.node, rand.New(rand.NewPCG(1, 2)), writes)
	const first = 30
	for i := range first {
		c.want(201, "PUT", fmt.Sprintf("/v1/collections/docs/documents/kept%d", i), `{"text":"acknowledged before the standby has said so"}`)
	}
	standby.upToDate(c.shards[1])
	if copies := strings.Count(standby.log.String(), `msg="copied the primary"`); copies != 1 {
		t.Errorf("the standby made %d copies, want one", copies)
	}
	held := c.answers()

	// The shard dies while documents are written.
	var wait sync.WaitGroup
	stop := make(chan struct{})
	late := 0
	wait.Go(func() {
		for ; ; late++ {
			select {
			case <-stop:
				return
			default:
				c.status("PUT", fmt.Sprintf("/v1/collections/docs/documents/late%d", late), `{"text":"perhaps"}`)
			}
		}
	})
	old := c.shards[1]
	c.until("writing", func() bool { return c.status("GET", "/v1/collections/docs/documents/late10", "") == 200 })
	old.kill()
	standby.until("without its shard", func() bool { return strings.Contains(standby.want(200, "GET", "/readyz", ""), "warning") })
	close(stop)
	wait.Wait()

	standby.stop()
	standby.args = nil
	standby.start()
	c.stop()
	c.shards[1] = standby
	c.node = c.front(dir, "front2")
	c.start()
	for i := range first {
		c.want(200, "GET", fmt.Sprintf("/v1/collections/docs/documents/kept%d", i), "")
	}
	c.want(200, "GET", "/v1/collections/letters", "")
	for i := range late {
		c.status("DELETE", fmt.Sprintf("/v1/collections/docs/documents/late%d", i), "") // it is there or not
	}
	for i, now := range c.answers() {
		if i >= len(held) || now != held[i] {
			t.Fatalf("answer %d: %s, was %s", i, now, at(held, i))
		}
	}
	c.want(201, "PUT", "/v1/collections/docs/documents/new", `{"text":"of the new shard"}`)

	// The old one comes back: at a URL of its own, and then at that of the one in its place.
	old.start()
	if code, _, stderr := run(t, "", "searchd", "serve", "--addr", porttest.Free(t), "--shards", c.shards[0].url()+","+old.url()); code != 2 ||
		!strings.Contains(stderr, old.url()+" is an older shard 2") {
		t.Errorf("the old shard: exit code %d: %s", code, stderr)
	}
	c.want(201, "PUT", "/v1/collections/docs/documents/newer", `{"text":"the server in front still writes"}`)
	old.stop()
	addr := standby.addr
	standby.stop()
	mistaken := *old
	mistaken.addr = addr
	mistaken.start()
	c.until("told", func() bool {
		status, answer := c.ask("GET", "/readyz", "")
		return status == 503 && strings.Contains(answer, "older")
	})
	for _, body := range []string{`{"q":"bread","mode":"keyword"}`, `{"q":"bread","mode":"semantic"}`} {
		if answer := c.want(503, "POST", "/v1/collections/docs/search", body); !strings.Contains(answer, "shard_unavailable") || !strings.Contains(answer, addr) {
			t.Errorf("a search over the old shard: %s", answer)
		}
	}
	refused := 0
	for i := range 10 {
		if c.status("PUT", fmt.Sprintf("/v1/collections/docs/documents/refused%d", i), `{"text":"x"}`) == http.StatusServiceUnavailable {
			refused++
		}
	}
	if refused == 0 {
		t.Error("the old shard takes writes")
	}
	mistaken.stop()
	mistaken.cmd = nil
	standby.start()
	c.ready()
	c.want(200, "GET", "/v1/collections/docs/documents/newer", "")

	// And becomes a standby of the new one, in an empty folder.
	if code, _, stderr := run(t, "", "searchd", "shard", "--data", old.data, "--addr", old.addr, "--follow", standby.url()); code != 2 || !strings.Contains(stderr, "empty folder") {
		t.Errorf("following from the folder of a shard: exit code %d: %s", code, stderr)
	}
	if err := os.RemoveAll(old.data); err != nil {
		t.Fatal(err)
	}
	old.args = []string{"--follow", standby.url()}
	old.start()
	old.upToDate(standby)
	old.stop()
	c.stopAll()
	sound(old)
}

// TestRestoredShard: a shard that was restored from a backup is taken with what it has, by a server in front that is started again.
func TestRestoredShard(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, 2)
	corpus := filepath.Join(dir, "corpus.jsonl")
	writeCorpus(t, corpus, 30)
	mustRun(t, "ingest", "--server", c.url(), corpus)
	s := c.shards[0] // with the names
	backup := filepath.Join(dir, "backup")
	mustRun(t, "searchd", "backup", "--shard", s.url(), backup)
	c.stop() // what is restored is older than the last claim
	c.start()
	s.kill()
	if err := os.RemoveAll(s.data); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "searchd", "restore", backup, "--data", s.data)
	s.start()
	c.until("told", func() bool {
		status, answer := c.ask("GET", "/readyz", "")
		return status == 503 && strings.Contains(answer, "start the server in front again")
	})
	c.stop()
	c.start()
	if _, summary := mustRun(t, "ingest", "--server", c.url(), corpus); !strings.Contains(summary, "30 unchanged") {
		t.Errorf("ingest after the restore: %s", summary)
	}
	c.stopAll()
}
