package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// open opens a store in dir and closes it when the test ends.
func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// newCollection makes a collection named "docs" in a new store.
func newCollection(t testing.TB) (*Store, uint32) {
	t.Helper()
	s := open(t, t.TempDir())
	c, err := s.CreateCollection(context.Background(), "docs", []byte(`{}`), 0)
	if err != nil {
		t.Fatalf("CreateCollection: %v", err)
	}
	return s, c.ID
}

// write returns a put of a document with n passages, whose vectors have dim components that tell of
// id and rev.
func write(id string, rev, n, dim int) Write {
	w := Write{ID: id, Fields: fmt.Appendf(nil, `{"body":"text of %x","rev":%d}`, id, rev)}
	copy(w.Hash[:], fmt.Sprintf("%s/%d", id, rev))
	for i := range n {
		w.Passages = append(w.Passages, Passage{Field: "body", Start: i, End: i + rev%100})
		v := make([]float32, dim)
		for j := range v {
			v[j] = float32(rev) + float32(len(id)) + float32(i*dim+j)/16
		}
		w.Vectors = append(w.Vectors, v)
	}
	return w
}

// mustApply applies writes and returns their outcomes.
func mustApply(t testing.TB, s *Store, col uint32, writes ...Write) ([]Outcome, uint64) {
	t.Helper()
	out, seq, err := s.Apply(context.Background(), col, writes)
	if err != nil {
		t.Fatalf("Apply: %v", err)
	}
	return out, seq
}

func TestApplyStatuses(t *testing.T) {
	s, col := newCollection(t)
	rev := func(n uint64) *uint64 { return &n }
	withRev := func(w Write, r *uint64) Write { w.IfRevision = r; return w }
	tests := []struct {
		name  string
		write Write
		want  Outcome
		seq   uint64
	}{
		{"new", write("a", 1, 2, 3), Outcome{Created, 1, 1, nil, []uint32{0, 1}}, 1},
		{"same hash", write("a", 1, 2, 3), Outcome{Unchanged, 1, 1, nil, nil}, 1},
		{"other hash", write("a", 2, 3, 3), Outcome{Updated, 1, 2, []uint32{0, 1}, []uint32{2, 3, 4}}, 2},
		{"old revision", withRev(write("a", 3, 1, 3), rev(1)), Outcome{Conflict, 1, 2, nil, nil}, 2},
		{"right revision", withRev(write("a", 3, 1, 3), rev(2)), Outcome{Updated, 1, 3, []uint32{2, 3, 4}, []uint32{5}}, 3},
		{"only if absent", withRev(write("a", 4, 1, 3), rev(0)), Outcome{Conflict, 1, 3, nil, nil}, 3},
		{"absent as asked", withRev(write("b", 1, 0, 3), rev(0)), Outcome{Created, 2, 4, nil, nil}, 4},
		{"revision of nothing", withRev(write("c", 1, 0, 3), rev(7)), Outcome{Conflict, 0, 0, nil, nil}, 4},
		{"delete nothing", Write{ID: "c", Delete: true}, Outcome{Missing, 0, 0, nil, nil}, 4},
		{"delete old revision", Write{ID: "a", Delete: true, IfRevision: rev(1)}, Outcome{Conflict, 1, 3, nil, nil}, 4},
		{"delete", Write{ID: "a", Delete: true}, Outcome{Deleted, 1, 3, []uint32{5}, nil}, 5},
		{"back with a new number", write("a", 1, 1, 3), Outcome{Created, 3, 6, nil, []uint32{6}}, 6},
		{"zero hash always writes", Write{ID: "b", Fields: []byte(`{}`)}, Outcome{Updated, 2, 7, nil, nil}, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, seq := mustApply(t, s, col, tt.write)
			if got, want := fmt.Sprint(out[0]), fmt.Sprint(tt.want); got != want || seq != tt.seq {
				t.Errorf("Apply = %v, seq %d; want %v, seq %d", got, seq, want, tt.seq)
			}
		})
	}
}

func TestLockNamesHolder(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	_, err := Open(dir, Options{})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("second Open = %v, want ErrLocked naming process %d", err, os.Getpid())
	}
}

func TestEmptyFileIsNotAnEmptyStore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	must(t, os.WriteFile(path, nil, 0o644))
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("Open = %v, want ErrDamaged", err)
	}
}

func TestReopen(t *testing.T) {
	s, col := newCollection(t)
	mustApply(t, s, col, write("a/ä b.md", 1, 2, 3), write("b", 1, 1, 3))
	must(t, s.Close())
	s2 := open(t, s.dir)
	if s2.ID() != s.ID() {
		t.Errorf("ID changed from %x to %x", s.ID(), s2.ID())
	}
	err := s2.View(context.Background(), col, func(tx *Tx) error {
		d, err := tx.Document("a/ä b.md")
		if err != nil {
			return err
		}
		if d.No != 1 || len(d.Passages) != 2 || d.Passages[1].Slot != 1 || d.Passages[1].Field != "body" {
			t.Errorf("document = %+v", d)
		}
		v, err := tx.Vector(1, nil)
		if err != nil || len(v) != 3 || v[0] != write("a/ä b.md", 1, 2, 3).Vectors[1][0] {
			t.Errorf("Vector(1) = %v, %v", v, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := s2.Changes(t.Context(), col, 0, func(c Change) error { n++; return nil }); err != nil || n != 2 {
		t.Errorf("Changes: %d, %v", n, err)
	}
}

// must ends a test on an error. t may be a *rapid.T.
func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
