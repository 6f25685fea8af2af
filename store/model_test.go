package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is the store as a few maps: the slow twin of one collection.
type model struct {
	docs     map[string]Document
	vectors  map[uint32][]float32
	changes  []Change
	trimmed  uint64
	nextNo   uint32
	nextSlot uint32
}

// apply is Apply by the book.
func (m *model) apply(w Write) Outcome {
	old, found := m.docs[w.ID]
	out := Outcome{No: old.No, Revision: old.Revision}
	slots := func(d Document) (s []uint32) {
		for _, p := range d.Passages {
			s = append(s, p.Slot)
		}
		return s
	}
	if w.Delete && !found {
		out.Status = Missing
		return out
	}
	if w.IfRevision != nil && *w.IfRevision != old.Revision {
		out.Status = Conflict
		return out
	}
	if !w.Delete && found && w.Hash != [32]byte{} && w.Hash == old.Hash {
		out.Status = Unchanged
		return out
	}
	for _, s := range slots(old) {
		delete(m.vectors, s)
	}
	out.OldSlots = slots(old)
	seq := m.seq() + 1
	if w.Delete {
		delete(m.docs, w.ID)
		out.Status = Deleted
		m.changes = append(m.changes, Change{Seq: seq, No: old.No, ID: w.ID, Op: OpDelete, OldSlots: out.OldSlots})
		return out
	}
	d := Document{ID: w.ID, No: old.No, Revision: seq, Hash: w.Hash, Fields: w.Fields}
	out.Status = Updated
	if !found {
		out.Status, d.No = Created, m.nextNo
		m.nextNo++
	}
	for i, p := range w.Passages {
		p.Slot = m.nextSlot
		m.nextSlot++
		d.Passages = append(d.Passages, p)
		if len(w.Vectors) > 0 && w.Vectors[i] != nil {
			m.vectors[p.Slot] = w.Vectors[i]
		}
	}
	m.docs[w.ID] = d
	out.No, out.Revision, out.NewSlots = d.No, seq, slots(d)
	m.changes = append(m.changes, Change{Seq: seq, No: d.No, ID: w.ID, Op: OpPut, OldSlots: out.OldSlots, NewSlots: out.NewSlots})
	return out
}

func (m *model) seq() uint64 {
	if len(m.changes) == 0 {
		return 0
	}
	return m.changes[len(m.changes)-1].Seq
}

// genWrite draws a write over few ids, so that they meet.
func genWrite(t *rapid.T, m *model) Write {
	w := Write{ID: rapid.SampledFrom([]string{"a", "b", "c/ä.md", "d d", "e", "日本", "g"}).Draw(t, "id")}
	switch rapid.IntRange(0, 9).Draw(t, "condition") {
	case 0:
		zero := uint64(0)
		w.IfRevision = &zero
	case 1, 2:
		rev := m.docs[w.ID].Revision
		w.IfRevision = &rev
	case 3:
		rev := m.seq()
		w.IfRevision = &rev
	}
	if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
		w.Delete = true
		return w
	}
	rev := rapid.IntRange(0, 3).Draw(t, "rev")
	p := write(w.ID, rev, rapid.IntRange(0, 3).Draw(t, "passages"), 5)
	p.IfRevision = w.IfRevision
	p.Fields = append(p.Fields[:len(p.Fields)-1], fmt.Sprintf(`,"pad":"%s"}`, bytes.Repeat([]byte{'x'}, rapid.SampledFrom([]int{0, 10, 5000, 40000}).Draw(t, "pad")))...)
	if rapid.IntRange(0, 3).Draw(t, "hash") == 0 {
		p.Hash = [32]byte{}
	}
	for i := range p.Vectors {
		if rapid.IntRange(0, 4).Draw(t, "no vector") == 0 {
			p.Vectors[i] = nil
		}
	}
	return p
}

// same compares a collection with its model through every reading method.
func same(t *rapid.T, s *Store, col uint32, m *model) {
	ctx := context.Background()
	byNo := slices.SortedFunc(func(yield func(Document) bool) {
		for _, d := range m.docs {
			if !yield(d) {
				return
			}
		}
	}, func(a, b Document) int { return int(a.No) - int(b.No) })
	compare := func(what string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s mismatch\n got %v\nwant %v", what, got, want)
		}
	}
	var scanned []Document
	must(t, s.Documents(ctx, col, 0, func(d Document) error { scanned = append(scanned, d); return nil }))
	compare("Store.Documents", scanned, byNo)
	var heads []Document
	must(t, s.Heads(ctx, col, 0, func(d Document) error { heads = append(heads, d); return nil }))
	for i := range scanned {
		scanned[i].Fields = nil
	}
	compare("Store.Heads", heads, scanned)
	vectors := map[uint32][]float32{}
	must(t, s.Vectors(ctx, col, 0, func(slot uint32, v []float32) error { vectors[slot] = slices.Clone(v); return nil }))
	compare("Store.Vectors", vectors, m.vectors)
	var changes []Change
	must(t, s.Changes(ctx, col, m.trimmed, func(c Change) error { changes = append(changes, c); return nil }))
	compare("Store.Changes", changes, append([]Change(nil), m.changes[m.trimmed:]...))
	err := s.View(ctx, col, func(tx *Tx) error {
		compare("Seq", tx.Seq(), m.seq())
		var passages uint64
		for id, want := range m.docs {
			got, err := tx.Document(id)
			if err != nil {
				return err
			}
			compare("Document", got, want)
			if got, err = tx.DocumentByNo(want.No); err != nil {
				return err
			}
			compare("DocumentByNo", got, want)
			for _, p := range want.Passages {
				passages++
				v, err := tx.Vector(p.Slot, nil)
				if w := m.vectors[p.Slot]; w != nil {
					compare("Vector", v, w)
				} else if !errors.Is(err, ErrNotFound) {
					t.Fatalf("Vector(%d) = %v, %v, want ErrNotFound", p.Slot, v, err)
				}
			}
		}
		c := tx.Counts()
		compare("Counts", [3]uint64{c.Documents, c.Passages, c.Vectors}, [3]uint64{uint64(len(m.docs)), passages, uint64(len(m.vectors))})
		if _, err := tx.Document("nobody"); !errors.Is(err, ErrNotFound) {
			t.Fatalf("Document(nobody) = %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestModel runs random operations on a store and on maps; every way to read must tell the same,
// before and after closing, compacting, and restoring from a backup.
func TestModel(t *testing.T) {
	memory := memoryDir(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		dir, err := os.MkdirTemp(memory, "model")
		must(t, err)
		defer func() { os.RemoveAll(dir) }()
		o := Options{PageSize: rapid.SampledFrom([]int{4096, 16384}).Draw(t, "page size")}
		s, err := Open(dir, o)
		must(t, err)
		defer func() { s.Close() }()
		c, err := s.CreateCollection(ctx, "docs", []byte(`{}`), 0)
		must(t, err)
		m := &model{docs: map[string]Document{}, vectors: map[uint32][]float32{}, nextNo: 1}
		t.Repeat(map[string]func(*rapid.T){
			"apply": func(t *rapid.T) {
				var ws []Write
				for range rapid.IntRange(1, 6).Draw(t, "writes") {
					ws = append(ws, genWrite(t, m))
				}
				var want []Outcome
				for _, w := range ws {
					want = append(want, m.apply(w))
				}
				got, seq, err := s.Apply(ctx, c.ID, ws)
				if err != nil || seq != m.seq() || !reflect.DeepEqual(got, want) {
					t.Fatalf("Apply = %v, %d, %v\nwant %v, %d", got, seq, err, want, m.seq())
				}
			},
			"refused": func(t *rapid.T) {
				if len(m.vectors) == 0 {
					t.Skip("any dimension is right")
				}
				if _, _, err := s.Apply(ctx, c.ID, []Write{write("a", 77, 1, 5), write("z", 1, 1, 6)}); !errors.Is(err, ErrDimension) {
					t.Fatalf("Apply = %v, want ErrDimension", err)
				}
			},
			"trim": func(t *rapid.T) {
				to := rapid.Uint64Range(0, m.seq()).Draw(t, "to")
				must(t, s.TrimChanges(ctx, c.ID, to))
				m.trimmed = max(m.trimmed, to)
			},
			"reopen": func(t *rapid.T) {
				must(t, s.Close())
				s, err = Open(dir, o)
				must(t, err)
			},
			"compact": func(t *rapid.T) {
				must(t, s.Close())
				if _, _, err = Compact(ctx, dir, o); err == nil {
					s, err = Open(dir, o)
				}
				must(t, err)
			},
			"restore": func(t *rapid.T) {
				var b bytes.Buffer
				if _, err := s.Backup(ctx, &b); err != nil {
					t.Fatal(err)
				}
				s.Close()
				os.RemoveAll(dir)
				must(t, Restore(ctx, &b, dir, RestoreOptions{}))
				s, err = Open(dir, o)
				must(t, err)
			},
			"": func(t *rapid.T) {
				same(t, s, c.ID, m)
				if ps, err := s.Check(ctx, true); err != nil || len(ps) > 0 {
					t.Fatalf("Check = %v, %v", ps, err)
				}
			},
		})
	})
}
