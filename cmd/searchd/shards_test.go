package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/search/remote"
	"searchd/search/shards"
)

// TestServerWaitsForCopy: shards that `searchd spread` fills are waited for, and not claimed, which would end the copy.
func TestServerWaitsForCopy(t *testing.T) {
	b, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	if err := b.SetValues(t.Context(), map[string][]byte{"spread": []byte("of another")}); err != nil {
		t.Fatal(err)
	}
	f := shardsFlags{urls: []string{serveTest(t, remote.Handler(b, remote.HandlerOptions{}).ServeHTTP)}}
	waited := 0
	err = f.open(t.Context(), remote.Options{}, slog.New(slog.DiscardHandler), func(what string) {
		if id, err := b.Identity(t.Context()); err != nil || id.Cluster != "" || !strings.Contains(what, "copy not complete") {
			t.Errorf("told %q, and it is %+v, %v", what, id, err)
		}
		if waited++; waited == 2 {
			if err := b.SetValues(t.Context(), map[string][]byte{"spread": nil}); err != nil {
				t.Error(err)
			}
		}
	}, func(b *shards.Backend) error { return b.Close() })
	if err != nil || waited != 2 {
		t.Errorf("opened after %d waits: %v", waited, err)
	}
}

// TestShardGoesWhileTheServerOpens: a shard that is away when the engine reads what is stored is waited for as one that never answered; other errors end.
func TestShardGoesWhileTheServerOpens(t *testing.T) {
	b, err := embedded.Open(t.TempDir(), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	f := shardsFlags{urls: []string{serveTest(t, remote.Handler(b, remote.HandlerOptions{}).ServeHTTP)}}
	var told []string
	waiting := func(what string) { told = append(told, what) }
	uses := 0
	err = f.open(t.Context(), remote.Options{}, slog.New(slog.DiscardHandler), waiting, func(b *shards.Backend) error {
		if uses++; uses == 1 {
			return errors.Join(fmt.Errorf("%w: it was ended", backend.ErrUnavailable), b.Close())
		}
		_, err := b.Collections(t.Context())
		return errors.Join(err, b.Close())
	})
	if err != nil || uses != 2 || len(told) != 1 || !strings.Contains(told[0], "it was ended") {
		t.Errorf("opened %d times, %v; told %q", uses, err, told)
	}
	other := errors.New("no room")
	err = f.open(t.Context(), remote.Options{}, slog.New(slog.DiscardHandler), waiting, func(b *shards.Backend) error { return errors.Join(other, b.Close()) })
	if !errors.Is(err, other) || len(told) != 1 {
		t.Errorf("another error: %v, told %q", err, told)
	}
}
