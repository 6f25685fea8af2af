package api

import (
	"strings"
	"testing"
)

// TestGivenVectors: vectors come in beside the document and in it, go out where they are asked for,
// and come back from an export as they were.
func TestGivenVectors(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("POST", "/v1/collections", `{"name":"own","settings":{"embedder":{"source":"given","dimension":2}}}`).want(201, nil)
	own := "/v1/collections/own/documents"
	f.do("POST", own, `[{"id":"flat","text":"one","vector":[3,4]},{"id":"beside","document":{"text":"two"},"vector":[0,1]},{"id":"within","document":{"text":"three","vector":[1,0]}},
		{"id":"several","document":{"text":"four"},"vectors":[[1,0],{"vector":[0,2],"field":"text","start":1,"end":3}]}]`).want(200, nil)
	has := func(a answer, parts ...string) {
		t.Helper()
		a.want(200, nil)
		for _, p := range parts {
			if !strings.Contains(a.Body.String(), p) {
				t.Errorf("no %s in %s", p, a.Body)
			}
		}
	}
	has(f.do("GET", own+"/flat?vectors=true", ""), `"vector":[0.6,0.8]`, `"document":{"text":"one"}`)
	if a := f.do("GET", own+"/flat", ""); strings.Contains(a.Body.String(), "vector") {
		t.Errorf("not asked for: %s", a.Body)
	}
	has(f.do("GET", own+"?vectors=true", ""), `"vector":[0,1]`, `"vectors":[{"vector":[1,0]},{"vector":[0,1],"field":"text","start":1,"end":3}]`)
	export := f.do("GET", own+"/export", "")
	has(export, `"vector":[0.6,0.8]`)
	f.do("POST", "/v1/collections", `{"name":"copy","settings":{"embedder":{"source":"given","dimension":2}}}`).want(201, nil)
	f.do("POST", "/v1/collections/copy/documents/import", export.Body.String(), "Content-Type", "application/x-ndjson").want(200, nil)
	again := f.do("POST", own+"/import", export.Body.String(), "Content-Type", "application/x-ndjson")
	if n := strings.Count(again.Body.String(), `"unchanged"`); n != 4 {
		t.Errorf("imported again: %s", again.Body)
	}
	if a, b := f.do("GET", "/v1/collections/copy/documents/several?vectors=true", ""), f.do("GET", own+"/several?vectors=true", ""); after(a.Body.String(), `"document"`) != after(b.Body.String(), `"document"`) {
		t.Errorf("copied %s, was %s", a.Body, b.Body)
	}
	has(f.do("PATCH", own+"/flat", `{"year":2020}`), `"updated"`)
	has(f.do("GET", own+"/flat?vectors=true", ""), `"vector":[0.6,0.8]`, `"year":2020`)
	has(f.do("PATCH", own+"/flat", `{"vector":[0,5]}`), `"updated"`)
	has(f.do("GET", own+"/flat?vectors=true", ""), `"vector":[0,1]`)
	has(f.do("PATCH", own+"/flat", `{"vector":null}`), `only words and filters can find`)
	if a := f.do("GET", own+"/flat?vectors=true", ""); strings.Contains(a.Body.String(), "vector") {
		t.Errorf("removed: %s", a.Body)
	}
	has(f.do("POST", "/v1/collections/own/search", `{"vector":[1,0.1]}`), `"id":"within"`)
	has(f.do("POST", "/v1/search", `{"searches":[{"collection":"own","query":{"vector":[1,0.1]}}]}`), `"id":"within"`)
	for _, tt := range []struct{ method, path, body, pointer, detail string }{
		{"PUT", own + "/x", `{"text":"a","vector":[1]}`, "/vector", "1 numbers"},
		{"PUT", own + "/x", `{"document":{"text":"a"},"vectors":[[1,0],[0,0]]}`, "/document/vectors/1", "zeros"},
		{"PUT", own + "/x", `{"document":{"text":"a","vector":[1,0]},"vector":[1,0]}`, "", "given in the document and beside it"},
		{"POST", "/v1/collections/own/search", `{"vector":[1]}`, "/vector", "the dimension"},
		{"POST", "/v1/collections/own/search", `{"vector":["1",2]}`, "/vector/0", "a number"},
		{"POST", "/v1/collections/own/search", `{"vector":[1e39,2]}`, "/vector/0", "a number"},
		{"PATCH", "/v1/collections/own", `{"settings":{"embedder":null}}`, "/settings/embedder", "Re-embed"},
		{"POST", "/v1/collections", `{"name":"no","settings":{"embedder":{"source":"given"}}}`, "/settings/embedder/dimension", "1 to 8192"},
	} {
		a := f.do(tt.method, tt.path, tt.body)
		if a.Code < 400 || a.Code >= 500 || !strings.Contains(a.Body.String(), tt.detail) || !strings.Contains(a.Body.String(), `"pointer":"`+tt.pointer+`"`) && tt.pointer != "" {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, a.Code, a.Body)
		}
	}
	// Where vectors are not given, a member of that name is a field as any other.
	f.do("PUT", "/v1/collections/docs/documents/plain", `{"text":"a","vector":[1,2,3]}`).want(201, nil)
	has(f.do("GET", "/v1/collections/docs/documents/plain", ""), `"vector":[1,2,3]`)
}

// after returns what follows a mark in a text.
func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}
