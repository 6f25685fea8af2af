package search_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"searchd/search"
	"searchd/search/backend"
	"searchd/search/embedded"
)

// openFolder opens a data folder as Spread takes it, to be closed by the caller.
func openFolder(t *testing.T, dir string) *embedded.Backend {
	t.Helper()
	b, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// spreadInto copies a folder into another and closes both.
func spreadInto(t *testing.T, ctx context.Context, from, to string, report func(done, total int64)) ([]search.CollectionInfo, error) {
	t.Helper()
	a, b := openFolder(t, from), openFolder(t, to)
	list, err := search.Spread(ctx, a, b, report)
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	return list, err
}

// spreadSource makes a folder with a collection of n documents, some of them replaced and deleted, and an alias.
func spreadSource(t *testing.T, dir string, n int) {
	t.Helper()
	e := open(t, dir, &fakeEmbedder{})
	docs := numbered(n)
	put(t, e, search.Created, docs...)
	put(t, e, search.Updated, doc(docs[0].ID, `{"text":"replaced, and long enough. For two passages of it there must be more words than fit into one of them, which are these and some more of the same kind, until it is cut."}`))
	put(t, e, search.Created, doc("untold", `{"year":1999}`))
	if _, err := e.DeleteDocuments(t.Context(), "docs", []string{docs[1].ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.SetAlias(t.Context(), "letters", "docs"); err != nil {
		t.Fatal(err)
	}
	v, err := e.Vault()
	if err == nil {
		err = v.SetValues(t.Context(), map[string][]byte{"key/k1": []byte("a key")})
	}
	if err = errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
}

// held is what a folder holds: each document with the vectors of its passages, without its revision, and the values but tasks.
func held(t *testing.T, dir string) (docs map[string]any, revisions map[string]uint64, values map[string][]byte) {
	t.Helper()
	b := openFolder(t, dir)
	defer b.Close()
	docs, revisions = map[string]any{}, map[string]uint64{}
	list, err := b.Collections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		docs[c.Name] = string(c.Config.Payload)
		for cursor, first := "", true; first || cursor != ""; first = false {
			var page []*backend.Document
			if page, cursor, err = b.List(t.Context(), c.Name, cursor, 100); err != nil {
				t.Fatal(err)
			}
			for _, d := range page {
				_, vectors, err := b.Encoded(t.Context(), c.Name, d.ID)
				if err != nil {
					t.Fatal(err)
				}
				revisions[d.ID] = d.Revision
				d.Revision, d.Ref = 0, 0
				docs[c.Name+"/"+d.ID] = []any{*d, vectors}
			}
		}
	}
	if values, err = b.Values(""); err != nil {
		t.Fatal(err)
	}
	delete(values, "task/t1")
	return docs, revisions, values
}

// TestSpread copies a folder, stops in between and goes on: the copy holds the same, under new revisions, and is served once it is complete.
func TestSpread(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	spreadSource(t, from, 400)
	b := openFolder(t, from)
	if err := errors.Join(b.SetValues(t.Context(), map[string][]byte{"task/t1": []byte(`{}`)}), b.Close()); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	_, err := spreadInto(t, ctx, from, to, func(done, total int64) {
		if total != 400 {
			t.Errorf("a total of %d, want 400", total)
		}
		if done >= 128 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	if _, err := search.Open(to, search.Options{Embedder: &fakeEmbedder{}}); !errors.Is(err, search.ErrUnfinished) {
		t.Errorf("Open of half a copy: %v, want ErrUnfinished", err)
	}
	other := t.TempDir()
	spreadSource(t, other, 3)
	if _, err := spreadInto(t, t.Context(), other, to, nil); !errors.Is(err, search.ErrNotEmpty) {
		t.Errorf("a copy of something else into half a copy: %v, want ErrNotEmpty", err)
	}

	list, err := spreadInto(t, t.Context(), from, to, nil)
	if err != nil || len(list) != 1 || list[0].Name != "docs" || list[0].Documents != 400 || list[0].Passages < 400 {
		t.Fatalf("Spread = %+v, %v", list, err)
	}
	want, before, values := held(t, from)
	got, after, copied := held(t, to)
	if len(got) != 401 || !reflect.DeepEqual(got, want) {
		t.Errorf("the copy differs: %d and %d documents with collections", len(got), len(want))
	}
	if len(copied) != 2 || !reflect.DeepEqual(copied, values) {
		t.Errorf("values of the copy %q, want %q", copied, values)
	}
	for id, r := range before {
		if after[id] <= r || after[id] <= before["untold"] {
			t.Errorf("%s has revision %d, and had %d; the largest was %d", id, after[id], r, before["untold"])
		}
	}
	e := open(t, to, &fakeEmbedder{})
	if c, err := e.Collection(t.Context(), "letters"); err != nil || c.Documents != 400 {
		t.Errorf("by its alias: %+v, %v", c, err)
	}
	if problems, err := e.Check(t.Context(), true); err != nil || len(problems) != 0 {
		t.Errorf("Check = %v, %v", problems, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := spreadInto(t, t.Context(), from, to, nil); !errors.Is(err, search.ErrNotEmpty) {
		t.Errorf("a second copy: %v, want ErrNotEmpty", err)
	}
}

// TestSpreadOfWhatChanged: what was deleted between two runs is in the copy and must not stay unseen.
func TestSpreadOfWhatChanged(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	spreadSource(t, from, 300)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := spreadInto(t, ctx, from, to, func(int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	e := open(t, from, &fakeEmbedder{})
	if _, err := e.DeleteDocuments(t.Context(), "docs", []string{numbered(3)[2].ID}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := spreadInto(t, t.Context(), from, to, nil); !errors.Is(err, search.ErrNotEmpty) || !strings.Contains(err.Error(), "begin again") {
		t.Errorf("Spread = %v, want what to do", err)
	}
}

// TestSpreadOfGenerations copies what names lead to, under these names, and nothing hidden.
func TestSpreadOfGenerations(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	e := mustOpenWide(t, from, &wideEmbedder{})
	put(t, e, search.Created, numbered(5)...)
	task, err := e.Reembed(t.Context(), "docs", search.ReembedOptions{Model: wide, KeepOld: true})
	if err != nil {
		t.Fatal(err)
	}
	if task = ended(t, e, task.ID); task.State != search.TaskSucceeded {
		t.Fatalf("re-embedding: %+v", task)
	}
	put(t, e, search.Created, doc("later", `{"text":"only in the present one"}`))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := spreadInto(t, t.Context(), from, to, nil)
	if err != nil || len(list) != 2 {
		t.Fatalf("Spread = %+v, %v, want docs and docs-old", list, err)
	}
	e = mustOpenWide(t, to, &wideEmbedder{})
	for name, n := range map[string]int{"docs": 6, "docs-old": 5} {
		if c, err := e.Collection(t.Context(), name); err != nil || c.Documents != n {
			t.Errorf("%s: %d documents, %v, want %d", name, c.Documents, err, n)
		}
	}
}
