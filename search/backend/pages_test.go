package backend_test

import (
	"errors"
	"slices"
	"testing"

	"searchd/search/backend"
)

// TestInPages goes on until all is there, whatever a page has, and ends with an answer that none has.
func TestInPages(t *testing.T) {
	keys := []int{0, 1, 2, 3, 4, 5, 6}
	for most := 1; most <= len(keys)+1; most++ {
		var got []int
		err := backend.InPages(keys, func(keys []int) ([]*backend.Document, error) {
			page := make([]*backend.Document, min(most, len(keys)))
			for i := range page {
				page[i] = &backend.Document{Ref: backend.Ref(keys[i])}
			}
			return page, nil
		}, func(keys []int, docs []*backend.Document) error {
			for i, d := range docs {
				if d.Ref != backend.Ref(keys[i]) {
					t.Errorf("document %d in the place of %d", d.Ref, keys[i])
				}
				got = append(got, keys[i])
			}
			return nil
		})
		if err != nil || !slices.Equal(got, keys) {
			t.Errorf("in pages of %d: %v, %v", most, got, err)
		}
	}
	none := func([]int, []*backend.Document) error { return nil }
	for _, n := range []int{0, len(keys) + 1} {
		if err := backend.InPages(keys, func([]int) ([]*backend.Document, error) { return make([]*backend.Document, n), nil }, none); err == nil {
			t.Errorf("an answer of %d documents of %d is taken", n, len(keys))
		}
	}
	fault := errors.New("a fault")
	for _, keys := range [][]int{nil, keys} {
		if err := backend.InPages(keys, func([]int) ([]*backend.Document, error) { return nil, fault }, none); !errors.Is(err, fault) {
			t.Errorf("of %d keys: %v, want what reading returns", len(keys), err)
		}
	}
}
