package search_test

import (
	"errors"
	"reflect"
	"testing"

	"searchd/search"
	"searchd/search/backend"
	"searchd/search/shards"
)

// TestSpreadOfNothing: what has lost all of its collections since the pass before is known as the same, and something else that is empty is not.
func TestSpreadOfNothing(t *testing.T) {
	cluster := func() search.Whole {
		b, err := shards.Open(t.Context(), []backend.Shard{openFolder(t, t.TempDir()), openFolder(t, t.TempDir())}, shards.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	folder := func() search.Whole { return openFolder(t, t.TempDir()) }
	for name, open := range map[string]func() search.Whole{"folder": folder, "cluster": cluster} {
		t.Run(name, func(t *testing.T) {
			from, other, to := open(), open(), folder()
			for _, b := range []search.Whole{from, other, to} {
				defer b.Close()
			}
			if err := from.Create(t.Context(), "docs", backend.Config{Dimension: 2, Language: "en", Payload: []byte(`{}`)}); err != nil {
				t.Fatal(err)
			}
			if _, err := search.Spread(t.Context(), from, to, search.SpreadOptions{More: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := search.Spread(t.Context(), other, to, search.SpreadOptions{}); !errors.Is(err, search.ErrNotEmpty) {
				t.Errorf("of something else: %v, want ErrNotEmpty", err)
			}
			if err := from.Drop(t.Context(), "docs"); err != nil {
				t.Fatal(err)
			}
			list, err := search.Spread(t.Context(), from, to, search.SpreadOptions{})
			if err != nil || len(list) != 1 || !list[0].Dropped || search.Complete(to) != nil {
				t.Errorf("Spread = %+v, %v, want docs dropped; the copy is %v", list, err, search.Complete(to))
			}
		})
	}
}

// TestSpreadOfUnfinished: a copy that is not complete is copied by nobody: what would be made of it would count as complete.
func TestSpreadOfUnfinished(t *testing.T) {
	from := t.TempDir()
	spreadSource(t, from, 3)
	b, part, to := openFolder(t, from), openFolder(t, t.TempDir()), openFolder(t, t.TempDir())
	for _, b := range []search.Whole{b, part, to} {
		defer b.Close()
	}
	if _, err := search.Spread(t.Context(), b, part, search.SpreadOptions{More: true}); err != nil {
		t.Fatal(err)
	}
	for _, more := range []bool{true, false} {
		if _, err := search.Spread(t.Context(), part, to, search.SpreadOptions{More: more}); !errors.Is(err, search.ErrUnfinished) {
			t.Errorf("more=%t: %v, want ErrUnfinished", more, err)
		}
	}
}

// TestSpreadOfOtherPassages: a document with the content of before that is cut otherwise is copied again.
func TestSpreadOfOtherPassages(t *testing.T) {
	from := t.TempDir()
	spreadSource(t, from, 10)
	b, to := openFolder(t, from), openFolder(t, t.TempDir())
	defer b.Close()
	defer to.Close()
	if _, err := search.Spread(t.Context(), b, to, search.SpreadOptions{More: true}); err != nil {
		t.Fatal(err)
	}
	docs, err := b.Lookup(t.Context(), "docs", []string{"n005"})
	if err != nil {
		t.Fatal(err)
	}
	again := backend.Write{ID: "n005", Fields: docs[0].Fields, Hash: docs[0].Hash}
	for i := range 2 {
		again.Passages = append(again.Passages, backend.Passage{Field: "text", Start: i, End: i + 5})
		v := make([]float32, fakeDim)
		v[i] = 1
		again.Vectors = append(again.Vectors, v)
	}
	if _, err := b.Apply(t.Context(), "docs", []backend.Write{{ID: "n005", Delete: true}, again}); err != nil {
		t.Fatal(err)
	}
	list, err := search.Spread(t.Context(), b, to, search.SpreadOptions{})
	if err != nil || list[0].SpreadCounts != (search.SpreadCounts{Changed: 1, Same: 9}) {
		t.Errorf("Spread = %+v, %v, want one changed", list, err)
	}
	want, _, _ := heldBy(t, b)
	if got, _, _ := heldBy(t, to); !reflect.DeepEqual(got, want) {
		t.Errorf("the copy differs: %d and %d documents with collections", len(got), len(want))
	}
}

// TestSpreadOfWhatGoes: a collection that is dropped while it is copied is for the next pass, which drops it from the copy; in a last pass it is an error.
func TestSpreadOfWhatGoes(t *testing.T) {
	for _, more := range []bool{true, false} {
		from := t.TempDir()
		spreadSource(t, from, 10)
		b, to := openFolder(t, from), openFolder(t, t.TempDir())
		if err := b.Create(t.Context(), "kept", backend.Config{Dimension: 2, Language: "en", Payload: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
		gone := &hookedWhole{Whole: b, before: func(method string) error {
			if method == "Lookup" {
				return b.Drop(t.Context(), "docs")
			}
			return nil
		}}
		_, err := search.Spread(t.Context(), gone, to, search.SpreadOptions{More: more})
		if more && err != nil || !more && !errors.Is(err, search.ErrCollectionNotFound) {
			t.Errorf("dropped meanwhile, more %v: %v", more, err)
		}
		list, err := search.Spread(t.Context(), b, to, search.SpreadOptions{More: true})
		if err != nil || len(list) != 2 || list[1].Name != "docs" || !list[1].Dropped {
			t.Errorf("the pass after it: %+v, %v, want docs dropped", list, err)
		}
		if err := errors.Join(b.Close(), to.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
