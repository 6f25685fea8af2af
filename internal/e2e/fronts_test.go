package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"searchd/internal/porttest"
)

// reader returns a server that reads the shards and passes on to the one in front of them what writes.
func (c *cluster) reader(dir, name string) *node {
	c.t.Helper()
	n := c.front(dir, name)
	n.args = append(n.args, "--writes-to", c.url())
	return n
}

// within wants something to be so soon: what a reader reads again every second. The two seconds are those of a machine on which a look takes no longer than
// the pause behind it: on a busy one the looks take longer, as all else does.
func (n *node) within(what string, is func() bool) {
	n.t.Helper()
	const pause = 5 * time.Millisecond
	began := time.Now()
	for looks := 0; !is(); looks++ {
		if looks > int(2*time.Second/(2*pause)) && time.Since(began) > 2*time.Second {
			n.t.Fatalf("%s: not %s within two seconds, but after %v: %s", n.data, what, time.Since(began), n.log)
		}
		time.Sleep(pause)
	}
}

// TestFronts: one server writes to the shards and another reads them. Who writes through the reader finds it there at once, and what is changed through the
// other is seen within two seconds.
func TestFronts(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, 2)
	mustRun(t, "ingest", "--server", c.url(), notesDir)
	reader := c.reader(dir, "reader")
	reader.start()
	sameAnswers(c.node, reader)

	// Through the reader.
	reader.want(201, "POST", "/v1/collections", `{"name":"through"}`)
	for i := range 20 {
		path, word := fmt.Sprintf("/v1/collections/through/documents/d%d", i), fmt.Sprintf("unique%d", i)
		reader.want(201, "PUT", path, fmt.Sprintf(`{"text":"common %s"}`, word))
		for _, n := range []*node{reader, c.node} {
			if got := n.want(200, "POST", "/v1/collections/through/search", fmt.Sprintf(`{"q":%q,"mode":"keyword","spelling":"exact"}`, word)); !strings.Contains(got, fmt.Sprintf(`"d%d"`, i)) {
				t.Fatalf("%s: document %d is not found: %s", n.data, i, got)
			}
			if got := n.want(200, "POST", "/v1/collections/through/search", `{"q":"common","mode":"keyword"}`); !strings.Contains(got, fmt.Sprintf(`"value":%d`, i+1)) {
				t.Fatalf("%s: with %d documents: %s", n.data, i+1, got)
			}
		}
	}
	reader.want(201, "PUT", "/v1/aliases/other", `{"collection":"through"}`)
	reader.want(200, "GET", "/v1/collections/other", "")
	reader.want(204, "DELETE", "/v1/collections/through/documents/d0", "")
	reader.want(404, "GET", "/v1/collections/other/documents/d0", "")
	reader.want(204, "DELETE", "/v1/aliases/other", "")
	reader.want(404, "GET", "/v1/collections/other", "")
	if _, summary := mustRun(t, "ingest", "--server", reader.url(), notesDir); !strings.Contains(summary, "55 unchanged") {
		t.Errorf("an ingest through the reader: %s", summary)
	}

	// Through the other.
	c.want(201, "POST", "/v1/collections", `{"name":"new"}`)
	reader.within("told of a collection", func() bool { return reader.status("GET", "/v1/collections/new", "") == 200 })
	c.want(201, "PUT", "/v1/collections/new/documents/a", `{"text":"a letter"}`)
	reader.want(200, "GET", "/v1/collections/new/documents/a", "")
	c.want(201, "PUT", "/v1/aliases/letters", `{"collection":"new"}`)
	reader.within("told of an alias", func() bool { return reader.status("GET", "/v1/collections/letters/documents/a", "") == 200 })
	c.want(200, "PUT", "/v1/aliases/letters", `{"collection":"docs"}`)
	reader.within("told of an alias that leads elsewhere", func() bool { return reader.status("GET", "/v1/collections/letters/documents/a", "") == 404 })
	c.want(204, "DELETE", "/v1/collections/new", "")
	reader.want(404, "GET", "/v1/collections/new", "")
	c.want(201, "POST", "/v1/collections", `{"name":"new","settings":{"language":"de"}}`) // another of the same name
	reader.want(404, "GET", "/v1/collections/new/documents/a", "")
	reader.want(404, "GET", "/v1/tasks/none", "")
	sameAnswers(c.node, reader)

	// Keys, of those who may nothing before.
	made := c.want(201, "POST", "/v1/keys", `{"name":"first","scopes":["all"]}`)
	var key struct{ ID, Key string }
	if err := json.Unmarshal([]byte(made), &key); err != nil {
		t.Fatal(err)
	}
	reader.within("guarded", func() bool { return reader.status("GET", "/v1/collections", "") == 401 })
	reader.key, c.key = key.Key, key.Key
	reader.within("told of a key", func() bool { return reader.status("GET", "/v1/collections", "") == 200 })
	if err := json.Unmarshal([]byte(reader.want(201, "POST", "/v1/keys", `{"name":"second","scopes":["search"]}`)), &key); err != nil {
		t.Fatal(err)
	}
	second := *reader
	second.key = key.Key
	second.want(200, "POST", "/v1/collections/docs/search", `{"q":"bread"}`) // at once
	c.want(204, "DELETE", "/v1/keys/"+key.ID, "")
	reader.within("told that a key is revoked", func() bool { return second.status("POST", "/v1/collections/docs/search", `{"q":"bread"}`) == 401 })

	reader.stop()
	c.stopAll()
}

// TestFrontsReembed re-embeds a collection through one server while the other searches: no search fails, and the next generation is found in the end.
func TestFrontsReembed(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, 2)
	mustRun(t, "ingest", "--server", c.url(), notesDir)
	reader := c.reader(dir, "reader")
	reader.start()
	var searches atomic.Int64
	stop := make(chan struct{})
	var wait sync.WaitGroup
	for _, mode := range []string{"keyword", "semantic", "hybrid"} {
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				status, answer := reader.ask("POST", "/v1/collections/docs/search", fmt.Sprintf(`{"q":"bread and water","mode":%q,"facets":[{"field":"format"}]}`, mode))
				if status != 200 || !strings.Contains(answer, `"id"`) || strings.Contains(answer, `"degraded":true`) {
					t.Errorf("a %s search: status %d: %s", mode, status, answer)
					return
				}
				searches.Add(1)
			}
		})
	}
	rounds := 2
	if os.Getenv("E2E_FULL") != "" {
		rounds = 6
	}
	for round := range rounds {
		tokens := fmt.Sprintf(`"passages":{"max_tokens":%d}`, 64+round)
		body := fmt.Sprintf(`{"precision":%q,"settings":{%s}}`, []string{"int8", "f32"}[round%2], tokens)
		var task struct{ ID, State string }
		if err := json.Unmarshal([]byte(reader.want(202, "POST", "/v1/collections/docs/reembed", body)), &task); err != nil {
			t.Fatal(err)
		}
		reader.until("re-embedded", func() bool {
			if err := json.Unmarshal([]byte(reader.want(200, "GET", "/v1/tasks/"+task.ID, "")), &task); err != nil {
				t.Fatal(err)
			}
			return task.State == "succeeded"
		})
		reader.within("with the next generation", func() bool {
			return strings.Contains(reader.want(200, "GET", "/v1/collections/docs", ""), tokens)
		})
		from := searches.Load()
		reader.until("searching", func() bool { return searches.Load() > from+30 })
	}
	time.Sleep(11 * time.Second) // the last generation but one is dropped
	close(stop)
	wait.Wait()
	t.Logf("%d searches", searches.Load())
	sameAnswers(c.node, reader)
	reader.stop()
	c.stopAll()
}

// TestFrontTakesOver: without the server that writes another one reads on, and started anew it writes itself; the one that wrote before does not any more.
func TestFrontTakesOver(t *testing.T) {
	dir := t.TempDir()
	c := newCluster(t, dir, 2)
	early := newNode(t, dir, "early", "--shards", c.urls(), "--writes-to", c.url())
	reader := c.reader(dir, "reader")
	reader.start()
	c.want(201, "POST", "/v1/collections", `{"name":"docs"}`)
	c.want(201, "PUT", "/v1/collections/docs/documents/a", `{"text":"of the first"}`)
	c.kill()
	reader.want(200, "GET", "/v1/collections/docs/documents/a", "")
	for _, path := range []string{"b", "c", "d"} { // on both shards
		if answer := reader.want(503, "PUT", "/v1/collections/docs/documents/"+path, `{"text":"nowhere"}`); !strings.Contains(answer, "primary_unavailable") {
			t.Errorf("a write without the server that writes: %s", answer)
		}
		reader.want(404, "GET", "/v1/collections/docs/documents/"+path, "")
	}
	reader.until("warned", func() bool {
		status, answer := reader.ask("GET", "/readyz", "")
		return status == 200 && strings.Contains(answer, `"warning":"the server that writes`)
	})
	if metrics := reader.want(200, "GET", "/metrics", ""); !strings.Contains(metrics, "searchd_replica_contact_seconds ") || strings.Contains(metrics, "searchd_replica_behind_changes ") {
		t.Errorf("metrics of a reader:\n%s", metrics)
	}
	early.start() // without it, too
	early.want(200, "POST", "/v1/collections/docs/search", `{"q":"first"}`)
	c.start()
	for _, n := range []*node{reader, early} {
		n.until("without a warning", func() bool { return !strings.Contains(n.want(200, "GET", "/readyz", ""), "warning") })
		n.want(200, "PUT", "/v1/collections/docs/documents/a", fmt.Sprintf(`{"text":"again %s"}`, n.addr))
	}

	// One of the readers takes over.
	reader.stop()
	args := reader.args
	reader.args = []string{"--shards", c.urls()}
	reader.start()
	reader.want(201, "PUT", "/v1/collections/docs/documents/e", `{"text":"of the second"}`)
	for _, n := range []*node{c.node, early} { // which passes on to it
		for _, id := range []string{"f", "g", "h"} {
			path := "/v1/collections/docs/documents/" + id
			if status, answer := n.ask("PUT", path, `{"text":"too late"}`); status != 503 || !strings.Contains(answer, "front_replaced") && !strings.Contains(answer, "not_ready") {
				t.Errorf("a write to the one before: status %d: %s", status, answer)
			}
			reader.want(404, "GET", path, "")
		}
	}
	early.want(200, "GET", "/v1/collections/docs/documents/e", "")

	// A server of other shards takes no writes for these.
	own := newNode(t, dir, "own")
	own.start()
	wrong := newNode(t, dir, "wrong", "--shards", c.urls(), "--writes-to", own.url())
	wrong.start()
	if answer := wrong.want(409, "POST", "/v1/collections", `{"name":"astray"}`); !strings.Contains(answer, "other_shards") {
		t.Errorf("a write to a server of other shards: %s", answer)
	}
	own.want(404, "GET", "/v1/collections/astray", "")
	wrong.stop()
	own.stop()

	// Those that pass writes on to one another say so.
	c.stop()
	early.stop()
	c.args = append(c.args, "--writes-to", early.url())
	early.args = args
	c.start()
	early.start()
	if answer := early.want(508, "PUT", "/v1/collections/docs/documents/f", `{"text":"round and round"}`); !strings.Contains(answer, "replication_loop") {
		t.Errorf("a write that is passed round: %s", answer)
	}
	early.stop()
	c.stop()
	c.node = reader
	c.stopAll()
}

// TestReaderFirst: a server that reads waits for the one that writes to claim new shards.
func TestReaderFirst(t *testing.T) {
	dir := t.TempDir()
	c := &cluster{}
	for i := range 2 {
		s := newNode(t, dir, fmt.Sprintf("shard%d", i+1))
		s.as = "shard"
		s.start()
		c.shards = append(c.shards, s)
	}
	c.node = c.front(dir, "front")
	reader := c.reader(dir, "reader")
	reader.begin()
	reader.until("waiting", func() bool {
		status, answer := reader.ask("GET", "/readyz", "")
		return status == 503 && strings.Contains(answer, "no server has claimed the shards yet")
	})
	c.start()
	reader.ready()
	reader.want(201, "POST", "/v1/collections", `{"name":"docs"}`)
	reader.want(200, "GET", "/v1/collections/docs", "")

	// Shards in another order are none of this cluster, and flags that say nothing are refused.
	other := c.shards[1].url() + "," + c.shards[0].url()
	for args, want := range map[string]string{
		"--shards " + other + " --writes-to " + c.url():               "shards out of place",
		"--shards " + c.urls() + " --writes-to nowhere":               "--writes-to: got",
		"--data " + dir + "/x --writes-to " + c.url():                 "goes with --shards",
		"--shards " + c.urls() + " --writes-to-ca " + dir + "/no.pem": "goes with --writes-to",
	} {
		if code, _, stderr := run(t, "", "searchd", append([]string{"serve", "--addr", porttest.Free(t)}, strings.Fields(args)...)...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("serve %s: exit code %d: %s", args, code, stderr)
		}
	}
	reader.stop()
	c.stopAll()
}
