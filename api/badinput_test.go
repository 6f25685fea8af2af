package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// hookOnce runs f at the first call of a method.
func hookOnce(method string, f func()) func(context.Context, string) error {
	done := false
	return func(_ context.Context, m string) error {
		if m == method && !done {
			done = true
			f()
		}
		return nil
	}
}

func TestBadSearchBodies(t *testing.T) {
	f := newFixture(t, Options{MaxBody: 4096})
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	for _, tt := range []struct {
		name, body    string
		status        int
		code, pointer string
	}{
		{"unknown member", `{"q":"x","limt":3}`, 400, "invalid_request", "/limt"},
		{"repeated member", `{"q":"x","q":"y"}`, 400, "malformed_request", "/q"},
		{"trailing data", `{"q":"x"} {"q":"y"}`, 400, "malformed_request", ""},
		{"trailing garbage", `{"q":"x"}x`, 400, "malformed_request", ""},
		{"cut off", `{"q":"x"`, 400, "malformed_request", ""},
		{"empty", ` `, 400, "malformed_request", ""},
		{"not JSON", `q=x`, 400, "malformed_request", ""},
		{"array", `[]`, 400, "malformed_request", ""},
		{"null q", `{"q":null}`, 200, "", ""},
		{"no q", `{}`, 200, "", ""},
		{"wrong type", `{"q":5}`, 400, "invalid_request", "/q"},
		{"q is an object", `{"q":{"match":{}}}`, 400, "invalid_request", "/q"},
		{"limit -1", `{"q":"x","limit":-1}`, 400, "invalid_request", "/limit"},
		{"limit 1e9", `{"q":"x","limit":1e9}`, 400, "invalid_request", "/limit"},
		{"limit 1000000000", `{"q":"x","limit":1000000000}`, 400, "invalid_request", "/limit"},
		{"limit 2^63", `{"q":"x","limit":9223372036854775808}`, 400, "invalid_request", "/limit"},
		{"limit as text", `{"q":"x","limit":"10"}`, 400, "invalid_request", "/limit"},
		{"limit 1.5", `{"q":"x","limit":1.5}`, 400, "invalid_request", "/limit"},
		{"offset -1", `{"q":"x","offset":-1}`, 400, "invalid_request", "/offset"},
		{"alpha 2", `{"q":"x","alpha":2}`, 400, "invalid_request", "/alpha"},
		{"alpha NaN", `{"q":"x","alpha":NaN}`, 400, "malformed_request", ""},
		{"alpha 1e400", `{"q":"x","alpha":1e400}`, 400, "invalid_request", "/alpha"},
		{"mode", `{"q":"x","mode":"fuzzy"}`, 400, "invalid_request", "/mode"},
		{"deep", deep, 400, "malformed_request", ""},
		{"deep arrays", strings.Repeat("[", 3000), 400, "malformed_request", ""},
		{"brackets in a string are no depth", `{"q":"` + strings.Repeat(`[\"`, 200) + `"}`, 200, "", ""},
		{"not UTF-8", "{\"q\":\"\xff\"}", 400, "malformed_request", ""},
		{"lone surrogate is replaced", `{"q":"\ud800"}`, 200, "", ""},
		{"too large", `{"q":"` + strings.Repeat("x", 5000) + `"}`, 413, "too_large", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := f.do("POST", "/v1/collections/docs/search", tt.body)
			a.t = t
			if tt.status == 200 {
				a.want(200, nil)
				return
			}
			p := a.problem(tt.status, tt.code, tt.pointer)
			if p.Detail == "" {
				t.Errorf("no detail: %s", a.Body)
			}
		})
	}
}

func TestBadSearchParameters(t *testing.T) {
	f := newFixture(t, Options{})
	for _, tt := range []struct{ query, pointer string }{
		{"explain=1", "/explain"}, {"q=&explain=1", "/explain"}, {"q=x&limit=-1", "/limit"}, {"q=x&limit=1e9", "/limit"}, {"q=x&limit=1.5", "/limit"}, {"q=x&limit=", "/limit"},
		{"q=x&limit=99999999999999999999", "/limit"}, {"q=x&alpha=NaN", "/alpha"}, {"q=x&alpha=Inf", "/alpha"}, {"q=x&alpha=high", "/alpha"},
		{"q=x&explain=maybe", "/explain"}, {"q=x&q=y", "/q"}, {"q=x&unknown=1", "/unknown"}, {"q=%ff", "/q"},
	} {
		a := f.do("GET", "/v1/collections/docs/search?"+tt.query, "")
		a.problem(400, "invalid_request", tt.pointer)
	}
	f.do("GET", "/v1/collections/docs/search?q=%zz", "").problem(400, "malformed_request", "")
	f.do("GET", "/v1/collections/docs/search?q=a;b", "").problem(400, "malformed_request", "")
}

func TestBadPaths(t *testing.T) {
	f := newFixture(t, Options{})
	long := strings.Repeat("x", 513)
	for _, tt := range []struct {
		method, path  string
		status        int
		code, pointer string
	}{
		{"GET", "/v1/collections/docs/documents/%00", 400, "invalid_request", "/id"},
		{"GET", "/v1/collections/docs/documents/a%0ab", 400, "invalid_request", "/id"},
		{"GET", "/v1/collections/docs/documents/%ff", 400, "invalid_request", "/id"},
		{"GET", "/v1/collections/docs/documents/%E2%80%AE", 400, "invalid_request", "/id"}, // right-to-left override
		{"GET", "/v1/collections/docs/documents/", 400, "invalid_request", "/id"},
		{"GET", "/v1/collections/docs/documents/" + long, 400, "invalid_request", "/id"},
		{"GET", "/v1/collections/docs/documents/..%2f..%2fetc%2fpasswd", 404, "document_not_found", ""},
		{"GET", "/v1/collections/%00", 400, "invalid_request", "/collection"},
		{"GET", "/v1/collections/..%2f..%2fetc", 400, "invalid_request", "/collection"},
		{"GET", "/v1/collections/%2e%2e", 400, "invalid_request", "/collection"},
		{"GET", "/v1/collections/a%5cb", 400, "invalid_request", "/collection"},
		{"GET", "/v1/collections/" + long, 400, "invalid_request", "/collection"},
		{"GET", "/v1/collections/../../etc/passwd", 404, "route_not_found", ""},
		{"GET", "/nothing", 404, "route_not_found", ""},
		{"GET", "/v1", 404, "route_not_found", ""},
		{"GET", "/v1/collections/docs/nothing", 404, "route_not_found", ""},
		{"TRACE", "/v1/collections", 405, "method_not_allowed", ""},
		{"BREW", "/v1/collections", 405, "method_not_allowed", ""},
		{"DELETE", "/v1/collections", 405, "method_not_allowed", ""},
		{"POST", "/livez", 405, "method_not_allowed", ""},
		{"PUT", "/v1/collections/docs/search", 405, "method_not_allowed", ""},
	} {
		a := f.do(tt.method, tt.path, "")
		if a.Code != tt.status {
			t.Errorf("%s %s: status %d, want %d", tt.method, tt.path, a.Code, tt.status)
			continue
		}
		a.problem(tt.status, tt.code, tt.pointer)
		if tt.status == 405 && a.Header().Get("Allow") == "" {
			t.Errorf("%s %s: 405 without Allow", tt.method, tt.path)
		}
	}
}

// TestBadForwardedFor: an address that anybody can write into a header is not the caller's.
func TestBadForwardedFor(t *testing.T) {
	f := newFixture(t, Options{RateLimit: 0.001, RateBurst: 1})
	for i, want := range []int{200, 429, 429} {
		address := fmt.Sprintf("203.0.113.%d", i)
		a := f.do("GET", "/v1/collections", "", "X-Forwarded-For", address, "X-Real-Ip", address, "Forwarded", "for="+address)
		if a.Code != want || strings.Contains(f.log.String(), address) {
			t.Errorf("request %d: status %d, want %d, and the sender in the log:\n%s", i, a.Code, want, f.log)
		}
	}
}

func TestMediaTypes(t *testing.T) {
	f := newFixture(t, Options{})
	for _, tt := range []struct {
		method, path, media string
		status              int
	}{
		{"POST", "/v1/collections/docs/search", "text/plain", 415},
		{"POST", "/v1/collections/docs/search", "", 415},
		{"POST", "/v1/collections/docs/search", "application/x-www-form-urlencoded", 400},
		{"PUT", "/v1/collections/docs/documents/a1", "application/x-www-form-urlencoded; charset=utf-8", 400},
		{"POST", "/v1/embeddings", "application/x-www-form-urlencoded", 400},
		{"POST", "/v1/collections/docs/search", "application/json; charset=utf-8", 400},
		{"POST", "/v1/collections/docs/search", "Application/JSON", 400},
		{"POST", "/v1/collections", "text/html", 415},
		{"PUT", "/v1/collections/docs/documents/a1", "text/html", 415},
		{"PATCH", "/v1/collections/docs/documents/a1", "text/html", 415},
		{"POST", "/v1/collections/docs/documents/import", "multipart/form-data", 415},
	} {
		a := f.do(tt.method, tt.path, `{"x":`, "Content-Type", tt.media)
		if a.Code != tt.status {
			t.Errorf("%s %s as %q: status %d, want %d", tt.method, tt.path, tt.media, a.Code, tt.status)
		}
	}
	const form = "application/x-www-form-urlencoded"
	f.do("POST", "/v1/collections/docs/search", `{"q":"ships"}`, "Content-Type", form).want(200, nil)
	f.do("POST", "/v1/collections/docs/search", `{"q":"ships"}`, "Content-Type", form, "Sec-Fetch-Site", "cross-site").problem(403, "cross_origin", "")
	var e struct{ Error struct{ Code string } }
	f.do("POST", "/v1/embeddings", `{}`, "Content-Type", "text/plain").want(415, &e)
	if e.Error.Code != "unsupported_media_type" {
		t.Errorf("embeddings as text: %+v", e)
	}
}

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func zstded(s string) string {
	w, _ := zstd.NewWriter(nil)
	return string(w.EncodeAll([]byte(s), nil))
}

func TestCompressedBodies(t *testing.T) {
	f := newFixture(t, Options{MaxBody: 4096, MaxImport: 1 << 20})
	const find, imp = "/v1/collections/docs/search", "/v1/collections/docs/documents/import"
	query, bomb := `{"q":"pancakes"}`, `{"q":"`+strings.Repeat("x", 100<<10)+`"}`
	large := strings.Repeat(`{"id":"a","title":"same again"}`+"\n", 50_000)
	for _, tt := range []struct {
		name, path, encoding, body, media string
		status                            int
	}{
		{"gzip", find, "gzip", gzipped(query), "application/json", 200},
		{"zstd", find, "zstd", zstded(query), "application/json", 200},
		{"identity", find, "identity", query, "application/json", 200},
		{"gzip bomb", find, "gzip", gzipped(bomb), "application/json", 413},
		{"zstd bomb", find, "zstd", zstded(bomb), "application/json", 413},
		{"not gzip", find, "gzip", query, "application/json", 400},
		{"cut gzip", find, "gzip", gzipped(query)[:20], "application/json", 400},
		{"not zstd", find, "zstd", query, "application/json", 400},
		{"unknown", find, "br", query, "application/json", 415},
		{"two", find, "gzip, gzip", gzipped(gzipped(query)), "application/json", 415},
		{"import", imp, "gzip", gzipped(`{"id":"z1","title":"x"}`), "application/x-ndjson", 200},
		{"import zstd", imp, "zstd", zstded(`[{"id":"z2","title":"x"}]`), "application/json", 200},
		{"import bomb", imp, "gzip", gzipped(large), "application/x-ndjson", 200}, // the header is out; the last line tells
	} {
		a := f.do("POST", tt.path, tt.body, "Content-Encoding", tt.encoding, "Content-Type", tt.media)
		if a.Code != tt.status {
			t.Errorf("%s: status %d, want %d: %s", tt.name, a.Code, tt.status, a.Body)
		}
		if tt.name == "import bomb" {
			lines := strings.Split(strings.TrimSpace(a.Body.String()), "\n")
			if last := lines[len(lines)-1]; !strings.Contains(last, `"too_large"`) || !strings.Contains(last, "import stopped") {
				t.Errorf("import bomb: last line %s", last)
			}
		}
	}
	if got := f.server.inFlight.Load(); got != 0 {
		t.Errorf("%d bytes of bodies are still counted as in memory", got)
	}
}

// TestBombsOfBlankLines: a few bytes that unpack to very many are refused soon, and what is before
// them is kept; honest bodies unpack to a few MiB of anything.
func TestBombsOfBlankLines(t *testing.T) {
	f := newFixture(t, Options{})
	const path = "/v1/collections/docs/documents/import"
	doc, blank := `{"id":"z1","title":"x"}`, strings.Repeat("\n", ratioFrom-1000)
	bomb := strings.Repeat(blank, 8)
	array := "[" + strings.Repeat(" ", len(bomb))
	for name, pack := range map[string]func(string) string{"gzip": gzipped, "zstd": zstded} {
		for media, body := range map[string]string{"application/x-ndjson": bomb, "application/json": array, "text/csv": "id,title\n" + bomb} {
			p := f.do("POST", path, pack(body), "Content-Encoding", name, "Content-Type", media).problem(413, "too_large", "")
			if !strings.Contains(p.Detail, "allowed: 100 for each beyond the first 16 MiB") {
				t.Errorf("%s, %s: %s", name, media, p.Detail)
			}
		}
		a := f.do("POST", path, pack(doc+blank+" \t\r\n"+doc), "Content-Encoding", name, "Content-Type", "application/x-ndjson")
		if want := fmt.Sprintf(`{"line":%d,"id":"z1",`, ratioFrom-1000+2); a.Code != 200 || !strings.Contains(a.Body.String(), want) {
			t.Errorf("%s, 16 MiB: %d %s, want 200 and %s", name, a.Code, a.Body, want)
		}
	}
	if a := f.do("POST", path, bomb+doc, "Content-Type", "application/x-ndjson"); a.Code != 200 {
		t.Errorf("blank lines that were sent: %d %s", a.Code, a.Body)
	}
}

func TestChunkedBodyOverTheLimit(t *testing.T) {
	f := newFixture(t, Options{MaxBody: 4096})
	r := f.request("POST", "/v1/collections/docs/search", io.MultiReader(strings.NewReader(`{"q":"`), strings.NewReader(strings.Repeat("x", 5000)), strings.NewReader(`"}`)))
	if r.ContentLength != -1 {
		t.Fatal("the body should have no known length")
	}
	f.send(r).problem(413, "too_large", "")
}

func TestBodiesInMemoryAreBounded(t *testing.T) {
	f := newFixture(t, Options{MaxInFlight: 64 << 10})
	a := f.do("POST", "/v1/collections/docs/documents", `{"text":"`+strings.Repeat("x", 100<<10)+`"}`)
	a.problem(503, "overloaded", "")
	f.do("POST", "/v1/collections/docs/documents", `{"text":"small"}`).want(201, nil)
	if got := f.server.inFlight.Load(); got != 0 {
		t.Errorf("%d bytes are still counted", got)
	}
}

// A sender of half a body must not take a slot from those who have sent theirs.
func TestSlowBodyHoldsNoSlot(t *testing.T) {
	f := newFixture(t, Options{SearchSlots: 1})
	addr, _ := f.serve()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/collections/docs/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"q\":")
	for f.server.inFlight.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	res, err := http.Get("http://" + addr + "/v1/collections/docs/search?q=pancakes")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("status %d, want 200", res.StatusCode)
	}
}

func TestStalledImportIsCutOff(t *testing.T) {
	f := newFixture(t, Options{IdleBody: 50 * time.Millisecond})
	addr, _ := f.serve()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/collections/docs/documents/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n{\"id\":\"s1\",\"title\":\"x\"}\n")
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	got, _ := io.ReadAll(conn)
	if !bytes.Contains(got, []byte(`"s1"`)) || !bytes.Contains(got, []byte("body_too_slow")) {
		t.Errorf("answer: %s", got)
	}
}

// TestErrorsPoint: an error names the value that is wrong from the top of the request.
func TestErrorsPoint(t *testing.T) {
	g := newGuarded(t, Options{})
	const path = "/v1/collections/docs/"
	for _, tt := range []struct{ method, path, body, pointer, says string }{
		{"POST", "/v1/keys", `{"name":"a","scopes":["keys:admin"],"expires":"yesterday"}`, "/expires", "expires: got \"yesterday\", allowed: a time like"},
		{"POST", "/v1/keys", `{"name":"a","scopes":["keys:admin"],"expires":5}`, "/expires", "expires: got 5, allowed: a time like"},
		{"POST", "/v1/keys", `{"name":"a","scopes":[]}`, "/scopes", "scopes: got none, "},
		{"POST", "/v1/keys", `{"name":"a","scopes":["keys:admin"],"expires":null,"rate_limit":-1}`, "/rate_limit", "rate_limit: got -1"},
	} {
		if p := g.do(tt.method, tt.path, tt.body).problem(400, "invalid_request", tt.pointer); !strings.HasPrefix(p.Detail, tt.says) {
			t.Errorf("%s: %s, want %s", tt.body, p.Detail, tt.says)
		}
	}
	for _, tt := range []struct{ path, body, pointer string }{
		{"search/batch", `{"searches":[{"q":"a"},{"q":5}]}`, "/searches/1/q"},
		{"search/batch", `{"searches":[{"q":"a"},{"limit":-1}]}`, "/searches/1/limit"},
		{"search/batch", `{"searches":[{"q":"a"},null]}`, "/searches/1"},
		{"search/batch", `{"searches":[{"q":"a"},[]]}`, "/searches/1"},
		{"documents", `[{"id":"x"},{"id":true}]`, "/1/id"},
		{"documents", `[{"id":"x"},{"id":"` + strings.Repeat("x", 600) + `"}]`, "/1/id"},
	} {
		var got struct {
			Results []struct {
				Error *itemAnswerErr `json:"error"`
			} `json:"results"`
		}
		g.do("POST", path+tt.path, tt.body).want(200, &got)
		if e := got.Results[1].Error; e == nil || len(e.Errors) != 1 || e.Errors[0].Pointer != tt.pointer {
			t.Errorf("%s: %+v, want the pointer %s", tt.body, e, tt.pointer)
		}
	}
	var one itemAnswer
	for _, tt := range []struct{ method, path, body, pointer string }{
		{"POST", "documents", `{"id":"x","text":"x","text":"y"}`, "/text"},
		{"POST", "documents", `{"id":"x","a":{"b":1,"c":{},"b":2}}`, "/a/b"},
		{"POST", "documents", `{"id":"x","a":[0,{"b/c":1,"b/c":2}]}`, "/a/1/b~1c"},
		{"POST", "documents", `{"id":"x","document":{"text":"x","text":"y"}}`, "/document/text"},
		{"PUT", "documents/x", `{"text":"x","a":[[{"b":1,"b":2}]]}`, "/a/0/0/b"},
		{"PATCH", "documents/a1", `{"a":{"b":1,"b":null}}`, "/a/b"},
	} {
		if p := g.do(tt.method, path+tt.path, tt.body).problem(400, "malformed_request", tt.pointer); !strings.HasSuffix(p.Detail, "given more than once") {
			t.Errorf("%s: %s", tt.body, p.Detail)
		}
	}
	for _, tt := range []struct{ method, path, body, pointer, detail string }{
		{"POST", "documents", `{"id":"x","n":1e400}`, "/n", "n: got 1e400"},
		{"POST", "documents", `{"id":"x","document":{"n":1e400}}`, "/document/n", "document.n: got 1e400"},
		{"POST", "documents", `{"id":"x","fields":{"n":1e400}}`, "/fields/n", "fields.n: got 1e400"},
		{"PUT", "documents/x", `{"a":{"b":[1,{"c":1e400}]}}`, "/a/b/1/c", "a.b[1].c: got 1e400"},
		{"PATCH", "documents/a1", `{"document":{"n":1e400}}`, "/document/n", "document.n: got 1e400"},
		{"POST", "documents", `{"a.b":[[0,1e400]]}`, "/a.b/0/1", "a.b[0][1]: got 1e400"},
		{"POST", "documents", `{"a/b":1e400}`, "/a~1b", "a/b: got 1e400"},
		{"POST", "documents", `{"a: b":1e400}`, "/a: b", "a: b: got 1e400"},
		{"POST", "documents", `{"id":"x","":1}`, "/", `"": got "", allowed: field names`},
		{"POST", "documents", `{"id":"x","in":{"":1}}`, "/in/", `in."": got "in.", allowed: field names`},
		{"POST", "documents", `{}`, "", "document: got {}, allowed: at least one field"},
		{"POST", "documents", `{"id":"x","text":" "}`, "", `document: got {"text":" "}, allowed: at least one field`},
		{"POST", "documents", `{"id":"x","document":{}}`, "/document", "document: got {}, allowed: at least one field"},
	} {
		p := g.do(tt.method, path+tt.path, tt.body).problem(400, "invalid_request", tt.pointer)
		if !strings.HasPrefix(p.Detail, tt.detail) || len(p.Errors) != 1 || !strings.HasPrefix(p.Errors[0].Detail, "got ") {
			t.Errorf("%s: %s, %+v", tt.body, p.Detail, p.Errors)
		}
	}
	var list itemList
	g.do("POST", path+"documents", `[{"n":1},{"n":[1e400]}]`).want(200, &list)
	if e := list.Results[1].Error; e == nil || len(e.Errors) != 1 || e.Errors[0].Pointer != "/1/n/0" {
		t.Errorf("an item of an array: %+v", e)
	}
	for body, pointer := range map[string]string{`{"id":"x","n":1e400}`: "/n", `{"id":"x","document":{"n":1e400}}`: "/document/n", `{"a.b":1,"a.b":2}`: "/a.b"} {
		if a := g.do("POST", path+"documents/import", body, "Content-Type", "application/x-ndjson"); !strings.Contains(a.Body.String(), `{"pointer":"`+pointer+`"`) {
			t.Errorf("import of %s: %s", body, a.Body)
		}
	}
	g.do("GET", path+"documents?a.b=1", "").problem(400, "invalid_request", "/a.b")
	if a := g.do("POST", path+"documents/import", `{"id":"x","a":{"b":1,"b":2}}`, "Content-Type", "application/x-ndjson"); !strings.Contains(a.Body.String(), `{"pointer":"/a/b"`) {
		t.Errorf("import of a repeated member: %s", a.Body)
	}
	if g.do("POST", path+"documents", `{"id":-123456789012345678901234567890,"text":"x"}`).want(201, &one); one.ID != "-123456789012345678901234567890" {
		t.Errorf("a long integer gives the id %q", one.ID)
	}
}

func TestTrailingSlash(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("PUT", "/v1/collections/docs/documents/a/", `{"title":"slash"}`)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/v1/collections/", "", 200, `"docs"`},
		{"HEAD", "/v1/collections/", "", 200, ""},
		{"GET", "/v1/collections/docs/", "", 200, `"docs"`},
		{"GET", "/v1/collections/docs/documents/", "", 400, "id: got"},
		{"POST", "/v1/collections/docs/documents/", `{"id":"b","title":"posted"}`, 201, "created"},
		{"GET", "/v1/models/", "", 200, "data"},
		{"GET", "/v1/collections/docs/documents/a/", "", 200, `"id":"a"`},
		{"GET", "/v1/collections/docs/documents/a", "", 200, `"slash"`},
		{"PUT", "/v1/collections/docs/documents/x%2F", `{"title":"of the id"}`, 201, `"id":"x/"`},
		{"GET", "/v1/collections/docs/documents/x%2F", "", 200, `"x/"`},
		{"GET", "/v1/collections/docs/documents/x/", "", 404, "document_not_found"},
		{"PUT", "/v1/collections/docs/documents/dir/y/", `{"title":"below"}`, 201, `"id":"dir/y"`},
		{"DELETE", "/v1/collections/docs/documents/dir/y/", "", 204, ""},
		{"GET", "/v1/models/none/", "", 404, "model"},
		{"GET", "/v1/collections/docs/search/?q=slash", "", 200, ""},
		{"POST", "/v1/collections/docs/search/", `{"q":"slash"}`, 200, ""},
		{"POST", "/v1/collections/docs/search//", `{"q":"slash"}`, 404, "route_not_found"},
		{"POST", "/v1/embeddings/", `{}`, 400, `{"error":{`}, // in the shape of that route
		{"DELETE", "/v1/collections/none/", "", 404, "collection_not_found"},
		{"GET", "/livez/", "", 200, ""},
		{"GET", "/docs/", "", 308, ""},
		{"GET", "/nothing/", "", 404, "route_not_found"},
	} {
		a := f.do(tt.method, tt.path, tt.body)
		if a.Code != tt.status || !strings.Contains(a.Body.String(), tt.want) {
			t.Errorf("%s %s: %d %.200s, want %d and %s", tt.method, tt.path, a.Code, a.Body, tt.status, tt.want)
		}
	}
}

// TestLinesArePointedToTheImport: NDJSON that is sent to the route of single documents.
func TestLinesArePointedToTheImport(t *testing.T) {
	f := newFixture(t, Options{})
	const path, lines = "/v1/collections/docs/documents", "{\"id\":\"n1\"}\n{\"id\":\"n2\"}\n"
	for media, code := range map[string]string{"application/x-ndjson": "unsupported_media_type", "application/json": "malformed_request"} {
		status := map[string]int{"unsupported_media_type": 415, "malformed_request": 400}[code]
		if p := f.do("POST", path, lines, "Content-Type", media).problem(status, code, ""); !strings.Contains(p.Detail, "POST "+path+"/import") {
			t.Errorf("as %s: %s", media, p.Detail)
		}
	}
	for media, body := range map[string]string{"text/html": "<p>x", "application/json": `{"id":"n1"} x`} {
		if a := f.do("POST", path, body, "Content-Type", media); strings.Contains(a.Body.String(), "/import") {
			t.Errorf("%s as %s: %s", body, media, a.Body)
		}
	}
}
