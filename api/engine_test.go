package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/inference"
)

var (
	_ Engine    = (*search.Engine)(nil)
	_ Inference = (*inference.Service)(nil)
)

// overTwoDocuments is a server over the engine itself with the embedded checkpoint; its collection
// has two documents.
func overTwoDocuments(t *testing.T) *fixture {
	t.Helper()
	f := overEngine(t, Options{})
	f.do("PUT", "/v1/collections/docs", `{"settings":{"fields":{"lang":{"type":"filter"}}}}`).want(201, nil)
	lines := `{"id":"a/1","title":"Pancakes","text":"How to flip pancakes in a pan. Use <butter> & love.","lang":"en"}
{"id":"b","title":"Automobiles","text":"The engine of a car needs oil.","lang":"it's"}
{"id":"c","title":" "}
`
	got := summary(importLines(t, f.do("POST", importPath, lines, "Content-Type", "application/x-ndjson")))
	if want := "1:a/1:created 2:b:created 3:c:error:invalid_request"; got != want {
		t.Errorf("import: %s, want %s", got, want)
	}
	return f
}

// TestOverTheEngine takes the road of a new user through the API.
func TestOverTheEngine(t *testing.T) {
	f := overTwoDocuments(t)
	var res search.Response
	f.do("POST", "/v1/collections/docs/search", `{"q":"motor vehicle","explain":true}`).want(200, &res)
	if len(res.Hits) == 0 || res.Hits[0].ID != "b" || res.Hits[0].Explain.Vector == nil {
		t.Errorf("by meaning: %+v", res.Hits)
	}
	a := f.do("GET", "/v1/collections/docs/search?q=flip+pancakes&mode=keyword&filter=lang+%3D+'en'", "").want(200, &res)
	if len(res.Hits) != 1 || res.Hits[0].ID != "a/1" || !strings.Contains(a.Body.String(), "<butter>") {
		t.Errorf("by words: %s", a.Body)
	}
	f.do("POST", "/v1/collections/docs/similar", `{"text":"the motor of an automobile","limit":1}`).want(200, &res)
	if len(res.Hits) != 1 || res.Hits[0].ID != "b" {
		t.Errorf("similar: %+v", res.Hits)
	}
	f.do("GET", "/v1/collections/docs/documents?cursor=mine", "").problem(400, "invalid_request", "/cursor")
	tag := f.do("GET", "/v1/collections/docs/documents/a/1", "").want(200, nil).Header().Get("ETag")
	f.do("PATCH", "/v1/collections/docs/documents/a/1", `{"lang":"de"}`, "If-Match", tag).want(200, nil)
	f.do("PATCH", "/v1/collections/docs/documents/a/1", `{"lang":"fr"}`, "If-Match", tag).problem(412, "revision_conflict", "")
	f.do("PUT", "/v1/collections/docs/documents/a/1", `{"text":"x"}`, "If-None-Match", "*").problem(412, "revision_conflict", "")
	f.do("DELETE", "/v1/collections/docs/documents/a/1", "").want(204, nil)
	f.do("DELETE", "/v1/collections/docs/documents/a/1", "").problem(404, "document_not_found", "")
	f.do("POST", "/v1/embeddings", `{"input":["x","y"],"dimensions":16,"input_type":"query"}`).want(200, nil)
	if n := len(importLines(t, f.do("GET", "/v1/collections/docs/documents/export", ""))); n != 1 {
		t.Errorf("export has %d lines, want 1", n)
	}
	f.do("DELETE", "/v1/collections/docs", "").want(204, nil)
}

func TestSearchForNothing(t *testing.T) {
	f := overTwoDocuments(t)
	var res search.Response
	for _, q := range []string{`{"q":"pan","mode":"keyword","limit":0,"facets":["lang"],"sort":["lang"],"group":"lang","sentences":true}`, `{"filter":"lang = 'en'","limit":0,"facets":["lang"],"sort":["lang"],"group":"lang"}`} {
		res = search.Response{}
		f.do("POST", "/v1/collections/docs/search", q).want(200, &res)
		if res.Hits == nil || len(res.Hits) != 0 || res.Total.Value != 1 || res.Facets["lang"].Documents != 1 {
			t.Errorf("limit 0, %s: %+v", q, res)
		}
	}
	res = search.Response{}
	f.do("GET", "/v1/collections/docs/search?q=pan&passages=0&window=0&rerank_window=0", "").want(200, &res)
	if len(res.Hits) == 0 || res.Hits[0].Passages == nil || len(res.Hits[0].Passages) != 0 {
		t.Errorf("passages 0: %+v", res.Hits)
	}
	f.do("POST", "/v1/collections/docs/search", `{"q":"pan","window":0,"rerank_window":0,"passages":0,"facets":[{"field":"lang","limit":0}]}`).want(200, nil)
	f.do("POST", "/v1/collections/docs/similar", `{"ids":["b"],"window":0,"limit":0,"passages":0,"facets":["lang"]}`).want(200, nil)
}

func TestReturnFields(t *testing.T) {
	f := overTwoDocuments(t)
	for names, want := range map[string]string{"": `{}`, "lang,none": `{"lang":"en"}`, "text": `{"text":"How to flip pancakes in a pan. Use <butter> & love."}`} {
		a := f.do("GET", "/v1/collections/docs/search?q=flip&mode=keyword&return_fields="+names, "").want(200, nil)
		if !strings.Contains(a.Body.String(), `"document":`+want+`,`) {
			t.Errorf("return_fields=%s: %s", names, a.Body)
		}
	}
	f.do("POST", "/v1/collections/docs/search/batch", `{"searches":[{"q":"flip","return_fields":[]}]}`).want(200, nil)
	f.do("POST", "/v1/collections/docs/similar", `{"ids":["b"],"return_fields":["lang"]}`).want(200, nil)
	f.do("POST", "/v1/collections/docs/search", `{"q":"x","return_fields":["lang",""]}`).problem(400, "invalid_request", "/return_fields/1")
}

func TestSearchWithEverything(t *testing.T) {
	f := overTwoDocuments(t)
	var res search.Response
	f.do("POST", "/v1/collections/docs/search", `{"q":"\"flip pancakes\" -car","facets":["lang",{"field":"year","ranges":[{"to":2000}]}],"sort":["lang:desc"],"fields":{"text":2},"sentences":true,"diversity":0}`).want(200, &res)
	if len(res.Hits) != 1 || res.Hits[0].Passages[0].Sentence == nil || res.Facets["lang"].Values[0].Value != "en" || res.Facets["year"].Missing != 1 || res.Query.Without[0] != "car" {
		t.Errorf("with everything: %+v", res)
	}
}

func TestWrongMembersOfSearches(t *testing.T) {
	f := overTwoDocuments(t)
	f.do("POST", "/v1/collections/docs/search", `{"q":"x","filter":"lang ="}`).problem(400, "invalid_request", "/filter")
	f.do("POST", "/v1/collections/docs/search", `{"q":"x","facets":["lang",{"field":"year","limit":-1}]}`).problem(400, "invalid_request", "/facets/1/limit")
	f.do("POST", "/v1/collections/docs/search", `{"q":"x","sort":[{"field":"year","order":"down"}]}`).problem(400, "invalid_request", "/sort/0/order")
	f.do("POST", "/v1/collections/docs/search", `{"q":"x","fields":{"title":-1}}`).problem(400, "invalid_request", "/fields")
	f.do("POST", "/v1/collections/docs/search", `{"q":"x","sort":["price:dsc"]}`).problem(400, "invalid_request", "/sort")
	f.do("GET", "/v1/collections/docs/search?q=x&sort=price:dsc", "").problem(400, "invalid_request", "/sort")
}

func TestBoosts(t *testing.T) {
	f := overTwoDocuments(t)
	var res search.Response
	boosts := `[{"filter":"lang = 'en'","weight":0.5},{"field":"price","scale":10,"weight":1},{"field":"day","origin":"2024-01-01","scale":"2w","weight":-0.5}]`
	boosted := f.do("POST", "/v1/collections/docs/search", `{"q":"pancakes","explain":true,"boosts":`+boosts+`}`).want(200, &res)
	if x := res.Hits[0]; x.Explain.Boost.Factor != 1.5 || x.Score != x.Explain.Boost.Relevance*1.5 || x.Explain.Boost.Values[0].Of != "lang = 'en'" {
		t.Errorf("boosted: %s", boosted.Body)
	}
	var why search.Explanation
	f.do("GET", "/v1/collections/docs/explain/a%2F1?q=pancakes&boosts="+url.QueryEscape(boosts), "").want(200, &why)
	if why.Hit.Explain.Boost == nil || why.Hit.Explain.Boost.Factor != 1.5 || why.Hit.Score != res.Hits[0].Score {
		t.Errorf("explained: %+v", why)
	}
	f.do("POST", "/v1/collections/docs/similar", `{"text":"pancakes","boosts":`+boosts+`}`).want(200, nil)
	f.do("POST", "/v1/collections/docs/search", `{"q":"x","boosts":[{"field":"a","scale":1,"weight":1},{"field":"a","weight":1,"scale":"1d"}]}`).problem(400, "invalid_request", "/boosts/1/scale")
	f.do("POST", "/v1/collections/docs/search", `{"q":"x","boosts":[{"field":"a","weight":"1"}]}`).problem(400, "invalid_request", "/boosts/0/weight")
	f.do("POST", "/v1/collections/docs/search", `{"q":"x","sort":["year"],"boosts":[{"field":"a","scale":1,"weight":1}]}`).problem(400, "invalid_request", "/boosts")
	for value, at := range map[string]string{"price:10": "/boosts", `[],"q":1`: "/boosts", `[{"felid":1}]`: "/boosts/0/felid", `{}`: "/boosts", `[{"field":"a","weight":1}]`: "/boosts/0/scale"} {
		f.do("GET", "/v1/collections/docs/search?q=x&boosts="+url.QueryEscape(value), "").problem(400, "invalid_request", at)
	}
}

func TestWarningsOfFields(t *testing.T) {
	f := overTwoDocuments(t)
	var res search.Response
	f.do("GET", "/v1/collections/docs/search?q=oil&filter=lnag+%3D+'en'", "").want(200, &res)
	if len(res.Warnings) != 1 || res.Warnings[0] != `filter: no document has a field "lnag"; the nearest name is "lang"` {
		t.Errorf("warnings: %q", res.Warnings)
	}
	f.do("POST", "/v1/collections/docs/search/batch", `{"searches":[{"q":"oil","group":"lnag"}]}`).want(200, nil)
	f.do("POST", "/v1/collections/docs/documents/delete", `{"filter":"lnag != 'en'"}`).problem(400, "invalid_request", "/filter")
}

func TestLargeNumbers(t *testing.T) {
	f := overTwoDocuments(t)
	f.do("PUT", "/v1/collections/docs/documents/n", `{"text":"number","tweet_id":1234567890123456789}`).want(201, nil)
	f.do("PATCH", "/v1/collections/docs/documents/n", `{"lang":"xx"}`).want(200, nil)
	if a := f.do("GET", "/v1/collections/docs/search?q=number&mode=keyword&facets=tweet_id&filter=tweet_id+%3D+1234567890123456789", "").want(200, nil); strings.Count(a.Body.String(), "1234567890123456789") != 2 {
		t.Errorf("facets of a large integer: %s", a.Body)
	}
	f.do("PUT", "/v1/collections/docs/documents/n", `{"text":"number","in":{"price":1e400}}`).problem(400, "invalid_request", "/in/price")
	f.do("DELETE", "/v1/collections/docs/documents/n", "").want(204, nil)
}

func TestSearchWithoutWords(t *testing.T) {
	f := overTwoDocuments(t)
	var res search.Response
	for _, q := range []string{`{"q":"-car"}`, `{"mode":"semantic","sort":["lang"],"limit":1,"facets":["lang"]}`, `{"q":" ","filter":"lang = 'en'","highlight":true}`} {
		res = search.Response{}
		f.do("POST", "/v1/collections/docs/search", q).want(200, &res)
		if len(res.Hits) != 1 || res.Hits[0].ID != "a/1" || res.Hits[0].Score != 0 || res.Hits[0].Passages[0].Marked != "" || res.Total.Of != "all" {
			t.Errorf("without words, %s: %+v", q, res)
		}
	}
	f.do("GET", "/v1/collections/docs/search?sort=lang:desc", "").want(200, &res)
	if len(res.Hits) != 2 || res.Hits[0].ID != "b" {
		t.Errorf("without q: %+v", res)
	}
	f.do("POST", "/v1/collections/docs/search/batch", `{"searches":[{}]}`).want(200, nil)
	f.do("POST", "/v1/collections/docs/search", `{"min_similarity":0.5}`).problem(400, "invalid_request", "/min_similarity")
	f.do("GET", "/v1/collections/docs/explain/b", "").problem(400, "invalid_request", "/q")
}

func TestChangedSettings(t *testing.T) {
	f := overTwoDocuments(t)
	f.do("PUT", "/v1/collections/bad%20name", "").problem(400, "invalid_request", "/name")
	f.do("PUT", "/v1/collections/other", `{"settings":{"language":"xx"}}`).problem(400, "invalid_request", "/settings/language")
	f.do("PUT", "/v1/collections/docs", `{"settings":{"fields":{"lang":{"type":"filter"},"title":{"type":"text","weight":5},"colour":{"type":"stored"}}}}`).want(200, nil)
	p := f.do("PATCH", "/v1/collections/docs", `{"settings":{"language":"de","fields":{"lang":{"type":"text"}}}}`).problem(400, "invalid_request", "/settings/language")
	if len(p.Errors) != 2 || p.Errors[1].Pointer != "/settings/fields/lang/type" || !strings.Contains(p.Detail, "a/1") {
		t.Errorf("settings that cannot change: %+v", p)
	}
}

func TestExplain(t *testing.T) {
	f := overTwoDocuments(t)
	var x search.Explanation
	f.do("GET", "/v1/collections/docs/explain/a/1?q=oil&mode=keyword", "").want(200, &x)
	if x.Rank != 0 || x.Reason != search.ReasonWords || x.Hit.ID != "a/1" || x.Warnings != nil {
		t.Errorf("explain: %+v", x)
	}
	f.do("POST", "/v1/collections/docs/explain/a/1", `{"q":"oil -lard","mode":"keyword","boosts":[{"filter":"id = 'b'","weight":1}],"explain":false}`).want(200, &x)
	if x.Reason != search.ReasonWords || x.Hit.Explain.Boost == nil || x.Query == nil || x.RequestID == "" {
		t.Errorf("explain of a body: %+v", x)
	}
	f.do("POST", "/v1/collections/docs/explain/a/1", `{}`).problem(400, "invalid_request", "/q")
	f.do("POST", "/v1/collections/docs/explain/a/1?q=oil", `{"q":"oil"}`).problem(400, "invalid_request", "/q")
	f.do("GET", "/v1/collections/docs/explain/a/1?q=oil&filter=id+%3D+'b'", "").want(200, &x)
	if x.Reason != search.ReasonFilter || x.Warnings != nil {
		t.Errorf("explain with a filter by id: %s, %q", x.Reason, x.Warnings)
	}
	f.do("GET", "/v1/collections/docs/explain/a/1?q=oil&filter=id+>+'b'", "").want(200, &x)
	if want := `filter: no document has a field "id"; the id of a document is none of its fields, and filters support only =, != and IN on it`; x.Reason != search.ReasonFilter || len(x.Warnings) != 1 || x.Warnings[0] != want {
		t.Errorf("explain with a range of ids: %s, %q", x.Reason, x.Warnings)
	}
	if p := f.do("POST", "/v1/collections/docs/documents/delete", `{"filter":"id > 'b'"}`).problem(400, "invalid_request", "/filter"); !strings.Contains(p.Detail, "the id of a document is none") {
		t.Errorf("deletion by a filter of ids: %s", p.Detail)
	}
}

// TestDatesWithoutOffset sorts, filters and counts by times in the notations of several programs.
func TestDatesWithoutOffset(t *testing.T) {
	f := newFixture(t, Options{})
	for id, at := range map[string]string{
		"d1": "2024-01-01", "d2": "2024-01-01 00:30:00", "d3": "2024-01-01T02:00:00+0100", "d4": "2024-01-01T01:30:00", "d5": "2024-01-01T02:00:00Z",
		"d6": "2024-01-01 noon",
	} {
		f.do("PUT", "/v1/collections/docs/documents/"+id, `{"title":"dated","at":"`+at+`"}`).want(201, nil)
	}
	for _, tt := range []struct{ body, hits, counts string }{
		{`{"filter":"at EXISTS","sort":["at"]}`, "d1 d2 d3 d4 d5 d6", ""},
		{`{"filter":"at > '2024-01-01 00:30:00' AND at <= '2024-01-01T03:00:00+0100'","sort":["at:desc"]}`, "d5 d4 d3", ""},
		{`{"filter":"at EXISTS","sort":["at"],"limit":1,"facets":[{"field":"at","ranges":[{"from":"2024-01-01T00:30:00","to":"2024-01-01 01:30:00"}]}]}`, "d1", "2"},
	} {
		var res struct {
			Hits   []struct{ ID string }
			Facets map[string]struct{ Ranges []struct{ Count int } }
		}
		f.do("POST", "/v1/collections/docs/search", tt.body).want(200, &res)
		var hits, counts []string
		for _, h := range res.Hits {
			hits = append(hits, h.ID)
		}
		for _, r := range res.Facets["at"].Ranges {
			counts = append(counts, fmt.Sprint(r.Count))
		}
		if got, n := strings.Join(hits, " "), strings.Join(counts, " "); got != tt.hits || n != tt.counts {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.body, got, n, tt.hits, tt.counts)
		}
	}
}

// TestRules: rules come with the settings, and their errors point into them.
func TestRules(t *testing.T) {
	f := overTwoDocuments(t)
	f.do("PATCH", "/v1/collections/docs", `{"settings":{"rules":[{"id":"cars","queries":["pancakes"],"pin":["b"],"hide":["x"],"boost":[{"filter":"lang = 'en'","weight":1}],"redirect":"/cars"}]}}`).want(200, nil)
	var res search.Response
	f.do("GET", "/v1/collections/docs/search?q=Pancakes", "").want(200, &res)
	if len(res.Hits) == 0 || res.Hits[0].ID != "b" || !res.Hits[0].Pinned || len(res.Rules) != 1 || res.Redirect != "/cars" {
		t.Errorf("%+v", res)
	}
	res = search.Response{}
	f.do("GET", "/v1/collections/docs/search?q=Pancakes&rules=false", "").want(200, &res)
	if res.Hits[0].ID == "b" || res.Rules != nil || res.Redirect != "" {
		t.Errorf("without rules: %+v", res)
	}
	var x search.Explanation
	f.do("GET", "/v1/collections/docs/explain/b?q=pancakes", "").want(200, &x)
	if x.Rank != 1 || len(x.Rules) != 1 {
		t.Errorf("explained: %+v", x)
	}
	f.do("PATCH", "/v1/collections/docs", `{"settings":{"rules":[{"id":"r","queries":["a"],"redirect":"javascript:x"}]}}`).problem(400, "invalid_request", "/settings/rules/0/redirect")
	f.do("PATCH", "/v1/collections/docs", `{"settings":{"rules":[{"id":"r","quer":["a"]}]}}`).problem(400, "invalid_request", "/settings/rules/0/quer")
}
