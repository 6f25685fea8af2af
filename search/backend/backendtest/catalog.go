package backendtest

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"example.com/searchd/index/filter"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
)

// testCatalog makes, changes and drops collections.
func testCatalog(t *testing.T, b Calls) {
	ctx := t.Context()
	lists := func(when string, want ...string) {
		t.Helper()
		list, err := b.Collections(ctx)
		must(t, err)
		var names []string
		for _, c := range list {
			names = append(names, c.Name)
			if one, err := b.Collection(ctx, c.Name); err != nil || !reflect.DeepEqual(one, c) {
				t.Errorf("%s: Open(%q) = %+v, %v\nCollections has %+v", when, c.Name, one, err, c)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: Collections = %q, want %q", when, names, want)
		}
	}
	lists("empty")
	for _, name := range []string{"b", "a", "c"} {
		must(t, b.Create(ctx, name, config()))
	}
	lists("created", "a", "b", "c")
	first, err := b.Collection(ctx, "a")
	if err != nil || first.Documents+first.Passages+first.DamagedDocuments != 0 || first.Sequence < config().FirstSequence ||
		first.Damaged != "" || first.Origin == "" || !reflect.DeepEqual(first.Config, config()) {
		t.Errorf("a new collection is %+v, %v", first, err)
	}
	next := config()
	next.Synonyms, next.Mapping = []string{"ship, boat"}, mapping.Mapping{"kind": {Type: mapping.Text}}
	must(t, b.Update(ctx, "a", next))
	first.Config = next
	if c, err := b.Collection(ctx, "a"); err != nil || !reflect.DeepEqual(c, first) {
		t.Errorf("the collection after Update is %+v, %v\nwant %+v", c, err, first)
	}
	if c, err := b.Collection(ctx, "b"); err != nil || !reflect.DeepEqual(c.Config, config()) {
		t.Errorf("another collection after Update has the config %+v, %v", c.Config, err)
	}
	must(t, b.Drop(ctx, "b"))
	lists("after Drop", "a", "c")
	wrong := config()
	wrong.Quantize = "int3"
	for _, tc := range []struct {
		call      string
		err, want error
	}{
		{"Create of one that exists", b.Create(ctx, "a", config()), backend.ErrCollectionExists},
		{"Create with a wrong setting", b.Create(ctx, "d", wrong), backend.ErrInvalid},
		{"Create without a name", b.Create(ctx, "", config()), backend.ErrInvalid},
		{"Update with a wrong setting", b.Update(ctx, "a", wrong), backend.ErrInvalid},
		{"Drop of a dropped one", b.Drop(ctx, "b"), backend.ErrCollectionNotFound},
		{"Update of a dropped one", b.Update(ctx, "b", config()), backend.ErrCollectionNotFound},
	} {
		if !errors.Is(tc.err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.call, tc.err, tc.want)
		}
	}
	must(t, b.Create(ctx, "b", next))
	lists("created again", "a", "b", "c")
}

// second returns the error of a call with a result.
func second[T any](_ T, err error) error { return err }

// callAll calls every method that needs a collection, Drop last, and returns their errors by name.
func (l *library) callAll(ctx context.Context, name string, sel *backend.Selection) map[string]error {
	refs, q, words := l.of("whale storm"), make([]float32, dimension), backend.Words{Text: "whale"}
	q[0] = 1
	passages := []backend.PassageRef{{Ref: refs[0]}}
	errs := map[string]error{
		"Update":          l.Update(ctx, name, config()),
		"Open":            second(l.Open(ctx, backend.OpenRequest{Collection: name})),
		"Statistics":      second(l.Open(ctx, backend.OpenRequest{Collection: name, Words: &words})),
		"Apply":           second(l.Apply(ctx, name, []backend.Write{{ID: "nobody", Delete: true}})),
		"Lookup":          second(l.Lookup(ctx, name, []string{"whale"})),
		"List":            second(l.List(ctx, backend.ListRequest{Collection: name, Limit: 1})),
		"Select":          second(l.Select(ctx, backend.SelectRequest{Collection: name})),
		"RetrieveWords":   second(l.Words(ctx, name, words, 1, sel)),
		"RetrieveVectors": second(l.Nearest(ctx, name, q, 1, sel)),
		"Sample":          second(l.RetrieveVectors(ctx, backend.VectorsRequest{Collection: name, Limit: 1})),
		"Suggest":         second(l.Suggest(ctx, backend.SuggestRequest{Collection: name, Word: "whole", Edits: 1, Selection: sel})),
		"Expand":          second(l.Suggest(ctx, backend.SuggestRequest{Collection: name, Expand: &words})),
		"Stats":           second(l.Stats(ctx, backend.StatsRequest{Collection: name})),
		"Changes":         second(l.Changes(ctx, backend.ChangesRequest{Collection: name, After: l.last, Limit: 1, Keep: true})),
	}
	for part, r := range map[string]backend.FetchRequest{
		"Documents": {Documents: true}, "Cosines": {Vector: q}, "Scores": {Words: &words, Scores: true}, "Terms": {Words: &words, Terms: backend.AllTerms},
		"First": {First: "year"}, "Numbers": {Numbers: []backend.NumberField{{Field: "year"}}}, "Passing": {Passing: []filter.Expr{filter.Exists{Field: "year"}}}, "Points": {Points: []string{"place"}},
		"Names": {Names: true}, "Texts": {Texts: true}, "Vectors": {Vectors: true},
	} {
		r.Collection, r.Refs, r.Passages = name, refs, passages
		errs["Fetch of "+part] = second(l.Fetch(ctx, r))
	}
	for part, r := range map[string]backend.AggregateRequest{
		"Fields": {Fields: backend.FieldNames{Values: []string{"year"}}}, "Facets": {Facets: []backend.Facet{{Field: "year", Limit: 1}}},
		"Order": {Order: &backend.Order{Keys: []backend.SortKey{{Field: "year"}}, Limit: 1}},
	} {
		r.Collection, r.Selection = name, sel
		errs["Aggregate of "+part] = second(l.Aggregate(ctx, r))
	}
	errs["Drop"] = l.Drop(ctx, name)
	return errs
}

// testUnknown calls every method with a collection that does not exist.
func testUnknown(t *testing.T, l *library) {
	for call, err := range l.callAll(t.Context(), "nothing", l.all()) {
		if !errors.Is(err, backend.ErrCollectionNotFound) {
			t.Errorf("%s of a collection that does not exist: %v, want ErrCollectionNotFound", call, err)
		}
	}
}

// testCanceled calls every method with a canceled context: it may answer, or return its error.
func testCanceled(t *testing.T, l *library) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for call, err := range l.callAll(ctx, docs, l.all()) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a canceled context: %v, want context.Canceled or no error", call, err)
		}
	}
}

// testClosed calls every method of a closed backend.
func testClosed(t *testing.T, l *library) {
	ctx := t.Context()
	must(t, l.Close())
	errs := l.callAll(ctx, docs, l.all())
	errs["Create"] = l.Create(ctx, "more", config())
	errs["Collections"] = second(l.Collections(ctx))
	errs["Check"] = second(l.Problems(ctx, false))
	errs["Values"] = second(l.Values(ctx, ""))
	errs["SetValues"] = l.SetValues(ctx, map[string][]byte{"a": {1}})
	for call, err := range errs {
		if !errors.Is(err, backend.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", call, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close a second time: %v", err)
	}
}

// testUpdated changes settings: documents written before are found by the new ones.
func testUpdated(t *testing.T, l *library) {
	finds := func(when string, want map[string]string) {
		t.Helper()
		for word, ids := range want {
			if got, err := l.RetrieveWords(t.Context(), backend.WordsRequest{Collection: docs, Words: backend.Words{Text: word}, Limit: 10, All: true}); err != nil || got.Partial || l.members(t, got.All) != ids {
				t.Errorf("%s: RetrieveWords(%q) = %+v, %v, want %q", when, word, got, err, ids)
			}
		}
		for filter, ids := range map[string]string{"kind = 'novel'": "train whale", "year = 1951": "garden wall"} {
			if got := l.members(t, l.selected(t, filter)); got != ids {
				t.Errorf("%s: Select(%q) = %v, want %q", when, filter, got, ids)
			}
		}
		testNearest(t, l)
	}
	finds("before", map[string]string{"novel": "", "car": "bridge engine", "whale": "whale"})
	next := config()
	next.Synonyms = []string{"whale, storm"}
	must(t, l.Update(t.Context(), docs, next))
	finds("with other synonyms", map[string]string{"novel": "", "car": "engine", "whale": "storm whale"})
	next.Quantize = backend.QuantizeInt8
	must(t, l.Update(t.Context(), docs, next))
	finds("with another graph", map[string]string{"novel": "", "car": "engine", "whale": "storm whale"})
	next.Language = "standard"
	must(t, l.Update(t.Context(), docs, next))
	finds("in another language", map[string]string{"whales": "", "whale": "storm whale", "hunts": "whale", "hunt": "whale", "rises": "kitchen", "rise": ""})
}

// testValues sets, changes and removes values.
func testValues(t *testing.T, b Calls) {
	for _, values := range []map[string][]byte{
		{"alias/a": []byte("1"), "alias/b": {0, 255}, "task/a": []byte("2")},
		{"alias/a": nil, "alias/c": {}, "task/a": []byte("3"), "task/none": nil},
	} {
		must(t, b.SetValues(t.Context(), values))
	}
	for prefix, want := range map[string]map[string][]byte{
		"alias/": {"alias/b": {0, 255}, "alias/c": {}}, "task/": {"task/a": []byte("3")}, "none": {},
	} {
		got, err := b.Values(t.Context(), prefix)
		if err != nil || !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("Values(%q) = %v, %v, want %v", prefix, got, err, want)
		}
	}
}
