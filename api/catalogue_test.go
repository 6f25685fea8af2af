package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
)

// TestBadDocumentIDs: what is refused as an id in a body is refused on every way in.
func TestBadDocumentIDs(t *testing.T) {
	f := overEngine(t, Options{})
	f.do("PUT", "/v1/collections/docs", "").want(201, nil)
	const path = "/v1/collections/docs/documents"
	for name, id := range map[string]string{
		"empty": `""`, "NUL": `"a\u0000b"`, "line end": `"a\nb"`, "escape": `"\u001b[2J"`, "DEL": `"a\u007f"`,
		"right-to-left override": `"\u202Ecod.exe"`, "isolate": `"\u2066a"`, "too long": `"` + strings.Repeat("x", 513) + `"`,
		"not UTF-8": "\"\xff\"", "lone surrogate": `"\ud800"`, "two high surrogates": `"\ud800\ud800"`, "a fraction": `1.5`, "true": `true`, "null in an array": `[null]`, "an object": `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"id":` + id + `,"text":"fine"}`
			if a := f.do("POST", path, body); a.Code != 400 {
				t.Errorf("POST: %d %s", a.Code, a.Body)
			}
			var list itemList
			if a := f.do("POST", path, `[`+body+`]`); a.Code != 400 && (json.Unmarshal(a.Body.Bytes(), &list) != nil || list.Failed != 1) {
				t.Errorf("POST of an array: %d %s", a.Code, a.Body)
			}
			if a := f.do("POST", path+"/import", body, "Content-Type", "application/x-ndjson"); !strings.Contains(a.Body.String(), `"status":"error"`) {
				t.Errorf("import: %d %s", a.Code, a.Body)
			}
		})
	}
	for _, id := range []string{".", "..", "../../etc/passwd", `..\x`, "con", "a%2fb"} { // ids are keys of the store, never paths
		quoted, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		f.do("POST", path, `{"id":`+string(quoted)+`,"text":"fine"}`).want(201, nil)
		var list itemList
		if f.do("POST", path+"/delete", `{"ids":[`+string(quoted)+`]}`).want(200, &list); list.Failed != 0 {
			t.Errorf("%q is not deleted: %+v", id, list)
		}
	}
}

// TestRefusedVectorLeavesNothing: a vector is checked before anything of its document is written.
func TestRefusedVectorLeavesNothing(t *testing.T) {
	f := overEngine(t, Options{})
	f.do("POST", "/v1/collections", `{"name":"own","settings":{"embedder":{"source":"given","dimension":2}}}`).want(201, nil)
	const path = "/v1/collections/own/documents"
	f.do("PUT", path+"/old", `{"text":"harbour","vector":[1,0]}`).want(201, nil)
	for name, vector := range map[string]string{
		"too few": `[1]`, "too many": `[1,2,3]`, "none": `[]`, "zeros": `[0,0]`, "negative zeros": `[-0.0,0]`, "beyond float32": `[1e39,0]`, "beyond float64": `[1e400,0]`,
		"NaN": `[NaN,0]`, "infinity": `[Infinity,0]`, "texts": `["1","0"]`, "nested": `[[[1,0]]]`, "null inside": `[null,0]`, "an object": `{"0":1,"1":0}`, "underflows to zeros": `[1e-60,0]`,
	} {
		t.Run(name, func(t *testing.T) {
			for id, method := range map[string]string{"new": "PUT", "old": "PATCH"} {
				if a := f.do(method, path+"/"+id, `{"text":"harbour","vector":`+vector+`}`); a.Code != 400 || !strings.Contains(a.Body.String(), `"errors"`) && name != "NaN" && name != "infinity" {
					t.Errorf("%s %s: %d %s, want 400 and the member", method, id, a.Code, a.Body)
				}
			}
			if a := f.do("POST", "/v1/collections/own/search", `{"vector":`+vector+`}`); a.Code != 400 && name != "none" {
				t.Errorf("search: %d %s", a.Code, a.Body)
			}
		})
	}
	f.do("GET", path+"/new", "").problem(404, "document_not_found", "")
	var c struct{ Documents int }
	if f.do("GET", "/v1/collections/own", "").want(200, &c); c.Documents != 1 {
		t.Errorf("%d documents, want 1", c.Documents)
	}
	for _, body := range []string{`{"vector":[1,0]}`, `{"q":"harbour"}`} {
		var r struct{ Hits []struct{ ID string } }
		if f.do("POST", "/v1/collections/own/search", body).want(200, &r); len(r.Hits) != 1 || r.Hits[0].ID != "old" {
			t.Errorf("%s finds %+v, want the old document", body, r.Hits)
		}
	}
	f.do("PUT", path+"/small", `{"text":"denormal","vector":[1e-40,0]}`).want(201, nil)
	if a := f.do("GET", path+"/small?vectors=true", "").want(200, nil); !strings.Contains(a.Body.String(), `"vector":[1,0]`) {
		t.Errorf("a denormal vector: %s", a.Body)
	}
}

// TestLogLinesAreWhole: nothing that a client sends begins a line of the log.
func TestLogLinesAreWhole(t *testing.T) {
	f := newFixture(t, Options{})
	const forged = "\n{\"level\":\"ERROR\",\"msg\":\"forged\"}\r\n"
	paths := []string{"/v1/collections/" + url.PathEscape(forged), "/v1/collections/docs/documents/" + url.PathEscape(forged), "/" + url.PathEscape(forged)}
	for _, path := range paths {
		r := f.request("GET", path, nil)
		r.Header = http.Header{"User-Agent": {forged}, "X-Request-Id": {forged}, "X-Forwarded-For": {forged}, "Authorization": {"Bearer " + forged}}
		f.send(r)
	}
	lines := strings.Split(strings.TrimSpace(f.log.String()), "\n")
	if len(lines) != len(paths) {
		t.Errorf("%d lines for %d requests:\n%s", len(lines), len(paths), f.log)
	}
	for _, line := range lines {
		var l struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Msg != "request" {
			t.Errorf("line %s: %v", line, err)
		}
	}
}

// TestSmallMembersInMemory: a body of very many small values does not take many times its size.
func TestSmallMembersInMemory(t *testing.T) {
	f := newFixture(t, Options{})
	const size = 1 << 20
	for name, tt := range map[string]struct{ path, open, item, end string }{
		"objects in an array of documents": {"/v1/collections/docs/documents", "[", `{"":0},`, "{}]"},
		"objects in a document":            {"/v1/collections/docs/documents", `{"a":[`, `{"":0},`, "0]}"},
		"searches":                         {"/v1/collections/docs/search/batch", `{"searches":[`, `{},`, "{}]}"},
		"vector":                           {"/v1/collections/docs/search", `{"vector":[`, `0,`, "0]}"},
	} {
		body := tt.open + strings.Repeat(tt.item, size/len(tt.item)) + tt.end
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := f.do("POST", tt.path, body)
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		if used > 128<<20 || a.Code >= 500 {
			t.Errorf("%s: %d bytes allocated for %d, status %d", name, used, len(body), a.Code)
		}
	}
}
