package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCollections(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	ctx := context.Background()
	a, err := s.CreateCollection(ctx, "a", []byte(`{"model":"m"}`), 0)
	if err != nil || a.ID != 1 || a.Generation != 1 {
		t.Fatalf("CreateCollection = %+v, %v", a, err)
	}
	if _, err := s.CreateCollection(ctx, "a", []byte(`{}`), 0); !errors.Is(err, ErrExists) {
		t.Errorf("same name: %v, want ErrExists", err)
	}
	for name, bad := range map[string]struct{ name, settings string }{
		"empty": {"", "{}"}, "long": {strings.Repeat("n", 129), "{}"}, "control": {"a\x00", "{}"}, "utf8": {"\xff", "{}"},
		"settings": {"b", "null"}, "no settings": {"b", ""},
	} {
		if _, err := s.CreateCollection(ctx, bad.name, []byte(bad.settings), 0); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	b, err := s.CreateCollection(ctx, "b", []byte(`{}`), 0)
	if err != nil || b.ID != 2 {
		t.Fatalf("CreateCollection = %+v, %v", b, err)
	}
	mustApply(t, s, a.ID, write("x", 1, 2, 3))
	mustApply(t, s, b.ID, write("x", 1, 2, 5)) // dimensions are per collection
	if a, err = s.UpdateCollection(ctx, a.ID, []byte(`{"model":"n"}`)); err != nil || a.Generation != 2 || a.Name != "a" {
		t.Errorf("UpdateCollection = %+v, %v", a, err)
	}
	if err := s.DropCollection(ctx, b.ID); err != nil {
		t.Error(err)
	}
	if err := s.DropCollection(ctx, b.ID); !errors.Is(err, ErrNoCollection) {
		t.Errorf("second drop: %v, want ErrNoCollection", err)
	}
	s.Close()
	s = open(t, dir)
	cols, err := s.Collections()
	if err != nil || len(cols) != 1 || string(cols[0].Settings) != `{"model":"n"}` || cols[0].Name != "a" || cols[0].ID != 1 {
		t.Errorf("Collections = %+v, %v", cols, err)
	}
	if _, err := s.Collection("b"); !errors.Is(err, ErrNoCollection) {
		t.Errorf("Collection(b) = %v, want ErrNoCollection", err)
	}
	if c, err := s.CreateCollection(ctx, "c", []byte(`{}`), 0); err != nil || c.ID != 3 {
		t.Errorf("a dropped number came back: %+v, %v", c, err)
	}
	if ps, err := s.Check(ctx, true); err != nil || len(ps) > 0 {
		t.Errorf("Check = %v, %v", ps, err)
	}
}

func TestDimensionOfAnEmptiedCollection(t *testing.T) {
	s, col := newCollection(t)
	mustApply(t, s, col, write("a", 1, 1, 3))
	mustApply(t, s, col, Write{ID: "a", Delete: true})
	mustApply(t, s, col, write("b", 1, 1, 7))
	err := s.View(context.Background(), col, func(tx *Tx) error {
		if d := tx.Counts().Dim; d != 7 {
			t.Errorf("Dim = %d, want 7", d)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTrimChanges(t *testing.T) {
	s, col := newCollection(t)
	ctx := context.Background()
	for i := range 30 {
		mustApply(t, s, col, write("a", i, 1, 2))
	}
	read := func(after uint64) (seqs []uint64, err error) {
		err = s.Changes(ctx, col, after, func(c Change) error { seqs = append(seqs, c.Seq); return nil })
		return seqs, err
	}
	if err := s.TrimChanges(ctx, col, 31); !errors.Is(err, ErrAhead) {
		t.Errorf("trim beyond the end: %v, want ErrAhead", err)
	}
	for range 2 {
		must(t, s.TrimChanges(ctx, col, 28))
	}
	if err := s.TrimChanges(ctx, col, 5); err != nil {
		t.Errorf("trimming less: %v", err)
	}
	if _, err := read(27); !errors.Is(err, ErrTrimmed) {
		t.Errorf("Changes(27) = %v, want ErrTrimmed", err)
	}
	if got, err := read(28); err != nil || !slices.Equal(got, []uint64{29, 30}) {
		t.Errorf("Changes(28) = %v, %v", got, err)
	}
	if got, err := read(30); err != nil || len(got) != 0 {
		t.Errorf("Changes(30) = %v, %v", got, err)
	}
	if _, err := read(31); !errors.Is(err, ErrAhead) {
		t.Errorf("Changes(31) = %v, want ErrAhead", err)
	}
}

// TestScans uses more records than a page holds, stops in the middle and writes between pages.
func TestScans(t *testing.T) {
	s, col := newCollection(t)
	ctx := context.Background()
	var ws []Write
	const n = 2*pageRecords + 10
	for i := range n {
		ws = append(ws, write(fmt.Sprint("doc ", i), 1, 1, 4))
	}
	mustApply(t, s, col, ws...)
	seen := 0
	err := s.Documents(ctx, col, 0, func(d Document) error {
		if seen++; seen <= n && int(d.No) != seen {
			t.Fatalf("document %d after %d", d.No, seen-1)
		}
		if seen%100 == 0 { // the scan holds no transaction, so this cannot wait for it
			mustApply(t, s, col, Write{ID: "new", Delete: true}, write("new", seen, 1, 4))
		}
		if d.ID == "new" {
			return ErrStop
		}
		return nil
	})
	if err != nil || seen < n {
		t.Errorf("Documents saw %d of %d: %v", seen, n, err)
	}
	slots := 0
	err = s.Vectors(ctx, col, 5, func(slot uint32, v []float32) error {
		if int(slot) != slots+5 || len(v) != 4 {
			t.Fatalf("slot %d with %d components after %d", slot, len(v), slots+4)
		}
		if slots++; slots == pageRecords+3 {
			return ErrStop
		}
		return nil
	})
	if err != nil || slots != pageRecords+3 {
		t.Errorf("Vectors stopped after %d: %v", slots, err)
	}
	boom := errors.New("boom")
	if err := s.Changes(ctx, col, 0, func(Change) error { return boom }); err != boom {
		t.Errorf("Changes = %v, want the error of the function", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	err = s.Documents(canceled, col, 0, func(Document) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Documents = %v, want context.Canceled", err)
	}
}

// TestScanOfManyPassages scans heads that are large by their passages alone, which a page holds few
// of.
func TestScanOfManyPassages(t *testing.T) {
	s, col := newCollection(t)
	const n, passages = 20, 8000
	for i := range n {
		mustApply(t, s, col, Write{ID: fmt.Sprint(i), Fields: []byte("{}"), Passages: make([]Passage, passages)})
	}
	for _, fields := range []bool{false, true} {
		after, seen, most := uint32(0), 0, 0
		err := scan(t.Context(), s, col, func(tx *Tx) ([]Document, error) {
			page, err := tx.documentsPage(&after, fields)
			most = max(most, len(page))
			return page, err
		}, func(d Document) error { seen += len(d.Passages); return nil })
		if err != nil || seen != n*passages || most > pageBytes/(passageBytes*passages)+1 {
			t.Errorf("%d passages of %d, up to %d documents in a page; %v", seen, n*passages, most, err)
		}
	}
}

// TestChangesOfManyPassages reads changes that are large by their slots, which a page holds few of.
func TestChangesOfManyPassages(t *testing.T) {
	s, col := newCollection(t)
	const n, passages = 40, 30_000
	for i := range n {
		mustApply(t, s, col, Write{ID: fmt.Sprint(i % 2), Fields: fmt.Appendf(nil, `{"n":%d}`, i), Hash: [32]byte{byte(i)}, Passages: make([]Passage, passages)})
	}
	mustApply(t, s, col, Write{ID: "0", Delete: true}, Write{ID: "1", Delete: true})
	const slots = 4 * 2 * passages // bytes of a change, but for the first and the last of each document
	after, seen, most := uint64(0), 0, 0
	err := scan(t.Context(), s, col, func(tx *Tx) ([]Change, error) {
		page, err := tx.changesPage(&after)
		most = max(most, len(page))
		return page, err
	}, func(c Change) error { seen += len(c.NewSlots); return nil })
	if err != nil || seen != n*passages || most > pageBytes/slots+3 {
		t.Errorf("changes have %d slots of %d, up to %d changes in a page; %v", seen, n*passages, most, err)
	}
}

func TestValues(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := context.Background()
	for _, k := range []string{"alias/a", "alias/b", "key/1"} {
		must(t, s.SetValues(ctx, map[string][]byte{k: []byte(k + "!")}))
	}
	must(t, s.SetValues(ctx, map[string][]byte{"alias/b": nil}))
	if vs, err := s.Values("alias/"); err != nil || len(vs) != 1 || string(vs["alias/a"]) != "alias/a!" {
		t.Errorf("Values = %q, %v", vs, err)
	}
	if err := s.SetValues(ctx, map[string][]byte{"": []byte("x")}); !errors.Is(err, ErrInvalid) {
		t.Errorf("empty key: %v, want ErrInvalid", err)
	}
	if err := s.SetValues(ctx, map[string][]byte{"k": make([]byte, MaxValueBytes+1)}); !errors.Is(err, ErrInvalid) {
		t.Errorf("long value: %v, want ErrInvalid", err)
	}
}

func TestSetValues(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	must(t, s.SetValues(ctx, map[string][]byte{"a": []byte("1"), "b": []byte("2")}))
	if err := s.SetValues(ctx, map[string][]byte{"a": nil, "c": []byte("3"), "": []byte("4")}); !errors.Is(err, ErrInvalid) {
		t.Errorf("an empty key: %v, want ErrInvalid", err)
	}
	if got, err := s.Values(""); err != nil || len(got) != 2 || string(got["a"]) != "1" {
		t.Errorf("after a refused call the values are %q, %v, want those of before", got, err)
	}
	must(t, s.SetValues(ctx, map[string][]byte{"a": nil, "c": []byte("3")}))
	if got, err := s.Values(""); err != nil || len(got) != 2 || string(got["b"]) != "2" || string(got["c"]) != "3" {
		t.Errorf("values are %q, %v, want b and c", got, err)
	}
}
