package shards_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"searchd/search/backend"
	"searchd/search/shards"
)

// interrupted calls run with every way in which a change of a collection can be interrupted: from each of its calls to a shard on, or at that one alone,
// before or after the shard has done it.
func interrupted(t *testing.T, setUp func(t *testing.T, b *shards.Backend), change func(b *shards.Backend) error, run func(t *testing.T, d *data, b *shards.Backend, err error)) {
	for _, once := range []bool{false, true} {
		for _, after := range []bool{false, true} {
			for at := 0; ; at++ {
				d := newData(t, 3)
				b := d.mustOpen(t)
				setUp(t, b)
				d.plan.calls, d.plan.after = nil, after
				d.plan.fail = func(_ string, n int) bool { return n == at || n > at && !once }
				err := change(b)
				d.plan.fail = nil
				if len(d.plan.calls) <= at {
					if err != nil {
						t.Fatalf("without a fault: %v", err)
					}
					break // there are no more calls
				}
				t.Run(fmt.Sprintf("%d,after=%t,once=%t", at, after, once), func(t *testing.T) {
					run(t, d, b, err)
				})
			}
		}
	}
}

// on returns the shards that have a collection.
func (d *data) on(t *testing.T, name string) (have []int) {
	t.Helper()
	for i, p := range d.parts {
		switch _, err := p.Collection(t.Context(), name); {
		case err == nil:
			have = append(have, i)
		case !errors.Is(err, backend.ErrCollectionNotFound):
			t.Fatal(err)
		}
	}
	return have
}

// wholeOrGone wants a collection to be on all shards and seen, or to be neither, and says which.
func wholeOrGone(t *testing.T, d *data, b *shards.Backend, name string) (there bool) {
	t.Helper()
	_, err := b.Collection(t.Context(), name)
	list, listErr := b.Collections(t.Context())
	if listErr != nil || err != nil && !errors.Is(err, backend.ErrCollectionNotFound) {
		t.Fatal(err, listErr)
	}
	there = err == nil
	if listed := slices.ContainsFunc(list, func(c backend.Collection) bool { return c.Name == name && c.Damaged == "" }); listed != there {
		t.Errorf("seen: %t, listed: %+v", there, list)
	}
	if have := d.on(t, name); there && len(have) != 3 || slices.Contains(have, 0) != there {
		t.Errorf("seen: %t, and on the shards %v", there, have)
	}
	return there
}

// clean wants what wholeOrGone wants, and nothing left over.
func clean(t *testing.T, d *data, b *shards.Backend, name string) (there bool) {
	t.Helper()
	there = wholeOrGone(t, d, b, name)
	if have := d.on(t, name); !there && len(have) > 0 {
		t.Errorf("left over on the shards %v", have)
	}
	if values, err := d.parts[0].Values("shards/"); err != nil || len(values) > 0 {
		t.Errorf("values left over: %v, %v", values, err)
	}
	problems, err := b.Check(t.Context(), true)
	if err != nil || len(problems) > 0 {
		t.Errorf("Check: %v, %v", problems, err)
	}
	return there
}

// A collection that was being made is there whole or not at all; made again, or with the next opening, nothing is left of the attempt.
func TestCreateInterrupted(t *testing.T) {
	other := config
	other.Language = "de"
	nothing := func(*testing.T, *shards.Backend) {}
	create := func(b *shards.Backend) error { return b.Create(t.Context(), "docs", config) }
	interrupted(t, nothing, create, func(t *testing.T, d *data, b *shards.Backend, err error) {
		there := wholeOrGone(t, d, b, "docs")
		if err == nil || !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("Create: %v", err)
		}
		if err := b.Create(t.Context(), "docs", other); there != errors.Is(err, backend.ErrCollectionExists) || !there && err != nil {
			t.Errorf("Create again, there: %t: %v", there, err)
		}
		if !clean(t, d, b, "docs") {
			t.Error("not there")
		}
		if c, err := b.Collection(t.Context(), "docs"); err != nil || (c.Config.Language == "de") == there {
			t.Errorf("%+v, %v", c, err)
		}
	})
	interrupted(t, nothing, create, func(t *testing.T, d *data, b *shards.Backend, _ error) {
		there := wholeOrGone(t, d, b, "docs")
		if b = d.mustOpen(t); clean(t, d, b, "docs") != there {
			t.Error("the opening changed what is there")
		}
	})
}

// A collection that was being dropped is there whole or not at all; dropped again, made again or with the next opening nothing is left of it.
func TestDropInterrupted(t *testing.T) {
	fill := func(t *testing.T, b *shards.Backend) {
		if err := b.Create(t.Context(), "docs", config); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids(2, 3) {
			apply(t, b, number(id, i))
		}
	}
	drop := func(b *shards.Backend) error { return b.Drop(t.Context(), "docs") }
	seen := func(t *testing.T, d *data, b *shards.Backend) bool {
		there := wholeOrGone(t, d, b, "docs")
		if there {
			if n := len(contents(t, b, "docs")); n != 6 {
				t.Errorf("%d documents, want 6", n)
			}
		}
		return there
	}
	interrupted(t, fill, drop, func(t *testing.T, d *data, b *shards.Backend, _ error) {
		seen(t, d, b)
		if err := drop(b); err != nil && !errors.Is(err, backend.ErrCollectionNotFound) {
			t.Errorf("Drop again: %v", err)
		}
		if clean(t, d, b, "docs") {
			t.Error("still there")
		}
	})
	interrupted(t, fill, drop, func(t *testing.T, d *data, b *shards.Backend, _ error) {
		there := seen(t, d, b)
		if err := b.Create(t.Context(), "docs", config); there != errors.Is(err, backend.ErrCollectionExists) {
			t.Errorf("Create, there: %t: %v", there, err)
		}
		if n := len(contents(t, b, "docs")); (n == 6) != there || (n == 0) == there {
			t.Errorf("%d documents in what was made anew", n)
		}
		wholeOrGone(t, d, b, "docs")
		if b = d.mustOpen(t); !clean(t, d, b, "docs") {
			t.Error("the opening dropped it")
		}
	})
	interrupted(t, fill, drop, func(t *testing.T, d *data, b *shards.Backend, _ error) {
		there := seen(t, d, b)
		if b = d.mustOpen(t); clean(t, d, b, "docs") != there {
			t.Error("the opening changed what is there")
		}
	})
}

// Settings that some shards have taken and others not are those of the first shard at last.
func TestUpdateInterrupted(t *testing.T) {
	next := config
	next.Synonyms = []string{"car, automobile"}
	fill := func(t *testing.T, b *shards.Backend) {
		if err := b.Create(t.Context(), "docs", config); err != nil {
			t.Fatal(err)
		}
	}
	update := func(b *shards.Backend) error { return b.Update(t.Context(), "docs", next) }
	interrupted(t, fill, update, func(t *testing.T, d *data, b *shards.Backend, _ error) {
		was, err := b.Collection(t.Context(), "docs")
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(t.Name(), "once=true") { // the shards could be given back what the first one has
			clean(t, d, b, "docs")
		}
		b = d.mustOpen(t)
		clean(t, d, b, "docs")
		for i, p := range d.parts {
			if c, err := p.Collection(t.Context(), "docs"); err != nil || !reflect.DeepEqual(c.Config.Synonyms, was.Config.Synonyms) {
				t.Errorf("shard %d has the synonyms %q, the first one %q, %v", i, c.Config.Synonyms, was.Config.Synonyms, err)
			}
		}
	})
	interrupted(t, fill, update, func(t *testing.T, d *data, b *shards.Backend, _ error) {
		if err := update(b); err != nil {
			t.Error(err)
		}
		if clean(t, d, b, "docs"); len(must(b.Collection(t.Context(), "docs")).Config.Synonyms) != 1 {
			t.Error("the update made again has not been taken")
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What holds documents that nobody dropped is never removed unasked, and never served as if it were whole.
func TestCollectionNotOnAllShards(t *testing.T) {
	for lacking := range 3 {
		d := newData(t, 3)
		b := d.mustOpen(t)
		if err := b.Create(t.Context(), "docs", config); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids(2, 3) {
			apply(t, b, number(id, i))
		}
		if err := d.parts[lacking].Drop(t.Context(), "docs"); err != nil {
			t.Fatal(err)
		}
		b = d.mustOpen(t)
		if want := fmt.Sprintf("ALARM collection docs cannot be used: shard %d does not have it", lacking+1); !slices.ContainsFunc(d.told, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("told %q, want %q", d.told, want)
		}
		if have := d.on(t, "docs"); len(have) != 2 {
			t.Errorf("after the opening it is on the shards %v", have)
		}
		list, err := b.Collections(t.Context())
		if err != nil || len(list) != 1 || list[0].Damaged == "" || list[0].Documents != 0 {
			t.Errorf("Collections: %+v, %v", list, err)
		}
		_, err = b.Collection(t.Context(), "docs")
		_, selectErr := b.Select(t.Context(), "docs", backend.Subset{})
		for _, err := range []error{err, selectErr, b.Update(t.Context(), "docs", config)} {
			if !errors.Is(err, backend.ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("shard %d does not have it", lacking+1)) {
				t.Errorf("without shard %d: %v", lacking+1, err)
			}
		}
		if err := b.Create(t.Context(), "docs", config); !errors.Is(err, backend.ErrCollectionExists) {
			t.Errorf("Create: %v", err)
		}
		if problems, err := b.Check(t.Context(), false); err != nil || len(problems) == 0 {
			t.Errorf("Check: %v, %v", problems, err)
		}
		if err := b.Drop(t.Context(), "docs"); err != nil {
			t.Error(err)
		}
		if clean(t, d, b, "docs") {
			t.Error("still there")
		}
	}
}

// Check finds documents where they are not looked for.
func TestCheckMisplaced(t *testing.T) {
	d := newData(t, 2)
	b := d.mustOpen(t)
	if err := b.Create(t.Context(), "docs", config); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids(25, 2)[:25] {
		apply(t, d.parts[1], number(id, i))
	}
	problems, err := b.Check(t.Context(), true)
	if err != nil || len(problems) != 21 || problems[0].Where != "shard 2, collection docs" || !strings.Contains(problems[0].What, "belongs to shard 1") || !strings.HasPrefix(problems[20].What, "5 more") {
		t.Errorf("Check: %v, %v", problems, err)
	}
}
