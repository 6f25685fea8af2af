package api

import (
	"strconv"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestCopyRoutes copies a collection from one server to another.
func TestCopyRoutes(t *testing.T) {
	from, to := overEngine(t, Options{}), overEngine(t, Options{})
	from.do("PUT", "/v1/collections/docs", `{"settings":{"synonyms":["tv => television"]}}`).want(201, nil)
	from.do("PUT", "/v1/collections/docs/documents/a", `{"text":"A kitten sleeps."}`).want(201, nil)
	original := from.do("GET", "/v1/collections/docs/copy", "").want(200, nil).Body.String()
	var info search.CollectionInfo
	from.do("GET", "/v1/collections/docs", "").want(200, &info)
	path := "/v1/collections/docs/copy/" + info.Incarnation
	to.do("PUT", path+"x", original).problem(400, "invalid_request", "/of")
	to.do("PUT", path, `{"settings":{},"colour":1}`).problem(400, "invalid_request", "/colour")
	to.do("PUT", path, original).want(204, nil)
	var list struct {
		Documents []search.CopyDigest
		Next      string
	}
	const digests, stored = "/v1/collections/docs/documents/digests", "/v1/collections/docs/documents/stored"
	from.do("POST", digests, `{"limit":1}`).want(200, &list)
	a := from.do("POST", stored, `{"ids":["a"]}`).want(200, nil)
	if n, err := strconv.Atoi(a.Header().Get("Documents-Count")); err != nil || n != 1 {
		t.Errorf("%d documents, %v, want 1", n, err)
	}
	const binary = "application/octet-stream"
	to.do("POST", path+"/documents", a.Body.String()).problem(415, "unsupported_media_type", "")
	to.do("POST", path+"/documents", a.Body.String()[1:], "Content-Type", binary).problem(400, "invalid_request", "")
	to.do("POST", path+"/documents", a.Body.String(), "Content-Type", binary).want(204, nil)
	if p := to.do("PUT", "/v1/collections/docs/documents/b", `{"text":"x"}`).problem(409, "task_running", ""); !strings.Contains(p.Detail, "searchd migrate") {
		t.Errorf("a write meanwhile: %s", p.Detail)
	}
	want := list.Documents
	if to.do("POST", digests, `{"ids":["a"]}`).want(200, &list); len(want) != 1 || len(list.Documents) != 1 || list.Documents[0] != want[0] || want[0].Digest == "" {
		t.Errorf("digests %+v, want %+v", list.Documents, want)
	}
	to.do("POST", digests, `{"ids":["a"],"limit":1}`).problem(400, "invalid_request", "/ids")
	to.do("POST", digests, `{"limit":1001}`).problem(400, "invalid_request", "/limit")
	to.do("POST", digests, `{"cursor":"mine"}`).problem(400, "invalid_request", "/cursor")
	to.do("POST", stored, `{"ids":[]}`).problem(400, "invalid_request", "/ids")
	to.do("POST", stored, `{"ids":["`+strings.Repeat(`a","`, 1024)+`a"]}`).problem(400, "invalid_request", "/ids")
	to.do("GET", "/v1/collections/docs", "").want(200, &info)
	to.do("DELETE", path+"x", "").problem(400, "invalid_request", "/of")
	to.do("DELETE", path, "").want(204, nil)
	to.do("PUT", path, original).problem(409, "collection_exists", "")
	var r search.Response
	if to.do("GET", "/v1/collections/docs/search?q=kitten", "").want(200, &r); len(r.Hits) != 1 || r.Hits[0].ID != "a" || info.CopyOf == "" {
		t.Errorf("hits %+v in %+v", r.Hits, info)
	}
	newFixture(t, Options{}).do("GET", "/v1/collections/docs/copy", "").problem(422, "not_supported", "")
}
