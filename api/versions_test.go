package api

import (
	"fmt"
	"testing"

	"example.com/searchd/search"
)

func TestVersionRoutes(t *testing.T) {
	f := overEngine(t, Options{})
	f.do("PUT", "/v1/collections/docs", `{"settings":{"versions":{"keep":2}}}`).want(201, nil)
	at := "/v1/collections/docs/versions/a%2Fb%20c"
	doc := "/v1/collections/docs/documents/a%2Fb%20c"
	f.do("PUT", doc, `{"text":"one"}`).want(201, nil)
	var list search.VersionList
	f.do("GET", at, "").want(200, &list)
	if list.ID != "a/b c" || list.Revision == 0 || list.Keep != 2 || len(list.Versions) != 0 {
		t.Errorf("list: %+v", list)
	}
	f.do("PUT", doc, `{"text":"two"}`).want(200, nil)
	f.do("DELETE", doc, "").want(204, nil)
	f.do("GET", at, "").want(200, &list)
	if len(list.Versions) != 2 || !list.Versions[0].Deleted {
		t.Fatalf("list: %+v", list)
	}
	last, first := list.Versions[0].Revision, list.Versions[1].Revision
	var one search.Version
	f.do("GET", fmt.Sprintf("%s?revision=%d", at, first), "").want(200, &one)
	if string(one.Fields) != `{"text":"one"}` || one.Revision != first {
		t.Errorf("version: %+v", one)
	}
	for _, bad := range []string{"0", "-1", "x", "1.5", "99999999999999999999"} {
		f.do("GET", at+"?revision="+bad, "").problem(400, "invalid_request", "/revision")
	}
	f.do("GET", at+"?version=1", "").problem(400, "invalid_request", "/version")
	f.do("GET", at+"?revision=77", "").problem(404, "document_not_found", "")
	f.do("GET", "/v1/collections/docs/versions/x", "").problem(404, "document_not_found", "")
	f.do("GET", "/v1/collections/nix/versions/x", "").problem(404, "collection_not_found", "")

	body := func(revision uint64) string { return fmt.Sprintf(`{"revision":%d}`, revision) }
	for _, bad := range []string{`{}`, `{"revision":0}`, `{"revision":-1}`} {
		f.do("POST", at, bad).problem(400, "invalid_request", "/revision")
	}
	f.do("POST", at, `{"revision":"1"}`).want(400, nil)
	f.do("POST", at, `{"revision":1,"x":1}`).problem(400, "invalid_request", "/x")
	f.do("POST", at, body(77)).problem(404, "document_not_found", "")
	f.do("POST", at, body(first), "If-Match", `"1"`).problem(412, "revision_conflict", "")
	a := f.do("POST", at, body(first), "If-None-Match", "*").want(201, nil)
	if a.Header().Get("Location") != doc {
		t.Errorf("Location: %s", a.Header().Get("Location"))
	}
	f.do("POST", at, body(last), "If-None-Match", "*").problem(412, "revision_conflict", "")
	f.do("POST", at, body(last), "If-Match", a.Header().Get("ETag")).want(200, nil)
	var stored search.StoredDocument
	f.do("GET", doc, "").want(200, &stored)
	if string(stored.Fields) != `{"text":"two"}` {
		t.Errorf("restored: %s", stored.Fields)
	}
	f.do("DELETE", at, "").want(204, nil)
	f.do("DELETE", at, "").want(204, nil)
	list = search.VersionList{}
	f.do("GET", at, "").want(200, &list)
	if len(list.Versions) != 0 {
		t.Errorf("after DELETE: %+v", list)
	}
	f.do("PATCH", "/v1/collections/docs", `{"settings":{"versions":{"keep":0}}}`).problem(400, "invalid_request", "/versions/keep")
	f.do("PATCH", "/v1/collections/docs", `{"settings":{"versions":null}}`).want(200, nil)
	f.do("GET", at, "").want(200, &list)
	if list.Keep != 0 {
		t.Errorf("without the setting: %+v", list)
	}
}

func TestNoVersions(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("GET", "/v1/collections/docs/versions/a1", "").problem(422, "not_supported", "")
	f.do("POST", "/v1/collections/docs/versions/a1", `{"revision":1}`).problem(422, "not_supported", "")
	f.do("DELETE", "/v1/collections/docs/versions/a1", "").problem(422, "not_supported", "")
}
