package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/searchd/api/apitest"
	"example.com/searchd/search"
)

// fixture is a server over an engine with the collection "docs" of three documents, and its log.
type fixture struct {
	t      *testing.T
	engine *apitest.Engine
	server *Server
	log    *lockedBuffer
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
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func newFixture(t *testing.T, o Options) *fixture {
	t.Helper()
	return newFixtureOver(t, apitest.New(t), o)
}

func newFixtureOver(t *testing.T, e *apitest.Engine, o Options) *fixture {
	t.Helper()
	f := &fixture{t: t, engine: e, log: &lockedBuffer{}}
	ctx := t.Context()
	if _, err := f.engine.CreateCollection(ctx, "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	_, err := f.engine.Ingest(ctx, "docs", []search.Document{
		{ID: "a1", Fields: json.RawMessage(`{"title":"Pancakes","text":"How to flip pancakes in the air."}`)},
		{ID: "notes/b 2.md", Fields: json.RawMessage(`{"title":"Bread","text":"Let the dough rise <twice>."}`)},
		{ID: "export", Fields: json.RawMessage(`{"title":"Goods","text":"Ships carry goods."}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Engine, o.Inference, o.Logger = f.engine, f.engine, slog.New(slog.NewJSONHandler(f.log, nil))
	f.server = newServer(t, o)
	return f
}

// answer is a response with its body read.
type answer struct {
	*httptest.ResponseRecorder
	t *testing.T
}

// do sends a request; header holds name and value in turn. A body without Content-Type is sent as
// JSON.
func (f *fixture) do(method, target string, body string, header ...string) answer {
	f.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	return f.send(f.request(method, target, r, header...))
}

func (f *fixture) request(method, target string, body io.Reader, header ...string) *http.Request {
	req := httptest.NewRequest(method, "http://localhost"+target, body)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

func (f *fixture) send(r *http.Request) answer {
	rec := httptest.NewRecorder()
	f.server.Handler().ServeHTTP(rec, r)
	return answer{rec, f.t}
}

// want checks the status and decodes the body into v unless it is nil.
func (a answer) want(status int, v any) answer {
	a.t.Helper()
	if a.Code != status {
		a.t.Fatalf("status = %d, want %d; body: %s", a.Code, status, a.Body)
	}
	if v != nil {
		if err := json.Unmarshal(a.Body.Bytes(), v); err != nil {
			a.t.Fatalf("body %q: %v", a.Body, err)
		}
	}
	return a
}

// problem checks status, code and the pointer of the first item ("" for none), and returns the
// problem.
func (a answer) problem(status int, code, pointer string) problem {
	a.t.Helper()
	var p problem
	a.want(status, &p)
	if got := a.Header().Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("Content-Type = %q, want application/problem+json", got)
	}
	if p.Code != code || p.Status != status || p.RequestID == "" || p.Title == "" || p.Type == "" {
		a.t.Errorf("problem = %+v, want code %q and status %d with type, title and request_id", p, code, status)
	}
	got := ""
	if len(p.Errors) > 0 {
		got = p.Errors[0].Pointer
	}
	if got != pointer {
		a.t.Errorf("pointer = %q, want %q; problem: %+v", got, pointer, p)
	}
	return p
}

func TestOptionsNameEveryWrongField(t *testing.T) {
	_, err := New(Options{MaxBody: -1, SearchSlots: -2})
	if err == nil {
		t.Fatal("New with wrong options: no error")
	}
	for _, want := range []string{"Engine", "MaxBody", "SearchSlots"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %s", err, want)
		}
	}
}

// serve starts f's server on a loopback port and returns its address, and a function that stops it
// and returns Serve's error.
func (f *fixture) serve() (addr string, stop func() error) {
	f.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.server.Serve(ctx, l) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	f.t.Cleanup(func() { stop() })
	return l.Addr().String(), stop
}

func TestServeStopsGracefully(t *testing.T) {
	f := newFixture(t, Options{})
	entered, release := make(chan struct{}), make(chan struct{})
	f.engine.Hook = func(ctx context.Context, method string) error {
		if method == "Search" {
			close(entered)
			<-release
		}
		return nil
	}
	addr, stop := f.serve()
	answered := make(chan int, 1)
	go func() {
		res, err := http.Get("http://" + addr + "/v1/collections/docs/search?q=pancakes")
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		res.Body.Close()
		answered <- res.StatusCode
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for !f.server.draining.Load() {
		time.Sleep(time.Millisecond)
	}
	f.do("GET", "/readyz", "").problem(503, "not_ready", "")
	f.do("GET", "/livez", "").want(200, nil)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) { // Shutdown closes the listener a moment after draining is said
		c, err := net.DialTimeout("tcp", addr, 100*time.Millisecond)
		if err != nil {
			break
		}
		c.Close()
		if time.Now().After(end) {
			t.Error("a draining server takes new connections")
			break
		}
	}
	close(release)
	if got := <-answered; got != 200 {
		t.Errorf("request in flight got %d, want 200", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Serve = %v, want nil", err)
	}
}

// TestServeOnce: a second listener is refused and closed, while the first is served and after it.
func TestServeOnce(t *testing.T) {
	f := newFixture(t, Options{})
	addr, stop := f.serve()
	second := func(when string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.server.Serve(ctx, l); err == nil || !strings.Contains(err.Error(), "already serving") {
			t.Errorf("Serve %s = %v, want an error", when, err)
		}
		if _, err := l.Accept(); err == nil {
			t.Errorf("%s the listener is open", when)
		}
	}
	answers := func() bool {
		res, err := http.Get("http://" + addr + "/readyz")
		if err == nil {
			res.Body.Close()
		}
		return err == nil && res.StatusCode == 200
	}
	for deadline := time.Now().Add(10 * time.Second); !answers() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	second("beside another")
	if !answers() {
		t.Error("the first listener is not answered any more")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	second("after another")
}

func TestServeCutsOffWhatDoesNotFinish(t *testing.T) {
	f := newFixture(t, Options{DrainTimeout: 30 * time.Millisecond, SearchTimeout: time.Minute})
	entered := make(chan struct{})
	f.engine.Hook = func(ctx context.Context, method string) error {
		if method == "Search" {
			close(entered)
			<-ctx.Done()
		}
		return nil
	}
	addr, stop := f.serve()
	go http.Get("http://" + addr + "/v1/collections/docs/search?q=pancakes")
	<-entered
	start := time.Now()
	if err := stop(); err != nil || time.Since(start) > 5*time.Second {
		t.Errorf("Serve = %v after %v, want nil soon", err, time.Since(start))
	}
}

func TestServeCutsOffSlowHeaders(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as the header timeout")
	}
	t.Parallel()
	f := newFixture(t, Options{})
	addr, _ := f.serve()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	conn.SetReadDeadline(time.Now().Add(8 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
		t.Errorf("half a header was held for 8 s: %v", err)
	}
}

func TestServeCutsOffLargeHeaders(t *testing.T) {
	f := newFixture(t, Options{})
	addr, _ := f.serve()
	req, _ := http.NewRequest("GET", "http://"+addr+"/livez", nil)
	req.Header.Set("X-Large", strings.Repeat("x", 80<<10))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status = %d, want 431", res.StatusCode)
	}
}

func TestHostIsCheckedOnLoopback(t *testing.T) {
	f := newFixture(t, Options{AllowedHosts: []string{"search.example"}})
	f.server.local.Store(true)
	for host, want := range map[string]int{
		"localhost:8080": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "LOCALHOST": 200, "search.example:80": 200, "127.0.0.9": 200,
		"evil.example": 403, "evil.example:8080": 403, "localhost.evil.example": 403, "10.0.0.1": 403, "": 403,
	} {
		r := f.request("GET", "/livez", nil)
		r.Host = host
		if got := f.send(r).Code; got != want {
			t.Errorf("Host %q: status %d, want %d", host, got, want)
		}
	}
	bound := newFixture(t, Options{})
	addr, _ := bound.serve()
	req, _ := http.NewRequest("GET", "http://"+addr+"/livez", nil)
	req.Host = "evil.example"
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 403 {
		t.Errorf("server on loopback answers Host evil.example with %d, want 403", res.StatusCode)
	}
}

func TestCrossOriginRequestsAreRefused(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("PUT", "/v1/collections/new", "", "Origin", "https://evil.example").problem(403, "cross_origin", "")
	f.do("DELETE", "/v1/collections/docs", "", "Sec-Fetch-Site", "cross-site").problem(403, "cross_origin", "")
	f.do("PUT", "/v1/collections/new", "", "Origin", "http://localhost", "Sec-Fetch-Site", "same-origin").want(201, nil)
	a := f.do("GET", "/v1/collections", "", "Origin", "https://evil.example").want(200, nil)
	if got := a.Header().Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("Access-Control-Allow-Origin = %q, want none", got)
	}
}

func TestRequestID(t *testing.T) {
	f := newFixture(t, Options{})
	for given, kept := range map[string]bool{"abc-123": true, "": false, "two words": false, strings.Repeat("x", 200): false, "a\"b": false} {
		got := f.do("GET", "/livez", "", "X-Request-ID", given).Header().Get("X-Request-ID")
		if (got == given) != kept || got == "" {
			t.Errorf("X-Request-ID %q answered as %q, kept should be %v", given, got, kept)
		}
	}
}

func TestPanicsAndInternalErrorsAreHidden(t *testing.T) {
	f := newFixture(t, Options{})
	for name, hook := range map[string]func(context.Context, string) error{
		"panic": func(context.Context, string) error { panic("secret of the engine") },
		"error": func(context.Context, string) error { return errors.New("secret of the engine") },
	} {
		f.engine.Hook = hook
		a := f.do("GET", "/v1/collections/docs", "")
		p := a.problem(500, "internal", "")
		if strings.Contains(a.Body.String(), "secret") || p.Detail != "" {
			t.Errorf("%s: the answer tells the cause: %s", name, a.Body)
		}
		if !strings.Contains(f.log.String(), "secret") || !strings.Contains(f.log.String(), p.RequestID) {
			t.Errorf("%s: the log does not tell the cause under the request's id", name)
		}
	}
}

func TestQueriesAreNotLogged(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("GET", "/v1/collections/docs/search?q=pancakes", "").want(200, nil)
	f.do("POST", "/v1/collections/docs/search", `{"q":"pancakes"}`, "Authorization", "Bearer s3cr3t").want(200, nil)
	if log := f.log.String(); strings.Contains(log, "pancakes") || strings.Contains(log, "s3cr3t") || strings.Count(log, `"msg":"request"`) != 2 {
		t.Errorf("log: %s", log)
	}
}

func TestEverySentinelHasItsStatus(t *testing.T) {
	f := newFixture(t, Options{})
	for _, tt := range []struct {
		err    error
		status int
		code   string
		retry  string
	}{
		{search.ErrCollectionNotFound, 404, "collection_not_found", ""},
		{search.ErrCollectionExists, 409, "collection_exists", ""},
		{search.ErrDocumentNotFound, 404, "document_not_found", ""},
		{search.ErrConflict, 412, "revision_conflict", ""},
		{search.ErrModelMismatch, 409, "model_mismatch", ""},
		{search.ErrDamaged, 503, "collection_damaged", ""},
		{search.ErrReadOnly, 503, "read_only", ""},
		{search.ErrOutcomeUnknown, 503, "outcome_unknown", ""},
		{search.ErrNoSpace, 507, "no_space", ""},
		{search.ErrClosed, 503, "shutting_down", "5"},
		{search.ErrInvalid, 400, "invalid_request", ""},
		{context.DeadlineExceeded, 503, "deadline_exceeded", "1"},
	} {
		f.engine.Hook = func(context.Context, string) error { return fmt.Errorf("open /data/searchd.db: %w", tt.err) }
		a := f.do("GET", "/v1/collections/docs", "")
		p := a.problem(tt.status, tt.code, "")
		if p.Detail == "" || tt.status >= 500 && strings.Contains(p.Detail, "/data") {
			t.Errorf("%v: detail %q", tt.err, p.Detail)
		}
		if got := a.Header().Get("Retry-After"); got != tt.retry {
			t.Errorf("%v: Retry-After = %q, want %q", tt.err, got, tt.retry)
		}
	}
}

// TestDamagedCollection answers which value keeps a collection from being opened.
func TestDamagedCollection(t *testing.T) {
	f := newFixture(t, Options{})
	f.engine.Hook = func(context.Context, string) error {
		return fmt.Errorf("open: %w", &search.DamagedError{Collection: "docs", Damage: `document "a", fields: checksum`})
	}
	p := f.do("POST", "/v1/collections/docs/search", `{"q":"x"}`).problem(503, "collection_damaged", "")
	if want := `collection damaged: "docs" cannot be opened: document "a", fields: checksum`; p.Detail != want {
		t.Errorf("detail %q, want %q", p.Detail, want)
	}
}

// hold makes Search block until the returned function is called; entered gets a value per search
// that runs.
func (f *fixture) hold(method string) (entered chan struct{}, release func()) {
	entered, gate := make(chan struct{}, 100), make(chan struct{})
	f.engine.Hook = func(ctx context.Context, m string) error {
		if m == method {
			entered <- struct{}{}
			select {
			case <-gate:
			case <-ctx.Done():
			}
		}
		return nil
	}
	return entered, sync.OnceFunc(func() { close(gate) })
}

func TestOverloadIsRefusedSoonAndHealthIsNot(t *testing.T) {
	f := newFixture(t, Options{SearchSlots: 1, WriteSlots: 1, SearchWait: time.Second})
	entered, release := f.hold("Search")
	done := make(chan int, 66)
	for range 66 { // one runs, 64 wait, one is refused at once; those that wait are refused after a second
		go func() { done <- f.do("GET", "/v1/collections/docs/search?q=x", "").Code }()
	}
	<-entered
	start := time.Now()
	for range 65 {
		if got := <-done; got != 503 {
			t.Errorf("waiting search: status %d, want 503", got)
		}
	}
	if d := time.Since(start); d > 4500*time.Millisecond { // the search that runs ends after five
		t.Errorf("refusals took %v, want about a second", d)
	}
	a := f.do("GET", "/v1/collections/docs/search?q=x", "")
	a.problem(503, "overloaded", "")
	if a.Header().Get("Retry-After") != "1" {
		t.Error("503 without Retry-After")
	}
	f.do("GET", "/livez", "").want(200, nil)
	f.do("GET", "/readyz", "").want(200, nil)
	f.do("PUT", "/v1/collections/docs/documents/z", `{"title":"writes have slots of their own"}`).want(201, nil)
	release()
	if got := <-done; got != 200 {
		t.Errorf("search that had the slot: %d, want 200", got)
	}
	f.do("GET", "/v1/collections/docs/search?q=pancakes", "").want(200, nil)

	_, release = f.hold("Ingest")
	defer release()
	for range 66 { // one runs, 64 wait, one is refused at once
		go func() { done <- f.do("PUT", "/v1/collections/docs/documents/y", `{"title":"y"}`).Code }()
	}
	if got := <-done; got != 429 {
		t.Errorf("a write too many: %d, want 429", got)
	}
	release()
	for range 65 {
		if got := <-done; got != 200 && got != 201 {
			t.Errorf("a write that waited: %d", got)
		}
	}
}

func TestDeadlineReachesTheEngine(t *testing.T) {
	f := newFixture(t, Options{SearchTimeout: 20 * time.Millisecond})
	f.hold("Search")
	f.do("GET", "/v1/collections/docs/search?q=x", "").problem(503, "deadline_exceeded", "")
}

func TestClientThatGoesAwayEndsTheSearch(t *testing.T) {
	f := newFixture(t, Options{SearchTimeout: time.Minute})
	entered := make(chan struct{})
	ended := make(chan struct{})
	f.engine.Hook = func(ctx context.Context, m string) error {
		if m == "Search" {
			close(entered)
			<-ctx.Done()
			close(ended)
		}
		return nil
	}
	addr, _ := f.serve()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		req, _ := http.NewRequestWithContext(ctx, "POST", "http://"+addr+"/v1/collections/docs/search", strings.NewReader(`{"q":"x"}`))
		req.Header.Set("Content-Type", "application/json")
		http.DefaultClient.Do(req)
	}()
	<-entered
	cancel()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the engine still searches 20 s after the client went away")
	}
}

func TestMetrics(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("GET", "/v1/collections/docs/search?q=pancakes", "").want(200, nil)
	f.do("GET", "/v1/nothing", "")
	f.do("BREW", "/v1/collections", "")
	text := f.do("GET", "/metrics", "").want(200, nil).Body.String()
	for _, want := range []string{
		`searchd_request_duration_seconds_count{method="GET",route="/v1/collections/:collection/search",status="200"} 1`,
		`searchd_stage_duration_seconds_count{stage="keyword"} 1`,
		`searchd_request_duration_seconds_bucket{method="GET",route="/v1/collections/:collection/search",status="200",le="+Inf"} 1`,
		`searchd_slots_in_use{kind="search"} 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if strings.Contains(text, "BREW") || strings.Contains(text, "nothing") {
		t.Errorf("what clients make up has become a label:\n%s", text)
	}
}
