package api

import (
	"slices"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// twoCollections is a server with two collections that share a document but for its id.
func twoCollections(t *testing.T) *fixture {
	f := overEngine(t, Options{})
	for name, docs := range map[string]string{
		"recipes": `[{"id":"r1","title":"Pancakes","text":"How to flip pancakes in a pan."},{"id":"r2","title":"Bread","text":"Let the dough rise twice."},{"id":"r3","title":"Soup","text":"Boil the carrots."}]`,
		"news":    `[{"id":"n1","title":"Pancakes","text":"How to flip pancakes in a pan."},{"id":"n2","title":"Cars","text":"The engine of a car needs oil."},{"id":"n3","title":"Markets","text":"Stocks fell on Monday."}]`,
	} {
		f.do("PUT", "/v1/collections/"+name, "{}").want(201, nil)
		f.do("POST", "/v1/collections/"+name+"/documents", docs).want(200, nil)
	}
	return f
}

func ids(a multiAnswer) (out []string) {
	for _, h := range a.Hits {
		out = append(out, h.Collection+"/"+h.ID)
	}
	return out
}

func TestMultiSearch(t *testing.T) {
	f := twoCollections(t)
	ask := func(body string) (a multiAnswer) {
		f.do("POST", "/v1/search", body).want(200, &a)
		if !slices.IsSortedFunc(a.Hits, func(x, y multiHit) int { return -int(1e9 * (x.Score - y.Score)) }) {
			t.Errorf("%s: not in the order of scores: %v", body, ids(a))
		}
		return a
	}
	for _, mode := range []string{"hybrid", "semantic", "keyword"} {
		both := ask(`{"q":"flip pancakes","searches":[{"collection":"recipes","query":{"mode":"` + mode + `"}},{"collection":"news","query":{"mode":"` + mode + `"}}],"limit":2}`)
		if got := ids(both); !slices.Equal(got, []string{"recipes/r1", "news/n1"}) && !slices.Equal(got, []string{"news/n1", "recipes/r1"}) {
			t.Errorf("%s: %v", mode, got)
		}
		for _, h := range both.Hits {
			if h.Score <= 0 || h.Score > 1 {
				t.Errorf("%s: score %v", mode, h.Score)
			}
		}
		// Each hit is the one that its own collection gives, with the same score.
		var alone search.Response
		f.do("POST", "/v1/collections/news/search", `{"q":"flip pancakes","mode":"`+mode+`"}`).want(200, &alone)
		i := slices.IndexFunc(both.Hits, func(h multiHit) bool { return h.Collection == "news" })
		want := alone.Hits[0].Score
		if mode == "keyword" {
			want /= want + 1
		}
		if h := both.Hits[i]; h.Search != 1 || h.Score != want || h.Passages[0].Marked != alone.Hits[0].Passages[0].Marked {
			t.Errorf("%s: %+v, alone %+v", mode, h, alone.Hits[0])
		}
		if both.Total.Value < 2 || len(both.Searches) != 2 || len(both.Searches[0].Response.Hits) != 0 || both.Searches[1].Collection != "news" {
			t.Errorf("%s: %+v", mode, both)
		}
		weighted := ask(`{"q":"flip pancakes","searches":[{"collection":"recipes","weight":0.1,"query":{"mode":"` + mode + `"}},{"collection":"news","weight":2,"query":{"mode":"` + mode + `"}}]}`)
		if got := ids(weighted); got[0] != "news/n1" {
			t.Errorf("%s, weighted: %v", mode, got)
		}
	}
	// Pages follow one another.
	all := ids(ask(`{"q":"pancakes bread oil","searches":[{"collection":"recipes"},{"collection":"news"}],"limit":6}`))
	var paged []string
	for _, offset := range []string{"0", "2", "4"} {
		paged = append(paged, ids(ask(`{"q":"pancakes bread oil","searches":[{"collection":"recipes"},{"collection":"news"}],"limit":2,"offset":`+offset+`}`))...)
	}
	if !slices.Equal(all, paged) {
		t.Errorf("pages %v, at once %v", paged, all)
	}
	// A search may have its own words, and a collection may be asked twice.
	two := ask(`{"q":"bread","searches":[{"collection":"recipes","query":{"filter":"_id = 'r2'"}},{"collection":"recipes","query":{"q":"soup","filter":"_id = 'r3'"}}]}`)
	if got := ids(two); len(got) != 2 || two.Hits[0].Search == two.Hits[1].Search {
		t.Errorf("twice: %v", got)
	}
}

func TestMultiSearchErrors(t *testing.T) {
	f := twoCollections(t)
	for body, pointer := range map[string]string{
		`{"q":"x"}`:                           "/searches",
		`{"searches":[]}`:                     "/searches",
		`{"searches":[1]}`:                    "/searches/0",
		`{"searches":[{"collection":"a/b"}]}`: "/searches/0/collection",
		`{"searches":[{"collection":"news","wait":1}]}`:                                                    "/searches/0/wait",
		`{"searches":[{"collection":"news","weight":0}]}`:                                                  "/searches/0/weight",
		`{"searches":[{"collection":"news","query":{"limit":1}}]}`:                                         "/searches/0/query/limit",
		`{"searches":[{"collection":"news","query":{"offset":1}}]}`:                                        "/searches/0/query/offset",
		`{"searches":[{"collection":"news","query":{"sort":["a"]}}]}`:                                      "/searches/0/query/sort",
		`{"searches":[{"collection":"news","query":{"less_relevant":1}}]}`:                                 "/searches/0/query/less_relevant",
		`{"searches":[{"collection":"news"},{"collection":"news","query":{"mode":"keyword"}}]}`:            "/searches/1/query/mode",
		`{"searches":[{"collection":"news"},{"collection":"news","query":{"fusion":"rrf"}}]}`:              "/searches/1/query/fusion",
		`{"q":"x","searches":[{"collection":"news"},{"collection":"news","query":{"filter":"lang ="}}]}`:   "/searches/1/query/filter",
		`{"q":"x","limit":1001,"searches":[{"collection":"news"}]}`:                                        "/limit",
		`{"q":"x","offset":-1,"searches":[{"collection":"news"}]}`:                                         "/offset",
		`{"q":"x","searches":[` + strings.Repeat(`{"collection":"news"},`, 32) + `{"collection":"news"}]}`: "/searches",
	} {
		f.do("POST", "/v1/search", body).problem(400, "invalid_request", pointer)
	}
	f.do("POST", "/v1/search", `{"q":"x","searches":[{"collection":"news"},{"collection":"nowhere"}]}`).problem(404, "collection_not_found", "")
}

// TestMultiSearchOfKeys: a key is asked for every collection, and a tenant sees its own alone.
func TestMultiSearchOfKeys(t *testing.T) {
	f := newTenants(t)
	token := f.token(`,"filter":"tenant = 'tenant-a'","collections":["both"]`)
	a := f.do("POST", "/v1/search", `{"q":"pancakes bread","searches":[{"collection":"both","query":{"facets":["tenant","kind"],"explain":true}},{"collection":"both","query":{"filter":"kind EXISTS"}}]}`, "Authorization", "Bearer "+token).want(200, nil)
	if found := leaks(a.Body.String()); len(found) > 0 {
		t.Errorf("%q in %s", found, a.Body)
	}
	f.do("POST", "/v1/search", `{"q":"x","searches":[{"collection":"both"},{"collection":"alone"}]}`, "Authorization", "Bearer "+token).problem(403, "collection_not_allowed", "")
}
