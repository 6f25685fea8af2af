package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/searchd/access"
)

// post sends all of a request, head and body, before it reads its answer.
func post(t *testing.T, addr, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n", path, map[bool]string{false: "application/x-ndjson", true: "application/json"}[body[0] == '['], len(body))
	for i := 0; i < len(header); i += 2 {
		head += header[i] + ": " + header[i+1] + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"+body); err != nil {
		t.Fatalf("sending: %v", err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	return res, string(b)
}

// TestAnswersReachWhoSendsAllFirst: an answer that is known before the body has been read is not
// lost to a client that reads it last.
func TestAnswersReachWhoSendsAllFirst(t *testing.T) {
	g := newGuarded(t, Options{MaxDocuments: 1 << 20})
	token := g.token(access.All)
	addr, _ := g.serve()
	const size = 5 << 20
	spaces := strings.Repeat(strings.Repeat(" ", 1<<10)+"\n", size>>10)
	for name, tt := range map[string]struct {
		path, body, token string
		status            int
		want              string
	}{
		"no collection":  {"/v1/collections/none/documents/import", spaces, token, 404, "collection_not_found"},
		"no key":         {importPath, spaces, "nonsense", 401, "invalid_api_key"},
		"no route":       {"/v1/nothing", spaces, token, 404, "route_not_found"},
		"too long":       {"/v1/collections/docs/documents", spaces, token, 413, "too_large"},
		"stopped import": {importPath, `[{"id":"r1","text":"x"}] x` + spaces, token, 200, `"stopped":true`},
	} {
		t.Run(name, func(t *testing.T) {
			res, body := post(t, addr, tt.path, tt.body, "Authorization", "Bearer "+tt.token)
			if res.StatusCode != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("status %d, want %d with %s: %.300s", res.StatusCode, tt.status, tt.want, body)
			}
		})
	}
	t.Run("import sent again", func(t *testing.T) {
		var first string
		for n := range 3 {
			res, body := post(t, addr, importPath, "{\"id\":\"k\",\"text\":\"x\"}\n"+spaces+spaces+spaces+spaces, "Authorization", "Bearer "+token, "Idempotency-Key", "again")
			if n == 0 {
				first = body
			}
			if replayed := res.Header.Get("Idempotent-Replayed") == "true"; res.StatusCode != 200 || body != first || replayed != (n > 0) || !strings.Contains(body, `"k"`) {
				t.Errorf("time %d: status %d, replayed %v: %.300s", n, res.StatusCode, replayed, body)
			}
		}
	})
}

// TestRestIsBounded: a body that does not end is given up, and one that has not been asked for is
// not asked for.
func TestRestIsBounded(t *testing.T) {
	f := newFixture(t, Options{})
	var err error
	// Not newServer, which stands between net/http and a body that is asked for.
	if f.server, err = New(Options{Engine: f.engine, Inference: f.engine, Logger: discard, MaxImport: 6 << 20, IdleBody: time.Second}); err != nil {
		t.Fatal(err)
	}
	addr, _ := f.serve()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "POST /v1/collections/none/documents/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
	if line, _ := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(line, "404") {
		t.Errorf("to a client that asks first: %q, want 404", line)
	}
	line := "{\"id\":\"k\",\"text\":\"x\"}\n"
	for range 2 {
		req, _ := http.NewRequest("POST", "http://"+addr+importPath, io.LimitReader(endless{}, 5<<20)) // chunked
		req.Header.Set("Content-Type", "application/x-ndjson")
		req.Header.Set("Idempotency-Key", "same")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	r := f.request("POST", importPath, io.MultiReader(strings.NewReader(line), io.LimitReader(endless{}, 7<<20)), "Content-Type", "application/x-ndjson", "Idempotency-Key", "same")
	f.send(r).problem(413, "too_large", "")
	began := time.Now()
	stalled, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	stalled.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(stalled, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nIdempotency-Key: same\r\n\r\n1\r\n\n\r\n", importPath)
	if got, _ := io.ReadAll(stalled); !strings.Contains(string(got), "body_too_slow") || time.Since(began) > drainTime-time.Second {
		t.Errorf("a sender who stands still is told after %v: %s", time.Since(began), got)
	}
}

// endless is a body of empty lines.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '\n'
	}
	return len(p), nil
}
