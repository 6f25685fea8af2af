package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/trace"
)

// TestRequestsAreTraced sends searches and an import, and reads the names of the spans, and that
// nothing that a user wrote is in them, from the bytes that the collector gets.
func TestRequestsAreTraced(t *testing.T) {
	var mu sync.Mutex
	var got strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		io.Copy(&got, r.Body)
	}))
	defer collector.Close()
	tracer, err := trace.Open(trace.Options{Endpoint: collector.URL, Warn: func(text string) { t.Error(text) }})
	if err != nil {
		t.Fatal(err)
	}
	m, err := embedder()
	if err != nil {
		t.Fatal(err)
	}
	f := over(t, Options{Tracer: tracer}, search.Options{Embedder: m, Tracer: tracer})
	f.do("PUT", "/v1/collections/docs", "").want(201, nil)
	f.do("POST", importPath, `{"id":"privateid","text":"privatetext of a document"}`+"\n", "Content-Type", "application/x-ndjson").want(200, nil)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	f.do("POST", "/v1/collections/docs/search?x", `{"q":"privatequery"}`, "Traceparent", "00-"+trace+"-b7ad6b7169203331-01").problem(400, "invalid_request", "/x")
	f.do("POST", "/v1/collections/docs/search", `{"q":"privatequery"}`, "Traceparent", "00-"+trace+"-b7ad6b7169203331-01", "Authorization", "Bearer privatekey").want(200, nil)
	f.do("POST", "/v1/collections/docs/search", `{"q":"privatequery","filter":"privatefilter ="}`).problem(400, "invalid_request", "/filter")
	f.do("POST", "/v1/collections/docs/search/batch", `{"searches":[{"q":"privatequery"}]}`).want(200, nil)
	f.do("GET", "/v1/collections/docs/documents/privateid", "").want(200, nil)
	f.do("GET", "/livez", "").want(200, nil)
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	all := got.String()
	for _, name := range []string{
		"POST /v1/collections/:collection/search", "search", "parse", "spell", "embed", "find", "keyword", "vector", "fill", "fuse", "fetch", "search batch",
		"POST /v1/collections/:collection/documents/import", "decode", "ingest", "encode", "commit", "GET /v1/collections/:collection/documents/*",
	} {
		if !strings.Contains(all, "\x2a"+string(rune(len(name)))+name) { // field 5 of a span
			t.Errorf("no span %q", name)
		}
	}
	for _, not := range []string{"private", "livez"} {
		if at := strings.Index(all, not); at >= 0 {
			t.Errorf("a span has what a user wrote, or is of a probe: %q", all[max(0, at-60):at+40])
		}
	}
	id := []byte{0x0a, 16, 0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c}
	if n := strings.Count(all, string(id)); n < 10 {
		t.Errorf("%d spans of the trace of the client, want those of two requests", n)
	}
}
