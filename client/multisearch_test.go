package client_test

import (
	"encoding/json"
	"errors"
	"testing"

	"example.com/searchd/client"
	"example.com/searchd/search"
)

func TestMultiSearch(t *testing.T) {
	c, engine := server(t, nil)
	for _, name := range []string{"one", "two"} {
		if _, err := engine.CreateCollection(t.Context(), name, search.Settings{}); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Ingest(t.Context(), name, []search.Document{{ID: name, Fields: json.RawMessage(`{"text":"bread of ` + name + `"}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	q := client.MultiQuery{Q: "bread", Searches: []client.CollectionQuery{
		{Collection: "one", Query: client.Query{Mode: "keyword"}},
		{Collection: "two", Query: client.Query{Mode: "keyword"}, Weight: 3},
	}}
	res, err := c.MultiSearch(t.Context(), q)
	if err != nil || len(res.Hits) != 2 || res.Hits[0].ID != "two" || res.Hits[0].Collection != "two" || res.Hits[0].Search != 1 || res.Total.Value != 2 || res.Searches[1].Response.Total.Value != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	q.Searches[0].Collection = "nowhere"
	if _, err := c.MultiSearch(t.Context(), q); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a collection that is not there: %v", err)
	}
}
