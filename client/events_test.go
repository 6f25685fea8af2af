package client_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"

	"example.com/searchd/analytics"
	"example.com/searchd/api"
	"example.com/searchd/api/apitest"
	"example.com/searchd/client"
	"example.com/searchd/search"
)

func TestEvents(t *testing.T) {
	engine := apitest.New(t)
	if _, err := engine.CreateCollection(t.Context(), "docs", search.Settings{}); err != nil {
		t.Fatal(err)
	}
	l, err := analytics.Open(t.TempDir(), analytics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := api.New(api.Options{Engine: engine, Inference: engine, Analytics: l, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	c, err := client.New(srv.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(q client.Query) string {
		t.Helper()
		res, err := c.Search(t.Context(), "docs", q)
		if err != nil {
			t.Fatal(err)
		}
		return res.SearchID
	}
	events := client.EventsOf(c, "docs")
	if id := ask(client.Query{Q: "left out", NoAnalytics: true}); id != "" {
		t.Errorf("a search that is not to be logged has the id %q", id)
	}
	id, unfinished := ask(client.Query{Q: "bread"}), ask(client.Query{Q: "pan", Unfinished: true})
	for _, err := range []error{events.Click(t.Context(), id, "a", 2), events.View(t.Context(), unfinished)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for e, err := range events.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s%s %d", e.Event, e.Query, e.Document, e.Position))
	}
	if want := "[search bread 0 click a 2 search pan 0]"; fmt.Sprint(got) != want {
		t.Errorf("events %v, want %s", got, want)
	}
	r, err := events.Report(t.Context(), 3, 1)
	if err != nil || r.Searches != 2 || r.NoResults != 2 || r.Clicked != 1 || len(r.Queries) != 1 || len(r.Positions) != 1 || r.Positions[0] != (client.PositionCount{Position: 2, Clicks: 1}) {
		t.Errorf("report %+v, %v", r, err)
	}
	if err := events.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := events.Report(t.Context(), 0, 0); err != nil || r.Searches != 0 {
		t.Errorf("report after the deletion: %+v, %v", r, err)
	}
}
