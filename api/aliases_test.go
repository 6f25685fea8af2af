package api

import (
	"strings"
	"testing"
)

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
	const rule = "1 to 64 letters, digits, '-' and '_', beginning with a letter or digit"
	for _, name := range []string{"", ".", "a b", "a/b", strings.Repeat("a", 65), strings.Repeat("a", 200)} {
		if p := f.do("PUT", "/v1/aliases/live", `{"collection":"`+name+`"}`).problem(400, "invalid_request", "/collection"); !strings.HasSuffix(p.Detail, rule) {
			t.Errorf("an alias of %q: %s", name, p.Detail)
		}
	}
	for path, pointer := range map[string]string{"aliases/%2e": "/alias", "aliases/a%2Fb": "/alias", "collections/%2e": "/collection", "collections/a%5cb": "/collection", "collections/" + strings.Repeat("a", 200): "/collection"} {
		if p := f.do("GET", "/v1/"+path, "").problem(400, "invalid_request", pointer); !strings.HasSuffix(p.Detail, rule) {
			t.Errorf("GET %s: %s", path, p.Detail)
		}
	}
	f.do("PUT", "/v1/aliases/live", `{"collection":"none"}`).problem(404, "collection_not_found", "")
	f.do("PUT", "/v1/aliases/docs", `{"collection":"docs"}`).problem(409, "collection_exists", "")
	f.do("DELETE", "/v1/aliases/live", "").want(204, nil)
	f.do("DELETE", "/v1/aliases/live", "").problem(404, "alias_not_found", "")
	f.do("GET", "/v1/aliases/live", "").problem(404, "alias_not_found", "")
}
