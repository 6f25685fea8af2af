package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/searchd/search"
)

func TestRerankShapes(t *testing.T) {
	f := newFixture(t, Options{MaxItem: 1000})
	const q = `"query":"how to flip pancakes"`
	for name, body := range map[string]string{
		"cohere": `{"model":"rerank-v3.5",` + q + `,"documents":["ships","how to flip","flip pancakes how to"],"return_documents":true,"max_tokens_per_doc":4096}`,
		"jina":   `{"model":"jina-reranker-v2",` + q + `,"documents":[{"text":"ships"},{"text":"how to flip"},{"text":"flip pancakes how to"}],"return_documents":true}`,
		"texts":  `{` + q + `,"texts":["ships","how to flip","flip pancakes how to"],"return_text":true}`,
		"fields": `{` + q + `,"documents":[{"a":"ships","b":""},{"a":"how to","b":"flip"},{"a":"flip pancakes","b":"how to"}],"rank_fields":["a","b"]}`,
	} {
		for version, path := range []string{"/v1/rerank", "/v2/rerank"} {
			var r rerankAnswer
			a := f.do("POST", path, body).want(200, &r)
			got := ""
			for i, x := range r.Results {
				got += fmt.Sprint(x.Index, " ")
				if i > 0 && x.Relevance > r.Results[i-1].Relevance || x.Relevance <= 0 || x.Relevance >= 1 {
					t.Errorf("%s: scores not sorted or not in (0,1): %+v", name, r.Results)
				}
			}
			if got != "2 1 0 " || r.Object != "list" || r.Model != "overlap" || r.ID == "" || r.Usage.TotalTokens == 0 || r.Meta.API.Version != fmt.Sprint(version+1) || r.Meta.Billed.SearchUnits != 1 {
				t.Errorf("%s %s: %s", path, name, a.Body)
			}
			if d := r.Results[0].Document; (d == nil) != (name == "fields") || d != nil && d.Text != "flip pancakes how to" {
				t.Errorf("%s: document %+v", name, d)
			}
		}
	}
	var r rerankAnswer
	f.do("POST", "/v1/rerank", `{`+q+`,"documents":["x","flip"],"top_n":1,"raw_scores":true}`).want(200, &r)
	if len(r.Results) != 1 || r.Results[0].Index != 1 || r.Results[0].Relevance != 0 {
		t.Errorf("top_n 1 with raw scores: %+v", r.Results)
	}
	f.do("POST", "/v1/rerank", `{`+q+`,"documents":["x"],"top_n":9}`).want(200, &r)
	long, half := strings.Repeat("word ", 100), strings.Repeat("x", 600)
	a := f.do("POST", "/v1/rerank", `{`+q+`,"documents":["x","`+long+`"]}`).want(200, &r)
	if r.Usage.Truncated != 1 || a.Header().Get("X-Truncated-Inputs") != "1" {
		t.Errorf("truncation is not reported: %+v, %v", r.Usage, a.Header())
	}
	for body, pointer := range map[string]string{
		`{"documents":["x"]}`:                                             "/query",
		`{"query":" ","documents":["x"]}`:                                 "/query",
		`{` + q + `}`:                                                     "/documents",
		`{` + q + `,"documents":[]}`:                                      "/documents",
		`{` + q + `,"texts":[]}`:                                          "/texts",
		`{` + q + `,"documents":["x"],"texts":["x"]}`:                     "/texts",
		`{` + q + `,"documents":["x",{"title":"y"}]}`:                     "/documents/1",
		`{` + q + `,"documents":["x",{"text":5}]}`:                        "/documents/1",
		`{` + q + `,"documents":["x"],"top_n":0}`:                         "/top_n",
		`{` + q + `,"documents":["x"],"temperature":1}`:                   "/temperature",
		`{` + q + `,"documents":["x","` + long + `"],"truncation":false}`: "/documents/1",
		`{` + q + `,"documents":"x"}`:                                     "/documents",
		`{` + q + `,"documents":["x",5]}`:                                 "/documents",
		`{` + q + `,"documents":["0123456789"],"rank_fields":["` + strings.Repeat(`a","`, 20) + `b"]}`:  "/rank_fields",
		`{` + q + `,"documents":[{"a":"x","b":"y"}],"rank_fields":["a","b","a"]}`:                       "/rank_fields/2",
		`{` + q + `,"documents":["x",{"a":"` + half + `","b":"` + half + `"}],"rank_fields":["a","b"]}`: "/documents/1",
		`{"query":"` + strings.Repeat("x", search.MaxQueryBytes+1) + `","documents":["x"]}`:             "/query",
		`{` + q + `,"documents":[` + strings.Repeat(`"x",`, maxRerankTexts) + `"x"]}`:                   "/documents",
	} {
		f.do("POST", "/v1/rerank", body).problem(400, "invalid_request", pointer)
	}
	var te teiError
	for _, body := range []string{`{"query":"` + strings.Repeat("x", search.MaxQueryBytes+1) + `","texts":["x"]}`, `{"query":"x","texts":["` + half + half + `"]}`} {
		if f.do("POST", "/rerank", body).want(422, &te); te.Code != "invalid_request" {
			t.Errorf("/rerank of too much: %+v", te)
		}
	}
	f.do("POST", "/v1/rerank", `{`+q+`,"documents":["x"],"rank_fields":[]}`).want(200, nil)
	var ranks []teiRank
	f.do("POST", "/rerank", `{`+q+`,"texts":["ships","flip pancakes"],"return_text":true,"truncate":true}`).want(200, &ranks)
	if len(ranks) != 2 || ranks[0].Index != 1 || *ranks[0].Text != "flip pancakes" || ranks[0].Score <= ranks[1].Score {
		t.Errorf("/rerank: %+v", ranks)
	}
	ranks = nil
	f.do("POST", "/rerank", `{`+q+`,"texts":["flip"],"raw_scores":true}`).want(200, &ranks)
	if ranks[0].Score != 0 || ranks[0].Text != nil {
		t.Errorf("/rerank raw: %+v", ranks)
	}
}

func TestRerankTexts(t *testing.T) {
	for body, want := range map[string]int{`null`: -1, `[]`: 0, `["x",{"text":"y"}]`: 2, `[` + strings.Repeat(`"",`, 2*maxRerankTexts) + `""]`: maxRerankTexts + 1} {
		var q struct{ L rerankTexts }
		if err := json.Unmarshal([]byte(`{"L":`+body+`}`), &q); err != nil || len(q.L) != max(0, want) || (q.L == nil) != (want < 0) {
			t.Errorf("%.30s: %d texts, %v, want %d", body, len(q.L), err, want)
		}
	}
}

func TestSearchPassesRerankOn(t *testing.T) {
	f := newFixture(t, Options{})
	r := f.request("GET", "/x?q=a&rerank=true&rerank_window=50", nil)
	q, err := queryOf(queryParams(r))
	if err != nil || !q.Rerank || q.RerankWindow != 50 {
		t.Errorf("queryOf = %+v, %v", q, err)
	}
}

// An engine without a re-ranker refuses clearly, in each route's shape.
func TestNoReranker(t *testing.T) {
	f := overEngine(t, Options{})
	p := f.do("POST", "/v1/rerank", `{"query":"q","documents":[{}],"rank_fields":["none"]}`).problem(422, "not_supported", "") // before the documents are read
	if !strings.Contains(p.Detail, "--reranker") {
		t.Errorf("detail %q", p.Detail)
	}
	var te teiError
	if f.do("POST", "/rerank", `{"query":"q","texts":[]}`).want(422, &te); te.Code != "not_supported" {
		t.Errorf("error %+v", te)
	}
	f.do("POST", "/embed_sparse", `{"inputs":"x"}`).want(422, &te)
	if te.Type == "" || te.Code != "not_supported" || !strings.Contains(te.Error, "SPLADE") {
		t.Errorf("error %+v", te)
	}
	f.do("PUT", "/v1/collections/docs", "").want(201, nil)
	f.do("POST", "/v1/collections/docs/search", `{"q":"x","rerank":true}`).problem(400, "invalid_request", "/rerank")
}
