package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// cluster is some shards of a test with a server in front of them.
type cluster struct {
	*node  // the server in front
	shards []*node
}

// newCluster starts n shards and a server in front of them.
func newCluster(t *testing.T, dir string, n int) *cluster {
	t.Helper()
	c := &cluster{}
	for i := range n {
		s := newNode(t, dir, fmt.Sprintf("shard%d", i+1))
		s.as = "shard"
		s.start()
		c.shards = append(c.shards, s)
	}
	c.node = c.front(dir, "front")
	c.start()
	return c
}

// urls are those of the shards, as --shards takes them.
func (c *cluster) urls() string {
	urls := make([]string, len(c.shards))
	for i, s := range c.shards {
		urls[i] = s.url()
	}
	return strings.Join(urls, ",")
}

// folders are those of the shards, as spread takes them.
func (c *cluster) folders() string {
	folders := make([]string, len(c.shards))
	for i, s := range c.shards {
		folders[i] = s.data
	}
	return strings.Join(folders, ",")
}

// front returns another server in front of the same shards.
func (c *cluster) front(dir, name string) *node {
	c.shards[0].t.Helper()
	return newNode(c.shards[0].t, dir, name, "--shards", c.urls())
}

// stopAll ends the server in front and then the shards, and checks these.
func (c *cluster) stopAll() {
	c.t.Helper()
	c.stop()
	for _, s := range c.shards {
		s.stop()
	}
	sound(c.shards...)
}

// answers are those to searches of all kinds, all hits, without what differs by time or by place. The misspelled word is one of which documents have one form
// alone: which form a query is read as is looked for in the first documents that have one, by when they came.
func (n *node) answers() (list []string) {
	n.t.Helper()
	for _, q := range []string{"cash reserves for unexpected bills", "soccer referee decisions about attackers", "bread", `"the water"`, "garden -winter", "recieve emergensy", "how do I sleep better"} {
		for _, mode := range []string{"keyword", "semantic", "hybrid"} {
			body := fmt.Sprintf(`{"q":%q,"mode":%q,"limit":60,"facets":[{"field":"format"}]}`, q, mode)
			var r struct {
				Total  json.RawMessage
				Facets json.RawMessage
				Hits   []struct {
					ID    string
					Score float64
				}
			}
			if err := json.Unmarshal([]byte(n.want(200, "POST", "/v1/collections/docs/search", body)), &r); err != nil {
				n.t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%s: total %s, facets %s", body, r.Total, r.Facets))
			hits := make([]string, len(r.Hits))
			for i, h := range r.Hits {
				hits[i] = fmt.Sprintf("%s: %12.6f %s", body, h.Score, h.ID)
			}
			slices.Sort(hits) // equal scores are in the order in which documents are stored
			list = append(list, hits...)
		}
	}
	return list
}

// sameAnswers wants the same documents with the same scores from both.
func sameAnswers(a, b *node) {
	a.t.Helper()
	want, got := a.answers(), b.answers()
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			a.t.Fatalf("answer %d of %d and %d:\n%s\n%s", i, len(want), len(got), at(want, i), at(got, i))
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "none"
}

// TestShards holds a server over three shards against one server: the same hits, scores, totals and facets. Then the documents go back into one folder,
// and from there into four, and answers stay the same.
func TestShards(t *testing.T) {
	dir := t.TempDir()
	one := newNode(t, dir, "one")
	one.start()
	c := newCluster(t, dir, 3)
	for _, url := range []string{one.url(), c.url()} {
		if _, summary := mustRun(t, "ingest", "--server", url, notesDir); !strings.Contains(summary, "55 created") {
			t.Fatalf("ingest: %s", summary)
		}
	}
	if _, err := os.Stat(c.data); err == nil {
		t.Error("the server in front has made a data folder")
	}
	sameAnswers(one, c.node)
	c.want(201, "PUT", "/v1/aliases/letters", `{"collection":"docs"}`)
	if _, summary := mustRun(t, "ingest", "--server", c.url(), notesDir); !strings.Contains(summary, "55 unchanged") {
		t.Errorf("a second ingest: %s", summary)
	}
	backup := filepath.Join(dir, "backup")
	mustRun(t, "searchd", "backup", "--shard", c.shards[2].url(), backup)
	c.stop()
	c.start()
	sameAnswers(one, c.node)
	c.stopAll()

	// A shard's folder is no other's.
	if code, _, stderr := run(t, "", "ingest", "--data", c.shards[0].data, notesDir); code != 2 || !strings.Contains(stderr, "1 of 3 of the cluster") {
		t.Errorf("ingest into a shard's folder: exit code %d: %s", code, stderr)
	}
	// One that was lost comes back from its backup.
	if err := os.RemoveAll(c.shards[2].data); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "searchd", "restore", backup, "--data", c.shards[2].data)

	whole := filepath.Join(dir, "whole")
	if out, told := mustRun(t, "searchd", "spread", "--from", c.folders(), "--to", whole); !strings.HasPrefix(out, "docs: 55 documents, ") || !strings.Contains(told, "takes no writes any more") {
		t.Errorf("spread into one folder: %s", out)
	}
	var four []string
	for i := range 4 {
		four = append(four, filepath.Join(dir, "four", fmt.Sprint(i)))
	}
	if _, told := mustRun(t, "searchd", "spread", "--from", whole, "--to", strings.Join(four, ",")); !strings.Contains(told, "the copy is complete\n") {
		t.Errorf("spread into four said %q", told)
	}
	n := newNode(t, dir, "whole")
	n.start()
	sameAnswers(one, n)
	n.want(200, "GET", "/v1/collections/letters", "")
	n.stop()
	c.shards = nil
	for _, data := range four {
		s := newNode(t, dir, "s")
		s.as, s.data = "shard", data
		s.start()
		c.shards = append(c.shards, s)
	}
	c.node = c.front(dir, "front4")
	c.start()
	sameAnswers(one, c.node)
	c.want(200, "GET", "/v1/collections/letters", "")
	c.stopAll()
	one.stop()
}

// TestShardKilled kills a shard again and again while documents are written; what was acknowledged is there in the end, and a repeated ingest completes
// the rest.
func TestShardKilled(t *testing.T) {
	writers, kills := 3, 3
	if os.Getenv("E2E_FULL") != "" {
		kills = 20
	}
	dir := t.TempDir()
	c := newCluster(t, dir, 3)
	c.want(201, "POST", "/v1/collections", `{"name":"docs"}`)
	var mu sync.Mutex
	acknowledged := map[string]string{}
	stop, refused := make(chan struct{}), 0
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 7))
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id, text := fmt.Sprintf("w%d-%d", w, i), words(r, 8)
				status := c.status("PUT", "/v1/collections/docs/documents/"+id, fmt.Sprintf(`{"text":%q}`, text))
				mu.Lock()
				if status == http.StatusCreated || status == http.StatusOK {
					acknowledged[id] = text
				} else {
					refused++
				}
				mu.Unlock()
			}
		})
	}
	some := func(more int) {
		mu.Lock()
		from := len(acknowledged)
		mu.Unlock()
		c.until("writing", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(acknowledged) >= from+more
		})
	}
	for i := range kills {
		some(20)
		s := c.shards[i%len(c.shards)]
		s.kill()
		c.until("told that a write failed", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return refused > i
		})
		s.start()
	}
	some(20)
	close(stop)
	wait.Wait()
	c.ready()
	for id, text := range acknowledged {
		if got := c.want(200, "GET", "/v1/collections/docs/documents/"+id, ""); !strings.Contains(got, text) {
			t.Errorf("%s: %s, want %q", id, got, text)
		}
	}
	t.Logf("%d acknowledged, %d refused", len(acknowledged), refused)

	corpus := filepath.Join(dir, "corpus.jsonl")
	writeCorpus(t, corpus, 300)
	ingest := command(t, "ingest", "--server", c.url(), corpus)
	if err := ingest.Start(); err != nil {
		t.Fatal(err)
	}
	c.until("ingesting", func() bool { return c.status("GET", "/v1/collections/docs/documents/d00000", "") == 200 })
	c.shards[1].kill()
	time.Sleep(300 * time.Millisecond)
	c.shards[1].start()
	_ = ingest.Wait() // it may have tried again, or given up
	c.ready()
	mustRun(t, "ingest", "--server", c.url(), corpus)
	if _, summary := mustRun(t, "ingest", "--server", c.url(), corpus); !strings.Contains(summary, "300 unchanged") {
		t.Errorf("a repeated ingest: %s", summary)
	}
	for _, i := range []int{0, 150, 299} {
		if got := c.want(200, "POST", "/v1/collections/docs/search", fmt.Sprintf(`{"q":"unique%d","mode":"keyword","spelling":"exact"}`, i)); !strings.Contains(got, fmt.Sprintf(`"d%05d"`, i)) {
			t.Errorf("document %d is not found: %s", i, got)
		}
	}
	c.stopAll()
}

// TestShardAway: without a shard requests fail soon and name it, and go on by themselves when it is back.
func TestShardAway(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, 2)
	mustRun(t, "ingest", "--server", c.url(), notesDir)
	away := c.shards[1]
	away.kill()
	for _, mode := range []string{"keyword", "semantic", "hybrid"} {
		began := time.Now()
		answer := c.want(503, "POST", "/v1/collections/docs/search", fmt.Sprintf(`{"q":"bread","mode":%q}`, mode))
		if took := time.Since(began); took > 10*time.Second || !strings.Contains(answer, away.addr) || !strings.Contains(answer, "shard_unavailable") {
			t.Errorf("%s without a shard, after %v: %s", mode, took, answer)
		}
	}
	c.until("out of service", func() bool {
		status, answer := c.ask("GET", "/readyz", "")
		return status == 503 && strings.Contains(answer, away.addr)
	})
	c.want(200, "GET", "/livez", "")
	away.start()
	c.ready()
	c.want(200, "POST", "/v1/collections/docs/search", `{"q":"bread"}`)

	// One that is started later is waited for.
	c.stop()
	away.stop()
	c.begin()
	c.until("waiting", func() bool {
		status, answer := c.ask("GET", "/readyz", "")
		return status == 503 && strings.Contains(answer, away.addr)
	})
	away.start()
	c.ready()
	c.stopAll()
}

// TestSecondFront: a server that is started later takes the shards over, and the one before writes no more.
func TestSecondFront(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, 2)
	c.want(201, "POST", "/v1/collections", `{"name":"docs"}`)
	c.want(201, "PUT", "/v1/collections/docs/documents/a", `{"text":"of the first"}`)
	second := c.front(dir, "second")
	second.start()
	for _, id := range []string{"b", "c", "d", "e", "f"} { // on both shards
		path := "/v1/collections/docs/documents/" + id
		if status, answer := c.ask("PUT", path, `{"text":"too late"}`); status != 503 && status != 409 {
			t.Errorf("a write of the first: status %d: %s", status, answer)
		}
		second.want(404, "GET", path, "")
		second.want(201, "PUT", path, `{"text":"of the second"}`)
	}
	second.want(200, "GET", "/v1/collections/docs/documents/a", "")
	c.want(200, "GET", "/v1/collections/docs/documents/b", "")
	c.until("out of service", func() bool { return c.status("GET", "/readyz", "") == 503 })
	c.stop()
	c.start()
	c.want(201, "PUT", "/v1/collections/docs/documents/g", `{"text":"of the first again"}`)
	if status := second.status("PUT", "/v1/collections/docs/documents/h", `{"text":"too late"}`); status != 503 && status != 409 {
		t.Errorf("a write of the second: status %d", status)
	}
	second.stop()

	// Shards in another order, or not all of them, are none of this cluster.
	for what, urls := range map[string]string{"another order": c.shards[1].url() + "," + c.shards[0].url(), "not all": c.shards[0].url()} {
		if code, _, stderr := run(t, "", "searchd", "serve", "--addr", second.addr, "--shards", urls); code != 2 || !strings.Contains(stderr, "shards out of place") {
			t.Errorf("%s: exit code %d: %s", what, code, stderr)
		}
	}
	c.want(201, "PUT", "/v1/collections/docs/documents/i", `{"text":"it still writes"}`)
	c.stopAll()
}

// TestShardKeys: shards ask for their key, and a server in front that has another one waits and says so.
func TestShardKeys(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("a key that is long enough\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newNode(t, dir, "shard", "--key-file", key)
	s.as = "shard"
	s.start()
	front := newNode(t, dir, "front", "--shards", s.url())
	front.begin()
	front.until("waiting", func() bool {
		status, answer := front.ask("GET", "/readyz", "")
		return status == 503 && strings.Contains(answer, s.addr) && strings.Contains(answer, "key")
	})
	front.stop()
	front.env = []string{"SEARCHD_SHARD_KEY=a key that is long enough"}
	front.start()
	front.want(201, "POST", "/v1/collections", `{"name":"docs"}`)
	front.want(201, "PUT", "/v1/collections/docs/documents/a", `{"text":"behind a key"}`)
	if code, _, stderr := run(t, "", "searchd", "backup", "--shard", s.url(), filepath.Join(dir, "b")); code != 2 || !strings.Contains(stderr, "the key is missing or wrong") {
		t.Errorf("a backup without the key: exit code %d: %s", code, stderr)
	}
	mustRun(t, "searchd", "backup", "--shard", s.url(), "--shard-key-file", key, filepath.Join(dir, "b"))
	front.stop()
	s.stop()
}
