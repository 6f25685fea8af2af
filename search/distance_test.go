package search_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/searchd/search"
)

// TestPlaces sorts, boosts and filters by places, and shows distances.
func TestPlaces(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	_, err := e.Ingest(t.Context(), "docs", []search.Document{
		doc("louvre", `{"text":"a museum of art","at":{"lat":48.8606,"lon":2.3376}}`),
		doc("orsay", `{"text":"a museum of art","at":{"type":"Point","coordinates":[2.3266,48.86]}}`),
		doc("tate", `{"text":"a museum of art","at":[{"lat":51.5076,"lng":-0.0994},{"lat":50.2148,"lng":-5.4825}]}`),
		doc("suva", `{"text":"a museum of art","at":{"latitude":-18.1494,"longitude":178.4259}}`),
		doc("online", `{"text":"a museum of art","at":"everywhere"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	tower := []any{48.8584, 2.2945}
	for _, tc := range []struct {
		name, query string
		want        string // ids with kilometres
	}{
		{"sort", `{"sort":[{"field":"at","origin":[48.8584,2.2945]}]}`, "orsay 2.4, louvre 3.2, tate 340.3, suva 16582.7, online"},
		{"sort as a string, keyword mode", `{"q":"museum","mode":"keyword","sort":["at(48.8584, 2.2945):desc"],"limit":3}`, "suva 16582.7, tate 340.3, louvre 3.2"},
		{"sort as an object", `{"q":"museum","mode":"keyword","sort":[{"field":"at","origin":{"lat":51.5,"lon":-0.1}}],"limit":2}`, "tate 0.8, orsay 340.6"},
		{"boost", `{"q":"museum","mode":"keyword","boosts":[{"field":"at","origin":[48.8584,2.2945],"scale":"3km","weight":1}],"limit":3}`, "louvre 3.2, orsay 2.4, tate 340.3"},
		{"filter", `{"q":"museum","mode":"keyword","filter":"at WITHIN 3 km OF (48.8584, 2.2945)"}`, "orsay 2.4"},
		{"not in the filter", `{"filter":"NOT at WITHIN 3 km OF (48.8584, 2.2945) AND at NOT WITHIN BOX ((90, -10), (0, 10))","sort":["text"]}`, "suva 16582.7, online"},
		{"two centers", `{"filter":"at WITHIN 3 km OF (48.8584, 2.2945) OR at WITHIN 3 km OF (51.5, -0.1)","sort":["text"]}`, "orsay, tate"},
		{"the sort comes first", `{"filter":"at WITHIN 3 km OF (48.8584, 2.2945)","sort":["at(48.86,2.3266)"]}`, "orsay 0.0"},
		{"a box over the 180th meridian", `{"filter":"at WITHIN BOX ((0, 170), (-30, -170))"}`, "suva"},
		{"none asked for", `{"q":"museum","mode":"keyword","filter":"at EXISTS","limit":1}`, "louvre"},
	} {
		var q search.Query
		if err := json.Unmarshal([]byte(tc.query), &q); err != nil {
			t.Fatal(err)
		}
		r, err := e.Search(t.Context(), "docs", q)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var got []string
		for _, h := range r.Hits {
			if got = append(got, h.ID); h.Distance != nil {
				got[len(got)-1] += fmt.Sprintf(" %.1f", *h.Distance/1000)
			}
		}
		if text := strings.Join(got, ", "); text != tc.want || len(r.Warnings) > 0 {
			t.Errorf("%s: %s, warnings %q, want %s", tc.name, text, r.Warnings, tc.want)
		}
	}
	r, err := e.Search(t.Context(), "docs", search.Query{Q: "museum", Mode: search.Keyword, Explain: true, Boosts: []search.Boost{{Field: "at", Origin: tower, Scale: "2 mi", Weight: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Hits {
		want := 0.0
		if h.Distance != nil {
			want = math.Exp2(-*h.Distance / (2 * 1609.344))
		}
		if got := h.Explain.Boost.Values[0].Value; math.Abs(got-want) > 1e-5 {
			t.Errorf("%s: the boost is %v, want %v", h.ID, got, want)
		}
	}
	d, err := e.DeleteByFilter(t.Context(), "docs", "at WITHIN POLYGON ((48, 2), (49, 2), (49, 3), (48, 3))", false)
	if err != nil || d.Deleted != 2 {
		t.Errorf("deletion %+v, %v, want two documents", d, err)
	}
	for _, tc := range []struct {
		q    search.Query
		want string
	}{
		{search.Query{Sort: []search.SortKey{{Field: "at", Origin: []any{139.7, 35.6}}}}, "sort[0].origin"},
		{search.Query{Sort: []search.SortKey{{Field: "at", Origin: "Paris"}}}, "sort[0].origin"},
		{search.Query{Sort: []search.SortKey{{Field: "_score", Origin: tower}}}, "sort[0].origin"},
		{search.Query{Boosts: []search.Boost{{Field: "at", Origin: tower, Scale: "5", Weight: 1}}}, "boosts[0].scale"},
		{search.Query{Boosts: []search.Boost{{Field: "at", Origin: tower, Scale: "0km", Weight: 1}}}, "boosts[0].scale"},
		{search.Query{Boosts: []search.Boost{{Field: "at", Origin: []any{91.0, 0.0}, Scale: "5km", Weight: 1}}}, "boosts[0].origin"},
	} {
		tc.q.Q = "museum"
		if _, err := e.Search(t.Context(), "docs", tc.q); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want an error about %s", tc.q, err, tc.want)
		}
	}
}
