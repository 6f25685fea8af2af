package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/searchd/api/apitest"
	"example.com/searchd/search"
)

func TestIdempotencyKey(t *testing.T) {
	f := newFixture(t, Options{})
	const docs, key = "/v1/collections/docs/documents", "Idempotency-Key"
	first := f.do("POST", docs, `{"text":"one"}`, key, "k1").want(201, nil)
	again := f.do("POST", docs, `{"text":"one"}`, key, "k1").want(201, nil)
	if again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" || first.Header().Get("Idempotent-Replayed") != "" {
		t.Errorf("sent again: %s, replayed %q, want %s", again.Body, again.Header().Get("Idempotent-Replayed"), first.Body)
	}
	if again.Header().Get("ETag") != first.Header().Get("ETag") || again.Header().Get("Location") != first.Header().Get("Location") {
		t.Error("sent again, the answer has other headers")
	}
	f.do("POST", docs, `{"text":"two"}`, key, "k1").problem(422, "idempotency_key_reused", "")
	f.do("POST", docs, `{"text":"one"}`).want(200, nil) // without the key it is written again
	f.do("POST", docs, `{"text":"one"}`, key, strings.Repeat("x", 256)).problem(400, "invalid_request", "/Idempotency-Key")
	f.do("POST", docs, `{"text":`, key, "k2").problem(400, "malformed_request", "")
	f.do("POST", docs, `{"text":"three"}`, key, "k2").want(201, nil) // an error is not kept

	lines := "{\"id\":\"l1\",\"text\":\"x\"}\n{\"id\":\"l2\"}\n"
	one := f.do("POST", importPath, lines, "Content-Type", "application/x-ndjson", key, "k3").want(200, nil).Body.String()
	if two := f.do("POST", importPath, lines, "Content-Type", "application/x-ndjson", key, "k3").want(200, nil); two.Body.String() != one || !strings.Contains(one, "created") {
		t.Errorf("an import sent again: %s, want %s", two.Body, one)
	}
	stopped := "[{\"id\":\"s1\",\"text\":\"x\"},"
	f.do("POST", importPath, stopped, key, "k4")
	if a := f.do("POST", importPath, stopped+"{\"id\":\"s2\",\"text\":\"y\"}]", key, "k4"); !strings.Contains(a.Body.String(), "unchanged") {
		t.Errorf("an import that was stopped, sent again: %s, want it done again", a.Body)
	}
}

// TestIdempotencyKeyOfNewCollection: an answer is one about the collection that there was.
func TestIdempotencyKeyOfNewCollection(t *testing.T) {
	f := newFixture(t, Options{})
	const docs, key = "/v1/collections/new/documents", "Idempotency-Key"
	for range 2 {
		f.do("PUT", "/v1/collections/new", "").want(201, nil)
		for path, body := range map[string]string{docs: `{"id":"a","text":"x"}`, docs + "/import": `[{"id":"b","text":"y"}]`} {
			if a := f.do("POST", path, body, key, path); !strings.Contains(a.Body.String(), `"created"`) || a.Header().Get("Idempotent-Replayed") != "" {
				t.Errorf("%s: %d %s, replayed %q", path, a.Code, a.Body, a.Header().Get("Idempotent-Replayed"))
			}
		}
		f.do("GET", docs+"/a", "").want(200, nil)
		f.do("GET", docs+"/b", "").want(200, nil)
		f.do("DELETE", "/v1/collections/new", "").want(204, nil)
	}
}

func TestIdempotencyKeyInUse(t *testing.T) {
	f := newFixture(t, Options{})
	entered, release := f.hold("Ingest")
	done := make(chan answer)
	go func() {
		done <- f.do("POST", "/v1/collections/docs/documents", `{"text":"one"}`, "Idempotency-Key", "k")
	}()
	<-entered
	f.do("POST", "/v1/collections/docs/documents", `{"text":"one"}`, "Idempotency-Key", "k").problem(409, "idempotency_key_in_use", "")
	release()
	(<-done).want(201, nil)
}

// TestIdempotencyKeyOfStreams sends imports that differ in nothing but their bytes, with a length
// and in chunks.
func TestIdempotencyKeyOfStreams(t *testing.T) {
	f := newFixture(t, Options{})
	packed := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(s))
		z.Close()
		return b.String()
	}
	const media, key = "Content-Type", "Idempotency-Key"
	for name, c := range map[string]struct {
		one, two string
		header   []string
	}{
		"lines": {"{\"id\":\"l1\",\"text\":\"one\"}\n", "{\"id\":\"l2\",\"text\":\"two\"}\n", []string{media, "application/x-ndjson"}},
		"array": {`[{"id":"a1","text":"one"}] `, `[{"id":"a2","text":"two"}] `, nil},
		"csv":   {"id,text\nc1,one\n", "id,text\nc2,two\n", []string{media, "text/csv"}},
		"gzip":  {packed(`{"id":"g1","text":"one"}`), packed(`{"id":"g2","text":"two"}`), []string{media, "application/x-ndjson", "Content-Encoding", "gzip"}},
	} {
		for _, chunked := range []bool{false, true} {
			send := func(body string) answer {
				r := f.request("POST", importPath, strings.NewReader(body), append(c.header, key, fmt.Sprint(name, chunked))...)
				if chunked {
					r.ContentLength = -1
				}
				return f.send(r)
			}
			first := send(c.one).want(200, nil)
			if again := send(c.one).want(200, nil); again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s sent again: %s, want %s", name, again.Body, first.Body)
			}
			send(c.two).problem(422, "idempotency_key_reused", "")
		}
	}
}

// TestIdempotencyKeyOfFraming sends the same bytes in chunks and with a length, and then others.
func TestIdempotencyKeyOfFraming(t *testing.T) {
	f := newFixture(t, Options{})
	for _, c := range []struct{ path, media, body string }{
		{importPath, "application/x-ndjson", ""},
		{importPath, "application/x-ndjson", `{"id":"f1","text":"one"}`},
		{"/v1/collections/docs/documents", "application/json", `{"id":"f2","text":"one"}`},
	} {
		send := func(body string, chunked bool) answer {
			r := f.request("POST", c.path, strings.NewReader(body), "Content-Type", c.media, "Idempotency-Key", c.path+c.body)
			switch {
			case chunked:
				r.ContentLength = -1
			case body == "":
				r.Body = http.NoBody // as net/http has it
			}
			return f.send(r)
		}
		first := send(c.body, true)
		if again := send(c.body, false); again.Code != first.Code || again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %q with a length: %d %s, want %s", c.path, c.body, again.Code, again.Body, first.Body)
		}
		for _, other := range []string{"", `{"id":"f3","text":"two"}`} {
			if other != c.body {
				send(other, false).problem(422, "idempotency_key_reused", "")
			}
		}
	}
}

// TestIdempotencyKeyOfLostAnswers is about a client that has gone when its write is done.
func TestIdempotencyKeyOfLostAnswers(t *testing.T) {
	f := newFixture(t, Options{})
	engine := &leavingEngine{Engine: f.engine}
	var err error
	if f.server, err = New(Options{Engine: engine, Inference: engine, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	engine.written = leave
	const path, body = "/v1/collections/docs/documents", `{"id":"one","text":"x"}`
	header := []string{"Idempotency-Key", "k", "If-None-Match", "*"}
	f.send(f.request("POST", path, strings.NewReader(body), header...).WithContext(ctx))
	if a := f.do("POST", path, body, header...).want(201, nil); a.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("sent again after the client had gone: %s, want the first answer", a.Body)
	}
}

// leavingEngine calls written after each write.
type leavingEngine struct {
	*apitest.Engine
	written func()
}

func (e *leavingEngine) Ingest(ctx context.Context, collection string, docs []search.Document) ([]search.ItemResult, error) {
	res, err := e.Engine.Ingest(ctx, collection, docs)
	e.written()
	return res, err
}

// TestIdempotencyBounds fills the answers beyond each bound.
func TestIdempotencyBounds(t *testing.T) {
	now := time.Unix(1_750_000_000, 0)
	i := newIdempotency()
	i.now = func() time.Time { return now }
	keep := func(name string, size int) {
		if kept, err := i.begin(name, [32]byte{}); kept != nil || err != nil {
			t.Fatalf("begin(%s) = %v, %v", name, kept, err)
		}
		i.end(name, [32]byte{}, http.StatusOK, nil, make([]byte, size))
	}
	has := func(name string) bool {
		i.expire()
		a := i.answers[name]
		return a != nil && a.done
	}
	keep("old", 1)
	now = now.Add(idempotencyAge - time.Second)
	if !has("old") {
		t.Error("an answer is forgotten before its time")
	}
	now = now.Add(time.Second)
	if has("old") || i.bytes != 0 {
		t.Errorf("an old answer is kept: %d bytes", i.bytes)
	}
	for n := range idempotencyBytes/idempotencyOne + 1 {
		keep(strings.Repeat("b", n+1), idempotencyOne)
	}
	if has("b") || !has("bb") || i.bytes > idempotencyBytes {
		t.Errorf("%d bytes are kept, at most %d are allowed", i.bytes, idempotencyBytes)
	}
	keep("large", idempotencyOne+1)
	if has("large") {
		t.Error("an answer that is too long is kept")
	}
	for n := range idempotencyMax + 5 {
		keep("n"+strings.Repeat("x", n%3)+time.Duration(n).String(), 0)
	}
	if len(i.answers) > idempotencyMax || len(i.order) > idempotencyMax {
		t.Errorf("%d answers are kept, at most %d are allowed", len(i.answers), idempotencyMax)
	}
}
