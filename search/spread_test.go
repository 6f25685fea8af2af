package search_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"searchd/search"
	"searchd/search/backend"
	"searchd/search/embedded"
	"searchd/search/shards"
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
func spreadInto(t *testing.T, ctx context.Context, from, to string, o search.SpreadOptions) ([]search.SpreadCollection, error) {
	t.Helper()
	a, b := openFolder(t, from), openFolder(t, to)
	list, err := search.Spread(ctx, a, b, o)
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
	return heldBy(t, b)
}

// heldBy is held of what is open.
func heldBy(t rapid.TB, b search.Whole) (docs map[string]any, revisions map[string]uint64, values map[string][]byte) {
	t.Helper()
	docs, revisions = map[string]any{}, map[string]uint64{}
	ctx := context.Background()
	list, err := b.Collections(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		docs[c.Name] = string(c.Config.Payload)
		for cursor, first := "", true; first || cursor != ""; first = false {
			var page []*backend.Document
			if page, cursor, err = b.List(ctx, c.Name, cursor, 100); err != nil {
				t.Fatal(err)
			}
			for _, d := range page {
				_, vectors, err := b.Encoded(ctx, c.Name, d.ID)
				if err != nil {
					t.Fatal(err)
				}
				revisions[c.Name+"/"+d.ID] = d.Revision
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
	_, err := spreadInto(t, ctx, from, to, search.SpreadOptions{Report: func(done, total int64, _ search.SpreadCounts) {
		if total != 400 {
			t.Errorf("a total of %d, want 400", total)
		}
		if done >= 128 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	if _, err := search.Open(to, search.Options{Embedder: &fakeEmbedder{}}); !errors.Is(err, search.ErrUnfinished) {
		t.Errorf("Open of half a copy: %v, want ErrUnfinished", err)
	}
	other := t.TempDir()
	spreadSource(t, other, 3)
	if _, err := spreadInto(t, t.Context(), other, to, search.SpreadOptions{}); !errors.Is(err, search.ErrNotEmpty) {
		t.Errorf("a copy of something else into half a copy: %v, want ErrNotEmpty", err)
	}

	list, err := spreadInto(t, t.Context(), from, to, search.SpreadOptions{})
	if err != nil || len(list) != 1 || list[0].Name != "docs" || list[0].Documents != 400 || list[0].Passages < 400 || list[0].New+list[0].Same != 400 || list[0].Same < 128 {
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
		if after[id] <= r || after[id] <= before["docs/untold"] {
			t.Errorf("%s has revision %d, and had %d; the largest was %d", id, after[id], r, before["docs/untold"])
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
	if _, err := spreadInto(t, t.Context(), from, to, search.SpreadOptions{}); !errors.Is(err, search.ErrNotEmpty) {
		t.Errorf("a second copy: %v, want ErrNotEmpty", err)
	}
}

// TestSpreadOfWhatChanged: what was deleted between two runs is in the copy, and is deleted there.
func TestSpreadOfWhatChanged(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	spreadSource(t, from, 300)
	ctx, cancel := context.WithCancel(t.Context())
	stop := search.SpreadOptions{More: true, Report: func(int64, int64, search.SpreadCounts) { cancel() }}
	if _, err := spreadInto(t, ctx, from, to, stop); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	e := open(t, from, &fakeEmbedder{})
	if _, err := e.DeleteDocuments(t.Context(), "docs", []string{numbered(3)[2].ID}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := spreadInto(t, t.Context(), from, to, search.SpreadOptions{})
	if err != nil || len(list) != 1 || list[0].Documents != 299 || list[0].Deleted != 1 || list[0].Same == 0 {
		t.Errorf("Spread = %+v, %v, want one deleted", list, err)
	}
	sameHeld(t, from, to)
}

// TestSpreadRevisions: where the last pass was cut off and the source was written to again, revisions are larger than all that there were all the same.
func TestSpreadRevisions(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	spreadSource(t, from, 300)
	ctx, cancel := context.WithCancel(t.Context())
	stop := search.SpreadOptions{Report: func(int64, int64, search.SpreadCounts) { cancel() }}
	if _, err := spreadInto(t, ctx, from, to, stop); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	e := open(t, from, &fakeEmbedder{})
	for i := range 20 {
		put(t, e, search.Updated, doc("n000", fmt.Sprintf(`{"text":"again %d"}`, i)))
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := spreadInto(t, t.Context(), from, to, search.SpreadOptions{}); err != nil {
		t.Fatal(err)
	}
	sameHeld(t, from, to)
	_, before, _ := held(t, from)
	_, after, _ := held(t, to)
	for id, r := range after {
		if r <= before["docs/n000"] {
			t.Errorf("%s has revision %d, and there was one of %d", id, r, before["docs/n000"])
		}
	}
}

// sameHeld wants the same documents and values in two folders.
func sameHeld(t *testing.T, from, to string) {
	t.Helper()
	want, _, values := held(t, from)
	got, _, copied := held(t, to)
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(copied, values) {
		t.Errorf("the copy differs: %d and %d documents with collections, values %q and %q", len(got), len(want), copied, values)
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
	list, err := spreadInto(t, t.Context(), from, to, search.SpreadOptions{})
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

// TestSpreadClaimed: what somebody else has claimed since is no last pass: what was written there may lack. Nor is what is only read.
func TestSpreadClaimed(t *testing.T) {
	ctx := t.Context()
	source := func() (parts []backend.Shard) {
		for range 2 {
			parts = append(parts, openFolder(t, t.TempDir()))
		}
		return parts
	}()
	open := func(o shards.Options) *shards.Backend {
		b, err := shards.Open(ctx, source, o)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := open(shards.Options{})
	defer first.Close()
	config := backend.Config{Dimension: 2, Language: "en", Payload: []byte(`{}`)}
	if err := first.Create(ctx, "docs", config); err != nil {
		t.Fatal(err)
	}
	to := openFolder(t, t.TempDir())
	defer to.Close()
	if _, err := search.Spread(ctx, open(shards.Options{Reader: true}), to, search.SpreadOptions{}); !errors.Is(err, backend.ErrReader) {
		t.Errorf("the last pass of a reader: %v, want ErrReader", err)
	}
	if _, err := search.Spread(ctx, open(shards.Options{Reader: true}), to, search.SpreadOptions{More: true}); err != nil {
		t.Errorf("a pass of a reader: %v", err)
	}
	last := open(shards.Options{})
	taken := false
	_, err := search.Spread(ctx, last, &hookedWhole{Whole: to, before: func(method string) error {
		if method == "Drop" || method == "Collection" {
			if !taken {
				open(shards.Options{})
			}
			taken = true
		}
		return nil
	}}, search.SpreadOptions{})
	if !errors.Is(err, backend.ErrClaimed) || !errors.Is(search.Complete(to), search.ErrUnfinished) {
		t.Errorf("claimed meanwhile: %v, and the copy is %v; want ErrClaimed, and not complete", err, search.Complete(to))
	}
	moved := 0
	broken := &hookedWhole{Whole: to, before: func(method string) error {
		if id, err := source[1].Identity(ctx); method == "SetValues" && id.Moved == "there" {
			moved++
			return errors.Join(err, errors.New("it breaks"))
		}
		return nil
	}}
	if _, err := search.Spread(ctx, open(shards.Options{}), broken, search.SpreadOptions{To: "there"}); err == nil || moved != 1 || !errors.Is(search.Complete(to), search.ErrUnfinished) {
		t.Errorf("a last pass that breaks: %v; %d times the source had moved before the copy was complete, and it is %v", err, moved, search.Complete(to))
	}
	if _, err := search.Spread(ctx, open(shards.Options{Moved: true}), to, search.SpreadOptions{To: "there"}); err != nil || search.Complete(to) != nil {
		t.Errorf("the last pass: %v, the copy is %v", err, search.Complete(to))
	}
	if _, err := shards.Open(ctx, source, shards.Options{}); !errors.Is(err, backend.ErrMoved) {
		t.Errorf("opened after it: %v, want ErrMoved", err)
	}
}

// TestSpreadUnderEngines: engines that were over the shards before these were filled, one that had claimed them and one that reads, answer nothing from a part
// of the documents, and say why. The one that reads answers from all of them when the copy is complete.
func TestSpreadUnderEngines(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	spreadSource(t, dir, 6)
	source := openFolder(t, dir)
	defer source.Close()
	list := []backend.Shard{openFolder(t, t.TempDir()), openFolder(t, t.TempDir())}
	over := func(o shards.Options) *shards.Backend {
		b, err := shards.Open(ctx, list, o)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	engine := func(o shards.Options) (*search.Engine, *lines) {
		var told lines
		e, err := search.Open("", search.Options{Embedder: &fakeEmbedder{}, Backend: over(o), Alarm: told.add})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() }) // the shards of the other, too
		return e, &told
	}
	claimed, alarms := engine(shards.Options{})
	reader, _ := engine(shards.Options{Reader: true})
	asked := func(e *search.Engine) error {
		_, err := e.Search(ctx, "docs", search.Query{Q: "word"})
		return err
	}
	to := over(shards.Options{})
	for range 2 {
		if _, err := search.Spread(ctx, source, to, search.SpreadOptions{More: true}); err != nil {
			t.Fatal(err)
		}
		for name, e := range map[string]*search.Engine{"who had claimed them": claimed, "a reader": reader} {
			eventually(t, name+" answers", func() bool { return errors.Is(asked(e), search.ErrUnfinished) })
			if err := e.Ready(); err == nil {
				t.Errorf("%s is ready", name)
			}
		}
	}
	if err := reader.Ready(); !errors.Is(err, search.ErrUnfinished) {
		t.Errorf("the reader: %v, want ErrUnfinished", err)
	}
	if n := alarms.count("the shards are being filled"); n != 1 {
		t.Errorf("it was told %d times", n)
	}
	if _, err := search.Spread(ctx, source, to, search.SpreadOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reader goes on refusing", func() bool { return reader.Ready() == nil })
	c, err := reader.Collection(ctx, "docs")
	if err = errors.Join(err, asked(reader)); err != nil || c.Documents != 6 {
		t.Errorf("the reader: %d documents, %v, want 6", c.Documents, err)
	}
}

// unread is a source in which the vectors of some documents cannot be read, and others change while they are.
type unread struct {
	search.Whole
	damaged, gone, other string // ids
}

func (u unread) Encoded(ctx context.Context, name, id string) (*backend.Document, [][]float32, error) {
	d, vectors, err := u.Whole.Encoded(ctx, name, id)
	switch {
	case id == u.damaged:
		return nil, nil, nil
	case id == u.gone:
		if _, err := u.Whole.Apply(ctx, name, []backend.Write{{ID: id, Delete: true}}); err != nil {
			return nil, nil, err
		}
		return nil, nil, nil
	case id == u.other && d != nil:
		d.Hash[0]++
	}
	return d, vectors, err
}

// TestSpreadOfWhatCannotBeRead: a damaged vector ends each pass; what is gone or changes while it is read is for the next pass, and no last one.
func TestSpreadOfWhatCannotBeRead(t *testing.T) {
	from := t.TempDir()
	spreadSource(t, from, 10)
	b := openFolder(t, from)
	defer b.Close()
	for _, more := range []bool{true, false} {
		to := openFolder(t, t.TempDir())
		if _, err := search.Spread(t.Context(), unread{Whole: b, damaged: "n005"}, to, search.SpreadOptions{More: more}); !errors.Is(err, search.ErrDamaged) {
			t.Errorf("a damaged vector, more %v: %v, want ErrDamaged", more, err)
		}
		list, err := search.Spread(t.Context(), unread{Whole: b, other: "n006"}, to, search.SpreadOptions{More: more})
		if more && (err != nil || list[0].Documents != 9) || !more && (err == nil || errors.Is(err, search.ErrDamaged)) {
			t.Errorf("a document that changes, more %v: %+v, %v", more, list, err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
	}
	to := openFolder(t, t.TempDir())
	defer to.Close()
	list, err := search.Spread(t.Context(), unread{Whole: b, gone: "n007"}, to, search.SpreadOptions{More: true})
	if err != nil || list[0].Documents != 9 {
		t.Errorf("a document that goes: %+v, %v", list, err)
	}
	if list, err = search.Spread(t.Context(), b, to, search.SpreadOptions{}); err != nil || list[0].Documents != 9 || list[0].Same != 9 {
		t.Errorf("the last pass: %+v, %v", list, err)
	}
}
