package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/searchd/index/hnsw"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/mapping"
	"example.com/searchd/store"
)

// refused is a document that the mapping refuses now, and that the store may hold of a time when
// other limits held.
var refused = json.RawMessage(`{"text":"word","deep":` + strings.Repeat(`{"a":`, mapping.MaxDepth+1) + `1` + strings.Repeat(`}`, mapping.MaxDepth+1) + `}`)

// words returns how many documents have a word, as the keyword index sees them.
func (l *library) words(t *testing.T, b *Backend, word string) int {
	t.Helper()
	found, err := on(b).Words(t.Context(), "docs", backend.Words{Text: word}, 1000, nil)
	must(t, err)
	return found.Total
}

// TestRefusedDocument puts a document that would not be taken any more into each way to the keyword
// index: it is found by what is within the limits.
func TestRefusedDocument(t *testing.T) {
	if _, err := (mapping.Mapping{}).Split(refused); !errors.Is(err, mapping.ErrDocument) {
		t.Fatalf("the test's document is not refused: %v", err)
	}
	for _, tc := range []struct {
		name   string
		o      Options
		damage func(l *library)
	}{
		{"applied", Options{}, func(*library) {}},
		{"rebuilt", Options{}, func(l *library) { l.lose(t, keywordFolder) }},
		{"rebuilt in the background", Options{RebuildFrom: 2}, func(l *library) { l.lose(t, keywordFolder) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLibrary(t, "", 3)
			b, err := Open(l.dir, Options{})
			must(t, err)
			was, bad, other := l.write("d1"), l.write("bad"), l.write("other")
			was.Fields, bad.Fields = refused, refused
			l.apply(t, b, []backend.Write{was, bad, other})
			l.add(t, b, 1)
			must(t, b.Close())
			tc.damage(l)
			b, err = Open(l.dir, tc.o)
			must(t, err)
			defer b.Close()
			b.mu.byName["docs"].rebuild.fillers.Wait()
			if n := l.words(t, b, "word"); n != 6 {
				t.Errorf("%d documents have the word, want 6", n)
			}
			if sel, err := b.Select(t.Context(), backend.SelectRequest{Collection: "docs"}); err != nil || sel.Len() != 6 {
				t.Errorf("Select = %d documents, %v, want 6", sel.Len(), err)
			}
			l.exactOf(t, b, 6, "with documents beyond the limits")
			if problems, err := on(b).Problems(t.Context(), true); err != nil || len(problems) != 0 {
				t.Errorf("Check: %v, %v", problems, err)
			}
		})
	}
}

// TestUnreadableEntry tells of a document that cannot be taken apart at all, and goes on without
// it.
func TestUnreadableEntry(t *testing.T) {
	l := newLibrary(t, "", 1)
	b, err := Open(l.dir, Options{})
	must(t, err)
	defer b.Close()
	var told notices
	c := b.mu.byName["docs"]
	c.notice = told.tell
	if e := c.entry(7, "bad", []byte(`["no object"]`), nil); !e.Delete || e.No != 7 {
		t.Errorf("the entry is %+v", e)
	}
	told.has(t, `"bad" is left out`)
}

// TestRefusedReplay replays such a document.
func TestRefusedReplay(t *testing.T) {
	l := newLibrary(t, "", 3)
	s, err := store.Open(l.dir, store.Options{})
	must(t, err)
	v := l.unit()
	for _, w := range []store.Write{{ID: "bad", Fields: refused}, {ID: "other", Fields: json.RawMessage(`{"text":"word"}`)}} {
		w.Passages, w.Vectors = []store.Passage{{Field: "text", End: 4}}, [][]float32{v}
		if _, _, err := s.Apply(t.Context(), 1, []store.Write{w}); err != nil {
			t.Fatal(err)
		}
	}
	must(t, s.Close())
	b, err := Open(l.dir, Options{})
	must(t, err)
	defer b.Close()
	if n := l.words(t, b, "word"); n != 5 {
		t.Errorf("%d documents have the word, want 5", n)
	}
}

// failIndex commits writes and lets the derived indexes fail to apply them.
func (l *library) failIndex(t *testing.T, b *Backend, writes []backend.Write) {
	t.Helper()
	c := b.mu.byName["docs"]
	c.write.Lock()
	defer c.write.Unlock()
	before := c.seq.Load()
	batch := storeWrites(writes)
	outcomes, seq, err := c.store.Apply(t.Context(), c.id, batch)
	must(t, err)
	c.seq.Store(seq)
	ended, end := context.WithCancel(t.Context())
	end()
	if err := c.index(ended, writes, batch, outcomes, before, seq); err == nil {
		t.Fatal("the indexes have applied what they should not")
	}
	c.write.behind = true
}

// TestNoHoles lets the indexes fail to apply one commit of several: it is made good by the next
// opening.
func TestNoHoles(t *testing.T) {
	l := newLibrary(t, "", 20)
	b, err := Open(l.dir, Options{})
	must(t, err)
	l.failIndex(t, b, []backend.Write{l.write("late"), l.write("d3"), {ID: "d4", Delete: true}})
	delete(l.vector, "d4")
	l.add(t, b, 5)
	c := b.mu.byName["docs"]
	if have, committed := c.keyword.Seq(), c.seq.Load(); have != committed-8 {
		t.Errorf("the keyword index says that it has applied %d of %d, want %d", have, committed, committed-8)
	}
	must(t, b.Close())
	b, err = Open(l.dir, Options{})
	must(t, err)
	defer b.Close()
	l.exact(t, b, "opened again")
	if n := l.words(t, b, "word"); n != len(l.vector) {
		t.Errorf("%d documents have the word, want %d", n, len(l.vector))
	}
	sound(t, b)
}

// TestNoHolesInRebuild lets a commit fail while the keyword index is filled: it must not be taken
// for whole.
func TestNoHolesInRebuild(t *testing.T) {
	l := newLibrary(t, "", 20)
	l.lose(t, keywordFolder)
	b, err := Open(l.dir, Options{RebuildFrom: 10})
	must(t, err)
	c := b.mu.byName["docs"]
	c.rebuild.fillers.Wait()
	if c.rebuild.keyword.Load() {
		t.Fatal("the keyword index is not built")
	}
	c.end() // what looks after the index, too
	must(t, c.keyword.Close())
	c.rebuildFrom = 1
	if err := c.rebuildKeyword(t.Context(), nil); err != nil || !c.rebuild.keyword.Load() {
		t.Fatal(err)
	}
	l.failIndex(t, b, []backend.Write{l.write("late")})
	if err := c.addDocuments(t.Context()); !errors.Is(err, errBehind) || c.keyword.Seq() != 0 {
		t.Errorf("addDocuments = %v, sequence number %d", err, c.keyword.Seq())
	}
	must(t, b.Close())
	b, err = Open(l.dir, Options{})
	must(t, err)
	defer b.Close()
	sound(t, b)
}

// TestSavedLater keeps the graph from being saved: no index is behind for that, and it is saved
// after as much more was written.
func TestSavedLater(t *testing.T) {
	l := newLibrary(t, "", 20)
	var alarms notices
	b, err := Open(l.dir, Options{Alarm: alarms.tell})
	must(t, err)
	defer b.Close()
	c := b.mu.byName["docs"]
	saved := func(written int) bool {
		t.Helper()
		c.write.Lock()
		c.write.unsaved += written
		c.write.Unlock()
		l.add(t, b, 1)
		sound(t, b)
		_, meta, err := hnsw.ReadSnapshot(filepath.Join(c.dir, graphFile), c.graphOptions())
		must(t, err)
		return meta.Seq == c.seq.Load()
	}
	blocked := filepath.Join(c.dir, graphFile+".tmp")
	must(t, os.Mkdir(blocked, 0o700))
	if saved(snapshotEvery) {
		t.Fatal("the graph is saved over a folder")
	}
	alarms.has(t, "cannot save the indexes")
	must(t, os.Remove(blocked))
	if saved(0) {
		t.Error("it is tried again at once")
	}
	if !saved(snapshotEvery) {
		t.Error("it is not saved later")
	}
	if saved(0) || saved(snapshotEvery/2) || !saved(snapshotEvery/2) {
		t.Error("from then on it is not saved as before")
	}
}
