package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/access"
	"example.com/searchd/analytics"
	"example.com/searchd/api/events"
	"example.com/searchd/search"
)

// logging returns options with which a server logs searches and suggests past queries.
func logging(t *testing.T, o Options) Options {
	t.Helper()
	l, err := analytics.Open(t.TempDir(), analytics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Analytics, o.PastQueries = l, events.NewPast(l)
	t.Cleanup(func() { o.PastQueries.Close(); l.Close() })
	return o
}

// searchID searches and returns the id of the search.
func (f *fixture) searchID(path, body string, header ...string) string {
	f.t.Helper()
	var res search.Response
	f.do("POST", "/v1/collections/"+path+"/search", body, header...).want(200, &res)
	return res.SearchID
}

// events returns the queries and the opened documents that are logged of a collection.
func (f *fixture) events(collection string, header ...string) (out []string) {
	f.t.Helper()
	a := f.do("GET", "/v1/collections/"+collection+"/events", "", header...).want(200, nil)
	for line := range strings.Lines(a.Body.String()) {
		var e analytics.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			f.t.Fatalf("%q: %v", line, err)
		}
		out = append(out, e.Query+e.Document)
	}
	return out
}

func TestAnalytics(t *testing.T) {
	f := newFixture(t, logging(t, Options{}))
	f.do("PUT", "/v1/aliases/live", `{"collection":"docs"}`).want(201, nil)
	id := f.searchID("docs", `{"q":"pancakes","mode":"keyword"}`)
	f.do("POST", "/v1/collections/docs/events", fmt.Sprintf(`{"event":"click","search_id":%q,"document":"a1","position":1}`, id)).want(204, nil)
	f.do("GET", "/v1/collections/live/search?q=Pancakes&mode=keyword", "").want(200, nil)
	f.searchID("live", `{"q":"unicorn","mode":"keyword"}`)
	f.do("POST", "/v1/search", `{"q":"dough","searches":[{"collection":"live","query":{"mode":"keyword"}}]}`).want(200, nil)
	f.do("POST", "/v1/search", `{"q":"page two","offset":10,"searches":[{"collection":"docs"}]}`).want(200, nil)

	// Neither of these is a search of a user.
	for _, body := range []string{`{"q":"left out","analytics":false}`, `{"q":" "}`, `{"q":"page two","offset":10}`, `{"q":"page two","page":2}`, `{"q":"counts","limit":0}`,
		fmt.Sprintf(`{"q":%q}`, strings.Repeat("long ", 200))} {
		if id := f.searchID("docs", body); id != "" {
			t.Errorf("%.60s: is logged", body)
		}
	}
	f.do("GET", "/v1/collections/docs/search?q=left+out&analytics=false", "").want(200, nil)
	f.do("POST", "/v1/collections/docs/search/batch", `{"searches":[{"q":"in a batch"}]}`).want(200, nil)
	f.do("POST", "/v1/collections/docs/similar", `{"text":"similar"}`).want(200, nil)
	f.searchID("docs", `{"q":"panc","mode":"keyword","unfinished":true}`)
	read := f.searchID("docs", `{"q":"pancake","mode":"keyword","unfinished":true}`)
	f.do("POST", "/v1/collections/docs/events", fmt.Sprintf(`{"event":"view","search_id":%q}`, read)).want(204, nil)

	if got, want := fmt.Sprint(f.events("live")), "[pancakes a1 Pancakes unicorn dough pancake]"; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	var r analytics.Report
	f.do("GET", "/v1/collections/live/analytics?days=7&limit=1", "").want(200, &r)
	if r.Searches != 5 || r.NoResults != 1 || r.Clicked != 1 || len(r.Queries) != 1 || r.Queries[0] != (analytics.QueryCount{Query: "pancakes", Searches: 2, Clicked: 1, MeanPosition: 1}) ||
		len(r.Unanswered) != 1 || r.Unanswered[0].Query != "unicorn" || !slices.Equal(r.Positions, []analytics.PositionCount{{Position: 1, Clicks: 1}}) {
		t.Errorf("report %+v", r)
	}

	// What users typed is in neither the log of requests nor the metrics.
	text := f.log.String() + f.do("GET", "/metrics", "").want(200, nil).Body.String()
	for _, q := range []string{"unicorn", "dough"} {
		if strings.Contains(text, q) {
			t.Errorf("%q is in the server's log or in its metrics", q)
		}
	}
	f.do("DELETE", "/v1/collections/live/events", "").want(204, nil)
	if got := f.events("docs"); len(got) > 0 {
		t.Errorf("after their deletion: %q", got)
	}
}

func TestAnalyticsErrors(t *testing.T) {
	f := newFixture(t, logging(t, Options{}))
	for body, pointer := range map[string]string{
		`{"event":"buy","search_id":"x"}`: "/event", `{"event":"click","document":"a","position":1}`: "/search_id", `{"event":"click","search_id":"x","position":1}`: "/document",
		`{"event":"click","search_id":"x","document":"a"}`: "/position", `{"event":"view","search_id":"x","document":"a"}`: "/document", `{"event":"view","search_id":"x","position":1}`: "/position",
		`{"event":"view","search_id":"x","user":"u"}`: "/user",
	} {
		f.do("POST", "/v1/collections/docs/events", body).problem(400, "invalid_request", pointer)
	}
	f.do("GET", "/v1/collections/docs/analytics?days=0", "").problem(400, "invalid_request", "/days")
	f.do("GET", "/v1/collections/docs/analytics?limit=-1", "").problem(400, "invalid_request", "/limit")
	f.do("GET", "/v1/collections/gone/analytics", "").problem(404, "collection_not_found", "")
	f.do("POST", "/v1/collections/docs/events", `{"event":"view","search_id":"unknown"}`).want(204, nil)
	f.do("DELETE", "/v1/collections/gone/events", "").want(204, nil) // the events of a collection may outlive it

	off := newFixture(t, Options{})
	if id := off.searchID("docs", `{"q":"pancakes"}`); id != "" {
		t.Errorf("without a log a search has the id %q", id)
	}
	off.do("POST", "/v1/collections/docs/events", `{"event":"view","search_id":"x"}`).problem(422, "not_supported", "")
	for _, route := range []string{"GET events", "DELETE events", "GET analytics"} {
		method, path, _ := strings.Cut(route, " ")
		off.do(method, "/v1/collections/docs/"+path, "").problem(422, "not_supported", "")
	}
}

// TestAnalyticsScopes: who may search may report clicks, and reads nothing of what others search.
func TestAnalyticsScopes(t *testing.T) {
	g := newGuarded(t, logging(t, Options{}))
	finds, reads := []string{"Authorization", "Bearer " + g.token(access.Search)}, []string{"Authorization", "Bearer " + g.token(access.AnalyticsRead, "docs")}
	id := g.searchID("docs", `{"q":"pancakes"}`, finds...)
	g.do("POST", "/v1/collections/docs/events", fmt.Sprintf(`{"event":"click","search_id":%q,"document":"a1","position":1}`, id), finds...).want(204, nil)
	if got := fmt.Sprint(g.events("docs", reads...)); got != "[pancakes a1]" {
		t.Errorf("events %s", got)
	}
	for _, path := range []string{"events", "analytics"} {
		g.do("GET", "/v1/collections/docs/"+path, "", finds...).problem(403, "insufficient_scope", "")
		g.do("GET", "/v1/collections/other/"+path, "", reads...).problem(403, "collection_not_allowed", "")
	}
	g.do("DELETE", "/v1/collections/docs/events", "", reads...).problem(403, "insufficient_scope", "")
	g.do("POST", "/v1/collections/docs/search", `{"q":"x"}`, reads...).problem(403, "insufficient_scope", "")
}

// TestTenantsAndAnalytics: a tenant reports its own clicks, reads no log, and is suggested what its
// own users searched for.
func TestTenantsAndAnalytics(t *testing.T) {
	f := newTenantsWith(t, logging(t, Options{}))
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	a, b := bearer(f.token(`,"filter":"tenant = 'tenant-a'"`)), bearer(f.token(`,"filter":"tenant = 'tenant-b'"`))
	all := bearer(f.secret)
	var id string
	for range analytics.LeastSeen {
		id = f.searchID("both", `{"q":"zanzibar nocturne secrets","mode":"keyword"}`, b...)
		f.searchID("both", `{"q":"zesty pancakes","mode":"keyword"}`, a...)
		f.searchID("both", `{"q":"zealous operator bread","mode":"keyword"}`, all...)
	}
	for _, tt := range []struct {
		header []string
		want   string
	}{{a, "zesty pancakes"}, {b, "zanzibar nocturne secrets"}, {all, "zealous operator bread"}} {
		if got := f.suggest("both", "z", tt.header...); !strings.Contains(got, fmt.Sprintf(`{"text":%q,"kind":"query"}`, tt.want)) || strings.Count(got, `"kind":"query"`) != 1 {
			t.Errorf("suggestions %s, want the query %q alone", got, tt.want)
		}
	}
	if got := f.suggest("alone", "z", a...); strings.Contains(got, "query") {
		t.Errorf("queries of another collection are suggested: %s", got)
	}
	for _, path := range []string{"GET events", "GET analytics", "DELETE events"} {
		method, path, _ := strings.Cut(path, " ")
		f.do(method, "/v1/collections/both/"+path, "", a...).problem(403, "insufficient_scope", "")
	}
	click := func(document string, header []string) {
		f.do("POST", "/v1/collections/both/events", fmt.Sprintf(`{"event":"click","search_id":%q,"document":%q,"position":1}`, id, document), header...).want(204, nil)
	}
	click("a1", a) // on a search of b
	var r analytics.Report
	if f.do("GET", "/v1/collections/both/analytics", "", all...).want(200, &r); r.Clicked != 0 || r.Searches != 3*analytics.LeastSeen {
		t.Errorf("report with a click of another tenant: %+v", r)
	}
	click("nocturne-1", b)
	if f.do("GET", "/v1/collections/both/analytics", "", all...).want(200, &r); r.Clicked != 1 {
		t.Errorf("report with the tenant's own click: %+v", r)
	}
	if got := f.events("both", all...); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "tenant-") }) {
		t.Errorf("events name tenants: %q", got)
	}
}

// TestPastQueries: past queries come before titles and phrases, not more than half of them, and no
// text twice.
func TestPastQueries(t *testing.T) {
	f := newFixture(t, logging(t, Options{}))
	for i, q := range []string{"pancakes for two", "pancakes", "pancake day", "pancakes that fail"} {
		mode := "keyword"
		times := analytics.LeastSeen + i
		if i == 3 {
			times = analytics.LeastSeen - 1
		}
		for range times {
			f.searchID("docs", fmt.Sprintf(`{"q":%q,"mode":%q}`, q, mode))
		}
	}
	got := f.suggest("docs", "panc")
	for _, want := range []string{`{"text":"pancake day","kind":"query"}`, `{"text":"pancakes","kind":"query"}`, `{"text":"pancakes for two","kind":"query"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("suggestions %s lack %s", got, want)
		}
	}
	if strings.Contains(got, "fail") || strings.Contains(got, `"Pancakes"`) {
		t.Errorf("suggestions %s have a rare query, or one twice", got)
	}
	if got := f.suggest("docs", "pankake"); !strings.Contains(got, "pancake day") {
		t.Errorf("suggestions for a misspelled word: %s", got)
	}
	a := f.do("GET", "/v1/collections/docs/suggest?q=panc&limit=2", "").want(200, nil).Body.String()
	if strings.Count(a, `"text"`) != 2 {
		t.Errorf("two suggestions: %s", a)
	}
}
