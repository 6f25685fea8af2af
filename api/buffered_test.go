package api

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// longAnswer asks for an answer of about 70 bytes for each of n tokens.
func longAnswer(n int) string { return `{"inputs":"` + strings.Repeat("x ", n) + `"}` }

// TestSlowReaderHoldsNoSlot: who does not read an answer must not take a slot from those who do.
func TestSlowReaderHoldsNoSlot(t *testing.T) {
	f := newFixture(t, Options{})
	entered, release := f.hold("Tokenize")
	addr, _ := f.serve()
	var conns []net.Conn
	for range runtime.GOMAXPROCS(0) { // as many as there are slots
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
		conn.(*net.TCPConn).SetReadBuffer(4096)
		body := longAnswer(200_000)
		fmt.Fprintf(conn, "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		<-entered
	}
	release()
	status := 0
	for deadline := time.Now().Add(10 * time.Second); status != 200 && time.Now().Before(deadline); { // the answer takes a while to be made
		res, err := http.Post("http://"+addr+"/tokenize", "application/json", strings.NewReader(`{"inputs":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		status = res.StatusCode
	}
	if status != 200 {
		t.Errorf("beside a slow reader: status %d, want 200", status)
	}
	f.emptied("bodies", &f.server.inFlight) // before the answer is read
	for _, conn := range conns {
		conn.Close()
	}
	f.emptied("answers", &f.server.unsent)
}

// emptied waits until none of the bytes of something are counted as in memory.
func (f *fixture) emptied(what string, n *atomic.Int64) {
	f.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); n.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("%d bytes of %s are still counted", n.Load(), what)
		}
	}
}

// TestTokenVectorsHaveTheirGate: requests whose answers are large for them run one per core, and
// beside those of other routes.
func TestTokenVectorsHaveTheirGate(t *testing.T) {
	f := newFixture(t, Options{})
	entered, release := f.hold("EmbedTokens")
	defer release()
	cores := runtime.GOMAXPROCS(0)
	done := make(chan int)
	for range cores + 1 {
		go func() { done <- f.do("POST", "/embed_all", `{"inputs":"x"}`).Code }()
	}
	if got := <-done; got != 429 {
		t.Errorf("one more than there are cores: status %d, want 429", got)
	}
	if n := len(entered); n != cores {
		t.Errorf("%d requests at once, want %d", n, cores)
	}
	f.do("POST", "/embed", `{"inputs":"x"}`).want(200, nil)
	release()
	for range cores {
		if got := <-done; got != 200 {
			t.Errorf("one that had a slot: status %d", got)
		}
	}
}

// TestTokensHaveTheirGate: a token costs a hundred times the bytes of its text, so these requests
// are short and run one per core, beside those of other routes.
func TestTokensHaveTheirGate(t *testing.T) {
	f := newFixture(t, Options{})
	cores := runtime.GOMAXPROCS(0)
	for method, body := range map[string]string{"Tokenize": `{"inputs":"x"}`, "Decode": `{"ids":[1]}`} {
		path := "/" + strings.ToLower(method)
		var e teiError
		if f.do("POST", path, body+strings.Repeat(" ", 1<<20)).want(413, &e); e.Code != "too_large" {
			t.Errorf("%s with more than 1 MiB: %+v", path, e)
		}
		entered, release := f.hold(method)
		done := make(chan int)
		for range cores + 1 {
			go func() { done <- f.do("POST", path, body).Code }()
		}
		for range cores {
			<-entered
		}
		f.do("POST", "/embed", `{"inputs":"x"}`).want(200, nil)
		if len(f.server.tokenize.slots) != cores || len(entered) > 0 {
			t.Errorf("%s: %d slots taken and %d more requests run, want %d and 0", path, len(f.server.tokenize.slots), len(entered), cores)
		}
		release()
		for range cores + 1 {
			if got := <-done; got != 200 && got != 429 { // 429: the last one had to wait for too long
				t.Errorf("%s after the others: status %d", path, got)
			}
		}
	}
}

// TestAnswersInMemoryAreBounded refuses what is too long by itself, and what is too much beside
// others; small answers go out.
func TestAnswersInMemoryAreBounded(t *testing.T) {
	f := newFixture(t, Options{MaxInFlight: 1 << 20})
	var e teiError
	if f.do("POST", "/tokenize", longAnswer(50_000)).want(413, &e); e.Code != "too_large" || !strings.Contains(e.Error, "response") {
		t.Errorf("an answer that is too long: %+v", e)
	}
	f.server.unsent.Store(1 << 20)
	if f.do("POST", "/tokenize", longAnswer(5_000)).want(429, &e); e.Code != "overloaded" {
		t.Errorf("an answer beside too many others: %+v", e)
	}
	f.do("POST", "/embed", `{"inputs":"x"}`).want(200, nil)
	f.server.unsent.Store(0)
	f.do("POST", "/tokenize", longAnswer(5_000)).want(200, nil)
	if n := f.server.unsent.Load(); n != 0 {
		t.Errorf("%d bytes of answers are still counted", n)
	}
}

// TestVectorsInMemoryAreBounded: a request for many vectors is refused beside another one, before
// anything is encoded for it. A small one is answered, and alone any is.
func TestVectorsInMemoryAreBounded(t *testing.T) {
	f := newFixture(t, Options{MaxInFlight: 1 << 20, SearchWait: time.Second})
	n := (1 << 20) / 24 / f.server.o.Inference.Model().Dimension
	body := func(n int) string { return `{"inputs":["x"` + strings.Repeat(`,"x"`, n-1) + `]}` }
	entered, release := f.hold("Embed")
	first := make(chan int)
	go func() { first <- f.do("POST", "/embed", body(n*2/3)).Code }()
	<-entered
	var e teiError
	if f.do("POST", "/embed", body(n*2/3)).want(429, &e); e.Code != "overloaded" || len(entered) > 0 {
		t.Errorf("beside another one: %+v, %d are encoded", e, len(entered))
	}
	if a := f.do("POST", "/embed_sparse", body(n*2/3)); a.Code != 429 || a.Header().Get("Retry-After") == "" {
		t.Errorf("sparse vectors beside another one: %d", a.Code)
	}
	release()
	if code := <-first; code != 200 {
		t.Errorf("the first one: %d", code)
	}
	f.do("POST", "/embed", body(n*2/3)).want(200, nil)
	if n := f.server.unsent.Load(); n != 0 {
		t.Errorf("%d bytes of answers are still counted", n)
	}
}

// TestHeldAnswer: what a handler writes is sent as it is, when it has left the gate, and not at all
// where it fails.
func TestHeldAnswer(t *testing.T) {
	f := newFixture(t, Options{})
	g := newGate("test", 1, 0, 0, errOverloaded)
	for name, tt := range map[string]struct {
		status int
		writes []string
		err    error
	}{
		"empty": {0, nil, nil}, "status alone": {204, nil, nil}, "implied": {0, []string{"a", "b"}, nil}, "status and body": {201, []string{"a"}, nil}, "failure": {201, []string{"a"}, errNotReady},
	} {
		t.Run(name, func(t *testing.T) {
			rec := httptest.NewRecorder()
			handle := func(w http.ResponseWriter, r *http.Request) error {
				if tt.status > 0 {
					w.WriteHeader(tt.status)
				}
				for _, s := range tt.writes {
					b := []byte(s)
					w.Write(b)
					b[0] = '!' // is the handler's again
				}
				if rec.Body.Len() > 0 || len(g.slots) != 1 {
					t.Error("the answer was sent behind the gate")
				}
				return tt.err
			}
			if err := g.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := f.server.runGated(route{gate: g, handle: handle}, rec, f.request("GET", "/", nil), func() {})
			want, status := strings.Join(tt.writes, ""), max(tt.status, 200)
			if tt.err != nil {
				want, status = "", 200
			}
			if err != tt.err || rec.Body.String() != want || rec.Code != status || len(g.slots) != 0 {
				t.Errorf("runGated = %v, %d %q, %d slots taken, want %v, %d %q", err, rec.Code, rec.Body, len(g.slots), tt.err, status, want)
			}
		})
	}
}
