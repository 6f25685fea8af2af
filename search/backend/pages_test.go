package backend_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"example.com/searchd/search/backend"
)

// paged answers at most so many documents at once.
type paged struct {
	backend.Storage
	most int
	err  error
}

func (p paged) page(n int) []*backend.Document { return make([]*backend.Document, min(p.most, n)) }

func (p paged) Lookup(_ context.Context, r backend.LookupRequest) ([]*backend.Document, error) {
	docs := p.page(len(r.IDs))
	for i := range docs {
		docs[i] = &backend.Document{ID: r.IDs[i]}
	}
	return docs, p.err
}

func (p paged) Fetch(_ context.Context, r backend.FetchRequest) (backend.FetchResponse, error) {
	docs := p.page(len(r.Refs))
	for i := range docs {
		docs[i] = &backend.Document{Ref: r.Refs[i]}
	}
	return backend.FetchResponse{Documents: docs}, p.err
}

// TestPages goes on until everything was answered, and ends with an answer that cannot be one.
func TestPages(t *testing.T) {
	var ids []string
	var refs []backend.Ref
	for i := range 7 {
		ids, refs = append(ids, strconv.Itoa(i)), append(refs, backend.Ref(i))
	}
	for most := 0; most <= len(ids)+1; most++ {
		var lookedUp []string
		var fetched []backend.Ref
		err := errors.Join(
			backend.LookupPages(t.Context(), paged{most: most}, backend.LookupRequest{IDs: ids}, func(ids []string, docs []*backend.Document) error {
				for i, d := range docs {
					if d.ID != ids[i] {
						t.Errorf("document %s in the place of %s", d.ID, ids[i])
					}
				}
				lookedUp = append(lookedUp, ids...)
				return nil
			}),
			backend.FetchPages(t.Context(), paged{most: most}, backend.FetchRequest{Refs: refs}, func(refs []backend.Ref, page backend.FetchResponse) error {
				for i, d := range page.Documents {
					if d.Ref != refs[i] {
						t.Errorf("document %d in the place of %d", d.Ref, refs[i])
					}
				}
				fetched = append(fetched, refs...)
				return nil
			}))
		if most == 0 && err == nil {
			t.Error("an answer without documents is taken")
		}
		if most > 0 && (err != nil || !slices.Equal(lookedUp, ids) || !slices.Equal(fetched, refs)) {
			t.Errorf("in pages of %d: %v, %v, %v", most, lookedUp, fetched, err)
		}
	}
	fault := errors.New("a fault")
	for _, ids := range [][]string{nil, ids} {
		err := backend.LookupPages(t.Context(), paged{err: fault}, backend.LookupRequest{IDs: ids}, func([]string, []*backend.Document) error { return nil })
		if !errors.Is(err, fault) {
			t.Errorf("of %d ids: %v, want what Lookup returns", len(ids), err)
		}
	}
}

// TestSelection makes sets of documents of several partitions and reads them.
func TestSelection(t *testing.T) {
	refs := []backend.Ref{backend.RefOf(0, 7), backend.RefOf(0, 1<<32-1), backend.RefOf(2, 0), backend.RefOf(2, 5)}
	few := backend.Select(refs[1:3])
	all := few.With([]backend.Ref{refs[3], refs[0], refs[2]})
	if few.Len() != 2 || all.Len() != 4 || few.Contains(refs[0]) || !all.Contains(refs[0]) || all.Contains(backend.RefOf(1, 7)) || all.Contains(backend.RefOf(3, 0)) {
		t.Errorf("sets of %d and %d documents", few.Len(), all.Len())
	}
	for n := range len(refs) + 2 {
		for i, from := range refs {
			if got, want := all.Refs(from, n), refs[i:min(i+n, len(refs))]; !slices.Equal(got, want) {
				t.Errorf("Refs(%d, %d) = %v, want %v", from, n, got, want)
			}
		}
	}
	if got := all.Refs(backend.RefOf(2, 6), 9); len(got) > 0 {
		t.Errorf("after the last: %v", got)
	}
	if none := backend.Select(nil); none.Len() != 0 || none.Contains(0) || len(none.Refs(0, 1)) > 0 {
		t.Error("the empty set has documents")
	}
}
