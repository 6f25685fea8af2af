package api

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"searchd/api/apitest"
	"searchd/search"
	"searchd/search/backend"
	"searchd/search/clustertest"
)

// shards is what a fixture over a cluster can do to it: away names the methods of the shard that do not answer, by a space each; "" for none, "*" for all.
type shards struct {
	away    atomic.Value
	claimed atomic.Bool
	moved   atomic.Bool // its documents
	full    atomic.Bool
	another atomic.Bool // what answers is not what was claimed
}

func newShardFixture(t *testing.T) (*fixture, *shards) {
	t.Helper()
	c, s := clustertest.New(t, t.TempDir()), &shards{}
	s.away.Store("")
	c.Hook = func(_ context.Context, method string) error {
		if away := s.away.Load().(string); away == "*" || strings.Contains(" "+away+" ", " "+method+" ") {
			return fmt.Errorf("%w: %s: connection refused", search.ErrUnavailable, clustertest.Name)
		}
		if s.another.Load() {
			return fmt.Errorf("%w: %s: it was put here since", search.ErrPlacement, clustertest.Name)
		}
		if s.moved.Load() && method == "States" {
			return fmt.Errorf("%s: %w", clustertest.Name, backend.Identity{Moved: "http://there"}.MovedError())
		}
		if s.full.Load() && method == "Apply" {
			return &search.ShardError{Shard: clustertest.Name, Err: fmt.Errorf("%w: /srv/data", search.ErrNoSpace)}
		}
		if s.claimed.Load() && method == "Apply" {
			return fmt.Errorf("%w: epoch 3", search.ErrClaimed)
		}
		return nil
	}
	return newFixtureOver(t, apitest.NewOver(t, c), Options{}), s
}

// waitFor asks until an answer has a status.
func (f *fixture) waitFor(status int, target string) answer {
	f.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if a := f.do("GET", target, ""); a.Code == status {
			return a
		} else if time.Now().After(end) {
			f.t.Fatalf("GET %s: %d %s, want %d", target, a.Code, a.Body, status)
		}
	}
}

// TestShardReplaced answers with the name of a shard in whose place something else is.
func TestShardReplaced(t *testing.T) {
	f, s := newShardFixture(t)
	s.another.Store(true)
	p := f.do("POST", "/v1/collections/docs/search", `{"q":"pancakes"}`).problem(503, "shard_unavailable", "")
	if !strings.Contains(p.Detail, clustertest.Name) || !strings.Contains(p.Detail, "put here since") {
		t.Errorf("detail %q", p.Detail)
	}
}

// TestShardAway answers with the code and the name of a shard that does not answer.
func TestShardAway(t *testing.T) {
	f, s := newShardFixture(t)
	f.do("GET", "/readyz", "").want(200, nil)
	known := func() []infoShard {
		var i info
		f.do("GET", "/info", "").want(200, &i)
		return i.Shards
	}
	if got := known(); len(got) != 1 || got[0] != (infoShard{clustertest.Name, true}) {
		t.Errorf("shards of /info: %+v", got)
	}
	s.away.Store("Legs Apply")
	for _, r := range [][3]string{
		{"POST", "/v1/collections/docs/search", `{"q":"pancakes"}`},
		{"PUT", "/v1/collections/docs/documents/x", `{"text":"new"}`},
		{"DELETE", "/v1/collections/docs/documents/a1", ""},
	} {
		a := f.do(r[0], r[1], r[2])
		if p := a.problem(503, "shard_unavailable", ""); !strings.Contains(p.Detail, clustertest.Name) || a.Header().Get("Retry-After") != "1" {
			t.Errorf("%v: detail %q, Retry-After %q", r, p.Detail, a.Header().Get("Retry-After"))
		}
	}
	s.away.Store("*")
	a := f.waitFor(503, "/readyz")
	if p := a.problem(503, "not_ready", ""); !strings.Contains(p.Detail, clustertest.Name) {
		t.Errorf("ready: %q", p.Detail)
	}
	if got := known(); len(got) != 1 || got[0] != (infoShard{clustertest.Name, false}) {
		t.Errorf("shards of /info while one is away: %+v", got)
	}
	var list shardList
	f.do("GET", "/v1/shards", "").want(200, &list)
	if len(list.Shards) != 1 || list.Shards[0].Name != clustertest.Name || list.Shards[0].Up || list.Shards[0].Error == "" {
		t.Errorf("shards %+v", list)
	}
	if text := f.do("GET", "/metrics", "").want(200, nil).Body.String(); !strings.Contains(text, fmt.Sprintf("searchd_shard_up{shard=%q} 0\n", clustertest.Name)) || strings.Contains(text, "searchd_shard_store_bytes{") {
		t.Errorf("metrics:\n%s", text)
	}
	s.away.Store("")
	f.waitFor(200, "/readyz")
	list = shardList{}
	f.do("GET", "/v1/shards", "").want(200, &list)
	if x := list.Shards[0]; !x.Up || x.Documents != 3 || x.StoreBytes == 0 || x.Error != "" || x.ReadOnly {
		t.Errorf("shards %+v", list)
	}
	if text := f.do("GET", "/metrics", "").want(200, nil).Body.String(); !strings.Contains(text, fmt.Sprintf("searchd_shard_up{shard=%q} 1\n", clustertest.Name)) || !strings.Contains(text, "searchd_shard_store_bytes{") {
		t.Errorf("metrics:\n%s", text)
	}
}

// TestShardFull answers writes with the name of the shard whose disk is full, and with no file of it.
func TestShardFull(t *testing.T) {
	f, s := newShardFixture(t)
	s.full.Store(true)
	p := f.do("PUT", "/v1/collections/docs/documents/x", `{"text":"new"}`).problem(507, "no_space", "")
	if want := "shard " + clustertest.Name + ": no space left"; p.Detail != want {
		t.Errorf("detail %q, want %q", p.Detail, want)
	}
}

// TestFrontReplaced answers writes with a code of its own once another server has claimed the shards.
func TestFrontReplaced(t *testing.T) {
	f, s := newShardFixture(t)
	s.claimed.Store(true)
	for range 2 {
		if p := f.do("PUT", "/v1/collections/docs/documents/x", `{"text":"new"}`).problem(503, "front_replaced", ""); !strings.Contains(p.Detail, "another server") {
			t.Errorf("detail %q", p.Detail)
		}
	}
	if p := f.do("GET", "/readyz", "").problem(503, "not_ready", ""); !strings.Contains(p.Detail, "claimed") {
		t.Errorf("ready: %q", p.Detail)
	}
	f.do("POST", "/v1/collections/docs/search", `{"q":"pancakes","mode":"keyword"}`).want(200, nil)
	if text := f.do("GET", "/metrics", "").want(200, nil).Body.String(); !strings.Contains(text, "\nsearchd_store_read_only 1\n") {
		t.Errorf("metrics:\n%s", text)
	}
	s.moved.Store(true)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		p := f.do("PUT", "/v1/collections/docs/documents/x", `{"text":"new"}`).problem(503, "front_replaced", "")
		if strings.Contains(p.Detail, clustertest.Name) && strings.Contains(p.Detail, "moved to http://there") {
			break
		} else if time.Now().After(end) {
			t.Fatalf("it does not say where the documents are: %q", p.Detail)
		}
	}
}

// TestNotOverShards refuses what only a server with its own documents can do.
func TestNotOverShards(t *testing.T) {
	f, _ := newShardFixture(t)
	for _, r := range [][3]string{
		{"GET", "/v1/snapshots", ""}, {"POST", "/v1/snapshots", ""}, {"GET", "/v1/snapshots/a", ""}, {"DELETE", "/v1/snapshots/a", ""},
		{"POST", "/v1/replication/changes", `{"follower":"a","store":"00"}`}, {"GET", "/v1/replication/copy?follower=a", ""},
	} {
		if p := f.do(r[0], r[1], r[2]).problem(422, "not_supported", ""); !strings.Contains(p.Detail, "back up each") {
			t.Errorf("%v: %q", r, p.Detail)
		}
	}
	var list shardList
	if newFixture(t, Options{}).do("GET", "/v1/shards", "").want(200, &list); list.Shards == nil || len(list.Shards) > 0 {
		t.Errorf("shards of a folder: %+v", list)
	}
}
