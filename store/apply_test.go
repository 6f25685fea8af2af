package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"
)

func TestApplyRefuses(t *testing.T) {
	s, col := newCollection(t)
	mustApply(t, s, col, write("a", 1, 1, 3))
	f := func(change func(*Write)) []Write {
		w := write("b", 1, 2, 3)
		change(&w)
		return []Write{write("ok", 1, 1, 3), w}
	}
	nan := float32(math.NaN())
	tests := []struct {
		name   string
		writes []Write
		want   error
		text   string
	}{
		{"empty id", f(func(w *Write) { w.ID = "" }), ErrInvalid, "id is empty"},
		{"long id", f(func(w *Write) { w.ID = strings.Repeat("x", 513) }), ErrInvalid, "513 bytes"},
		{"id with a newline", f(func(w *Write) { w.ID = "a\nb" }), ErrInvalid, "U+000A at byte 1"},
		{"id with a C1 control", f(func(w *Write) { w.ID = "a\u0085" }), ErrInvalid, "U+0085"},
		{"id that is not UTF-8", f(func(w *Write) { w.ID = "a\xff" }), ErrInvalid, "not valid UTF-8"},
		{"fields no JSON", f(func(w *Write) { w.Fields = []byte(`{"a":`) }), ErrInvalid, "not a JSON object"},
		{"fields an array", f(func(w *Write) { w.Fields = []byte(`[1]`) }), ErrInvalid, "not a JSON object"},
		{"fields missing", f(func(w *Write) { w.Fields = nil }), ErrInvalid, "not a JSON object"},
		{"one vector short", f(func(w *Write) { w.Vectors = w.Vectors[:1] }), ErrInvalid, "1 vectors for 2 passages"},
		{"empty vector", f(func(w *Write) { w.Vectors[1] = []float32{} }), ErrInvalid, "0 components"},
		{"NaN", f(func(w *Write) { w.Vectors[1][2] = nan }), ErrInvalid, "passage 1: component 2 is NaN"},
		{"infinity", f(func(w *Write) { w.Vectors[0][0] = float32(math.Inf(-1)) }), ErrInvalid, "-Inf"},
		{"dimension", f(func(w *Write) { w.Vectors[1] = make([]float32, 4) }), ErrDimension, "4 components, the collection's have 3"},
		{"offsets", f(func(w *Write) { w.Passages[1] = Passage{Field: "f", Start: 5, End: 4} }), ErrInvalid, "[5, 4)"},
		{"negative offset", f(func(w *Write) { w.Passages[0].Start = -1 }), ErrInvalid, "[-1,"},
		{"field name", f(func(w *Write) { w.Passages[0].Field = "\xff" }), ErrInvalid, "field name"},
		{"too many passages", f(func(w *Write) { w.Vectors = nil; w.Passages = make([]Passage, MaxPassages+1) }), ErrInvalid, "65537 passages"},
		{"too many writes", make([]Write, MaxBatchWrites+1), ErrInvalid, "65537 writes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := s.Apply(context.Background(), col, tt.writes)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Apply = %v, want %v with %q", err, tt.want, tt.text)
			}
			var we *WriteError
			if errors.As(err, &we) && (we.Index != 1 || we.ID != tt.writes[1].ID) {
				t.Errorf("WriteError names write %d (%q), want 1", we.Index, we.ID)
			}
			err = s.View(context.Background(), col, func(tx *Tx) error {
				if n := tx.Counts().Documents; n != 1 || tx.Seq() != 1 {
					t.Errorf("after a refused batch: %d documents, seq %d; want 1, 1", n, tx.Seq())
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestIDsThatPeopleHave(t *testing.T) {
	s, col := newCollection(t)
	ids := []string{"a", "notes/2024 plan (final).md", `C:\Users\Jürgen\x.txt`, "日本語/ファイル", "e\u0301", "\u00e9", " ", "a/../b", strings.Repeat("é", 256), "😀", "\ufffd"}
	for i, id := range ids {
		mustApply(t, s, col, write(id, i, 1, 2))
	}
	err := s.View(context.Background(), col, func(tx *Tx) error {
		for i, id := range ids {
			if d, err := tx.Head(id); err != nil || d.No != uint32(i+1) || d.ID != id {
				t.Errorf("Head(%q) = %+v, %v, want number %d", id, d, err, i+1)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestUnknownCollection(t *testing.T) {
	s, _ := newCollection(t)
	_, _, err := s.Apply(context.Background(), 99, []Write{write("a", 1, 1, 1)})
	if !errors.Is(err, ErrNoCollection) {
		t.Errorf("Apply = %v, want ErrNoCollection", err)
	}
	if err := s.View(context.Background(), 99, func(*Tx) error { return nil }); !errors.Is(err, ErrNoCollection) {
		t.Errorf("View = %v, want ErrNoCollection", err)
	}
}

// waitingForTest returns the number of Apply calls in the queue.
func (s *Store) waitingForTest() int {
	s.queue.Lock()
	defer s.queue.Unlock()
	return len(s.queue.waiting)
}

// TestGroupCommit holds up the writer until many calls wait: they must share one transaction, and
// one that cannot succeed must not take the others with it.
func TestGroupCommit(t *testing.T) {
	s, col := newCollection(t)
	mustApply(t, s, col, write("first", 1, 1, 3))
	before, err := newestTxID(s.path)
	must(t, err)
	ctx := context.Background()
	must(t, s.lockWriter(ctx))
	canceled, cancel := context.WithCancel(ctx)
	const n = 50
	errs := make([]error, n)
	seqs := make([]uint64, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			w, c, ctx := write(fmt.Sprint("doc ", i), 1, 1, 3), col, ctx
			switch i {
			case 7:
				w = write("wrong", 1, 1, 4)
			case 8:
				c = 99
			case 9:
				ctx = canceled
			}
			var out []Outcome
			out, seqs[i], errs[i] = s.Apply(ctx, c, []Write{w})
			if errs[i] == nil && out[0].Status != Created {
				t.Errorf("call %d: %v", i, out[0])
			}
		})
	}
	for s.waitingForTest() < n {
		time.Sleep(time.Millisecond)
	}
	cancel()
	for s.waitingForTest() > n-1 {
		time.Sleep(time.Millisecond)
	}
	s.unlockWriter()
	wg.Wait()
	seen := map[uint64]bool{}
	for i, err := range errs {
		want := map[int]error{7: ErrDimension, 8: ErrNoCollection, 9: context.Canceled}[i]
		if !errors.Is(err, want) {
			t.Errorf("call %d = %v, want %v", i, err, want)
		}
		if err == nil && seen[seqs[i]] {
			t.Errorf("call %d: sequence number %d was given twice", i, seqs[i])
		}
		seen[seqs[i]] = true
	}
	after, err := newestTxID(s.path)
	if err != nil || after != before+1 {
		t.Errorf("%d calls took %d transactions, want 1 (%v)", n, after-before, err)
	}
	if ps, err := s.Check(ctx, true); err != nil || len(ps) > 0 {
		t.Errorf("Check = %v, %v", ps, err)
	}
}

// TestNothingToCommit wants no transaction for a batch that changes nothing.
func TestNothingToCommit(t *testing.T) {
	s, col := newCollection(t)
	mustApply(t, s, col, write("a", 1, 1, 3))
	before, _ := newestTxID(s.path)
	mustApply(t, s, col, write("a", 1, 1, 3), Write{ID: "b", Delete: true})
	mustApply(t, s, col)
	if after, err := newestTxID(s.path); err != nil || after != before {
		t.Errorf("transactions went from %d to %d, %v", before, after, err)
	}
}

// TestConcurrent runs every kind of call at once; the race detector watches.
func TestConcurrent(t *testing.T) {
	s, col := newCollection(t)
	ctx, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	run := func(what string, fn func(i int) error) {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := fn(i); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", what, err)
					return
				}
			}
		})
	}
	for g := range 4 {
		run("Apply", func(i int) error {
			_, _, err := s.Apply(ctx, col, []Write{write(fmt.Sprint(g, "-", i%20), i, i%4, 16), {ID: fmt.Sprint(g, "-", (i+7)%20), Delete: true}})
			return err
		})
	}
	run("scan", func(int) error {
		err := s.Documents(ctx, col, 0, func(Document) error { return nil })
		if err == nil {
			err = s.Vectors(ctx, col, 0, func(uint32, []float32) error { return nil })
		}
		return err
	})
	run("changes", func(i int) error {
		last := uint64(0)
		err := s.View(ctx, col, func(tx *Tx) error { last = tx.Trimmed(); return nil })
		if err == nil {
			err = s.Changes(ctx, col, last, func(c Change) error { last = c.Seq; return nil })
		}
		if errors.Is(err, ErrTrimmed) { // meanwhile
			err = nil
		}
		if err == nil && i%4 == 0 {
			err = s.TrimChanges(ctx, col, last/2)
		}
		return err
	})
	run("Check", func(int) error {
		ps, err := s.Check(ctx, true)
		if len(ps) > 0 {
			return fmt.Errorf("%v", ps)
		}
		return err
	})
	run("collections", func(i int) error {
		c, err := s.CreateCollection(ctx, fmt.Sprint("c", i), []byte(`{}`), 0)
		if err == nil {
			_, _, err = s.Apply(ctx, c.ID, []Write{write("x", 1, 3, 4)})
		}
		if err == nil {
			err = s.DropCollection(ctx, c.ID)
		}
		return err
	})
	id := s.ID()
	run("ID", func(int) error {
		if s.ID() != id {
			return errors.New("it is another one")
		}
		return nil
	})
	run("Backup", func(int) error { _, err := s.Backup(ctx, new(strings.Builder)); return err })
	wg.Wait()
	if ps, err := s.Check(context.Background(), true); err != nil || len(ps) > 0 {
		t.Errorf("Check = %v, %v", ps, err)
	}
}

// TestAppliedIsForgotten lets several calls wait for their turn: when they have returned the store
// holds nothing of what they wrote.
func TestAppliedIsForgotten(t *testing.T) {
	s, col := newCollection(t)
	const calls = 8
	var fields [calls]weak.Pointer[byte]
	var wg sync.WaitGroup
	s.writer <- struct{}{}
	for i := range calls {
		wg.Go(func() {
			w := write(fmt.Sprint(i), 1, 1, 3)
			fields[i] = weak.Make(&w.Fields[0])
			if _, _, err := s.Apply(t.Context(), col, []Write{w}); err != nil {
				t.Error(err)
			}
		})
	}
	for waiting := 0; waiting < calls; runtime.Gosched() {
		s.queue.Lock()
		waiting = len(s.queue.waiting)
		s.queue.Unlock()
	}
	s.unlockWriter()
	wg.Wait()
	runtime.GC()
	for i, p := range fields {
		if p.Value() != nil {
			t.Errorf("the fields of document %d are held", i)
		}
	}
}
