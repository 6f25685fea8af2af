package meilisearch

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"example.com/searchd/search"
)

func TestGeoSort(t *testing.T) {
	q, err := SearchParams(url.Values{"sort": {"price:asc,_geoPoint(48.9, -2.34):desc,b:asc"}})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := sortKeys(q.Sort)
	if want := "[{price asc <nil>} {_geo desc [48.9 -2.34]} {b asc <nil>}]"; err != nil || fmt.Sprint(keys) != want {
		t.Errorf("sort %v, %v, want %s", keys, err, want)
	}
	far := 1234.56
	for _, tc := range []struct {
		q    Query
		want string
	}{
		{q, `{"_geo":{"lat":1,"lng":2},"_geoDistance":1235,"id":"a"}`}, {Query{}, `{"_geo":{"lat":1,"lng":2},"id":"a"}`},
	} {
		hit, err := new(index).hit(tc.q, shown{}, search.Hit{ID: "a", Document: json.RawMessage(`{"id":"a","_geo":{"lat":1,"lng":2}}`), Distance: &far}, search.Keyword)
		if err != nil || string(hit) != tc.want {
			t.Errorf("hit %s, %v, want %s", hit, err, tc.want)
		}
	}
}
