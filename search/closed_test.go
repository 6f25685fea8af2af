package search_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"example.com/searchd/search"
)

func TestClosed(t *testing.T) {
	e := open(t, t.TempDir(), &fakeEmbedder{})
	put(t, e, search.Created, doc("a", `{"text": "words"}`))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"Backup":           func(ctx context.Context) error { _, err := e.Backup(ctx, io.Discard); return err },
		"Check":            func(ctx context.Context) error { _, err := e.Check(ctx, false); return err },
		"Collection":       func(ctx context.Context) error { _, err := e.Collection(ctx, "docs"); return err },
		"Collections":      func(ctx context.Context) error { _, err := e.Collections(ctx); return err },
		"CreateCollection": func(ctx context.Context) error { _, err := e.CreateCollection(ctx, "b", search.Settings{}); return err },
		"CreateSnapshot":   func(ctx context.Context) error { _, err := e.CreateSnapshot(ctx); return err },
		"DeleteByFilter":   func(ctx context.Context) error { _, err := e.DeleteByFilter(ctx, "docs", "a = 1", false); return err },
		"DeleteDocuments":  func(ctx context.Context) error { _, err := e.DeleteDocuments(ctx, "docs", []string{"a"}); return err },
		"Document":         func(ctx context.Context) error { _, err := e.Document(ctx, "docs", "a"); return err },
		"Documents":        func(ctx context.Context) error { _, _, err := e.Documents(ctx, "docs", "", 1); return err },
		"DropCollection":   func(ctx context.Context) error { return e.DropCollection(ctx, "docs") },
		"EnsureCollection": func(ctx context.Context) error {
			_, _, err := e.EnsureCollection(ctx, "docs", search.Settings{Language: "de"})
			return err
		},
		"Explain": func(ctx context.Context) error {
			_, err := e.Explain(ctx, "docs", "a", search.Query{Q: "words"})
			return err
		},
		"Ingest": func(ctx context.Context) error {
			_, err := e.Ingest(ctx, "docs", []search.Document{doc("b", `{"text": "more"}`)})
			return err
		},
		"Map":     func(ctx context.Context) error { _, err := e.Map(ctx, "docs", search.MapOptions{}); return err },
		"Reembed": func(ctx context.Context) error { _, err := e.Reembed(ctx, "docs", search.ReembedOptions{}); return err },
		"Search": func(ctx context.Context) error {
			_, err := e.Search(ctx, "docs", search.Query{Q: "words"})
			return err
		},
		"SetAlias": func(ctx context.Context) error { _, err := e.SetAlias(ctx, "also", "docs"); return err },
		"Similar": func(ctx context.Context) error {
			_, err := e.Similar(ctx, "docs", search.Similar{IDs: []string{"a"}})
			return err
		},
		"Stats": func(ctx context.Context) error { _, err := e.Stats(ctx); return err },
	} {
		if err := call(t.Context()); !errors.Is(err, search.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
}
