package api

import (
	"reflect"
	"strings"
	"testing"
)

// What is wrong in a body is pointed at from its top, and said with the value and with what would
// be right.
func TestWrongMembers(t *testing.T) {
	f := overEngine(t, Options{})
	f.do("PUT", "/v1/collections/docs", `{"settings":{"fields":{"a":{"type":"text"},"n":{"type":"filter"}}}}`).want(201, nil)
	const query, settings, keys = "/v1/collections/docs/search", "/v1/collections/new", "/v1/collections/docs/documents/delete"
	for _, tt := range []struct{ path, body, code, pointer, detail string }{
		{query, `{"q":"page","Limit":1}`, "invalid_request", "/Limit", `member "Limit": unknown, the nearest name is "limit"`},
		{query, `{"q":"page","limit":3,"Limit":1,"LIMIT":2}`, "invalid_request", "/Limit", `member "Limit": unknown, the nearest name is "limit"`},
		{query, `{"query":"page"}`, "invalid_request", "/query", `member "query": unknown, the nearest name is "q"`},
		{query, `{"q":"page","minSimilarity":1}`, "invalid_request", "/minSimilarity", `member "minSimilarity": unknown, the nearest name is "min_similarity"`},
		{query, `{"q":"page","top_k":1}`, "invalid_request", "/top_k", `member "top_k": unknown, allowed: q, syntax, spelling, unfinished, mode, alpha`},
		{query, `{"q":"page","sort":[{"field":"n"},{"Field":"n"}]}`, "invalid_request", "/sort/1/Field", `member "Field": unknown, the nearest name is "field"`},
		{query, `{"q":"page","facets":[{"field":"n","ranges":[{"form":1}]}]}`, "invalid_request", "/facets/0/ranges/0/form", `member "form": unknown, the nearest name is "from"`},
		{query, `{"q":"page","limit":"3"}`, "invalid_request", "/limit", `limit: got "3", allowed: an integer`},
		{query, `{"q":"page","limit":1.5}`, "invalid_request", "/limit", `limit: got 1.5, allowed: an integer`},
		{query, `{"q":["page"]}`, "invalid_request", "/q", `q: got an array, allowed: a string`},
		{query, `{"q":"page","highlight":1}`, "invalid_request", "/highlight", `highlight: got 1, allowed: true or false`},
		{query, `["q"]`, "malformed_request", "", `body: got an array, allowed: an object`},
		{query, `null`, "malformed_request", "", `body: got null, allowed: an object`},
		{settings, `null`, "malformed_request", "", `body: got null, allowed: an object`},
		{query, `{"q":"page","filter":"n ="}`, "invalid_request", "/filter", `filter: got "n =": at byte 3: expected a value`},
		{keys, `{"filter":"n ="}`, "invalid_request", "/filter", `filter: got "n =": at byte 3: expected a value`},
		{settings, `{"settings":{"fields":{"a":{"wieght":2}}}}`, "invalid_request", "/settings/fields/a/wieght", `member "wieght": unknown, the nearest name is "weight"`},
		{settings, `{"settings":{"fields":{"a":{"type":"text","weight":"2"}}}}`, "invalid_request", "/settings/fields/a/weight", `settings.fields.a.weight: got "2", allowed: a number`},
		{settings, `{"settings":{"fields":{"a.b/c":{"type":7}}}}`, "invalid_request", "/settings/fields/a.b~1c/type", `settings.fields.a.b/c.type: got 7, allowed: a string`},
		{settings, `{"settings":{"fields":{"a":{"type":"text","type":"filter"}}}}`, "malformed_request", "/settings/fields/a/type", `member "type": given more than once`},
		{settings, `{"query":{}}`, "invalid_request", "/query", `member "query": unknown, allowed: name, settings`},
		{settings, `{"settings":{"Fields":{}}}`, "invalid_request", "/settings/Fields", `member "Fields": unknown, the nearest name is "fields"`},
	} {
		method := "POST"
		if tt.path == settings {
			method = "PUT"
		}
		p := f.do(method, tt.path, tt.body).problem(400, tt.code, tt.pointer)
		if !strings.HasPrefix(p.Detail, tt.detail) || strings.Count(p.Detail, "filter:") > 1 {
			t.Errorf("%s: detail %q, want %q", tt.body, p.Detail, tt.detail)
		}
		if len(p.Errors) > 0 && !strings.HasSuffix(p.Detail, p.Errors[0].Detail) {
			t.Errorf("%s: detail %q, of the item %q", tt.body, p.Detail, p.Errors[0].Detail)
		}
	}
	f.do("GET", query+"?q=x&limt=3", "").problem(400, "invalid_request", "/limt")
	if p := f.do("POST", "/v1/collections", `{"name":"docs"}`).problem(409, "collection_exists", ""); p.Detail != `collection exists: "docs"` {
		t.Errorf("detail %q, want it once", p.Detail)
	}
	p := f.do("GET", query+"?q=x&Limit=3", "").problem(400, "invalid_request", "/Limit")
	if want := `parameter "Limit": unknown, the nearest name is "limit"`; p.Detail != want {
		t.Errorf("detail %q, want %q", p.Detail, want)
	}
	for body, got := range map[string]string{"null": "null", " []": "an array", "5": "5"} {
		if p := f.do("PATCH", "/v1/collections/docs", body).problem(400, "malformed_request", ""); p.Detail != "body: got "+got+", allowed: an object" {
			t.Errorf("PATCH of %s: %s", body, p.Detail)
		}
	}
	f.do("PATCH", "/v1/collections/docs", `{"Settings":{}}`).problem(400, "invalid_request", "/Settings")
	f.do("POST", query, `{"q":"page","sort":["n:desc"],"fields":{"a":2},"facets":["n",{"field":"a","limit":2}]}`).want(200, nil) // the other forms
}

// What the walk lets pass, encoding/json takes.
func TestMembersOf(t *testing.T) {
	type inner struct {
		A int `json:"a"`
		B int
	}
	type outer struct {
		inner
		C    []byte            `json:"c,omitempty"`
		D    map[string]uint8  `json:"d"`
		E    float32           `json:"e"`
		F    any               `json:"f"`
		None string            `json:"-"`
		Map  map[string]*inner `json:"map"`
		own  int
	}
	for _, tt := range []struct {
		body string
		ok   bool
	}{
		{`{"a":1,"B":2,"c":"AA==","d":{"x":255},"e":1.5,"f":{"a":[1]},"map":{"A":{"a":3}}}`, true},
		{`{"a":null,"c":null,"d":null,"e":null,"f":null,"map":{"x":null}}`, true},
		{`null`, false},
		{`{"A":1}`, false}, {`{"b":1}`, false}, {`{"own":1}`, false}, {`{"None":""}`, false}, {`{"-":""}`, false},
		{`{"d":{"x":256}}`, false}, {`{"d":{"x":-1}}`, false}, {`{"e":1e300}`, false}, {`{"c":1}`, false}, {`{"map":[]}`, false},
		{`{"map":{"x":{"A":1}}}`, false}, {`{"a":1`, false}, {`{"a"`, false}, {`{"a":`, false}, {`{`, false}, {`[`, false}, {``, false}, {`{}{}`, false},
	} {
		var v outer
		v.own = 1
		if err := decodeStrict([]byte(tt.body), &v); (err == nil) != tt.ok {
			t.Errorf("%s: %v, want success %v", tt.body, err, tt.ok)
		}
	}
	if got := membersOf(reflect.TypeFor[inner]()).names; !reflect.DeepEqual(got, []string{"a", "B"}) {
		t.Errorf("members %v, want a and B", got)
	}
}

// TestManyElements: nobody asks for so many, and each would take several times the memory of its
// JSON.
func TestManyElements(t *testing.T) {
	var q struct {
		Texts []string `json:"texts"`
		Any   []any    `json:"any"`
	}
	array := func(n int) string { return "[" + strings.Repeat(`"",`, n-1) + `""]` }
	if err := decodeStrict([]byte(`{"texts":`+array(maxElements)+`}`), &q); err != nil || len(q.Texts) != maxElements {
		t.Errorf("the most: %v, %d texts", err, len(q.Texts))
	}
	q.Texts = nil
	err := decodeStrict([]byte(`{"texts":`+array(maxElements+1)+`}`), &q)
	if items := problemItems(err); len(items) != 1 || items[0].Pointer != "/texts" || q.Texts != nil {
		t.Errorf("one more: %v, %d texts", err, len(q.Texts))
	}
	if err := decodeStrict([]byte(`{"any":`+array(maxElements+1)+`}`), &q); err == nil {
		t.Error("one more of any kind is decoded")
	}
}
