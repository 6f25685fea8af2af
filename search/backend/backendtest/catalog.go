package backendtest

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"searchd/index/filter"
	"searchd/search/backend"
	"searchd/search/mapping"
)

// testCatalog makes, changes and drops collections.
func testCatalog(t *testing.T, b Calls) {
	ctx := t.Context()
	if list, err := b.Collections(ctx); err != nil || len(list) != 0 {
		t.Errorf("Collections of an empty backend = %+v, %v", list, err)
	}
	for _, name := range []string{"b", "a", "c"} {
		must(t, b.Create(ctx, name, config()))
	}
	if err := b.Create(ctx, "a", config()); !errors.Is(err, backend.ErrCollectionExists) {
		t.Errorf("Create of one that exists: %v, want ErrCollectionExists", err)
	}
	wrong := config()
	wrong.Quantize = "int3"
	if err := b.Create(ctx, "d", wrong); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("Create with a wrong setting: %v, want ErrInvalid", err)
	}
	if err := b.Update(ctx, "a", wrong); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("Update with a wrong setting: %v, want ErrInvalid", err)
	}
	if err := b.Create(ctx, "", config()); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("Create without a name: %v, want ErrInvalid", err)
	}
	holds := func(when string, want ...string) {
		t.Helper()
		list, err := b.Collections(ctx)
		var names []string
		for _, c := range list {
			names = append(names, c.Name)
			if one, err := b.Collection(ctx, c.Name); err != nil || !reflect.DeepEqual(one, c) {
				t.Errorf("%s: Collection(%q) = %+v, %v\nCollections has %+v", when, c.Name, one, err, c)
			}
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%s: Collections = %q, %v, want %q", when, names, err, want)
		}
	}
	holds("made", "a", "b", "c")
	c, err := b.Collection(ctx, "a")
	if err != nil || c.Documents+c.Passages+c.DamagedDocuments != 0 || c.Sequence < config().FirstSequence || c.Damaged != "" || c.Origin == "" || !reflect.DeepEqual(c.Config, config()) {
		t.Errorf("a new collection is %+v, %v", c, err)
	}
	next := config()
	next.Synonyms, next.Mapping = []string{"ship, boat"}, mapping.Mapping{"kind": {Type: mapping.Text}}
	must(t, b.Update(ctx, "a", next))
	want := c
	want.Config = next
	if c, err = b.Collection(ctx, "a"); err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("the collection after Update is %+v, %v\nwant %+v", c, err, want)
	}
	if c, err = b.Collection(ctx, "b"); err != nil || !reflect.DeepEqual(c.Config, config()) {
		t.Errorf("another collection after Update has the config %+v, %v", c.Config, err)
	}
	must(t, b.Drop(ctx, "b"))
	holds("after Drop", "a", "c")
	for name, err := range map[string]error{
		"Drop": b.Drop(ctx, "b"), "Update": b.Update(ctx, "b", config()), "Collection": second(b.Collection(ctx, "b")),
	} {
		if !errors.Is(err, backend.ErrCollectionNotFound) {
			t.Errorf("%s of one that was dropped: %v, want ErrCollectionNotFound", name, err)
		}
	}
	must(t, b.Create(ctx, "b", next))
	holds("made again", "a", "b", "c")
}

// second returns the error of a call with a result.
func second[T any](_ T, err error) error { return err }

// calls are the methods that are given the name of a collection and need it.
func calls(ctx context.Context, l *library, sel *backend.Selection) map[string]func(name string) error {
	refs, q, words := l.of("whale storm"), make([]float32, dimension), backend.Words{Text: "whale"}
	q[0] = 1
	passages := []backend.PassageRef{{Ref: refs[0]}}
	out := map[string]func(name string) error{
		"Update":     func(name string) error { return l.Update(ctx, name, config()) },
		"Collection": func(name string) error { return second(l.Collection(ctx, name)) },
		"Apply": func(name string) error {
			return second(l.Apply(ctx, name, []backend.Write{{ID: "whale", Delete: true}}))
		},
		"Lookup":     func(name string) error { return second(l.Lookup(ctx, name, []string{"whale"})) },
		"Fetch":      func(name string) error { return second(l.Fetch(ctx, name, refs)) },
		"List":       func(name string) error { _, _, err := l.List(ctx, name, "", 1); return err },
		"Nearest":    func(name string) error { return second(l.Nearest(ctx, name, q, 1, sel)) },
		"Cosines":    func(name string) error { return second(l.Cosines(ctx, name, q, refs)) },
		"Vectors":    func(name string) error { return second(l.Vectors(ctx, name, passages)) },
		"Names":      func(name string) error { return second(l.Names(ctx, name, passages)) },
		"Sample":     func(name string) error { return second(l.Sample(ctx, name, 1)) },
		"Select":     func(name string) error { return second(l.Select(ctx, backend.SelectRequest{Collection: name})) },
		"Words":      func(name string) error { return second(l.Words(ctx, name, words, 1, sel)) },
		"WordScores": func(name string) error { return second(l.WordScores(ctx, name, words, refs)) },
		"WordTerms":  func(name string) error { return second(l.WordTerms(ctx, name, words, refs)) },
		"Expand":     func(name string) error { return second(l.Expand(ctx, name, words)) },
		"Near":       func(name string) error { return second(l.Near(ctx, name, "whole", 1, sel)) },
		"Beginning":  func(name string) error { return second(l.Beginning(ctx, name, "wha", sel)) },
		"Missing": func(name string) error {
			_, _, err := l.Missing(ctx, name, backend.FieldNames{Values: []string{"year"}})
			return err
		},
		"Facets": func(name string) error {
			return second(l.Facets(ctx, name, []backend.Facet{{Field: "year", Limit: 1}}, sel))
		},
		"Firsts": func(name string) error { return second(l.Firsts(ctx, name, "year", refs)) },
		"Passing": func(name string) error {
			return second(l.Passing(ctx, name, filter.Exists{Field: "year"}, refs))
		},
		"Numbers": func(name string) error { return second(l.Numbers(ctx, name, "year", false, refs)) },
		"Order": func(name string) error {
			return second(l.Order(ctx, name, sel, backend.Order{Keys: []backend.SortKey{{Field: "year"}}, Limit: 1}))
		},
	}
	from, err := l.Position(ctx, docs)
	out["Position"] = func(name string) error { return second(l.Position(ctx, name)) }
	out["Changed"] = func(name string) error { _, _, e := l.Changed(ctx, name, from, 1); return errors.Join(err, e) }
	out["Hold"] = func(name string) error { return l.Keep(ctx, name, from) }
	out["Encoded"] = func(name string) error { return second(l.Encoded(ctx, name, "whale")) }
	out["IndexStats"] = func(name string) error { return second(l.IndexStats(ctx, name)) }
	out["Drop"] = func(name string) error { return l.Drop(ctx, name) }
	return out
}

// testUnknown asks every method about a collection that does not exist.
func testUnknown(t *testing.T, l *library) {
	for name, call := range calls(t.Context(), l, l.all(t)) {
		if err := call("nothing"); !errors.Is(err, backend.ErrCollectionNotFound) {
			t.Errorf("%s of a collection that does not exist: %v, want ErrCollectionNotFound", name, err)
		}
	}
}

// testUpdated gives a collection other settings: what was written before is found by them.
func testUpdated(t *testing.T, l *library) {
	finds := func(when string, want map[string]string) {
		t.Helper()
		for word, ids := range want {
			if got, err := l.RetrieveWords(t.Context(), backend.WordsRequest{Collection: docs, Words: backend.Words{Text: word}, Limit: 10, All: true}); err != nil || got.Partial || l.members(t, got.All) != ids {
				t.Errorf("%s: Words(%q) = %+v, %v, want %q", when, word, got, err, ids)
			}
		}
		for filter, ids := range map[string]string{"kind = 'novel'": "train whale", "year = 1951": "garden wall"} {
			if sel, err := l.Select(t.Context(), backend.SelectRequest{Collection: docs, Filter: parse(t, filter)}); err != nil || l.members(t, sel) != ids {
				t.Errorf("%s: Select(%q) = %v, %v, want %q", when, filter, sel, err, ids)
			}
		}
		if c, err := l.Cosines(t.Context(), docs, l.vectors["wall"][0], l.of("wall")); err != nil || !near(c[0][0], 1) {
			t.Errorf("%s: the cosine of a vector with itself is %v, %v", when, c, err)
		}
	}
	finds("before", map[string]string{"novel": "", "car": "bridge engine", "whale": "whale"})
	next := config()
	next.Synonyms = []string{"whale, storm"}
	must(t, l.Update(t.Context(), docs, next))
	finds("with other synonyms", map[string]string{"novel": "", "car": "engine", "whale": "storm whale"})
	next.Quantize = backend.QuantizeInt8
	must(t, l.Update(t.Context(), docs, next))
	finds("with another graph", map[string]string{"novel": "", "car": "engine", "whale": "storm whale"})
	testNearest(t, l)
	next.Language = "standard"
	must(t, l.Update(t.Context(), docs, next))
	finds("in another language", map[string]string{"whales": "", "whale": "storm whale", "hunts": "whale", "hunt": "whale", "rises": "kitchen", "rise": ""})
}

// testCanceled asks every method while nobody waits any more: it may answer, or say that.
func testCanceled(t *testing.T, l *library) {
	ctx, cancel := context.WithCancel(t.Context())
	all := calls(ctx, l, l.all(t))
	cancel()
	drop := all["Drop"]
	delete(all, "Drop")
	for name, call := range all {
		if err := call(docs); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a canceled context: %v, want context.Canceled or no error", name, err)
		}
	}
	if err := drop(docs); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Drop with a canceled context: %v, want context.Canceled or no error", err)
	}
}

// testClosed asks every method of a closed backend.
func testClosed(t *testing.T, l *library) {
	ctx := t.Context()
	sel, err := l.Select(ctx, backend.SelectRequest{Collection: docs})
	must(t, err)
	all := calls(ctx, l, sel)
	must(t, l.Close())
	all["Create"] = func(string) error { return l.Create(ctx, "more", config()) }
	all["Collections"] = func(string) error { return second(l.Collections(ctx)) }
	all["Check"] = func(string) error { return second(l.Problems(ctx, false)) }
	all["Values"] = func(string) error { return second(l.Values(t.Context(), "")) }
	all["SetValues"] = func(string) error { return l.SetValues(ctx, map[string][]byte{"a": {1}}) }
	for name, call := range all {
		if err := call(docs); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close a second time: %v", err)
	}
}

// testValues sets, changes and removes values.
func testValues(t *testing.T, b Calls) {
	set := func(values map[string][]byte) { t.Helper(); must(t, b.SetValues(t.Context(), values)) }
	set(map[string][]byte{"alias/a": []byte("1"), "alias/b": {0, 255}, "task/a": []byte("2")})
	set(map[string][]byte{"alias/a": nil, "alias/c": {}, "task/a": []byte("3"), "task/none": nil})
	for prefix, want := range map[string]map[string][]byte{
		"alias/": {"alias/b": {0, 255}, "alias/c": {}}, "task/": {"task/a": []byte("3")}, "none": {},
	} {
		got, err := b.Values(t.Context(), prefix)
		if err != nil || !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("Values(%q) = %v, %v, want %v", prefix, got, err, want)
		}
	}
}
