package api

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"searchd/access"
	"searchd/api/apitest"
	"searchd/search"
	"searchd/search/wire"
	"searchd/store"
)

// question is what a follower asks that has so much.
func (f *fixture) question(after string) string {
	return fmt.Sprintf(`{"follower":"b","store":%q,%s}`, f.engine.StoreID(), after)
}

func TestReplicationRoutes(t *testing.T) {
	f := newFixture(t, Options{})
	const path, nothing = "/v1/replication/changes", `"after":{}`
	var n store.News
	commits, _ := f.engine.Commits()
	end, err := wire.Read(strings.NewReader(f.do("POST", path, f.question(nothing)).want(200, nil).Body.String()), func(part *store.News) error {
		n.Collections, n.Entries, n.All = append(n.Collections, part.Collections...), append(n.Entries, part.Entries...), part.All
		return nil
	})
	if err != nil || len(n.Collections) != 1 || len(n.Entries) != 3 || len(n.All) != 1 || end.Commits != commits || end.Version == 0 {
		t.Errorf("%+v, %+v, %v", n, end, err)
	}
	f.do("POST", path, f.question(`"of a later version":{"a":[1]},`+nothing)).want(200, nil)
	f.do("POST", path, f.question(nothing+`,"version":"x"`)).problem(400, "invalid_request", "/version")
	f.do("POST", path, f.question(nothing)+"{}").problem(400, "malformed_request", "")
	f.do("POST", path, `{"follower":"b","store":"other","after":{}}`).problem(410, "replication_lost", "")
	f.do("POST", path, f.question(`"after":{"1":9}`)).problem(410, "replication_lost", "")
	f.do("POST", path, strings.Replace(f.question(nothing), `"b"`, `"a b"`, 1)).problem(400, "invalid_request", "/follower")
	a := f.do("GET", "/v1/replication/copy?follower=b", "").want(200, nil)
	if a.Body.Len() == 0 || a.Header().Get("Searchd-Store") != f.engine.StoreID() {
		t.Errorf("copy: %d bytes, %v", a.Body.Len(), a.Header())
	}
	f.do("GET", "/v1/replication/copy", "").problem(400, "invalid_request", "/follower")
	f.engine.Hook = func(context.Context, string) error { return search.ErrReplica }
	f.do("POST", path, f.question(nothing)).problem(409, "replica", "")
}

// A follower that lacks nothing waits, and is answered when the server stops.
func TestReplicationWaits(t *testing.T) {
	f := newFixture(t, Options{})
	n, err := f.engine.News(t.Context(), "b", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 9)
	f.engine.Hook = func(context.Context, string) error { asked <- struct{}{}; return nil }
	done := make(chan answer, 1)
	go func() {
		done <- f.do("POST", "/v1/replication/changes", f.question(fmt.Sprintf(`"after":{"1":3},"version":%d`, n.Version)))
	}()
	<-asked
	select {
	case <-done:
		t.Fatal("answered at once")
	case <-time.After(50 * time.Millisecond):
	}
	close(f.server.stopping)
	select {
	case a := <-done:
		a.problem(503, "shutting_down", "")
	case <-time.After(10 * time.Second):
		t.Fatal("the answer waits although the server stops")
	}
}

// replicaOf is a replica's server with a primary that answers with h.
func replicaOf(t *testing.T, o Options, h http.HandlerFunc) (*fixture, *Primary, *httptest.Server) {
	t.Helper()
	primary := httptest.NewServer(h)
	t.Cleanup(primary.Close)
	u, err := url.Parse(primary.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	p := &Primary{URL: u, State: func() Following { return Following{CaughtUp: true} }, Reached: func(context.Context, uint64) {}}
	o.Primary = p
	return newFixture(t, o), p, primary
}

// Every route that changes data is passed on, and no other.
func TestPassedRoutes(t *testing.T) {
	var passed atomic.Int64
	f, _, _ := replicaOf(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		passed.Add(1)
		w.WriteHeader(http.StatusNoContent)
	})
	f.server.handler = f.server.router() // answers are made up
	for _, rt := range f.server.routes() {
		before := passed.Load()
		f.do(rt.method, pathOf(t, rt), "{}")
		reads := rt.method == "GET" || strings.Contains(rt.path, "search") || strings.HasSuffix(rt.path, "/similar") || strings.HasSuffix(rt.path, "/map") || rt.path == "/mcp"
		own := strings.HasPrefix(rt.path, "/v1/snapshots") || strings.HasPrefix(rt.path, "/v1/replication") || rt.needs == access.Search
		want := strings.HasPrefix(rt.path, "/v1/tasks") || !reads && !own
		if got := passed.Load() > before; got != want {
			t.Errorf("%s %s passed on: %t, want %t", rt.method, rt.path, got, want)
		}
	}
}

func TestPass(t *testing.T) {
	var got *http.Request
	var body string
	f, p, primary := replicaOf(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Location", "/somewhere")
		w.Header().Set("Searchd-Commits", "41")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"id":"a/b","status":"created","revision":1,"passages":1}`)
	})
	var reached []uint64
	p.Reached = func(_ context.Context, n uint64) { reached = append(reached, n) }
	a := f.do("PUT", "/v1/collections/docs/documents/a%2Fb", `{"text":"x"}`, "Authorization", "Bearer secret", "If-Match", `"3"`, "Origin", "http://example.com", "Sec-Fetch-Site", "same-origin")
	if a.want(201, nil); got.URL.EscapedPath() != "/base/v1/collections/docs/documents/a%2Fb" || body != `{"text":"x"}` || got.Header.Get("Authorization") != "Bearer secret" || got.Header.Get("If-Match") != `"3"` || got.Header.Get("Origin") != "" || got.Header.Get("X-Request-Id") == "" {
		t.Errorf("passed: %s %s %q %v", got.Method, got.URL, body, got.Header)
	}
	if h := a.Header(); len(h.Values("X-Content-Type-Options")) != 1 || h.Get("Location") != "/somewhere" || h.Get("Searchd-Commits") != "" {
		t.Errorf("answer: %v", a.Header())
	}
	if !slices.Equal(reached, []uint64{41}) {
		t.Errorf("waited for %v, want the commits of the answer", reached)
	}
	f.do("PUT", "/v1/collections/docs/documents/a", `{"text":"x"}`, "Searchd-Passed", "1").problem(508, "replication_loop", "")
	primary.Close()
	p508 := f.do("PUT", "/v1/collections/docs/documents/a", `{"text":"x"}`).problem(503, "primary_unavailable", "")
	if !strings.Contains(p508.Detail, "primary") {
		t.Errorf("detail %q", p508.Detail)
	}
}

// A client that waits with its body until it is asked for it (as curl does with a long one) gets the status of the primary.
func TestPassExpects(t *testing.T) {
	f, _, _ := replicaOf(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"id":"a","status":"created","revision":1,"passages":1}`)
	})
	if a := f.do("PUT", "/v1/collections/docs/documents/a", `{"text":"x"}`, "Expect", "100-continue"); a.Code != 201 || a.Header().Get("X-Frame-Options") == "" {
		t.Errorf("answered %d, want 201: %v", a.Code, a.Header())
	}
}

// An answer that is lost is no refusal: the write may have been carried out.
func TestPassedAnswerLost(t *testing.T) {
	f, _, _ := replicaOf(t, Options{}, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	var log bytes.Buffer
	f.server.log = slog.New(slog.NewTextHandler(&log, nil))
	f.do("PUT", "/v1/collections/docs/documents/a", `{"text":"x"}`).problem(502, "primary_answer_lost", "")
	if failed := strings.Count(log.String(), "level=WARN") + strings.Count(log.String(), "level=ERROR"); failed != 1 || !strings.Contains(log.String(), "EOF") {
		t.Errorf("logged %d times, want once, with the cause: %s", failed, &log)
	}
}

// What never had a connection was not sent: nothing was written.
func TestPassedUnsent(t *testing.T) {
	f, p, primary := replicaOf(t, Options{}, func(http.ResponseWriter, *http.Request) { t.Error("the primary was asked") })
	stranger := httptest.NewTLSServer(primary.Config.Handler)
	defer stranger.Close()
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.URL.Scheme, p.URL.Host = "https", stranger.Listener.Addr().String()
	f.do("PUT", "/v1/collections/docs/documents/a", `{"text":"x"}`).problem(503, "primary_unavailable", "")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p.Transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			<-ctx.Done() // nobody answers
			return nil, ctx.Err()
		}}
		f.do("PUT", "/v1/collections/docs/documents/a", `{"text":"x"}`).problem(503, "primary_unavailable", "")
	})
}

// What a replica may refuse by itself does not reach the primary.
func TestPassedIsGuarded(t *testing.T) {
	ring, err := access.Open(&apitest.Vault{}, access.Options{Require: true})
	if err != nil {
		t.Fatal(err)
	}
	f, _, _ := replicaOf(t, Options{Keys: ring}, func(http.ResponseWriter, *http.Request) { t.Error("the primary was asked") })
	g := guarded{f, ring}
	f.do("PUT", "/v1/collections/docs/documents/a", `{}`).problem(401, "missing_api_key", "")
	f.do("PUT", "/v1/collections/docs/documents/a", `{}`, "Authorization", "Bearer "+g.token(access.Search)).problem(403, "insufficient_scope", "")
	f.do("PUT", "/v1/collections/docs/documents/a", `{}`, "Authorization", "Bearer "+g.token(access.DocumentsWrite, "other")).problem(403, "collection_not_allowed", "")
}

// The primary says with a passed write how many commits it has.
func TestStamped(t *testing.T) {
	f := newFixture(t, Options{})
	a := f.do("PUT", "/v1/collections/docs/documents/a", `{"text":"x"}`, "Searchd-Passed", "1").want(201, nil)
	if n, _ := f.engine.Commits(); n == 0 || a.Header().Get("Searchd-Commits") != strconv.FormatUint(n, 10) {
		t.Errorf("header %v after %d commits", a.Header(), n)
	}
	if a := f.do("PUT", "/v1/collections/docs/documents/a", `{"text":"y"}`).want(200, nil); a.Header().Get("Searchd-Commits") != "" {
		t.Errorf("header %v", a.Header())
	}
}

func TestReplicaHealth(t *testing.T) {
	var state Following
	f, p, _ := replicaOf(t, Options{}, nil)
	p.State = func() Following { return state }
	f.do("GET", "/readyz", "").problem(503, "not_ready", "")
	state = Following{CaughtUp: true, Away: "gone", Behind: 3, Copies: 2, Contact: time.Now().Add(-time.Minute)}
	if a := f.do("GET", "/readyz", "").want(200, nil); !strings.Contains(a.Body.String(), "warning") {
		t.Errorf("readyz: %s", a.Body)
	}
	f.do("GET", "/v1/replication/copy?follower=b", "").want(200, nil)
	metrics := f.do("GET", "/metrics", "").want(200, nil).Body.String()
	for _, want := range []string{"searchd_replica_behind_changes 3", "searchd_replica_contact_seconds 6", "searchd_replica_copies_total 2", "searchd_followers 1"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %q", want)
		}
	}
}

// Before a replica has anything it says to its own followers that it is one.
func TestReplicaFront(t *testing.T) {
	for _, replica := range []bool{false, true} {
		rec := httptest.NewRecorder()
		f := &Front{}
		f.Opening("waiting")
		f.opening(replica)(rec, httptest.NewRequest("GET", "/v1/replication/copy", nil))
		if want := map[bool]int{false: 503, true: 409}[replica]; rec.Code != want {
			t.Errorf("replica %t: status %d, want %d", replica, rec.Code, want)
		}
		rec = httptest.NewRecorder()
		if f.opening(replica)(rec, httptest.NewRequest("GET", "/readyz", nil)); rec.Code != 503 || !strings.Contains(rec.Body.String(), "waiting") {
			t.Errorf("replica %t: /readyz: status %d: %s, want what it waits for", replica, rec.Code, rec.Body)
		}
	}
}

// An import goes through line by line, both ways at once.
func TestPassedImportStreams(t *testing.T) {
	f, _, _ := replicaOf(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		rc.EnableFullDuplex()
		w.Header().Set("Content-Type", "application/x-ndjson")
		for sc := bufio.NewScanner(r.Body); sc.Scan(); rc.Flush() {
			io.WriteString(w, `{"line":1,"id":"`+sc.Text()+`","status":"created"}`+"\n")
		}
	})
	replica := httptest.NewServer(f.server.router())
	defer replica.Close()
	body, send := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), "POST", replica.URL+importPath, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	go io.WriteString(send, "a\n")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for sc, id := bufio.NewScanner(res.Body), 'a'; sc.Scan(); id++ {
		if !strings.Contains(sc.Text(), `"id":"`+string(id)+`"`) {
			t.Errorf("line %q, want that of %c", sc.Text(), id)
		}
		if id == 'c' {
			send.Close()
			return
		}
		go io.WriteString(send, string(id+1)+"\n")
	}
	t.Error("the answer ended early")
}
