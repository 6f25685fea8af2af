package backendtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"searchd/index/filter"
	"searchd/search/backend"
)

// told writes a value as filters do.
func told(v *filter.Value) string {
	if v == nil {
		return "none"
	}
	return v.String()
}

// testSets puts sets together and reads their refs in pages.
func testSets(t *testing.T, l *library) {
	sel, err := l.Select(t.Context(), backend.SelectRequest{Collection: docs, Filter: parse(t, "year = 1951")})
	must(t, err)
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
		got, err := l.Facets(t.Context(), docs, []backend.Facet{tc.facet, {Field: "price", Limit: 1}}, l.set(t, tc.of))
		if err != nil || len(got) != 2 {
			t.Errorf("Facets(%+v): %+v, %v", tc.facet, got, err)
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
	labels, err := l.Facets(t.Context(), docs, []backend.Facet{{Field: "label", Limit: 5}}, l.all(t))
	if err != nil || len(labels[0].Values) != 2 {
		t.Fatalf("Facets of long strings = %+v, %v", labels, err)
	}
	for i, want := range []string{"first", "second"} {
		v, _ := l.keyOf(want)
		if !slices.ContainsFunc(labels[0].Values, func(c backend.ValueCount) bool { return c.Value == v && c.Count == 1 }) {
			t.Errorf("the key of the label of %s is not counted, byte by byte; there is %q", want, labels[0].Values[i].Value.Str)
		}
	}
	if none, err := l.Facets(t.Context(), docs, nil, l.all(t)); err != nil || len(none) != 0 {
		t.Errorf("no facets = %v, %v", none, err)
	}
}

// keyOf returns the label of a document as it is told where values are: by its key.
func (l *library) keyOf(id string) (filter.Value, bool) {
	v := filter.Value{Kind: filter.String}
	switch id {
	case "first":
		v.Str = label + "a"
	case "second":
		v.Str = label + "b"
	default:
		return v, false
	}
	v.Str = v.Key()
	return v, true
}

// testFirsts asks for one value of each document: numbers come before booleans and strings.
func testFirsts(t *testing.T, l *library) {
	for field, want := range map[string]string{
		"year": "whale 1851, storm 1902, less none, whale 1851", "kind": "whale 'novel', storm 'story', less 'manual', whale 'novel'",
		"mixed": "whale none, storm none, less 7, whale none", "tags": "whale 'hunt', storm 'sea', less none, whale 'hunt'",
		"serial": "whale none, storm none, less 9007199254740992, whale none",
	} {
		refs := l.of("whale storm less whale")
		values, err := l.Firsts(t.Context(), docs, field, refs)
		if got := l.valued(refs, values); err != nil || got != want {
			t.Errorf("Firsts(%q) = %s, %v, want %s", field, got, err, want)
		}
	}
	values, err := l.Firsts(t.Context(), docs, "label", l.of("second first"))
	must(t, err)
	for i, id := range []string{"second", "first"} {
		if want, _ := l.keyOf(id); values[i] == nil || *values[i] != want {
			t.Errorf("the label of %s is %s, want its key, byte by byte", id, told(values[i]))
		}
	}
}

// valued writes documents with a value each.
func (l *library) valued(refs []backend.Ref, values []*filter.Value) string {
	if len(refs) != len(values) {
		return fmt.Sprintf("%d values of %d documents", len(values), len(refs))
	}
	out := make([]string, len(refs))
	for i, ref := range refs {
		out[i] = l.ids[ref] + " " + told(values[i])
	}
	return strings.Join(out, ", ")
}

// testPassing asks which documents pass a filter.
func testPassing(t *testing.T, l *library) {
	refs := l.of("wall whale garden wall")
	for text, want := range map[string][]bool{
		"year = 1951": {true, false, true, true}, "NOT year = 1951": {false, true, false, false}, "id = 'wall'": {true, false, false, true}, "nothing EXISTS": {false, false, false, false},
	} {
		if got, err := l.Passing(t.Context(), docs, parse(t, text), refs); err != nil || !slices.Equal(got, want) {
			t.Errorf("Passing(%q) = %v, %v, want %v", text, got, err, want)
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
		{"published", true, "bridge train whale", "bridge 5.692392005e+14, train -1.091491200e+15"}, {"published", false, "bridge", ""}, {"year", false, "", ""},
	} {
		numbers, err := l.Numbers(t.Context(), docs, tc.field, tc.dates, l.of(tc.of))
		got := make([]string, len(numbers))
		for i, n := range numbers {
			if got[i] = fmt.Sprint(l.ids[l.of(tc.of)[n.Index]], " ", n.Value); tc.dates {
				got[i] = fmt.Sprintf("%s %.9e", l.ids[l.of(tc.of)[n.Index]], n.Value)
			}
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); err != nil || text != tc.want {
			t.Errorf("Numbers(%q, %t) of %q = %s, %v, want %s", tc.field, tc.dates, tc.of, text, err, tc.want)
		}
	}
}

// testOrder puts documents in order, with what they are ordered by and without.
func testOrder(t *testing.T, l *library) {
	up, down := func(field string) backend.SortKey { return backend.SortKey{Field: field} }, func(field string) backend.SortKey { return backend.SortKey{Field: field, Desc: true} }
	known := backend.Order{Scores: map[backend.Ref]float64{l.refs["wall"]: 2, l.refs["whale"]: 0.5, l.refs["big"]: 1}}
	byWords := backend.Order{Words: &backend.Words{Text: "wall stone"}}
	keys := func(keys ...backend.SortKey) []backend.SortKey { return keys }
	for _, tc := range []struct {
		keys []backend.SortKey
		by   backend.Order
		of   string
		want string // by the first key alone where that is all
	}{
		{keys(up("year")), known, "whale storm wall train engine", "whale 1851, storm 1902, train 1935, wall 1951, engine 1988"},
		{keys(down("year")), known, "whale storm wall big engine", "engine 1988, wall 1951, storm 1902, whale 1851, big none"},
		{keys(up("serial")), known, "big less", "less 9007199254740992, big 9007199254740993"},
		{keys(down("serial")), known, "big less", "big 9007199254740993, less 9007199254740992"},
		{keys(up("mixed")), known, "less second whale", "second -3, less 7, whale none"},
		{keys(down("mixed")), known, "less second whale", "second 9, less 7, whale none"},
		{keys(down("draft")), known, "engine kitchen", "kitchen true, engine false"},
		{keys(up("published")), known, "bridge train", "train '1935-06-01T00:00:00Z', bridge '1988-01-15T10:00:00.5Z'"},
		{keys(up("kind"), down("year")), known, "whale train storm kitchen garden", "garden 'essay' 1951, kitchen 'essay' none, train 'novel' 1935, whale 'novel' 1851, storm 'story' 1902"},
		{keys(down("")), known, "whale wall big", "wall 2, big 1, whale 0.5"},
		{keys(up("")), known, "whale wall big train", "train 0, whale 0.5, big 1, wall 2"},
		{keys(up("year"), up("")), known, "wall garden", "garden 1951 0, wall 1951 2"},
		{keys(up("nothing"), up("year")), known, "wall whale", "whale none 1851, wall none 1951"},
	} {
		set := l.set(t, tc.of)
		n := set.Len()
		wants := strings.Split(tc.want, ", ")
		for _, k := range []int{n, 0, 1, n - 1, n + 5} {
			for _, values := range []bool{false, true} {
				by := tc.by
				by.Keys, by.Limit, by.Values = tc.keys, k, values
				got, err := l.Order(t.Context(), docs, set, by)
				if err != nil || len(got) != min(k, n) {
					t.Errorf("Order(%+v, %d) of %q = %+v, %v", tc.keys, k, tc.of, got, err)
					continue
				}
				for i, o := range got {
					text, want := l.ids[o.Ref], wants[i]
					if values {
						for _, v := range o.Values {
							text += " " + told(v)
						}
					} else {
						want, _, _ = strings.Cut(want, " ")
					}
					if text != want {
						t.Errorf("Order(%+v, %d) of %q, place %d: %s, want %s", tc.keys, k, tc.of, i, text, want)
					}
				}
			}
		}
	}
	byWords.Keys, byWords.Limit, byWords.Values = keys(down("")), 1000, true
	all, err := l.Order(t.Context(), docs, l.all(t), byWords)
	must(t, err)
	refs := make([]backend.Ref, len(all))
	for i, o := range all {
		refs[i] = o.Ref
	}
	scores, err := l.WordScores(t.Context(), docs, *byWords.Words, refs)
	must(t, err)
	for i, o := range all {
		if o.Values[0] == nil || o.Values[0].Num != scores[i] || i > 0 && (scores[i] > scores[i-1] || scores[i] == scores[i-1] && refs[i] < refs[i-1]) {
			t.Errorf("by words, place %d is %s with %s; WordScores has %v", i, l.ids[o.Ref], told(o.Values[0]), scores)
		}
	}
	long, err := l.Order(t.Context(), docs, l.set(t, "first second"), backend.Order{Keys: keys(up("label")), Limit: 2, Values: true})
	must(t, err)
	first, _ := l.keyOf("first")
	second, _ := l.keyOf("second")
	want := []filter.Value{first, second}
	if second.Str < first.Str {
		want = []filter.Value{second, first}
	}
	for i, o := range long {
		if o.Values[0] == nil || *o.Values[0] != want[i] {
			t.Errorf("of long strings place %d has %s, want its key, byte by byte", i, told(o.Values[0]))
		}
	}
}
