package api

import (
	"testing"

	"example.com/searchd/search"
)

func TestMapRoutes(t *testing.T) {
	f := overEngine(t, Options{})
	f.do("PUT", "/v1/collections/docs", `{"settings":{"fields":{"lang":{"type":"filter"}}}}`).want(201, nil)
	f.do("POST", "/v1/collections/docs/documents", `[{"id":"a","text":"A kitten sleeps.","lang":"en"},{"id":"b","text":"Oil for the engine.","lang":"en"},{"id":"c","text":"Bread dough rises.","lang":"de"},{"id":"d","text":"The cat purrs."}]`).want(200, nil)
	for name, ask := range map[string]func() answer{
		"GET": func() answer { return f.do("GET", "/v1/collections/docs/map?q=cat&limit=10&components=3", "") },
		"POST": func() answer {
			return f.do("POST", "/v1/collections/docs/map", `{"q":"cat","limit":10,"components":3}`)
		},
	} {
		var m search.Map
		if ask().want(200, &m); len(m.Points) != 4 || len(m.Points[0].At) != 3 || m.Total != 4 || m.Query == nil || len(m.Query.At) != 3 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	f.do("POST", "/v1/collections/docs/map", "").want(200, nil)
	f.do("GET", "/v1/collections/docs/map?limit=1", "").problem(400, "invalid_request", "/limit")
	f.do("GET", "/v1/collections/docs/map?size=1", "").problem(400, "invalid_request", "/size")
	f.do("POST", "/v1/collections/docs/map", `{"components":1}`).problem(400, "invalid_request", "/components")
	f.do("GET", "/v1/collections/none/map", "").problem(404, "collection_not_found", "")
}
