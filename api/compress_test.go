package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/searchd/search"
)

func unzipped(t *testing.T, b []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// What is compressed is what is sent plain, with a header that says so.
func TestCompressedAnswers(t *testing.T) {
	f := newFixture(t, Options{})
	long := strings.Repeat("Let the dough rise. ", 200)
	tag := f.do("PUT", "/v1/collections/docs/documents/long", `{"text":"`+long+`"}`).want(201, nil).Header().Get("ETag")
	for _, tt := range []struct {
		method, path, body string
		zip                bool
	}{
		{"GET", "/v1/collections/docs/documents/long", "", true},
		{"GET", "/v1/collections/docs/documents/a1", "", false}, // too short
		{"GET", "/v1/collections/docs/documents", "", true},
		{"GET", "/v1/collections/docs/documents/export", "", true},
		{"POST", "/v1/embeddings", `{"input":["` + strings.Repeat(`bread","`, 20) + `dough"]}`, true},
		{"GET", "/", "", true},
		{"GET", "/ui/app.js", "", true},
		{"GET", "/ui/app.css", "", true},
		{"GET", "/ui/icon.svg", "", false}, // too short
		{"GET", "/docs", "", true},
		{"GET", "/openapi.yaml", "", true},
		{"GET", "/v1/collections/docs/documents/none", "", false},
		{"GET", "/livez", "", false},
		{"POST", "/v1/collections/docs/search", `{"q":"` + strings.Repeat("x", 9000) + `","limit":0,"offset":-1,"mode":"` + strings.Repeat("y", 200) + `"}`, false},
	} {
		plain := f.do(tt.method, tt.path, tt.body)
		zip := f.do(tt.method, tt.path, tt.body, "Accept-Encoding", "gzip")
		if plain.Header().Get("Content-Encoding") != "" || plain.Code != zip.Code {
			t.Errorf("%s %s: plain %d %v, with gzip %d", tt.method, tt.path, plain.Code, plain.Header(), zip.Code)
		}
		for _, a := range []answer{plain, zip} {
			if a.Header().Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s %s: Vary %q", tt.method, tt.path, a.Header().Values("Vary"))
			}
		}
		if plain.Header().Get("ETag") != zip.Header().Get("ETag") {
			t.Errorf("%s %s: ETag %s and %s", tt.method, tt.path, plain.Header().Get("ETag"), zip.Header().Get("ETag"))
		}
		if got := zip.Header().Get("Content-Encoding") == "gzip"; got != tt.zip {
			t.Errorf("%s %s: compressed %v, %d bytes, want %v", tt.method, tt.path, got, plain.Body.Len(), tt.zip)
			continue
		}
		if !tt.zip {
			continue
		}
		if got := unzipped(t, zip.Body.Bytes()); got != plain.Body.String() || zip.Body.Len() >= plain.Body.Len() {
			t.Errorf("%s %s: %d bytes of %d, other content: %.200s", tt.method, tt.path, zip.Body.Len(), plain.Body.Len(), got)
		}
		if zip.Header().Get("Content-Length") != "" || zip.Header().Get("Accept-Ranges") != "" {
			t.Errorf("%s %s: header %v", tt.method, tt.path, zip.Header())
		}
	}
	// Tags work with and without.
	a := f.do("GET", "/v1/collections/docs/documents/long", "", "Accept-Encoding", "gzip", "If-None-Match", tag).want(304, nil)
	if a.Body.Len() > 0 || a.Header().Get("Content-Encoding") != "" || a.Header().Get("Vary") == "" {
		t.Errorf("304: %v, %d bytes", a.Header(), a.Body.Len())
	}
	page := f.do("GET", "/ui/app.js", "", "Accept-Encoding", "gzip").Header().Get("ETag")
	f.do("GET", "/ui/app.js", "", "Accept-Encoding", "gzip", "If-None-Match", page).want(304, nil)
	f.do("GET", "/ui/app.js", "", "If-None-Match", page).want(304, nil)
	f.do("PUT", "/v1/collections/docs/documents/long", `{"text":"x"}`, "If-Match", tag, "Accept-Encoding", "gzip").want(200, nil)
	// A part is of what is sent plain.
	bare, err := New(Options{Engine: f.engine, Inference: f.engine, Logger: discard}) // parts of the page's files are not described
	if err != nil {
		t.Fatal(err)
	}
	part := (&fixture{t: t, server: bare}).do("GET", "/ui/app.js", "", "Accept-Encoding", "gzip", "Range", "bytes=0-2999").want(206, nil)
	if part.Header().Get("Content-Encoding") != "" || part.Body.Len() != 3000 {
		t.Errorf("a part: %v, %d bytes", part.Header(), part.Body.Len())
	}
}

// What a handler has compressed itself is not compressed twice.
func TestCompressedMetrics(t *testing.T) {
	f := newFixture(t, Options{})
	if text := unzipped(t, f.do("GET", "/metrics", "", "Accept-Encoding", "gzip").want(200, nil).Body.Bytes()); !strings.Contains(text, "searchd_") {
		t.Errorf("metrics: %.200q", text)
	}
}

// An answer to a write that is sent again is compressed for whoever takes it then.
func TestCompressedReplay(t *testing.T) {
	f := newFixture(t, Options{})
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "{\"id\":\"d%d\",\"text\":\"x\"}\n", i)
	}
	send := func(header ...string) answer {
		return f.do("POST", importPath, b.String(), append(header, "Content-Type", "application/x-ndjson", "Idempotency-Key", "k")...).want(200, nil)
	}
	first := send("Accept-Encoding", "gzip")
	want := unzipped(t, first.Body.Bytes())
	if plain := send(); plain.Body.String() != want || plain.Header().Get("Idempotent-Replayed") != "true" || plain.Header().Get("Content-Encoding") != "" {
		t.Errorf("replayed plain: %v, %.200s", plain.Header(), plain.Body)
	}
	if again := send("Accept-Encoding", "gzip"); unzipped(t, again.Body.Bytes()) != want || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("replayed: %v", again.Header())
	}
	if n := strings.Count(want, "created"); n != 100 {
		t.Errorf("%d documents created, want 100", n)
	}
}

// The answers to an import come while its body is still being sent, and can be read line by line.
func TestCompressedImportStreams(t *testing.T) {
	f := newFixture(t, Options{})
	addr, _ := f.serve()
	pr, pw := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://"+addr+importPath, pr)
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Accept-Encoding", "gzip")
	send := func(batch int) {
		for i := range importBatchDocs {
			fmt.Fprintf(pw, "{\"id\":\"s%d-%d\",\"text\":\"x\"}\n", batch, i)
		}
	}
	go send(0)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("header %v, want gzip", res.Header)
	}
	z, err := gzip.NewReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	lines := bufio.NewScanner(z)
	for batch := range 3 {
		if batch > 0 {
			send(batch)
		}
		for i := range importBatchDocs { // the next batch is sent when this one is answered
			if !lines.Scan() || !strings.Contains(lines.Text(), fmt.Sprintf(`"s%d-%d"`, batch, i)) {
				t.Fatalf("batch %d, line %d: %q, %v", batch, i, lines.Text(), lines.Err())
			}
		}
	}
	pw.Close()
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("behind the last line: %q, %v", lines.Text(), lines.Err())
	}
}

// An export that fails midway is no whole answer to a client that unpacks it.
func TestCompressedExportCutOff(t *testing.T) {
	f := newFixture(t, Options{})
	for i := range 250 {
		f.engine.Ingest(t.Context(), "docs", []search.Document{{ID: fmt.Sprint(i), Fields: json.RawMessage(`{"text":"some text that is not short"}`)}})
	}
	calls := 0
	f.engine.Hook = func(_ context.Context, method string) error {
		if method == "Documents" {
			if calls++; calls == 2 {
				return errors.New("broken")
			}
		}
		return nil
	}
	addr, _ := f.serve()
	res, err := http.Get("http://" + addr + "/v1/collections/docs/documents/export") // takes gzip and unpacks it
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if !res.Uncompressed || err == nil || bytes.Count(b, []byte("\n")) != 200 {
		t.Errorf("unpacked %v, %d lines, error %v; want 200 lines and an error", res.Uncompressed, bytes.Count(b, []byte("\n")), err)
	}
}

// A client that takes no more bytes does not hold an export longer than the time of a write.
func TestCompressedSlowReader(t *testing.T) {
	f := newFixture(t, Options{WriteTimeout: 2 * time.Second})
	f.do("PATCH", "/v1/collections/docs", `{"settings":{"fields":{"noise":{"type":"stored"}}}}`).want(200, nil)
	r := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, 48<<10)
	var docs []search.Document
	for i := range 400 {
		r.Read(noise)
		docs = append(docs, search.Document{ID: fmt.Sprint(i), Fields: json.RawMessage(`{"text":"x","noise":"` + base64.StdEncoding.EncodeToString(noise) + `"}`)})
	}
	if _, err := f.engine.Ingest(t.Context(), "docs", docs); err != nil {
		t.Fatal(err)
	}
	addr, stop := f.serve()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(conn, "GET /v1/collections/docs/documents/export HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
	if _, err := conn.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	stop() // waits for the request
	if took := time.Since(start); took > 10*time.Second || strings.Contains(f.log.String(), "cut off at shutdown") {
		t.Errorf("the export ended after %v: %s", took, f.log)
	}
	if !strings.Contains(f.log.String(), "export") {
		t.Errorf("log %s, want the request", f.log)
	}
}
