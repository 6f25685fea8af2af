package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
)

func settings(quantize string) backend.Config {
	return backend.Config{Dimension: libraryDim, Language: "en", Quantize: quantize, Payload: json.RawMessage("{}")}
}

// countdown is a context that has ended when it has been asked n times.
type countdown struct {
	context.Context
	left atomic.Int64
}

func newCountdown(ctx context.Context, n int) *countdown {
	c := &countdown{Context: ctx}
	c.left.Store(int64(n))
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// soon runs f and fails where it takes long.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s waits", what)
	}
}

// TestUpdateGivenUp ends the context of an update at each of its steps: the collection is there,
// with the settings of the store.
func TestUpdateGivenUp(t *testing.T) {
	updated := 0
	for n := range 12 {
		l := newLibrary(t, "", 50)
		b, err := Open(l.dir, Options{})
		must(t, err)
		want := ""
		if err := on(b).Update(newCountdown(t.Context(), n), "docs", settings(backend.QuantizeInt8)); err == nil {
			updated++
			want = backend.QuantizeInt8
		}
		if c, err := on(b).Collection(t.Context(), "docs"); err != nil || c.Config.Quantize != want {
			t.Fatalf("after %d: quantize is %q, %v, want %q", n, c.Config.Quantize, err, want)
		}
		l.exact(t, b, "after an update")
		sound(t, b)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if updated == 0 || updated == 12 {
		t.Errorf("%d of 12 updates were made", updated)
	}
}

// TestCreateGivenUp ends the context of a creation at each of its steps: the collection is there,
// or can be made.
func TestCreateGivenUp(t *testing.T) {
	made := 0
	for n := range 12 {
		b, err := Open(t.TempDir(), Options{})
		must(t, err)
		err = on(b).Create(newCountdown(t.Context(), n), "docs", settings(""))
		if err == nil {
			made++
		}
		if _, there := on(b).Collection(t.Context(), "docs"); (there == nil) != (err == nil) {
			t.Errorf("after %d: Create = %v, Collection = %v", n, err, there)
		}
		want := error(nil)
		if err == nil {
			want = backend.ErrCollectionExists
		}
		if again := on(b).Create(t.Context(), "docs", settings("")); !errors.Is(again, want) {
			t.Errorf("after %d: Create = %v, again %v, want %v", n, err, again, want)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if made == 0 || made == 12 {
		t.Errorf("%d of 12 collections were made", made)
	}
}

// TestChangesKeepNobodyElse changes a collection during a long call: the others answer, and who
// wants this one waits as long as it likes.
func TestChangesKeepNobodyElse(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(b *Backend) error
	}{
		{"update", func(b *Backend) error {
			return on(b).Update(context.Background(), "docs", settings(backend.QuantizeInt8))
		}},
		{"drop", func(b *Backend) error { return b.Drop(context.Background(), "docs") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLibrary(t, "", 300)
			var told notices
			b, err := Open(l.dir, Options{RebuildFrom: 299, Notice: told.tell})
			must(t, err)
			defer b.Close()
			must(t, on(b).Create(t.Context(), "other", settings("")))
			c, release, err := b.collection(t.Context(), "docs") // a long call
			must(t, err)
			defer func() {
				if release != nil {
					release()
				}
			}()
			changed := make(chan error, 1)
			go func() { changed <- tc.change(b) }()
			if tc.name == "drop" {
				must(t, <-changed)
				changed <- nil
			}
			for c.use.TryRLock() { // until the change waits for the call
				c.use.RUnlock()
				time.Sleep(time.Millisecond)
			}
			soon(t, "another collection", func() {
				if _, err := on(b).Words(t.Context(), "other", backend.Words{Text: "word"}, 1, nil); err != nil {
					t.Error(err)
				}
				if err := on(b).Create(t.Context(), "third", settings("")); err != nil {
					t.Error(err)
				}
				if _, err := b.Collections(t.Context()); err != nil {
					t.Error(err)
				}
				b.rebuilds()
			})
			short, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer end()
			soon(t, "a search that has little time", func() {
				_, err := on(b).Nearest(short, "docs", l.unit(), 1, nil)
				if want := map[string]error{"update": context.DeadlineExceeded, "drop": backend.ErrCollectionNotFound}[tc.name]; !errors.Is(err, want) {
					t.Errorf("Nearest: %v, want %v", err, want)
				}
				err = on(b).Create(short, "docs", settings(""))
				if want := map[string]error{"update": context.DeadlineExceeded}[tc.name]; !errors.Is(err, want) {
					t.Errorf("Create of the same name: %v, want %v", err, want)
				}
			})
			release()
			release = nil
			must(t, <-changed)
			if tc.name == "drop" {
				if c, err := on(b).Collection(t.Context(), "docs"); err != nil || c.Documents != 0 {
					t.Errorf("Collection = %+v, %v", c, err)
				}
				b.background.Wait()
				if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the indexes of the dropped one: %v", err)
				}
				return
			}
			c = b.mu.byName["docs"]
			l.exact(t, b, "right after the update")
			c.rebuild.fillers.Wait()
			told.has(t, "building the vector index in the background")
			l.exact(t, b, "when the graph is built")
			sound(t, b)
		})
	}
}

// TestUnopenable changes the settings of a collection whose indexes cannot be opened: it is listed
// as such, and opened, or dropped and made again.
func TestUnopenable(t *testing.T) {
	l := newLibrary(t, "", 50)
	b, err := Open(l.dir, Options{})
	must(t, err)
	defer b.Close()
	dir := b.mu.byName["docs"].dir
	must(t, errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)))
	if err := on(b).Update(t.Context(), "docs", settings(backend.QuantizeInt8)); err == nil {
		t.Fatal("the update has found a way")
	}
	if _, err := on(b).Collection(t.Context(), "docs"); !errors.Is(err, backend.ErrDamaged) {
		t.Errorf("Collection: %v, want what keeps it from being opened", err)
	}
	if list, err := b.Collections(t.Context()); err != nil || len(list) != 1 || list[0].Damaged == "" {
		t.Errorf("Collections = %+v, %v", list, err)
	}
	if err := on(b).Create(t.Context(), "docs", settings("")); !errors.Is(err, backend.ErrCollectionExists) {
		t.Errorf("Create: %v", err)
	}
	must(t, os.Remove(dir))
	if err := on(b).Update(t.Context(), "docs", settings("")); err != nil {
		t.Error(err)
	}
	if c, err := on(b).Collection(t.Context(), "docs"); err != nil || c.Documents != 50 {
		t.Errorf("Collection = %+v, %v", c, err)
	}
	must(t, b.Drop(t.Context(), "docs"))
	if err := b.Drop(t.Context(), "docs"); !errors.Is(err, backend.ErrCollectionNotFound) {
		t.Errorf("Drop again: %v", err)
	}
	if err := on(b).Create(t.Context(), "docs", settings("")); err != nil {
		t.Error(err)
	}
}

// TestChangesAtOnce makes, changes, drops, fills and searches collections at once and closes in the
// middle.
func TestChangesAtOnce(t *testing.T) {
	l := newLibrary(t, "", 300)
	b, err := Open(l.dir, Options{RebuildFrom: 100})
	must(t, err)
	ctx := context.Background()
	var callers sync.WaitGroup
	call := func(f func(i int) error) {
		callers.Go(func() {
			for i := 0; ; i++ {
				err := f(i)
				switch {
				case errors.Is(err, backend.ErrClosed):
					return
				case err == nil, errors.Is(err, backend.ErrCollectionNotFound), errors.Is(err, backend.ErrCollectionExists):
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	quantize := []string{backend.QuantizeNone, backend.QuantizeInt8}
	q, v := l.unit(), l.unit()
	call(func(i int) error { return on(b).Update(ctx, "docs", settings(quantize[i%2])) })
	call(func(int) error { _, err := on(b).Nearest(ctx, "docs", q, 3, nil); return err })
	call(func(i int) error {
		_, err := on(b).Apply(ctx, "docs", []backend.Write{{ID: fmt.Sprint("a", i%7), Hash: [32]byte{byte(i), byte(i >> 8)}, Fields: json.RawMessage(`{"text":"word"}`),
			Passages: []backend.Passage{{Field: "text", End: 4}}, Vectors: [][]float32{v}}})
		return err
	})
	for range 2 {
		call(func(int) error { return on(b).Create(ctx, "short", settings("")) })
		call(func(int) error { return b.Drop(ctx, "short") })
	}
	call(func(int) error { _, err := b.Collections(ctx); return err })
	time.Sleep(time.Second)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	callers.Wait()
	b, err = Open(l.dir, Options{})
	must(t, err)
	defer b.Close()
	sound(t, b)
}

// TestUpdateWaitsForLittle changes the settings of a collection that an opening would wait for: an
// update does not.
func TestUpdateWaitsForLittle(t *testing.T) {
	l := newLibrary(t, "", changeFrom+1)
	var told notices
	b, err := Open(l.dir, Options{Notice: told.tell})
	must(t, err)
	defer b.Close()
	must(t, on(b).Update(t.Context(), "docs", settings(backend.QuantizeInt8)))
	l.exact(t, b, "right after the update")
	b.mu.byName["docs"].rebuild.fillers.Wait()
	told.has(t, "building the vector index in the background")
	l.exact(t, b, "when the graph is built")
	sound(t, b)
}

// TestSynonymsChangeInUse changes synonyms while a call works on the indexes: it waits for none, no
// search waits for it, and the indexes stay.
func TestSynonymsChangeInUse(t *testing.T) {
	b := openDocs(t, Options{})
	colour(t, b, "a", "red")
	old, release, err := b.collection(t.Context(), "docs")
	must(t, err)
	released := sync.OnceFunc(release)
	defer released()
	c, err := on(b).Collection(t.Context(), "docs")
	must(t, err)
	for _, step := range []struct {
		rules []string
		found int
	}{{[]string{"crimson => red"}, 1}, {[]string{"crimson => blue"}, 0}, {nil, 0}, {[]string{"scarlet, crimson, red"}, 1}} {
		soon(t, "an update", func() {
			c.Config.Synonyms = step.rules
			if err := on(b).Update(t.Context(), "docs", c.Config); err != nil {
				t.Error(err)
			}
		})
		m, err := on(b).Words(t.Context(), "docs", backend.Words{Text: "crimson"}, 10, nil)
		if err != nil || m.Total != step.found {
			t.Errorf("with %q: %d documents, %v, want %d", step.rules, m.Total, err, step.found)
		}
		if now, err := on(b).Collection(t.Context(), "docs"); err != nil || !slices.Equal(now.Config.Synonyms, step.rules) {
			t.Errorf("the collection has %q, %v, want %q", now.Config.Synonyms, err, step.rules)
		}
	}
	if b.mu.byName["docs"] != old {
		t.Error("the collection was opened again")
	}
	released()
	c.Config.Quantize = backend.QuantizeInt8
	must(t, on(b).Update(t.Context(), "docs", c.Config))
	if m, err := on(b).Words(t.Context(), "docs", backend.Words{Text: "crimson"}, 10, nil); err != nil || m.Total != 1 || b.mu.byName["docs"] == old {
		t.Errorf("with another graph: %d documents, %v", m.Total, err)
	}
}

// TestWeightsChangeInUse is the same for the weights of fields; another type of a field opens the
// collection again.
func TestWeightsChangeInUse(t *testing.T) {
	b := openDocs(t, Options{})
	colour(t, b, "a", "red")
	c, err := on(b).Collection(t.Context(), "docs")
	must(t, err)
	update := func(m mapping.Mapping) {
		t.Helper()
		c.Config.Mapping = m
		soon(t, "an update", func() {
			if err := on(b).Update(t.Context(), "docs", c.Config); err != nil {
				t.Error(err)
			}
		})
	}
	first := b.mu.byName["docs"]
	update(mapping.Mapping{"text": {Type: mapping.Text}})
	old, release, err := b.collection(t.Context(), "docs")
	must(t, err)
	defer release()
	if old == first {
		t.Error("a field with an entry of its own: the collection was not opened again")
	}
	score := func() float64 {
		t.Helper()
		m, err := on(b).Words(t.Context(), "docs", backend.Words{Text: "paint"}, 10, nil)
		if err != nil || len(m.Matches) != 1 {
			t.Fatalf("%d documents, %v", len(m.Matches), err)
		}
		return m.Matches[0].Score
	}
	one := score()
	update(mapping.Mapping{"text": {Type: mapping.Text, Weight: 8}})
	if eight := score(); eight <= one || b.mu.byName["docs"] != old {
		t.Errorf("with weight 8 the score is %v, was %v", eight, one)
	}
	update(mapping.Mapping{"text": {Type: mapping.Text}})
	if again := score(); again != one {
		t.Errorf("the score was %v and is %v", one, again)
	}
}

// TestListedOnce lists collections while one of them is quarantined and opened again and again: it
// is in every list, once.
func TestListedOnce(t *testing.T) {
	b := openDocs(t, Options{})
	c, q := b.mu.byName["docs"], &quarantined{name: "docs", reason: "damaged"}
	stop := make(chan struct{})
	var changes sync.WaitGroup
	defer func() { close(stop); changes.Wait() }()
	changes.Go(func() {
		for {
			for _, isOpen := range []bool{false, true} {
				if isOpen {
					b.setCollection("docs", c, nil)
				} else {
					b.setCollection("docs", nil, q)
				}
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for range 5000 {
		if list, err := b.Collections(t.Context()); err != nil || len(list) != 1 {
			t.Fatalf("Collections = %+v, %v, want one", list, err)
		}
	}
}
