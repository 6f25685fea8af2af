package backendtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/searchd/index/filter"
	"example.com/searchd/index/geo"
	"example.com/searchd/search/backend"
)

// valueText returns a value as filters write it.
func valueText(v *filter.Value) string {
	if v == nil {
		return "none"
	}
	return v.String()
}

// testSets joins sets and reads their refs.
func testSets(t *testing.T, l *library) {
	sel := l.selected(t, "year = 1951")
	before := l.members(t, sel)
	for _, tc := range []struct {
		sel  *backend.Selection
		refs string
		want string
	}{
		{nil, "", ""}, {nil, "whale storm whale", "storm whale"}, {sel, "", "garden wall"}, {sel, "wall big", "big garden wall"},
	} {
		set := tc.sel.With(l.of(tc.refs))
		if got := l.members(t, set); got != tc.want || set.Partial {
			t.Errorf("Set(%v, %q) = %q, want %q", tc.sel, tc.refs, got, tc.want)
		}
	}
	if after := l.members(t, sel); after != before {
		t.Errorf("a selection is %q after it was made a part of a set, and was %q", after, before)
	}
}

// testFacets counts values and ranges.
func testFacets(t *testing.T, l *library) {
	number := func(n float64) *filter.Value { return &filter.Value{Kind: filter.Number, Num: n} }
	date := filter.Values(nil, "1950-01-01")[1]
	facets := func(facets []backend.Facet, set *backend.Selection) []backend.FacetCounts {
		t.Helper()
		out, err := l.Aggregate(t.Context(), backend.AggregateRequest{Collection: docs, Facets: facets, Selection: set})
		must(t, err)
		return out.Facets
	}
	everything := strings.Join(l.sorted(), " ")
	for _, tc := range []struct {
		facet backend.Facet
		of    string
		want  string // values with counts; or counts of ranges
		other string // different values, documents without one
	}{
		{backend.Facet{Field: "kind", Limit: 10}, everything, "'manual' 3, 'essay' 2, 'novel' 2, 'story' 2, 'poem' 1", "5 2"},
		{backend.Facet{Field: "kind", Limit: 2}, everything, "'manual' 3, 'essay' 2", "5 2"},
		{backend.Facet{Field: "kind", Limit: 0}, everything, "", "5 2"},
		{backend.Facet{Field: "kind", Limit: 10}, "whale wall first", "'novel' 1, 'poem' 1", "2 1"},
		{backend.Facet{Field: "year", Limit: 3}, everything, "1951 2, 1988 2, 1851 1", "5 5"},
		{backend.Facet{Field: "draft", Limit: 9}, everything, "false 1, true 1", "2 10"},
		{backend.Facet{Field: "serial", Limit: 9}, everything, "9007199254740992 1, 9007199254740993 1", "2 10"},
		{backend.Facet{Field: "published", Limit: 9}, everything, "'1935-06-01' 1, '1988-01-15T10:00:00.5Z' 1", "2 10"},
		{backend.Facet{Field: "mixed", Limit: 9}, everything, "'2001-02-03' 1, 'later' 1, -3 1, 7 1, 9 1, true 1", "6 10"},
		{backend.Facet{Field: "nothing", Limit: 9}, "whale wall", "", "0 2"},
		{backend.Facet{Field: "kind", Limit: 9}, "", "", "0 0"},
		{backend.Facet{Field: "year", Limit: 9, Ranges: []backend.Range{{To: number(1951)}, {From: number(1951), To: number(1988)}, {From: number(1951)}, {}}}, everything, "[3 2 4 7]", "0 5"},
		{backend.Facet{Field: "published", Ranges: []backend.Range{{From: &date}}}, everything, "[1]", "0 10"},
	} {
		got := facets([]backend.Facet{tc.facet, {Field: "price", Limit: 1}}, l.set(tc.of))
		if len(got) != 2 {
			t.Errorf("Facets(%+v): %+v", tc.facet, got)
			continue
		}
		var values []string
		for _, v := range got[0].Values {
			values = append(values, fmt.Sprint(v.Value, " ", v.Count))
		}
		text := strings.Join(values, ", ")
		if len(tc.facet.Ranges) > 0 {
			text += fmt.Sprint(got[0].Ranges)
		}
		if other := fmt.Sprint(got[0].Distinct, got[0].Missing); text != tc.want || other != tc.other {
			t.Errorf("Facets(%+v) of %q = %s; %s\nwant %s; %s", tc.facet, tc.of, text, other, tc.want, tc.other)
		}
	}
	labels := facets([]backend.Facet{{Field: "label", Limit: 5}}, l.all())
	if len(labels[0].Values) != 2 {
		t.Fatalf("Facets of long strings = %+v", labels)
	}
	for i, want := range []string{"first", "second"} {
		v := labelOf(want)
		if !slices.ContainsFunc(labels[0].Values, func(c backend.ValueCount) bool { return c.Value == v && c.Count == 1 }) {
			t.Errorf("the key of the label of %s is not counted, byte by byte; there is %q", want, labels[0].Values[i].Value.Str)
		}
	}
}

// labelOf returns the label of the first or second document as backends return long strings: by its
// key.
func labelOf(id string) filter.Value {
	v := filter.Value{Kind: filter.String, Str: label + map[string]string{"first": "a", "second": "b"}[id]}
	v.Str = v.Key()
	return v
}

// testFirsts asks for one value of each document: numbers come before booleans and strings.
func testFirsts(t *testing.T, l *library) {
	for field, want := range map[string]string{
		"year": "1851, 1902, none, 1851", "kind": "'novel', 'story', 'manual', 'novel'", "mixed": "none, none, 7, none",
		"tags": "'hunt', 'sea', none, 'hunt'", "serial": "none, none, 9007199254740992, none",
	} {
		var got []string
		for _, v := range l.fetch(t, backend.FetchRequest{Refs: l.of("whale storm less whale"), First: field}).Firsts {
			got = append(got, valueText(v))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("the first values of %q are %s, want %s", field, text, want)
		}
	}
	values := l.fetch(t, backend.FetchRequest{Refs: l.of("second first"), First: "label"}).Firsts
	for i, id := range []string{"second", "first"} {
		if values[i] == nil || *values[i] != labelOf(id) {
			t.Errorf("the label of %s is %s, want its key, byte by byte", id, valueText(values[i]))
		}
	}
}

// testPassing asks which documents pass a filter.
func testPassing(t *testing.T, l *library) {
	refs := l.of("wall whale garden wall")
	for text, want := range map[string][]bool{
		"year = 1951": {true, false, true, true}, "NOT year = 1951": {false, true, false, false}, "id = 'wall'": {true, false, false, true}, "nothing EXISTS": {false, false, false, false},
		"place WITHIN 1 km OF (0, 0)": {false, false, false, false},
	} {
		if got := l.fetch(t, backend.FetchRequest{Refs: refs, Passing: []filter.Expr{parse(t, text)}}).Passing[0]; !slices.Equal(got, want) {
			t.Errorf("Passing(%q) = %v, want %v", text, got, want)
		}
	}
}

// testNumbers asks for all numbers, and all dates, of documents.
func testNumbers(t *testing.T, l *library) {
	for _, tc := range []struct {
		field string
		dates bool
		of    string
		want  string
	}{
		{"year", false, "whale wall big", "wall 1951, whale 1851"}, {"mixed", false, "less second first", "less 7, second -3, second 9"}, {"kind", false, "whale", ""},
		{"published", true, "bridge train whale", "bridge 5.692392005e+14, train -1.0914912e+15"}, {"published", false, "bridge", ""}, {"year", false, "", ""},
	} {
		var got []string
		for _, n := range l.fetch(t, backend.FetchRequest{Refs: l.of(tc.of), Numbers: []backend.NumberField{{Field: tc.field, Dates: tc.dates}}}).Numbers[0] {
			got = append(got, fmt.Sprintf("%s %.10g", l.ids[l.of(tc.of)[n.Index]], n.Value))
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != tc.want {
			t.Errorf("the numbers (dates: %t) of %q in %q are %s, want %s", tc.dates, tc.field, tc.of, text, tc.want)
		}
	}
}

// testPoints asks for all points of documents.
func testPoints(t *testing.T, l *library) {
	refs := l.of("train bridge wall")
	var got []string
	for _, p := range l.fetch(t, backend.FetchRequest{Refs: refs, Points: []string{"place"}}).Points[0] {
		at := p.At.Point()
		got = append(got, fmt.Sprintf("%s %.6f %.6f", l.ids[refs[p.Index]], at.Lat, at.Lon))
	}
	slices.Sort(got)
	want := "bridge -17.000000 179.900000, bridge 51.500000 -0.120000, train 48.860000 2.350000"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("the points are %s, want %s", text, want)
	}
}

// testOrder orders documents.
func testOrder(t *testing.T, l *library) {
	up, down := func(field string) backend.SortKey { return backend.SortKey{Field: field} }, func(field string) backend.SortKey { return backend.SortKey{Field: field, Desc: true} }
	order := func(set *backend.Selection, o backend.Order) []backend.Ref {
		t.Helper()
		out, err := l.Aggregate(t.Context(), backend.AggregateRequest{Collection: docs, Selection: set, Order: &o})
		must(t, err)
		return out.Order
	}
	known := backend.Order{Scores: map[backend.Ref]float64{l.refs["wall"]: 2, l.refs["whale"]: 0.5, l.refs["big"]: 1}}
	byWords := backend.Order{Words: &backend.Words{Text: "wall stone"}}
	keys := func(keys ...backend.SortKey) []backend.SortKey { return keys }
	for _, tc := range []struct {
		keys []backend.SortKey
		by   backend.Order
		of   string
		want string
	}{
		{keys(up("year")), known, "whale storm wall train engine", "whale, storm, train, wall, engine"},
		{keys(down("year")), known, "whale storm wall big engine", "engine, wall, storm, whale, big"},
		{keys(up("serial")), known, "big less", "less, big"},
		{keys(down("serial")), known, "big less", "big, less"},
		{keys(up("mixed")), known, "less second whale", "second, less, whale"},
		{keys(down("mixed")), known, "less second whale", "second, less, whale"},
		{keys(down("draft")), known, "engine kitchen", "kitchen, engine"},
		{keys(up("published")), known, "bridge train", "train, bridge"},
		{keys(up("kind"), down("year")), known, "whale train storm kitchen garden", "garden, kitchen, train, whale, storm"},
		{keys(down("")), known, "whale wall big", "wall, big, whale"},
		{keys(up("")), known, "whale wall big train", "train, whale, big, wall"},
		{keys(up("year"), up("")), known, "wall garden", "garden, wall"},
		{keys(up("nothing"), up("year")), known, "wall whale", "whale, wall"},
		{keys(backend.SortKey{Field: "place", Origin: &geo.Point{Lat: 51, Lon: 0}}, up("year")), known, "wall whale train bridge", "bridge, train, whale, wall"},
		{keys(backend.SortKey{Field: "place", Origin: &geo.Point{Lat: 48, Lon: 2}}), known, "train bridge", "train, bridge"},
		{keys(backend.SortKey{Field: "place", Origin: &geo.Point{Lat: 48, Lon: 2}, Desc: true}), known, "train bridge", "bridge, train"},
	} {
		set := l.set(tc.of)
		n := set.Len()
		wants := strings.Split(tc.want, ", ")
		for _, k := range []int{n, 0, 1, n - 1, n + 5} {
			by := tc.by
			by.Keys, by.Limit = tc.keys, k
			got := order(set, by)
			if len(got) != min(k, n) {
				t.Errorf("Order(%+v, %d) of %q = %+v", tc.keys, k, tc.of, got)
				continue
			}
			for i, ref := range got {
				if l.ids[ref] != wants[i] {
					t.Errorf("Order(%+v, %d) of %q, place %d: %s, want %s", tc.keys, k, tc.of, i, l.ids[ref], wants[i])
				}
			}
		}
	}
	byWords.Keys, byWords.Limit = keys(down("")), 1000
	refs := order(l.all(), byWords)
	scores := l.fetch(t, backend.FetchRequest{Refs: refs, Words: byWords.Words, Scores: true}).Scores
	for i := range refs {
		if i > 0 && (scores[i] > scores[i-1] || scores[i] == scores[i-1] && refs[i] < refs[i-1]) {
			t.Errorf("by words, place %d is %s; Fetch has %v", i, l.ids[refs[i]], scores)
		}
	}
	want := []string{"first", "second"}
	slices.SortFunc(want, func(a, b string) int { return strings.Compare(labelOf(a).Str, labelOf(b).Str) })
	for i, ref := range order(l.set("first second"), backend.Order{Keys: keys(up("label")), Limit: 2}) {
		if l.ids[ref] != want[i] {
			t.Errorf("of long strings place %d is %s, want the order byte by byte", i, l.ids[ref])
		}
	}
}
