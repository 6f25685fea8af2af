package search_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/searchd/search"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
)

// TestKeptIsSeenUnderItsNameAlone: a collection that was kept is stored under the name of the one
// that it was. It is not seen there when that one is gone and its own name leads elsewhere, nor
// does its listing give what that one holds.
func TestKeptIsSeenUnderItsNameAlone(t *testing.T) {
	dir := t.TempDir()
	b, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	failing := &stubborn{Backend: b}
	e, err := search.Open(dir, search.Options{Embedder: &fakeEmbedder{}, Backend: failing})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { e.Close() }()
	reembed := func(name string, keep bool) {
		t.Helper()
		task, err := e.Reembed(t.Context(), name, search.ReembedOptions{KeepOld: keep})
		if err != nil || ended(t, e, task.ID).State != search.TaskSucceeded {
			t.Fatal(err)
		}
	}
	fill := func(name string) {
		t.Helper()
		_, created, err := e.EnsureCollection(t.Context(), name, search.Settings{})
		if err != nil || !created {
			t.Fatal(created, err)
		}
		if _, err := e.Ingest(t.Context(), name, numbered(5)); err != nil {
			t.Fatal(err)
		}
	}
	seen := func(want string) {
		t.Helper()
		list, err := e.Collections(t.Context())
		var names []string
		for _, c := range list {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want || err != nil {
			t.Errorf("collections %q, want %q: %v", got, want, err)
		}
	}
	fill("docs")
	_, cursor, err := e.Documents(t.Context(), "docs", "", 2)
	at := strings.Replace(cursor, ".1~", ".%s~", 1)
	if err != nil || at == cursor {
		t.Fatal(cursor, err)
	}
	reembed("docs", true)
	reembed("docs", true)
	seen("docs docs-old docs-old2")
	for name, taken := range map[string]string{"docs": "", "docs-old": "2 3", "docs-old2": "1 3"} { // the listing of docs goes on with what it began with
		if docs, _, err := e.Documents(t.Context(), name, cursor, 10); name != "docs-old2" && (err != nil || len(docs) != 3) {
			t.Errorf("%s goes on with %d documents, %v", name, len(docs), err)
		}
		for _, of := range strings.Fields(taken) {
			if docs, _, err := e.Documents(t.Context(), name, fmt.Sprintf(at, of), 10); !errors.Is(err, search.ErrInvalid) {
				t.Errorf("%s lists %d documents of the generation %s, %v", name, len(docs), of, err)
			}
		}
	}
	if err := e.DropCollection(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	seen("docs-old docs-old2")
	reembed("docs-old", false) // what it was waits to be dropped
	seen("docs-old docs-old2")
	if _, err := e.Collection(t.Context(), "docs"); !errors.Is(err, search.ErrCollectionNotFound) {
		t.Errorf("docs: %v, want ErrCollectionNotFound", err)
	}
	if err := e.DropCollection(t.Context(), "docs"); !errors.Is(err, search.ErrCollectionNotFound) {
		t.Errorf("dropping docs: %v, want ErrCollectionNotFound", err)
	}
	another(t, e, "docs", doc("x", `{"text":"a third life"}`))
	if got, _ := contents(t, e, "docs"); len(got) != 1 {
		t.Errorf("a new docs holds %d documents, want 1", len(got))
	}
	reembed("docs", true) // as docs-old3
	for _, name := range []string{"docs", "docs-old", "docs-old2"} {
		if err := e.DropCollection(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	seen("docs-old3")

	fill("b")
	reembed("b", true)
	for _, name := range []string{"b", "b-old"} {
		if err := e.DropCollection(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	forgotten := func(b backend.Admin, name string) {
		t.Helper()
		if left, err := b.Values(t.Context(), "current/"+name); err != nil || len(left) > 0 {
			t.Errorf("of what is gone there is %q, %v", left, err)
		}
	}
	forgotten(b, "b")

	fill("a")
	reembed("a", true)
	if err := e.DropCollection(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	failing.refuses = true
	if err := e.DropCollection(t.Context(), "a-old"); err == nil {
		t.Fatal("a collection that cannot be dropped is gone")
	}
	seen("docs-old3")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err = embedded.Open(dir, embedded.Options{}); err != nil {
		t.Fatal(err)
	}
	if e, err = search.Open(dir, search.Options{Embedder: &fakeEmbedder{}, Backend: b}); err != nil {
		t.Fatal(err)
	}
	forgotten(b, "a")
	if _, err := e.Collection(t.Context(), "a"); !errors.Is(err, search.ErrCollectionNotFound) {
		t.Errorf("after the next opening, a: %v, want ErrCollectionNotFound", err)
	}
	noProblems(t, e)
}

// stubborn is a backend that refuses to drop.
type stubborn struct {
	*embedded.Backend
	refuses bool
}

func (s *stubborn) Drop(ctx context.Context, name string) error {
	if s.refuses {
		return errors.New("not now")
	}
	return s.Backend.Drop(ctx, name)
}
