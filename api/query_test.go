package api

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"example.com/searchd/search"
)

func TestBatchAnswersEach(t *testing.T) {
	f := newFixture(t, Options{})
	var got struct {
		Results []struct {
			Hits  []search.Hit   `json:"hits"`
			Error *itemAnswerErr `json:"error"`
		} `json:"results"`
		RequestID string `json:"request_id"`
	}
	body := `{"searches":[{"q":"pancakes"},{"q":"","explain":true},{"q":"x","nonsense":1},{"q":"x","limit":"3"},{"q":"dough","limit":1}]}`
	f.do("POST", "/v1/collections/docs/search/batch", body).want(200, &got)
	if len(got.Results) != 5 || got.RequestID == "" {
		t.Fatalf("answer %+v", got)
	}
	for i, want := range []string{"", "invalid_request", "invalid_request", "invalid_request", ""} {
		r := got.Results[i]
		if want == "" && (r.Error != nil || len(r.Hits) == 0) || want != "" && (r.Error == nil || r.Error.Code != want) {
			t.Errorf("result %d = %+v, %+v, want code %q", i, r.Hits, r.Error, want)
		}
	}
	f.do("POST", "/v1/collections/docs/search/batch", `{"searches":[]}`).problem(400, "invalid_request", "/searches")
	f.do("POST", "/v1/collections/docs/search/batch", `{"searches":[`+strings.Repeat(`{"q":"x"},`, 100)+`{"q":"x"}]}`).problem(400, "invalid_request", "/searches")
	f.do("POST", "/v1/collections/none/search/batch", `{"searches":[{"q":"x"}]}`).problem(404, "collection_not_found", "")
}

func TestSimilarAndExplainRoutes(t *testing.T) {
	f := newFixture(t, Options{})
	var res search.Response
	f.do("POST", "/v1/collections/docs/similar", `{"ids":["a1"],"limit":2}`).want(200, &res)
	if len(res.Hits) == 0 || res.RequestID == "" {
		t.Errorf("similar: %+v", res)
	}
	f.do("POST", "/v1/collections/docs/similar", `{"ids":["gone"]}`).problem(404, "document_not_found", "")
	f.do("POST", "/v1/collections/docs/similar", `{}`).problem(400, "invalid_request", "/ids")
	f.do("POST", "/v1/collections/docs/similar", `{"q":"x"}`).problem(400, "invalid_request", "/q")
	var x search.Explanation
	f.do("GET", "/v1/collections/docs/explain/notes%2Fb%202.md?q=dough", "").want(200, &x)
	if x.Rank != 1 || x.Hit.ID != "notes/b 2.md" || x.RequestID == "" {
		t.Errorf("explain: %+v", x)
	}
	f.do("GET", "/v1/collections/docs/explain/gone?q=dough", "").problem(404, "document_not_found", "")
	f.do("GET", "/v1/collections/docs/explain/a1?q=dough&wrong=1", "").problem(400, "invalid_request", "/wrong")
}

// suggest returns the suggestions of a collection, once they are made.
func (f *fixture) suggest(collection, typed string, header ...string) string {
	f.t.Helper()
	for {
		a := f.do("GET", "/v1/collections/"+collection+"/suggest?q="+url.QueryEscape(typed), "", header...).want(200, nil)
		if !strings.Contains(a.Body.String(), `"building":true`) {
			return a.Body.String()
		}
	}
}

func TestSuggestRoute(t *testing.T) {
	f := newFixture(t, Options{})
	f.do("PUT", "/v1/collections/docs/documents/t1", `{"title":"Café Wonderful","text":"One."}`).want(201, nil)
	for typed, want := range map[string]string{
		"cafe":    `{"suggestions":[{"text":"Café Wonderful","kind":"title"}]`,
		"wonderf": `"Café Wonderful"`, "wodnerf": `"Café Wonderful"`, "": `{"suggestions":[]`, "café wonderful": `{"suggestions":[]`,
	} {
		if got := f.suggest("docs", typed); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
	}
	f.do("DELETE", "/v1/collections/docs/documents/t1", "").want(204, nil)
	if got := f.suggest("docs", "cafe"); strings.Contains(got, "text") {
		t.Errorf("of a deleted document: %s", got)
	}
	f.do("GET", "/v1/collections/docs/suggest?limit=21", "").problem(400, "invalid_request", "/limit")
	f.do("GET", "/v1/collections/docs/suggest?q="+strings.Repeat("x", 201), "").problem(400, "invalid_request", "/q")
	f.do("GET", "/v1/collections/docs/suggest?wrong=1", "").problem(400, "invalid_request", "/wrong")
	f.do("GET", "/v1/collections/none/suggest?q=a", "").problem(404, "collection_not_found", "")
}

// TestQueryFormsAgree asks the engine the same by query string and by body.
func TestQueryFormsAgree(t *testing.T) {
	params := `q="flip pancakes" -waffle&syntax=operators&spelling=exact&unfinished=true&fields=title^3,text&facets=lang,year&sort=year:desc,_score&boosts=[{"field":"published","origin":"now","scale":"30d","weight":0.5},{"field":"stars","scale":100,"weight":-1}]&diversity=0&sentences=true&operator=and&return_fields=title,meta.lang&passages=0&limit=0`
	values := url.Values{}
	for _, p := range strings.Split(params, "&") {
		name, v, _ := strings.Cut(p, "=")
		values.Set(name, v)
	}
	r := newFixture(t, Options{}).request("GET", "/x?"+values.Encode(), nil)
	got, err := queryOf(queryParams(r))
	if err != nil {
		t.Fatal(err)
	}
	var want search.Query
	body := `{"q":"\"flip pancakes\" -waffle","syntax":"operators","spelling":"exact","unfinished":true,"fields":["title^3","text"],"facets":["lang",{"field":"year"}],"sort":["year:desc",{"field":"_score"}],"boosts":[{"field":"published","origin":"now","scale":"30d","weight":0.5},{"field":"stars","scale":100,"weight":-1}],"sentences":true,"operator":"and","return_fields":["title","meta.lang"],"passages":0,"limit":0}`
	if err := decodeStrict([]byte(body), &want); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("by query string %s\nby body %s", a, b)
	}
}

func TestDeleteByFilterRoute(t *testing.T) {
	f := newFixture(t, Options{})
	const path = "/v1/collections/docs/documents/delete"
	var d search.Deletion
	f.do("POST", path, `{"filter":"title != 'x'","dry_run":true}`).want(200, &d)
	if d != (search.Deletion{Matched: 3, Complete: true}) {
		t.Errorf("dry run: %+v", d)
	}
	f.do("POST", path, `{"filter":""}`).problem(400, "invalid_request", "/filter")
	f.do("POST", path, `{"filter":"a ="}`).problem(400, "invalid_request", "/filter")
	f.do("POST", path, `{"filter":"title != 'x'","ids":["a1"]}`).problem(400, "invalid_request", "/filter")
	f.do("POST", path, `{"ids":["a1"],"dry_run":true}`).problem(400, "invalid_request", "/dry_run")
	if p := f.do("POST", path, `{}`).problem(400, "invalid_request", "/ids"); !strings.Contains(p.Detail, "filter") {
		t.Errorf("neither ids nor filter: %q, want both named", p.Detail)
	}
	f.do("POST", path, `{"filter":"title != 'x'"}`).want(200, &d)
	if d != (search.Deletion{Matched: 3, Deleted: 3, Complete: true}) {
		t.Errorf("deletion: %+v", d)
	}
}

// TestNoParameterIsIgnored sends one that nobody knows to every route of our own.
func TestNoParameterIsIgnored(t *testing.T) {
	f := newFixture(t, Options{})
	for _, rt := range f.server.routes() {
		if !strings.HasPrefix(rt.path, "/v1/") || strings.HasSuffix(rt.path, "/rerank") || openAIPaths[expandPath(rt.path)] {
			continue
		}
		body := ""
		if rt.body > 0 || strings.HasSuffix(rt.path, "/import") {
			body = "{}"
		}
		p := f.do(rt.method, pathOf(t, rt)+"?if_revision=5", body).problem(400, "invalid_request", "/if_revision")
		if !strings.Contains(p.Detail, `parameter "if_revision": unknown`) {
			t.Errorf("%s %s: %s", rt.method, rt.path, p.Detail)
		}
	}
	f.do("GET", "/v1/collections/docs/documents/a1", "").want(200, nil) // DELETE was not obeyed
	for name, value := range map[string]string{"state": "queued", "kind": "reembed"} {
		if p := f.do("GET", "/v1/tasks?"+name+"=foo", "").problem(400, "invalid_request", "/"+name); !strings.Contains(p.Detail, value) {
			t.Errorf("%s: %s", name, p.Detail)
		}
	}
	f.do("GET", "/v1/tasks?state=queued&kind=reembed", "").want(200, nil)
}

// TestNumbersOfParameters are written as in JSON.
func TestNumbersOfParameters(t *testing.T) {
	f := newFixture(t, Options{})
	for query, pointer := range map[string]string{
		"alpha=0.25": "", "alpha=.25": "", "alpha=1e-2": "", "alpha=0": "", "limit=5": "", "limit=05": "", "min_similarity=-0.5": "",
		"alpha=0x1p-2": "/alpha", "alpha=%2B0.5": "/alpha", "alpha=inf": "/alpha", "alpha=NaN": "/alpha", "alpha=1_0": "/alpha", "alpha=": "/alpha", "alpha=1e999": "/alpha",
		"limit=%2B5": "/limit", "limit=+5": "/limit", "limit=0x5": "/limit", "limit=5.0": "/limit", "limit=1e1": "/limit", "limit=": "/limit",
	} {
		a := f.do("GET", "/v1/collections/docs/search?q=dough&"+query, "")
		if pointer == "" {
			a.want(200, nil)
		} else {
			a.problem(400, "invalid_request", pointer)
		}
	}
}
