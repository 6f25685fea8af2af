package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search"
)

// A write between the check of If-Match and the deletion makes the deletion fail.
func TestDeleteIsAtomic(t *testing.T) {
	f := newFixture(t, Options{})
	const path = "/v1/collections/docs/documents/a1"
	tag := f.do("GET", path, "").want(200, nil).Header().Get("ETag")
	f.engine.Hook = func(ctx context.Context, method string) error {
		if method == "DeleteDocument" {
			f.engine.Hook = nil
			f.do("PUT", path, `{"title":"written meanwhile"}`).want(200, nil)
		}
		return nil
	}
	f.do("DELETE", path, "", "If-Match", tag).problem(412, "revision_conflict", "")
	f.do("GET", path, "").want(200, nil)
	f.engine.Hook = func(ctx context.Context, method string) error {
		if method == "DeleteDocument" {
			f.engine.Hook = nil
			f.do("DELETE", path, "").want(204, nil)
		}
		return nil
	}
	f.do("DELETE", path, "", "If-Match", "*").problem(412, "revision_conflict", "")
	f.do("DELETE", "/v1/collections/docs/documents/export", "", "If-None-Match", "*").problem(400, "malformed_request", "")
}

// BEIR's corpus.jsonl goes in as it is.
func TestUnderscoreID(t *testing.T) {
	for _, tt := range []struct{ body, id, fields string }{
		{`{"_id":"d1","title":"T","text":"x","metadata":{}}`, "d1", `{"title":"T","text":"x","metadata":{}}`},
		{`{"_id":7,"text":"x"}`, "7", `{"text":"x"}`},
		{`{"_id":"d1","id":"other","text":"x"}`, "d1", `{"id":"other","text":"x"}`},
		{`{"_id":null,"id":"a","text":"x"}`, "a", `{"_id":null,"text":"x"}`},
	} {
		d, err := parseDocument([]byte(tt.body))
		if err != nil || d.ID != tt.id || string(d.Fields) != tt.fields {
			t.Errorf("%s: id %q, fields %s, %v, want %q, %s", tt.body, d.ID, d.Fields, err, tt.id, tt.fields)
		}
	}
	f := newFixture(t, Options{})
	f.do("POST", "/v1/collections/docs/documents", `{"_id":true,"text":"x"}`).problem(400, "invalid_request", "/_id")
	got := summary(importLines(t, f.do("POST", importPath, `{"_id":"4983","title":"T","text":"x","metadata":{}}`+"\n", "Content-Type", "application/x-ndjson")))
	if got != "1:4983:created" {
		t.Errorf("import: %s", got)
	}
	var doc search.StoredDocument
	f.do("GET", "/v1/collections/docs/documents/4983", "").want(200, &doc)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc.Fields, &fields); err != nil || fields["_id"] != nil {
		t.Errorf("stored %s, want no _id", doc.Fields)
	}
}

// Every wrong setting is named by its own place.
func TestWrongSettingsAreNamed(t *testing.T) {
	f := overEngine(t, Options{})
	p := f.do("PUT", "/v1/collections/docs", `{"settings":{"fields":{"a":{"type":"blob"},"b":{"type":"text","weight":-1},"c.d/[0]":{"type":""}},"language":"xx"}}`).problem(400, "invalid_request", "/settings/language")
	var pointers []string
	for _, i := range p.Errors {
		pointers = append(pointers, i.Pointer)
	}
	if want := []string{"/settings/language", "/settings/fields/a/type", "/settings/fields/b/weight", "/settings/fields/c.d~1[0]/type"}; !slices.Equal(pointers, want) {
		t.Errorf("pointers %v, want %v", pointers, want)
	}
	if d := p.Errors[1].Detail; d != `got "blob", allowed: text, filter, stored` {
		t.Errorf("detail %q", d)
	}
}

// Settings for fields that no document can have are refused.
func TestFieldNamesInSettings(t *testing.T) {
	f := overEngine(t, Options{})
	for _, name := range []string{"", strings.Repeat("x", 257)} {
		p := f.do("PUT", "/v1/collections/named", `{"settings":{"fields":{"`+name+`":{"type":"text"}}}}`).problem(400, "invalid_request", "/settings/fields")
		if !strings.HasSuffix(p.Detail, "allowed: field names of 1 to 256 bytes of UTF-8") {
			t.Errorf("%.10q: %s", name, p.Detail)
		}
	}
	f.do("PUT", "/v1/collections/named", `{"settings":{"fields":{"`+strings.Repeat("x", 256)+`":{"type":"text"}}}}`).want(201, nil)
}

// A merge patch names members that there are, also where it takes them out.
func TestPatchOfUnknownMembers(t *testing.T) {
	f := overEngine(t, Options{})
	f.do("PUT", "/v1/collections/patched", `{"settings":{"synonyms":["a, b"],"fields":{"x":{"type":"text","weight":2}}}}`).want(201, nil)
	for body, pointer := range map[string]string{
		`{"sttings":null}`:                                  "/sttings",
		`{"settings":{"synonims":null}}`:                    "/settings/synonims",
		`{"settings":{"fields":{"x":{"wheight":null}}}}`:    "/settings/fields/x/wheight",
		`{"settings":{"index":{"ef_serch":null,"m":null}}}`: "/settings/index/ef_serch",
	} {
		f.do("PATCH", "/v1/collections/patched", body, "Content-Type", "application/merge-patch+json").problem(400, "invalid_request", pointer)
	}
	var c struct{ Settings search.Settings }
	f.do("PATCH", "/v1/collections/patched", `{"settings":{"synonyms":null,"language":null,"index":null,"fields":{"x":{"weight":null},"y":null}}}`).want(200, &c)
	if c.Settings.Synonyms != nil || c.Settings.Fields["x"].Weight != 0 {
		t.Errorf("settings %+v", c.Settings)
	}
	f.do("PATCH", "/v1/collections/patched", `{"settings":null}`).want(200, nil)
}

// POST of one document keeps to If-Match and If-None-Match as PUT does; where many are written,
// they are refused.
func TestPostConditions(t *testing.T) {
	f := newFixture(t, Options{})
	const docs, path = "/v1/collections/docs/documents", "/v1/collections/docs/documents/a1"
	tag := f.do("GET", path, "").want(200, nil).Header().Get("ETag")
	f.do("POST", docs, `{"id":"a1","title":"x"}`, "If-None-Match", "*").problem(412, "revision_conflict", "")
	f.do("POST", docs, `{"id":"a1","title":"x"}`, "If-Match", `"999"`).problem(412, "revision_conflict", "")
	f.do("POST", docs, `{"id":"none","title":"x"}`, "If-Match", "*").problem(412, "revision_conflict", "")
	f.do("POST", docs, `{"id":"a1","title":"x"}`, "If-Match", tag, "If-None-Match", "*").problem(400, "malformed_request", "")
	f.do("POST", docs, `{"title":"x"}`, "If-Match", tag).problem(400, "malformed_request", "")
	if now := f.do("GET", path, "").want(200, nil).Header().Get("ETag"); now != tag {
		t.Fatalf("the document went from %s to %s", tag, now)
	}
	f.do("POST", docs, `{"id":"a1","title":"x"}`, "If-Match", tag).want(200, nil)
	f.do("POST", docs, `{"id":"a1","title":"y"}`, "If-Match", tag).problem(412, "revision_conflict", "")
	f.do("POST", docs, `{"id":"new","title":"x"}`, "If-None-Match", "*").want(201, nil)
	f.do("POST", docs, `{"title":"named by its content"}`, "If-None-Match", "*").want(201, nil)
	f.do("POST", docs, `{"title":"named by its content"}`, "If-None-Match", "*").problem(412, "revision_conflict", "")
	for _, header := range []string{"If-Match", "If-None-Match"} {
		f.do("POST", docs, `[{"id":"a1","title":"z"}]`, header, "*").problem(400, "malformed_request", "")
		f.do("POST", docs+"/delete", `{"ids":["a1"]}`, header, "*").problem(400, "malformed_request", "")
		f.do("POST", importPath, `{"id":"a1","title":"z"}`+"\n", "Content-Type", "application/x-ndjson", header, "*").problem(400, "malformed_request", "")
	}
	var doc search.StoredDocument
	if f.do("GET", path, "").want(200, &doc); string(doc.Fields) != `{"title":"x"}` {
		t.Errorf("stored %s after refused writes", doc.Fields)
	}
}

// A merge patch changes the members that it names, also those whose names mean something in other
// bodies.
func TestPatchIsNeverUnwrapped(t *testing.T) {
	f := newFixture(t, Options{})
	const path = "/v1/collections/docs/documents/p"
	for _, tt := range []struct{ stored, patch, want string }{
		{`{"t":"form","fields":{"color":"red"}}`, `{"fields":{"color":"blue"}}`, `{"fields":{"color":"blue"},"t":"form"}`},
		{`{"t":"form","document":{"a":1}}`, `{"document":{"b":2}}`, `{"document":{"a":1,"b":2},"t":"form"}`},
		{`{"t":"form"}`, `{"document":{"t":"x"},"revision":7}`, `{"document":{"t":"x"},"revision":7,"t":"form"}`},
		{`{"t":"form","fields":{"color":"red"}}`, `{"id":"p","fields":null}`, `{"t":"form"}`},
		{`{"t":"form"}`, `{"fields":{"color":null,"size":1}}`, `{"fields":{"size":1},"t":"form"}`},
	} {
		f.do("PUT", path, `{"document":`+tt.stored+`}`)
		f.do("PATCH", path, tt.patch).want(200, nil)
		var doc search.StoredDocument
		if f.do("GET", path, "").want(200, &doc); string(doc.Fields) != tt.want {
			t.Errorf("%s patched with %s: %s, want %s", tt.stored, tt.patch, doc.Fields, tt.want)
		}
	}
	f.do("PATCH", path, `{"_id":"q","t":"x"}`).problem(400, "invalid_request", "/id")
}

// Synonyms are settings that a collection with documents takes, that PATCH replaces or takes away,
// and whose wrong rules are named by their places.
func TestSynonymsOverTheWire(t *testing.T) {
	f := overEngine(t, Options{})
	f.do("PUT", "/v1/collections/docs", `{"settings":{"synonyms":["nyc, new york city"]}}`).want(201, nil)
	f.do("POST", "/v1/collections/docs/documents", `[{"id":"a","text":"New York City"},{"id":"b","text":"york"}]`).want(200, nil)
	var r search.Response
	ids := func() (ids string) {
		r = search.Response{}
		f.do("POST", "/v1/collections/docs/search", `{"q":"nyc","mode":"keyword","explain":true}`).want(200, &r)
		for _, h := range r.Hits {
			ids += h.ID
		}
		return ids
	}
	if got := ids(); got != "a" || r.Hits[0].Explain.Keyword.Terms[0].For != "nyc" || r.Hits[0].Highlights["text"][0] != "<mark>New York City</mark>" {
		t.Errorf("found %q, %+v", got, r.Hits)
	}
	f.do("PATCH", "/v1/collections/docs", `{"settings":{"synonyms":["nyc => york"]}}`).want(200, nil)
	if got := ids(); got != "ab" && got != "ba" {
		t.Errorf("with another rule: found %q", got)
	}
	f.do("PATCH", "/v1/collections/docs", `{"settings":{"synonyms":["a, b","a, => b"]}}`).problem(400, "invalid_request", "/settings/synonyms/1")
	f.do("PATCH", "/v1/collections/docs", `{"settings":{"synonyms":"a, b"}}`).problem(400, "invalid_request", "/settings/synonyms")
	rules := make([]string, keyword.MaxSynonymRules)
	for i := range rules {
		rules[i] = fmt.Sprintf("left%05d, %s => right", i, strings.Repeat("w", keyword.MaxSynonymBytes/len(rules)-20))
	}
	largest, _ := json.Marshal(rules)
	f.do("PATCH", "/v1/collections/docs", `{"settings":{"synonyms":`+string(largest)+`}}`).want(200, nil)
	f.do("PATCH", "/v1/collections/docs", `{"settings":{"synonyms":null}}`).want(200, nil)
	if got := ids(); got != "" {
		t.Errorf("without rules: found %q", got)
	}
	p := f.do("PUT", "/v1/collections/wrong", `{"settings":{"synonyms":["a","b"]}}`).problem(400, "invalid_request", "/settings/synonyms/0")
	if len(p.Errors) != 2 || p.Errors[1].Pointer != "/settings/synonyms/1" {
		t.Errorf("errors %+v", p.Errors)
	}
}
