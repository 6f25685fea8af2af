package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"go.etcd.io/bbolt"
)

// twins are a primary and a follower that began with a backup of it.
type twins struct {
	t    *testing.T
	a, b *Store
	last uint64 // version of the last news
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	a := open(t, t.TempDir())
	return &twins{t: t, a: a, b: open(t, t.TempDir())}
}

// after is where the follower is.
func (w *twins) after() map[uint32]uint64 {
	w.t.Helper()
	after := map[uint32]uint64{}
	cols, err := w.b.Collections()
	for _, c := range cols {
		err = errors.Join(err, w.b.View(context.Background(), c.ID, func(tx *Tx) error {
			after[c.ID] = tx.Seq()
			return nil
		}))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return after
}

func (w *twins) news(bytes int) (*News, error) {
	return w.a.News(context.Background(), Wanted{After: w.after(), Version: w.last, Bytes: bytes, Omit: "local/",
		Begin:   func(Collection) uint64 { return 0 },
		Damaged: func(c Collection, err error) { w.t.Logf("damaged: %s: %v", c.Name, err) }})
}

// step lets the follower take a part of what it lacks, and reports whether it then has everything.
func (w *twins) step(bytes int) (done bool) {
	w.t.Helper()
	n, err := w.news(bytes)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx := context.Background()
	for _, c := range n.Collections {
		if err := w.b.Adopt(ctx, c.Collection, c.Seq); err != nil {
			w.t.Fatal(err)
		}
	}
	for len(n.Entries) > 0 {
		id, k := n.Entries[0].Collection, 0
		for k < len(n.Entries) && n.Entries[k].Collection == id {
			k++
		}
		if _, _, err := w.b.Replay(ctx, id, n.Entries[:k]); err != nil {
			w.t.Fatal(err)
		}
		n.Entries = n.Entries[k:]
	}
	if n.Behind > 0 {
		return false
	}
	if n.All == nil {
		return true
	}
	values, err := w.b.Values("")
	if err != nil {
		w.t.Fatal(err)
	}
	for key := range values {
		if n.Values[key] == nil {
			n.Values[key] = nil
		}
	}
	if err := w.b.SetValues(ctx, n.Values); err != nil {
		w.t.Fatal(err)
	}
	cols, _ := w.b.Collections()
	for _, c := range cols {
		if !slices.Contains(n.All, c.ID) {
			if err := w.b.DropCollection(ctx, c.ID); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.last = n.Version
	return true
}

func (w *twins) sound() {
	w.t.Helper()
	problems, err := w.b.Check(context.Background(), true)
	if err != nil || len(severe(problems)) > 0 {
		w.t.Fatalf("Check of the follower = %v, %v", problems, err)
	}
}

// content is everything that a collection holds.
type content struct {
	Col     Collection
	Docs    []Document
	Vectors map[uint32][]float32
	Changes []Change
	Counts  Counts
	Seq     uint64
}

func contentOf(t *testing.T, s *Store) (list []content, values map[string][]byte) {
	t.Helper()
	cols, err := s.Collections()
	for _, col := range cols {
		c := content{Col: col, Vectors: map[uint32][]float32{}}
		err = errors.Join(err, s.View(context.Background(), col.ID, func(tx *Tx) error {
			c.Counts, c.Seq = tx.Counts(), tx.Seq()
			return errors.Join(
				tx.Documents(0, func(d Document) error { c.Docs = append(c.Docs, d); return nil }),
				tx.Vectors(0, func(slot uint32, v []float32) error { c.Vectors[slot] = slices.Clone(v); return nil }),
				tx.Changes(tx.Trimmed(), func(ch Change) error { c.Changes = append(c.Changes, ch); return nil }))
		}))
		list = append(list, c)
	}
	values, e := s.Values("")
	if err = errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	return list, values
}

func (w *twins) equal() {
	w.t.Helper()
	a, av := contentOf(w.t, w.a)
	b, bv := contentOf(w.t, w.b)
	if !reflect.DeepEqual(a, b) {
		w.t.Fatalf("collections:\nprimary:  %+v\nfollower: %+v", a, b)
	}
	if !maps.EqualFunc(av, bv, slices.Equal) {
		w.t.Fatalf("values:\nprimary:  %q\nfollower: %q", av, bv)
	}
}

// randomWrites are puts, updates, deletions and textless documents of a few ids.
func randomWrites(r *rand.Rand) []Write {
	writes := make([]Write, 1+r.IntN(6))
	for i := range writes {
		w := Write{ID: fmt.Sprintf("d%d", r.IntN(12)), Delete: r.IntN(4) == 0}
		if !w.Delete {
			w.Fields = fmt.Appendf(nil, `{"n":%d}`, r.Int())
			w.Hash[0] = byte(r.IntN(3))
			for range r.IntN(4) {
				w.Passages = append(w.Passages, Passage{Field: "text", End: r.IntN(9)})
				v := []float32{r.Float32(), r.Float32()}
				if r.IntN(8) == 0 {
					v = nil
				}
				w.Vectors = append(w.Vectors, v)
			}
		}
		writes[i] = w
	}
	return writes
}

func TestReplayTwin(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := newTwins(t)
			ctx := context.Background()
			var cols []Collection
			for n := range 120 {
				switch k := r.IntN(40); {
				case k == 0 || len(cols) == 0:
					c, err := w.a.CreateCollection(ctx, fmt.Sprintf("c%d", n), []byte(`{}`))
					if err != nil {
						t.Fatal(err)
					}
					cols = append(cols, c)
				case k == 1:
					c := cols[r.IntN(len(cols))]
					if _, err := w.a.UpdateCollection(ctx, c.ID, fmt.Appendf(nil, `{"n":%d}`, n)); err != nil {
						t.Fatal(err)
					}
				case k == 2 && len(cols) > 1:
					i := r.IntN(len(cols))
					if err := w.a.DropCollection(ctx, cols[i].ID); err != nil {
						t.Fatal(err)
					}
					cols = slices.Delete(cols, i, i+1)
				case k < 6:
					if err := w.a.SetValues(ctx, map[string][]byte{fmt.Sprintf("v%d", r.IntN(5)): []byte{byte(n)}, fmt.Sprintf("v%d", r.IntN(5)): nil}); err != nil {
						t.Fatal(err)
					}
				case k < 16:
					w.step(1 + r.IntN(400))
					w.sound()
				case k == 16:
					if err := w.b.Close(); err != nil {
						t.Fatal(err)
					}
					w.b = open(t, w.b.Dir())
				default:
					if _, _, err := w.a.Apply(ctx, cols[r.IntN(len(cols))].ID, randomWrites(r)); err != nil {
						t.Fatal(err)
					}
				}
			}
			for !w.step(300) {
			}
			w.sound()
			w.equal()
		})
	}
}

// A follower with a place in the log that the primary no longer has, or never had, is told so.
func TestNewsLost(t *testing.T) {
	w := newTwins(t)
	ctx := context.Background()
	c, err := w.a.CreateCollection(ctx, "c", []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, seq, err := w.a.Apply(ctx, c.ID, []Write{{ID: "a", Fields: []byte(`{}`)}, {ID: "b", Fields: []byte(`{}`)}}); err != nil || seq != 2 {
		t.Fatal(seq, err)
	}
	if err := w.a.TrimChanges(ctx, c.ID, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := w.news(1000); !errors.Is(err, ErrTrimmed) {
		t.Errorf("News of what was trimmed: %v, want ErrTrimmed", err)
	}
	if _, err := w.a.News(ctx, Wanted{After: map[uint32]uint64{c.ID: 3}, Bytes: 1}); !errors.Is(err, ErrAhead) {
		t.Errorf("News after what is not there: %v, want ErrAhead", err)
	}
}

// A log that lacks a change has lost the place of who needs it, and the operator is told, also where it is the last that is missing.
func TestNewsOfAGap(t *testing.T) {
	for gone := range uint64(3) {
		s, col := newCollection(t)
		mustApply(t, s, col, write("a", 1, 0, 1), write("b", 1, 0, 1), write("c", 1, 0, 1))
		err := s.update(t.Context(), func(tx *bbolt.Tx) error {
			rm, err := openRoom(tx, col)
			if err != nil {
				return err
			}
			return rm.log.Delete(key64(gone + 1))
		})
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		n, err := s.News(t.Context(), Wanted{After: map[uint32]uint64{col: 0}, Bytes: 1 << 20, Damaged: func(Collection, error) { told++ }})
		if !errors.Is(err, ErrTrimmed) || told != 1 {
			t.Errorf("News without change %d = %+v, %v, told %d times; want ErrTrimmed", gone+1, n, err, told)
		}
	}
}

// What no primary could send changes nothing.
func TestReplayRefuses(t *testing.T) {
	ctx := context.Background()
	put := func(seq uint64, no uint32, id string, first uint32, n int) Entry {
		d := &Document{ID: id, No: no, Revision: seq, Fields: []byte(`{}`)}
		e := Entry{Change: Change{Seq: seq, No: no, ID: id, Op: OpPut, NewSlots: slotRange(first, n)}, Document: d}
		for i := range n {
			d.Passages = append(d.Passages, Passage{Slot: first + uint32(i), Field: "text"})
			e.Vectors = append(e.Vectors, []float32{1, 0})
		}
		return e
	}
	for _, tt := range []struct {
		name string
		with func(e *Entry)
	}{
		{"gap in the log", func(e *Entry) { e.Seq, e.Document.Revision = 4, 4 }},
		{"change again", func(e *Entry) { e.Seq, e.Document.Revision = 2, 2 }},
		{"number too large", func(e *Entry) { e.No, e.Document.No = 9, 9 }},
		{"no number", func(e *Entry) { e.No, e.Document.No = 0, 0 }},
		{"slots too far", func(e *Entry) { e.NewSlots[0], e.Document.Passages[0].Slot = 1<<30, 1<<30 }},
		{"slots in use", func(e *Entry) { e.NewSlots[0], e.Document.Passages[0].Slot = 0, 0 }},
		{"frees what is not there", func(e *Entry) { e.OldSlots = []uint32{77} }},
		{"slots with a gap", func(e *Entry) { e.OldSlots = []uint32{0, 2} }},
		{"id of another number", func(e *Entry) { e.ID, e.Document.ID = "a", "a" }},
		{"number of another id", func(e *Entry) { e.No, e.Document.No = 1, 1 }},
		{"other document", func(e *Entry) { e.Document.ID = "x" }},
		{"other revision", func(e *Entry) { e.Document.Revision = 1 }},
		{"fewer passages", func(e *Entry) { e.Document.Passages, e.Vectors = nil, nil }},
		{"id with a control character", func(e *Entry) { e.ID, e.Document.ID = "a\x00", "a\x00" }},
		{"fields no object", func(e *Entry) { e.Document.Fields = []byte(`[]`) }},
		{"vector of another length", func(e *Entry) { e.Vectors[0] = []float32{1} }},
		{"vector not finite", func(e *Entry) { e.Vectors[0] = []float32{1, float32(math.NaN())} }},
		{"passage past its end", func(e *Entry) { e.Document.Passages[0].Start = 5 }},
		{"no operation", func(e *Entry) { e.Op = 3 }},
		{"deletion with a document", func(e *Entry) { e.Op = OpDelete }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, t.TempDir())
			if err := s.Adopt(ctx, Collection{ID: 7, Name: "c", Settings: []byte(`{}`), Generation: 3}, 0); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.Replay(ctx, 7, []Entry{put(1, 1, "a", 0, 1), put(2, 2, "b", 1, 2)}); err != nil {
				t.Fatal(err)
			}
			before, _ := contentOf(t, s)
			e := put(3, 3, "c", 3, 1)
			tt.with(&e)
			if _, _, err := s.Replay(ctx, 7, []Entry{e}); !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrDimension) {
				t.Fatalf("Replay = %v, want ErrInvalid", err)
			}
			if after, _ := contentOf(t, s); !reflect.DeepEqual(before, after) {
				t.Fatalf("changed:\nbefore: %+v\nafter:  %+v", before, after)
			}
			good := put(3, 3, "c", 3, 1)
			if _, _, err := s.Replay(ctx, 7, []Entry{good}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAdoptRefuses(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir())
	good := Collection{ID: 5, Name: "c", Settings: []byte(`{}`), Generation: 1}
	if err := s.Adopt(ctx, good, 0); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Collection{
		"no number":      {Name: "x", Settings: []byte(`{}`), Generation: 1},
		"name taken":     {ID: 6, Name: "c", Settings: []byte(`{}`), Generation: 1},
		"another name":   {ID: 5, Name: "x", Settings: []byte(`{}`), Generation: 1},
		"bad name":       {ID: 6, Name: "\x01", Settings: []byte(`{}`), Generation: 1},
		"bad settings":   {ID: 6, Name: "x", Settings: []byte(`7`), Generation: 1},
		"last of all":    {ID: 1<<32 - 1, Name: "x", Settings: []byte(`{}`), Generation: 1},
		"no generation ": {ID: 6, Name: "x", Settings: []byte(`{}`)},
	} {
		if err := s.Adopt(ctx, c, 0); !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrExists) {
			t.Errorf("%s: Adopt = %v, want ErrInvalid or ErrExists", name, err)
		}
	}
	if cols, err := s.Collections(); err != nil || len(cols) != 1 || !reflect.DeepEqual(cols[0], good) {
		t.Errorf("Collections = %+v, %v", cols, err)
	}
	if c, err := s.CreateCollection(ctx, "next", []byte(`{}`)); err != nil || c.ID != 6 {
		t.Errorf("the next number is %d, %v, want 6", c.ID, err)
	}
}

// When a commit is told of, it has its version: whoever is told, asks and finds nothing new would wait for the next one.
func TestCommitHasVersion(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := context.Background()
	for i, change := range []func() error{
		func() error { _, err := s.CreateCollection(ctx, "docs", []byte("{}")); return err },
		func() error { _, err := s.UpdateCollection(ctx, 1, []byte("{}")); return err },
		func() error { return s.SetValue(ctx, "key", []byte("value")) },
		func() error { return s.DropCollection(ctx, 1) },
	} {
		commits, _ := s.Commits()
		version := s.catalog.Load()
		done := make(chan error, 1)
		go func() { done <- change() }()
		s.mu.Lock() // without it the change cannot return
		for n := commits; n == commits; n, _ = s.Commits() {
			s.mu.Unlock()
			s.mu.Lock()
		}
		if s.catalog.Load() == version {
			t.Errorf("change %d was told of before it had a version", i)
		}
		s.mu.Unlock()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}
