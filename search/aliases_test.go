package search_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/searchd/search"
)

// another makes a second collection with one document.
func another(t *testing.T, e *search.Engine, name string, docs ...search.Document) {
	t.Helper()
	if _, err := e.CreateCollection(t.Context(), name, search.Settings{}); err != nil {
		t.Fatal(err)
	}
	if r, err := e.Ingest(t.Context(), name, docs); err != nil || r[0].Err != nil {
		t.Fatal(r, err)
	}
}

// first returns the id of the best hit in a collection.
func first(t *testing.T, e *search.Engine, collection, q string) string {
	t.Helper()
	r, err := e.Search(t.Context(), collection, search.Query{Q: q})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Hits) == 0 {
		return ""
	}
	return r.Hits[0].ID
}

func TestAliases(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, &fakeEmbedder{})
	put(t, e, search.Created, doc("a", `{"text":"a car"}`))
	another(t, e, "new", doc("b", `{"text":"another car"}`))
	for _, step := range []struct {
		to      string
		created bool
		finds   string
	}{{"docs", true, "a"}, {"new", false, "b"}, {"new", false, "b"}} {
		if created, err := e.SetAlias(t.Context(), "live", step.to); err != nil || created != step.created {
			t.Fatalf("SetAlias(live, %s) = %t, %v, want %t", step.to, created, err, step.created)
		}
		if got := first(t, e, "live", "car"); got != step.finds {
			t.Errorf("live -> %s finds %q, want %q", step.to, got, step.finds)
		}
	}
	if _, err := e.Ingest(t.Context(), "live", []search.Document{doc("c", `{"text":"third"}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Document(t.Context(), "new", "c"); err != nil {
		t.Errorf("what was put into the alias is not in the collection: %v", err)
	}
	if info, created, err := e.EnsureCollection(t.Context(), "live", search.Settings{}); err != nil || created || info.Name != "new" {
		t.Errorf("EnsureCollection(live) = %q, %t, %v, want the collection new", info.Name, created, err)
	}

	e.Close()
	e = open(t, dir, &fakeEmbedder{})
	if list, err := e.Aliases(t.Context()); err != nil || len(list) != 1 || list[0] != (search.Alias{Alias: "live", Collection: "new"}) {
		t.Errorf("after opening again the aliases are %v, %v", list, err)
	}
	if list, err := e.Collections(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("%d collections, %v, want 2: an alias is none", len(list), err)
	}
	if err := e.DeleteAlias(t.Context(), "live"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Search(t.Context(), "live", search.Query{Q: "car"}); !errors.Is(err, search.ErrCollectionNotFound) {
		t.Errorf("a deleted alias: %v", err)
	}
	if err := e.DropCollection(t.Context(), "new"); err != nil {
		t.Errorf("without its alias: %v", err)
	}
}

func TestAliasRefusals(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	another(t, e, "docs2", doc("a", `{"text":"a car"}`))
	if _, err := e.SetAlias(t.Context(), "live", "docs2"); err != nil {
		t.Fatal(err)
	}
	_, create := e.CreateCollection(t.Context(), "live", search.Settings{})
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"a collection of the alias's name", create, search.ErrCollectionExists},
		{"an alias of a collection's name", setAlias(t, e, "docs2", "docs"), search.ErrCollectionExists},
		{"an alias of an alias", setAlias(t, e, "more", "live"), search.ErrInvalid},
		{"an alias of nothing", setAlias(t, e, "more", "none"), search.ErrCollectionNotFound},
		{"a name with a tilde", setAlias(t, e, "a~2", "docs2"), search.ErrInvalid},
		{"deleting a collection with an alias", e.DropCollection(t.Context(), "docs2"), search.ErrAliased},
		{"deleting it by its alias", e.DropCollection(t.Context(), "live"), search.ErrAliased},
		{"deleting an alias that is not there", e.DeleteAlias(t.Context(), "docs2"), search.ErrAliasNotFound},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
		}
	}
}

func setAlias(t *testing.T, e *search.Engine, alias, to string) error {
	_, err := e.SetAlias(t.Context(), alias, to)
	return err
}

// TestNamesWaitWithTheirContext changes names while another change takes long.
func TestNamesWaitWithTheirContext(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	release := e.HoldNames()
	defer release()
	for what, change := range map[string]func(ctx context.Context) error{
		"create": func(ctx context.Context) error {
			_, err := e.CreateCollection(ctx, "other", search.Settings{})
			return err
		},
		"drop":   func(ctx context.Context) error { return e.DropCollection(ctx, "docs") },
		"alias":  func(ctx context.Context) error { _, err := e.SetAlias(ctx, "live", "docs"); return err },
		"delete": func(ctx context.Context) error { return e.DeleteAlias(ctx, "live") },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := change(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
}
