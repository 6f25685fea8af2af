package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/searchd/access"
	"example.com/searchd/api/apitest"
	"example.com/searchd/encoder"
	"example.com/searchd/models"
	"example.com/searchd/search"
	"example.com/searchd/search/embedded"
	"example.com/searchd/search/inference"
)

// embedder is the embedded checkpoint for the engines of all tests: opening it is most of what
// opening an engine costs.
var embedder = sync.OnceValues(func() (search.Embedder, error) {
	c, err := models.Open("", encoder.Options{})
	return inference.NewEmbedder(c), err
})

// overEngine is a server over an engine with the embedded checkpoint, and without others.
func overEngine(t *testing.T, o Options) *fixture {
	t.Helper()
	m, err := embedder()
	if err != nil {
		t.Fatal(err)
	}
	return over(t, o, search.Options{Embedder: m})
}

// overLoader is overEngine with an engine that opens checkpoints by itself.
func overLoader(t *testing.T, o Options) *fixture { return over(t, o, search.Options{}) }

func over(t *testing.T, o Options, so search.Options) *fixture {
	t.Helper()
	e, err := search.Open(t.TempDir(), so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	o.Engine, o.Inference, o.Copies, o.Versions, o.Logger = e, e.Inference(), search.CopiesOf(e), search.VersionsOf(e), discard
	return &fixture{t: t, server: newServer(t, o)}
}

// ended waits for the task that an answer 202 names; header is that of the requests.
func (f *fixture) ended(a answer, header ...string) search.Task {
	f.t.Helper()
	at := a.want(202, nil).Header().Get("Location")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var t search.Task
		if f.do("GET", at, "", header...).want(200, &t); t.Ended() {
			return t
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("task %+v does not end", t)
		}
	}
}

func TestReembedRoute(t *testing.T) {
	f := overLoader(t, Options{})
	f.do("PUT", "/v1/collections/docs", "").want(201, nil)
	f.do("PUT", "/v1/collections/docs/documents/a", `{"text":"A kitten sleeps."}`).want(201, nil)
	f.do("POST", "/v1/collections/docs/reembed", `{"model":"/etc"}`).problem(400, "invalid_request", "/model")
	f.do("POST", "/v1/collections/docs/reembed", `{"model":"nobody/nothing"}`).problem(400, "invalid_request", "/model")
	f.do("POST", "/v1/collections/docs/reembed", `{"precision":"f8"}`).problem(400, "invalid_request", "/precision")
	f.do("POST", "/v1/collections/none/reembed", "").problem(404, "collection_not_found", "")
	task := f.ended(f.do("POST", "/v1/collections/docs/reembed", `{"precision":"int8","keep_old":true}`))
	if task.State != search.TaskSucceeded || task.Done != 1 || task.Total != 1 || task.Collection != "docs" || string(task.Request) != `{"precision":"int8","keep_old":true}` {
		t.Errorf("task = %+v, request %s", task, task.Request)
	}
	f.do("POST", "/v1/collections/docs/reembed", `{"settings":{"language":"xx","passages":{"max_tokens":1}}}`).problem(400, "invalid_request", "/settings/language")
	f.do("POST", "/v1/collections/docs/reembed", `{"settings":{"colour":"red"}}`).problem(400, "invalid_request", "/settings/colour")
	again := f.ended(f.do("POST", "/v1/collections/docs/reembed", `{"settings":{"language":"de","fields":{"lang":{"type":"filter"}}}}`))
	var info search.CollectionInfo
	if f.do("GET", "/v1/collections/docs", "").want(200, &info); again.State != search.TaskSucceeded || info.Settings.Language != "de" || len(info.Settings.Fields) != 1 {
		t.Errorf("with settings: %+v, the collection is %+v", again, info)
	}
	var list taskList
	if f.do("GET", "/v1/tasks?state=succeeded&kind=reembed&collection=docs", "").want(200, &list); len(list.Tasks) != 2 {
		t.Errorf("%d tasks, want 2", len(list.Tasks))
	}
	if f.do("GET", "/v1/tasks?state=failed", "").want(200, &list); len(list.Tasks) != 0 {
		t.Errorf("%d failed tasks, want none", len(list.Tasks))
	}
	var c collectionList
	if f.do("GET", "/v1/collections", "").want(200, &c); len(c.Collections) != 2 || c.Collections[1].Name != "docs-old" {
		t.Errorf("collections = %+v, want docs and docs-old", c.Collections)
	}
	var r search.Response
	if f.do("GET", "/v1/collections/docs/search?q=cat&mode=semantic", "").want(200, &r); len(r.Hits) != 1 {
		t.Errorf("%d hits, want 1", len(r.Hits))
	}
	f.do("DELETE", "/v1/tasks/"+task.ID, "").problem(409, "task_finished", "")
	f.do("DELETE", "/v1/tasks/none", "").problem(404, "task_not_found", "")
	f.do("GET", "/v1/tasks/none", "").problem(404, "task_not_found", "")
}

// TestReembedWithAKeyForFew: what a task leaves behind is for the key that began it, and the task
// is its to watch by whichever name it used.
func TestReembedWithAKeyForFew(t *testing.T) {
	ring, err := access.Open(&apitest.Vault{}, access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := guarded{overEngine(t, Options{Keys: ring}), ring}
	as := func(collections ...string) []string {
		return []string{"Authorization", "Bearer " + g.token(access.All, collections...)}
	}
	all, tiny, both, pub, other := as(), as("tiny"), as("tiny", "tiny-old"), as("pub"), as("other")
	g.do("PUT", "/v1/collections/tiny", "", all...).want(201, nil)
	g.do("PUT", "/v1/collections/tiny/documents/a", `{"text":"A kitten sleeps."}`, all...).want(201, nil)
	g.do("PUT", "/v1/aliases/pub", `{"collection":"tiny"}`, all...).want(201, nil)

	const keep = `{"keep_old":true}`
	g.do("POST", "/v1/collections/tiny/reembed", keep, tiny...).problem(403, "collection_not_allowed", "")
	g.do("POST", "/v1/collections/pub/reembed", keep, pub...).problem(403, "collection_not_allowed", "")
	g.do("GET", "/v1/collections/tiny-old", "", all...).problem(404, "collection_not_found", "")
	g.ended(g.do("POST", "/v1/collections/tiny/reembed", keep, both...), both...)
	g.do("GET", "/v1/collections/tiny-old", "", both...).want(200, nil)
	g.do("POST", "/v1/collections/tiny/reembed", keep, both...).problem(403, "collection_not_allowed", "") // would be tiny-old2
	if task := g.ended(g.do("POST", "/v1/collections/tiny/reembed", "", tiny...), tiny...); task.Alias != "" {
		t.Errorf("alias %q of a task that was begun by the collection's name", task.Alias)
	}

	task := g.ended(g.do("POST", "/v1/collections/pub/reembed", "", pub...), pub...)
	if task.Collection != "tiny" || task.Alias != "pub" {
		t.Errorf("task = %+v, want it of tiny, named pub", task)
	}
	g.do("DELETE", "/v1/tasks/"+task.ID, "", pub...).problem(409, "task_finished", "")
	g.do("GET", "/v1/tasks/"+task.ID, "", tiny...).want(200, nil)
	hidden := g.do("GET", "/v1/tasks/"+task.ID, "", other...).problem(404, "task_not_found", "")
	none := g.do("GET", "/v1/tasks/none", "", other...).problem(404, "task_not_found", "")
	if hidden.Detail != strings.ReplaceAll(none.Detail, "none\"", task.ID+"\"") {
		t.Errorf("a task that the key may not see: %q, one that is not there: %q", hidden.Detail, none.Detail)
	}
	g.do("DELETE", "/v1/tasks/"+task.ID, "", other...).problem(404, "task_not_found", "")
	if p := g.do("DELETE", "/v1/collections/tiny", "", tiny...).problem(409, "collection_aliased", ""); strings.Contains(p.Detail, "pub") {
		t.Errorf("the aliases of a key that is not for them: %s", p.Detail)
	}
	if p := g.do("DELETE", "/v1/collections/tiny", "", all...).problem(409, "collection_aliased", ""); !strings.Contains(p.Detail, "pub") {
		t.Errorf("the aliases of a key that is for them: %s", p.Detail)
	}
	for name, tt := range map[string]struct {
		query string
		as    []string
		want  int
	}{
		"the alias": {"", pub, 1}, "the alias, by it": {"?collection=pub", pub, 1}, "the collection": {"?collection=tiny", tiny, 3}, "another": {"", other, 0},
	} {
		var list taskList
		if g.do("GET", "/v1/tasks"+tt.query, "", tt.as...).want(200, &list); len(list.Tasks) != tt.want {
			t.Errorf("a key for %s sees %d tasks, want %d", name, len(list.Tasks), tt.want)
		}
	}
}

// TestCancelTaskRoute cancels a task that waits for its turn behind a longer one.
func TestCancelTaskRoute(t *testing.T) {
	f := overEngine(t, Options{})
	var lines strings.Builder
	for i := range 400 { // with texts that differ, so that each is encoded again
		fmt.Fprintf(&lines, `{"id":"%d","text":"%s %d"}`+"\n", i, strings.Repeat("kitten ", 200), i)
	}
	for _, c := range []string{"long", "short"} {
		f.do("PUT", "/v1/collections/"+c, "").want(201, nil)
	}
	f.do("POST", "/v1/collections/long/documents/import", lines.String(), "Content-Type", "application/x-ndjson").want(200, nil)
	var first, second search.Task
	f.do("POST", "/v1/collections/long/reembed", "").want(202, &first)
	f.do("POST", "/v1/collections/short/reembed", "").want(202, &second)
	if f.do("DELETE", "/v1/tasks/"+second.ID, "").want(200, &second); second.State != search.TaskCanceled || second.Finished == nil {
		t.Errorf("the task that waited = %+v, want it canceled", second)
	}
	if f.do("DELETE", "/v1/tasks/"+first.ID, "").want(200, &first); first.State != search.TaskCanceled {
		t.Errorf("the task that ran = %+v, want it canceled", first)
	}
}

func TestSnapshotRoutes(t *testing.T) {
	f := overEngine(t, Options{})
	f.do("PUT", "/v1/collections/docs", "").want(201, nil)
	f.do("PUT", "/v1/collections/docs/documents/a", `{"text":"A kitten sleeps."}`).want(201, nil)
	task := f.ended(f.do("POST", "/v1/snapshots", ""))
	var snap search.Snapshot
	if err := json.Unmarshal(task.Result, &snap); err != nil || task.State != search.TaskSucceeded || snap.Bytes == 0 || task.Done != snap.Bytes {
		t.Fatalf("task = %+v, result %s", task, task.Result)
	}
	f.do("PUT", "/v1/collections/docs/documents/b", `{"text":"Too late."}`).want(201, nil)
	a := f.do("GET", "/v1/snapshots/"+snap.ID, "", "Accept-Encoding", "gzip").want(200, nil)
	if h := a.Header(); h.Get("Content-Encoding") != "" || h.Get("Content-Length") == "" || h.Get("Accept-Ranges") != "bytes" {
		t.Errorf("a snapshot is sent with %v", h)
	}
	if int64(a.Body.Len()) != snap.Bytes || a.Header().Get("Content-Length") != fmt.Sprint(snap.Bytes) {
		t.Errorf("%d bytes, Content-Length %s, want %d", a.Body.Len(), a.Header().Get("Content-Length"), snap.Bytes)
	}
	part := f.do("GET", "/v1/snapshots/"+snap.ID, "", "Range", "bytes=16-31", "Accept-Encoding", "gzip").want(206, nil)
	if !bytes.Equal(part.Body.Bytes(), a.Body.Bytes()[16:32]) {
		t.Error("a range is not the part of the whole")
	}
	dir := t.TempDir()
	if err := embedded.Restore(t.Context(), a.Body, dir, nil); err != nil {
		t.Fatal(err)
	}
	e, err := search.Open(dir, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if c, err := e.Collection(t.Context(), "docs"); err != nil || c.Documents != 1 {
		t.Errorf("the restored collection = %+v, %v, want the one document of then", c, err)
	}
	for range search.MaxSnapshots - 1 {
		f.ended(f.do("POST", "/v1/snapshots", ""))
	}
	f.do("POST", "/v1/snapshots", "").problem(409, "too_many_snapshots", "")
	var list snapshotList
	if f.do("GET", "/v1/snapshots", "").want(200, &list); len(list.Snapshots) != search.MaxSnapshots || list.Snapshots[search.MaxSnapshots-1].ID != snap.ID {
		t.Errorf("snapshots = %+v", list.Snapshots)
	}
	f.do("DELETE", "/v1/snapshots/"+snap.ID, "").want(204, nil)
	f.do("DELETE", "/v1/snapshots/"+snap.ID, "").problem(404, "snapshot_not_found", "")
	f.do("GET", "/v1/snapshots/"+snap.ID, "").problem(404, "snapshot_not_found", "")
	f.do("GET", "/v1/snapshots/..%2Fsearchd.db", "").problem(404, "snapshot_not_found", "")
}
