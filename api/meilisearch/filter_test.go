package meilisearch

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/geo"
)

func TestFilter(t *testing.T) {
	values := map[string]any{"genres": []any{"Comedy", "Science Fiction"}, "year": 2015.0, "seen": true, "rating.users": 7.5, "code": "7", "empty": "", "day": "2024-05-01", "it's": "x", "_geo": geo.Point{Lat: 45.47, Lon: 9.19}}
	for _, tc := range []struct {
		filter string // JSON
		want   bool
	}{
		{`null`, true}, {`""`, true}, {`[]`, true}, {`[[]]`, true}, {`["", []]`, true},
		{`"genres = Comedy"`, true}, {`"genres = 'Science Fiction'"`, true}, {`"\"genres\" = \"Science Fiction\""`, true}, {`"genres = Science"`, false},
		{`"genres != Comedy"`, false}, {`"genres != Horror"`, true}, {`"NOT genres = Horror"`, true}, {`"not genres = Comedy"`, false},
		{`"year = 2015"`, true}, {`"year = '2015'"`, true}, {`"code = 7"`, true}, {`"seen = true"`, true}, {`"seen != true"`, false},
		{`"year>2014"`, true}, {`"year >= 2015 AND year<=2015"`, true}, {`"year < 2015"`, false}, {`"year 2010 TO 2020"`, true}, {`"year 2016 TO 2020"`, false}, {`"rating.users > 7"`, true},
		{`"day > '2024-04-30'"`, true},
		{`"genres IN [Horror, 'Science Fiction']"`, true}, {`"genres IN [Horror,]"`, false}, {`"genres NOT IN [Horror]"`, true}, {`"genres IN []"`, false}, {`"genres NOT IN []"`, true}, {`"year IN [2014, 2015]"`, true},
		{`"year EXISTS"`, true}, {`"nothing EXISTS"`, false}, {`"nothing NOT EXISTS"`, true}, {`"nothing IS NULL"`, true}, {`"year IS NOT NULL"`, true}, {`"empty IS EMPTY"`, true}, {`"year IS NOT EMPTY"`, true},
		{`"genres = Horror OR year = 2015 AND seen = true"`, true}, {`"(genres = Horror OR year = 2015) AND seen = false"`, false}, {`"NOT (genres = Horror OR year = 2015)"`, false},
		{`["genres = Comedy", "year = 2014"]`, false}, {`["genres = Comedy", ["year = 2014", "seen = true"]]`, true}, {`[["genres = Horror", "year = 2014"], "seen = true"]`, false},
		{`"_geoRadius(45.4, 9.1, 20000)"`, true}, {`"_geoRadius(45.4, 9.1, 2000)"`, false}, {`"NOT _geoRadius(45.4,9.1,2000,100)"`, true}, {`"_geoRadius( -45.4 , 9.1 , 2e4 ) OR year = 1"`, false},
		{`"_geoBoundingBox([45.494181, 9.214024], [45.449484, 9.179175])"`, true}, {`"_geoBoundingBox([45.494181, 9.18], [45.449484, 9.17]) AND year = 2015"`, false},
		{`"_geoPolygon([45, 9], [46, 9], [46, 10], [45, 10])"`, true}, {`"_geoPolygon([45, 9], [46, 9], [45, 10]) AND _geo EXISTS"`, true}, {`"_geoPolygon([0, 9], [1, 9], [0, 10])"`, false},
		{`"genres = 'it''s'"`, false}, {`"\"it's\" = x"`, true}, {`"genres = 'a\\'b'"`, false},
	} {
		text, err := Filter(json.RawMessage(tc.filter))
		if strings.Contains(tc.filter, "''") {
			if err == nil {
				t.Errorf("%s: read as %s, though two values follow one another", tc.filter, text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.filter, err)
			continue
		}
		got := true
		if text != "" {
			e, err := filter.Parse(text)
			if err != nil {
				t.Errorf("%s: translated to %s: %v", tc.filter, text, err)
				continue
			}
			got = e.Match(values)
		}
		if got != tc.want {
			t.Errorf("%s: translated to %q, which is %t, want %t", tc.filter, text, got, tc.want)
		}
	}
	for _, bad := range []string{`1`, `{}`, `"year"`, `"year ="`, `"= 1"`, `"year > "`, `"year > x"`, `"(year = 1"`, `"year = 1)"`, `"year = 1 year = 2"`, `"year IN 1"`, `"year IN [1"`, `"year NOT = 1"`, `"year IS"`, `"year 1 2"`,
		`"year = 'x"`, `"title CONTAINS x"`, `"_geoRadius(1,2)"`, `"_geoRadius(1,2,-3)"`, `"_geoRadius(1,2,x)"`, `"_geoRadius(91,2,3)"`, `"_geoRadius 1"`, `"_geoRadius(1,2,NaN)"`, `"_geoBoundingBox([1,2])"`, `"_geoBoundingBox([1,2],[3,4"`, `"_geoPolygon([1,2],[3,4])"`, `"_geoPolygon([1,2],[3])"`, `"_geoPolygon()"`, `[1]`, `[[["year = 1"]]]`, `"a` + "`" + `b = 1"`, `"` + strings.Repeat("(", 100) + `year = 1"`, `"` + strings.Repeat("NOT ", 100) + `year = 1"`} {
		if text, err := Filter(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: translated to %q, want an error", bad, text)
		} else if p, status := Describe(err); status != 400 || p.Code != "invalid_search_filter" {
			t.Errorf("%s: %+v", bad, p)
		}
	}
}

// FuzzFilter: whatever is translated is a filter of ours, and what closes a parenthesis in one part
// of an array does not open the others.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{`genres = Comedy`, `a = 1) OR (b = 2`, `year 1 TO 2`, `"x" IN ['a', b]`, `NOT (a EXISTS)`, "a`b = 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, _ := json.Marshal([]string{"tenant = a", text})
		got, err := Filter(raw)
		if err != nil || got == "" {
			return
		}
		e, err := filter.Parse(got)
		if err != nil {
			t.Fatalf("%q: translated to %q: %v", text, got, err)
		}
		if e.Match(map[string]any{"tenant": "b", "a": 1.0, "b": 2.0}) {
			t.Errorf("%q lifts the condition beside it: %s", text, got)
		}
	})
}
