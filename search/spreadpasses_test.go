package search_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"searchd/search"
	"searchd/search/backend"
	"searchd/search/embedded"
)

// hookedWhole is what Spread copies from or to, with a hook around each call. Heads come in small pages.
type hookedWhole struct {
	search.Whole
	before, after func(method string) error
}

func hookedCall[T any](w *hookedWhole, method string, call func() (T, error)) (out T, err error) {
	if w.before != nil {
		if err := w.before(method); err != nil {
			return out, err
		}
	}
	if out, err = call(); err == nil && w.after != nil {
		err = w.after(method)
	}
	return out, err
}

type nothing struct{}

func (w *hookedWhole) Create(ctx context.Context, name string, c backend.Config) error {
	_, err := hookedCall(w, "Create", func() (nothing, error) { return nothing{}, w.Whole.Create(ctx, name, c) })
	return err
}

func (w *hookedWhole) Update(ctx context.Context, name string, c backend.Config) error {
	_, err := hookedCall(w, "Update", func() (nothing, error) { return nothing{}, w.Whole.Update(ctx, name, c) })
	return err
}

func (w *hookedWhole) Drop(ctx context.Context, name string) error {
	_, err := hookedCall(w, "Drop", func() (nothing, error) { return nothing{}, w.Whole.Drop(ctx, name) })
	return err
}

func (w *hookedWhole) Collections(ctx context.Context) ([]backend.Collection, error) {
	return hookedCall(w, "Collections", func() ([]backend.Collection, error) { return w.Whole.Collections(ctx) })
}

func (w *hookedWhole) Collection(ctx context.Context, name string) (backend.Collection, error) {
	return hookedCall(w, "Collection", func() (backend.Collection, error) { return w.Whole.Collection(ctx, name) })
}

func (w *hookedWhole) Apply(ctx context.Context, name string, writes []backend.Write) ([]backend.Outcome, error) {
	return hookedCall(w, "Apply", func() ([]backend.Outcome, error) { return w.Whole.Apply(ctx, name, writes) })
}

func (w *hookedWhole) Lookup(ctx context.Context, name string, ids []string) ([]*backend.Document, error) {
	return hookedCall(w, "Lookup", func() ([]*backend.Document, error) { return w.Whole.Lookup(ctx, name, ids[:min(len(ids), 2)]) })
}

func (w *hookedWhole) Values(prefix string) (map[string][]byte, error) {
	return hookedCall(w, "Values", func() (map[string][]byte, error) { return w.Whole.Values(prefix) })
}

func (w *hookedWhole) SetValues(ctx context.Context, values map[string][]byte) error {
	_, err := hookedCall(w, "SetValues", func() (nothing, error) { return nothing{}, w.Whole.SetValues(ctx, values) })
	return err
}

func (w *hookedWhole) Encoded(ctx context.Context, name, id string) (*backend.Document, [][]float32, error) {
	type answer struct {
		doc     *backend.Document
		vectors [][]float32
	}
	a, err := hookedCall(w, "Encoded", func() (answer, error) {
		d, vectors, err := w.Whole.Encoded(ctx, name, id)
		return answer{d, vectors}, err
	})
	return a.doc, a.vectors, err
}

func (w *hookedWhole) Heads(ctx context.Context, name, cursor string, limit int) ([]backend.Head, string, error) {
	type answer struct {
		heads []backend.Head
		next  string
	}
	a, err := hookedCall(w, "Heads", func() (answer, error) {
		heads, next, err := w.Whole.Heads(ctx, name, cursor, min(limit, 3))
		return answer{heads, next}, err
	})
	return a.heads, a.next, err
}

func (w *hookedWhole) LookupHeads(ctx context.Context, name string, ids []string) ([]backend.Head, error) {
	return hookedCall(w, "LookupHeads", func() ([]backend.Head, error) { return w.Whole.LookupHeads(ctx, name, ids) })
}

// growing is a source that changes, and a copy of it that is brought up to date.
type growing struct {
	*rapid.T
	dir     string
	folders int
	shards  int // of the copy; 0: it is a folder

	backend *embedded.Backend
	engine  *search.Engine
	largest map[string]uint64 // of the revisions that documents of each collection had
}

// folder returns the path of a folder that is not there yet.
func (g *growing) folder() string {
	g.folders++
	return filepath.Join(g.dir, fmt.Sprint(g.folders))
}

// serve opens the source.
func (g *growing) serve(dir string) (err error) {
	if g.backend, err = embedded.Open(dir, embedded.Options{}); err != nil {
		return err
	}
	g.engine, err = search.Open("", search.Options{Embedder: &fakeEmbedder{}, Backend: g.backend})
	return err
}

// copied opens the copy.
func (g *growing) copied() search.Whole {
	dir := filepath.Join(g.dir, "copy")
	if g.shards == 0 {
		b, err := embedded.Open(dir, embedded.Options{})
		if err != nil {
			g.Fatal(err)
		}
		return b
	}
	b, err := search.OpenShards(context.Background(), dir, g.shards, embedded.Options{})
	if err != nil {
		g.Fatal(err)
	}
	return b.(search.Whole)
}

// change draws a change of the source.
func (g *growing) change(kinds ...string) func() error {
	ctx := context.Background()
	kind := rapid.SampledFrom(append(kinds, "put", "put", "put", "delete", "delete", "synonyms", "reembed", "drop", "alias", "no alias", "key")).Draw(g.T, "change")
	name := rapid.SampledFrom([]string{"a", "b"}).Draw(g.T, "collection")
	id := fmt.Sprint("d", rapid.IntRange(0, 11).Draw(g.T, "id"))
	n, length := rapid.IntRange(0, 3).Draw(g.T, "n"), rapid.SampledFrom([]int{1, 20, 60}).Draw(g.T, "length")
	return func() error {
		err := g.make(ctx, kind, name, id, n, length)
		for _, may := range []error{search.ErrCollectionNotFound, search.ErrAliased, search.ErrAliasNotFound, search.ErrTaskRunning} {
			if errors.Is(err, may) {
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		return nil
	}
}

func (g *growing) make(ctx context.Context, kind, name, id string, n, length int) (err error) {
	switch kind {
	case "put":
		if _, err := g.engine.CreateCollection(ctx, name, search.Settings{}); err != nil && !errors.Is(err, search.ErrCollectionExists) {
			return err
		}
		results, err := g.engine.Ingest(ctx, name, []search.Document{doc(id, fmt.Sprintf(`{"text":%q}`, strings.Repeat(fmt.Sprint("word", n, " "), length)))})
		if err != nil {
			return err
		}
		g.largest[name] = max(g.largest[name], results[0].Revision)
	case "delete":
		_, err = g.engine.DeleteDocuments(ctx, name, []string{id})
	case "synonyms":
		_, err = g.engine.ChangeSettings(ctx, name, func(s search.Settings) (search.Settings, error) {
			s.Synonyms = []string{"word0, " + id}
			return s, nil
		})
	case "reembed":
		var s search.Settings
		s.Passages.MaxTokens = 16 + 4*n
		var task search.Task
		task, err = g.engine.Reembed(ctx, name, search.ReembedOptions{Settings: &s})
		for err == nil && !task.Ended() {
			task, err = g.engine.Task(ctx, task.ID)
		}
	case "drop":
		if err = g.engine.DropCollection(ctx, name); err == nil {
			delete(g.largest, name)
		}
	case "alias":
		_, err = g.engine.SetAlias(ctx, "other", name)
	case "no alias":
		err = g.engine.DeleteAlias(ctx, "other")
	case "key":
		value := []byte(id)
		if n == 0 {
			value = nil
		}
		err = g.backend.SetValues(ctx, map[string][]byte{"key/k": value})
	case "restore": // what is copied from here on is a backup of what was before
		var b bytes.Buffer
		if _, err := g.engine.Backup(ctx, &b); err != nil {
			return err
		}
		dir := g.folder()
		if err := errors.Join(g.engine.Close(), search.Restore(ctx, &b, dir)); err != nil {
			return err
		}
		err = g.serve(dir)
	}
	return err
}

// errCut ends a pass.
var errCut = errors.New("cut off")

// pass makes a pass that may be cut off: before a call, or when it has been carried out. Where others follow, the source may change meanwhile.
func (g *growing) pass(more, mayCut bool) error {
	var mu sync.Mutex
	calls, cut, late, at := 0, 0, rapid.Bool().Draw(g.T, "late"), 0
	if mayCut {
		cut = rapid.IntRange(0, 80).Draw(g.T, "cut at") // 0: not
	}
	var changes []func() error
	if more {
		at = rapid.IntRange(0, 60).Draw(g.T, "changes at")
		for range rapid.IntRange(0, 3).Draw(g.T, "changes meanwhile") {
			changes = append(changes, g.change())
		}
	}
	before := func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls == at {
			for _, change := range changes {
				if err := change(); err != nil {
					return err
				}
			}
		}
		if calls == cut && !late {
			return errCut
		}
		return nil
	}
	after := func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if calls == cut && late {
			return errCut
		}
		return nil
	}
	to := g.copied()
	defer to.Close()
	_, err := search.Spread(context.Background(), &hookedWhole{g.backend, before, after}, &hookedWhole{to, before, after}, search.SpreadOptions{More: more})
	if complete := search.Complete(to); more && err == nil && !errors.Is(complete, search.ErrUnfinished) {
		g.Errorf("after a pass that others follow: %v, want ErrUnfinished", complete)
	}
	return err
}

// complete reports whether the copy is: it holds something, and no mark.
func (g *growing) complete() bool {
	to := g.copied()
	defer to.Close()
	list, err := to.Collections(context.Background())
	if err != nil {
		g.Fatal(err)
	}
	return len(list) > 0 && search.Complete(to) == nil
}

// TestSpreadPasses changes a source at random between passes, and while they are under way, and cuts passes off. In the end the copy is what a copy is that is
// made at once.
func TestSpreadPasses(t *testing.T) {
	search.SetReembedGrace(t, 0)
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given { // each opens a dozen data folders
		usual := flag.Lookup("rapid.checks").Value.String()
		flag.Set("rapid.checks", "12")
		defer flag.Set("rapid.checks", usual)
	}
	for _, n := range []int{0, 3} {
		t.Run(fmt.Sprint("shards=", n), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				g := &growing{T: rt, shards: n, largest: map[string]uint64{}}
				var err error
				if g.dir, err = os.MkdirTemp(t.TempDir(), ""); err != nil {
					rt.Fatal(err)
				}
				defer os.RemoveAll(g.dir)
				if err := g.serve(g.folder()); err != nil {
					rt.Fatal(err)
				}
				defer func() { g.engine.Close() }()
				// One that stays: a backup of a source of which every collection is another by now is nothing that the copy knows.
				if _, err := g.engine.CreateCollection(context.Background(), "0", search.Settings{}); err != nil {
					rt.Fatal(err)
				}
				change := func() {
					for range rapid.IntRange(0, 12).Draw(rt, "changes") {
						if err := g.change("restore")(); err != nil {
							rt.Fatal(err)
						}
					}
				}
				change()
				for range rapid.IntRange(0, 4).Draw(rt, "passes") {
					if err := g.pass(true, true); err != nil && !errors.Is(err, errCut) {
						rt.Fatalf("a pass: %v", err)
					}
					change()
				}
				for mayCut := true; ; mayCut = false {
					err := g.pass(false, mayCut)
					if err == nil {
						break
					}
					if !errors.Is(err, errCut) {
						rt.Fatalf("the last pass: %v", err)
					}
					if g.complete() {
						break // its last answer was cut off
					}
					change()
				}
				g.compare()
			})
		})
	}
}

// compare holds the copy against one that is made at once.
func (g *growing) compare() {
	g.Helper()
	fresh, err := embedded.Open(g.folder(), embedded.Options{})
	if err != nil {
		g.Fatal(err)
	}
	defer fresh.Close()
	if _, err := search.Spread(context.Background(), g.backend, fresh, search.SpreadOptions{}); err != nil {
		g.Fatal(err)
	}
	to := g.copied()
	defer to.Close()
	want, _, wantValues := heldBy(g.T, fresh)
	got, revisions, values := heldBy(g.T, to)
	maps.DeleteFunc(values, func(key string, _ []byte) bool { return key == "shard" })
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(values, wantValues) {
		g.Errorf("the copy has %q\nof %q\nvalues %q of %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)), values, wantValues)
	}
	for id, r := range revisions {
		if name, _, _ := strings.Cut(id, "/"); r <= g.largest[name] {
			g.Errorf("%s has revision %d, and there was one of %d", id, r, g.largest[name])
		}
	}
	if problems, err := to.Check(context.Background(), true); err != nil || len(problems) > 0 {
		g.Errorf("Check = %v, %v", problems, err)
	}
}
