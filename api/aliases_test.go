package api

import "testing"

func TestAliasRoutes(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("GET", "/v1/aliases", "").want(200, nil)
	f.do("PUT", "/v1/aliases/live", `{"collection":"docs"}`).want(201, nil)
	f.do("PUT", "/v1/aliases/live", `{"alias":"live","collection":"docs"}`).want(200, nil)
	f.do("GET", "/v1/collections/live/documents/a1", "").want(200, nil)
	f.do("GET", "/v1/collections/live/search?q=pancakes", "").want(200, nil)
	var a struct{ Alias, Collection string }
	if f.do("GET", "/v1/aliases/live", "").want(200, &a); a.Alias != "live" || a.Collection != "docs" {
		t.Errorf("alias = %+v", a)
	}
	f.do("PUT", "/v1/aliases/live", `{"alias":"other","collection":"docs"}`).problem(400, "invalid_request", "/alias")
	f.do("PUT", "/v1/aliases/live", `{}`).problem(400, "invalid_request", "/collection")
	f.do("PUT", "/v1/aliases/live", `{"collection":"none"}`).problem(404, "collection_not_found", "")
	f.do("PUT", "/v1/aliases/docs", `{"collection":"docs"}`).problem(409, "collection_exists", "")
	f.do("DELETE", "/v1/aliases/live", "").want(204, nil)
	f.do("DELETE", "/v1/aliases/live", "").problem(404, "alias_not_found", "")
	f.do("GET", "/v1/aliases/live", "").problem(404, "alias_not_found", "")
}
