package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"searchd/search/backend"
	"searchd/search/embedded"
)

// standbyOf makes a folder that follows a, and brings it up to date.
func standbyOf(t *testing.T, a *embedded.Backend) (b *embedded.Backend, dir string) {
	t.Helper()
	dir = t.TempDir()
	var backup bytes.Buffer
	if _, err := a.Copy(t.Context(), "b", &backup); err != nil {
		t.Fatal(err)
	}
	if _, _, err := embedded.FetchCopy(t.Context(), &backup, dir, backend.Marker{Primary: a.StoreID(), URL: "http://a", Name: "b"}, func(text string) { t.Error(text) }); err != nil {
		t.Fatal(err)
	}
	if err := embedded.InstallCopy(dir); err != nil {
		t.Fatal(err)
	}
	return mustOpen(t, dir, embedded.Options{}), dir
}

func mustOpen(t *testing.T, dir string, o embedded.Options) *embedded.Backend {
	t.Helper()
	b, err := embedded.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func take(t *testing.T, a, b *embedded.Backend) (adopted bool, values []string) {
	t.Helper()
	n, err := a.News(t.Context(), "b", b.Stands(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if adopted, values, err = b.Take(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	gone, err := b.Gone(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range gone {
		if err := b.Leave(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return adopted, values
}

func identity(t *testing.T, b *embedded.Backend) backend.Identity {
	t.Helper()
	id, err := b.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestStandby follows a shard from before it was claimed until it takes its place, by either way.
func TestStandby(t *testing.T) {
	for _, while := range []bool{false, true} {
		a := mustOpen(t, t.TempDir(), embedded.Options{})
		b, dir := standbyOf(t, a)
		if id := identity(t, b); id != (backend.Identity{Follows: "http://a"}) {
			t.Errorf("a standby of a new shard is %+v", id)
		}
		claim := backend.Identity{Cluster: "c", Index: 1, Of: 2, Epoch: 5, Complete: 4}
		config := backend.Config{Dimension: 2, Language: "en", Payload: []byte("{}")}
		if err := errors.Join(a.Claim(t.Context(), claim), a.Create(t.Context(), "docs", config), a.Create(t.Context(), "gone", config)); err != nil {
			t.Fatal(err)
		}
		if adopted, values := take(t, a, b); !adopted || fmt.Sprint(values) != "[shard]" {
			t.Errorf("Take: adopted %t, values %v", adopted, values)
		}
		write := []backend.Write{{ID: "a", Fields: []byte(`{"n":1}`)}}
		if _, err := a.Apply(t.Context(), "docs", write); err != nil {
			t.Fatal(err)
		}
		if err := a.Drop(t.Context(), "gone"); err != nil {
			t.Fatal(err)
		}
		if adopted, values := take(t, a, b); adopted || len(values) != 0 {
			t.Errorf("Take of a document: adopted %t, values %v", adopted, values)
		}
		if list, err := b.Collections(t.Context()); err != nil || len(list) != 1 || list[0].Documents != 1 {
			t.Errorf("it holds %+v, %v", list, err)
		}
		following := claim
		following.Follows = "http://a"
		if id := identity(t, b); id != following {
			t.Errorf("the standby is %+v, want %+v", id, following)
		}
		later := claim
		later.Epoch = 9
		for name, err := range map[string]error{
			"Claim": b.Claim(t.Context(), later), "SetValues": b.SetValues(t.Context(), map[string][]byte{"x": {1}}), "Drop": b.Drop(t.Context(), "docs"),
		} {
			if !errors.Is(err, backend.ErrReplica) {
				t.Errorf("%s: %v, want ErrReplica", name, err)
			}
		}
		if _, err := b.News(t.Context(), "c", nil, 0); !errors.Is(err, backend.ErrReplica) {
			t.Errorf("News: %v, want ErrReplica", err)
		}
		if n, err := b.Copy(t.Context(), "c", &bytes.Buffer{}); n != 0 || !errors.Is(err, backend.ErrReplica) {
			t.Errorf("Copy: %d, %v, want ErrReplica", n, err)
		}

		if while {
			if err := errors.Join(b.Promote(t.Context()), b.Promote(t.Context())); err != nil {
				t.Fatal(err)
			}
		} else {
			b.Close()
			b = mustOpen(t, dir, embedded.Options{Promote: true})
		}
		put := claim
		put.Unclaimed = true
		if id := identity(t, b); id != put || b.Marker() != nil {
			t.Errorf("in the place of the shard it is %+v, want %+v", id, put)
		}
		if _, _, err := b.Take(t.Context(), nil); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Take: %v, want ErrUnsupported", err)
		}
		if err := b.Claim(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		b.Close()
		b = mustOpen(t, dir, embedded.Options{Promote: true})
		if id := identity(t, b); id != later {
			t.Errorf("claimed and opened again it is %+v, want %+v", id, later)
		}
		if out, err := b.Apply(t.Context(), "docs", write); err != nil || out[0].Revision != 2 {
			t.Errorf("a write: %+v, %v", out, err)
		}
	}
}

// TestRestoredShard: what was restored says so, and is otherwise what it was. What is of no cluster stays so.
func TestRestoredShard(t *testing.T) {
	for _, claim := range []backend.Identity{{}, {Cluster: "c", Index: 1, Of: 2, Epoch: 5}} {
		a := mustOpen(t, t.TempDir(), embedded.Options{})
		if claim.Cluster != "" {
			if err := a.Claim(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
		}
		var backup bytes.Buffer
		if _, err := a.Backup(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}
		whole, damaged := t.TempDir(), t.TempDir()
		if err := embedded.Restore(t.Context(), bytes.NewReader(backup.Bytes()), whole); err != nil {
			t.Fatal(err)
		}
		if err := embedded.RestoreDamaged(t.Context(), &backup, damaged, func(text string) { t.Error(text) }); err != nil {
			t.Fatal(err)
		}
		want := claim
		want.Unclaimed = claim.Cluster != ""
		for _, dir := range []string{whole, damaged} {
			b := mustOpen(t, dir, embedded.Options{})
			if id := identity(t, b); id != want {
				t.Errorf("restored it is %+v, want %+v", id, want)
			}
			values, err := b.Values("")
			if err != nil || claim.Cluster == "" && len(values) != 0 {
				t.Errorf("values %v, %v", values, err)
			}
		}
	}
}

// endsWithStore is a context that ends when a folder has a store.
type endsWithStore struct {
	context.Context
	dir string
}

func (c endsWithStore) Err() error {
	if _, err := os.Stat(filepath.Join(c.dir, "searchd.db")); err == nil {
		return context.Canceled
	}
	return nil
}

// TestRestoredShardFromTheBeginning: a restored shard says so from the moment at which it is there, so that one whose restore ended then does, too.
func TestRestoredShardFromTheBeginning(t *testing.T) {
	a := mustOpen(t, t.TempDir(), embedded.Options{})
	if err := a.Claim(t.Context(), backend.Identity{Cluster: "c", Index: 1, Of: 2, Epoch: 5}); err != nil {
		t.Fatal(err)
	}
	var backup bytes.Buffer
	if _, err := a.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	err := embedded.Restore(endsWithStore{t.Context(), dir}, &backup, dir)
	if id := identity(t, mustOpen(t, dir, embedded.Options{})); !id.Unclaimed {
		t.Errorf("it is %+v, and Restore = %v", id, err)
	}
}
