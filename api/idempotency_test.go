package api

import (
	"net/http"
	"strings"
	"testing"
	"time"
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

// TestIdempotencyBounds fills the answers beyond each bound.
func TestIdempotencyBounds(t *testing.T) {
	now := time.Unix(1_750_000_000, 0)
	i := newIdempotency()
	i.now = func() time.Time { return now }
	keep := func(name string, size int) {
		if kept, err := i.begin(name, [32]byte{}); kept != nil || err != nil {
			t.Fatalf("begin(%s) = %v, %v", name, kept, err)
		}
		i.end(name, http.StatusOK, nil, make([]byte, size))
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
