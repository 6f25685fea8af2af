package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// backup returns the backup of a store.
func backup(t *testing.T, s *Store) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := s.Backup(context.Background(), &b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("Backup = %d of %d, %v", n, b.Len(), err)
	}
	return b.Bytes()
}

// TestBackupForgets deletes documents: their bytes are in the file until it is compacted, and in no
// backup.
func TestBackupForgets(t *testing.T) {
	for _, overflow := range []bool{false, true} { // records of less than a page, and of several
		s, err := Open(t.TempDir(), Options{PageSize: 4096})
		must(t, err)
		defer s.Close()
		if _, err := s.CreateCollection(context.Background(), "collection 0", []byte(`{}`), 0); err != nil { // as readAll names it
			t.Fatal(err)
		}
		secret, n := "a secret", 40
		if overflow {
			secret = strings.Repeat(secret+" ", 3000)
		}
		var deletes []Write
		for i := range n {
			w := write(fmt.Sprint("d", i), 1, 2, 8)
			w.Fields = []byte(`{"text":"` + secret + `"}`)
			mustApply(t, s, 1, w, write(fmt.Sprint("kept", i), 1, 2, 8))
			deletes = append(deletes, Write{ID: w.ID, Delete: true})
		}
		if got := bytes.Count(backup(t, s), []byte("a secret")); got < n {
			t.Fatalf("%d of %d texts in a backup of them", got, n)
		}
		mustApply(t, s, 1, deletes...)
		inFile := func() int {
			b, err := os.ReadFile(s.path)
			must(t, err)
			return bytes.Count(b, []byte("a secret"))
		}
		if inFile() == 0 {
			t.Fatal("the file holds nothing of what was deleted: there is nothing to be tested")
		}
		saved := backup(t, s)
		if got := bytes.Count(saved, []byte("a secret")); got > 0 {
			t.Errorf("overflow %v: a backup has %d of %d deleted texts", overflow, got, n)
		}
		want := readAll(s, nil)
		dir := t.TempDir()
		must(t, Restore(context.Background(), bytes.NewReader(saved), dir, RestoreOptions{}))
		r := open(t, dir)
		if got := readAll(r, nil); !maps.Equal(got.said, want.said) {
			t.Error("the restored store reads otherwise")
		}
		mustApply(t, r, 1, write("more", 1, 3, 8)) // in pages that were free
		if problems, err := r.Check(context.Background(), true); err != nil || len(problems) > 0 {
			t.Errorf("Check = %v, %v", problems, err)
		}
		r.Close()
		must(t, s.Close())
		_, _, err = Compact(t.Context(), s.dir, Options{})
		must(t, err)
		if got := inFile(); got > 0 {
			t.Errorf("overflow %v: the compacted file has %d of %d deleted texts", overflow, got, n)
		}
	}
}

func TestRestore(t *testing.T) {
	file, _ := sample(t)
	s, err := reopened(t, t.TempDir(), file)
	must(t, err)
	defer s.Close()
	want := readAll(s, nil)
	saved := backup(t, s)
	mustApply(t, s, 1, write("later", 1, 1, 8))
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := Restore(context.Background(), bytes.NewReader(saved), dir, RestoreOptions{}); err != nil {
		t.Fatalf("Restore: %v", err)
	}
	r := open(t, dir)
	if r.ID() == s.ID() {
		t.Errorf("the restored store has the ID %x of the original", r.ID())
	}
	got := readAll(r, nil)
	for place, said := range want.said {
		if got.said[place] != said {
			t.Errorf("%s reads %.200s, want %.200s", place, got.said[place], said)
		}
	}
	mustApply(t, r, 1, write("more", 1, 1, 8))
	if err := Restore(context.Background(), bytes.NewReader(saved), dir, RestoreOptions{}); !errors.Is(err, ErrLocked) {
		t.Errorf("Restore into an open store = %v, want ErrLocked", err)
	}
	r.Close()
	if err := Restore(context.Background(), bytes.NewReader(saved), dir, RestoreOptions{}); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("Restore into a store = %v, want ErrNotEmpty", err)
	}
}

type failing struct{ left int64 }

var errFailing = errors.New("the writer fails")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= int64(len(p)); f.left < 0 {
		return 0, errFailing
	}
	return len(p), nil
}

// What keeps a backup from being written is told by its own error, wherever in the file it happens.
func TestBackupTellsWhyItsWriterFailed(t *testing.T) {
	s := open(t, t.TempDir())
	size, err := s.Backup(t.Context(), io.Discard)
	must(t, err)
	for _, left := range []int64{0, 5000, size - 1} {
		if _, err := s.Backup(t.Context(), &failing{left}); !errors.Is(err, errFailing) {
			t.Errorf("after %d bytes: %v", left, err)
		}
	}
}

// TestBackupOpensInPlace copies a backup to where the file was.
func TestBackupOpensInPlace(t *testing.T) {
	s, col := newCollection(t)
	mustApply(t, s, col, write("a", 1, 1, 3))
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, fileName), string(backup(t, s)))
	r := open(t, dir)
	mustApply(t, r, col, write("b", 1, 1, 3))
	mustApply(t, r, col, write("c", 1, 1, 3))
	if ps, err := r.Check(context.Background(), true); err != nil || len(ps) > 0 {
		t.Errorf("Check = %v, %v", ps, err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	s, col := newCollection(t)
	mustApply(t, s, col, write("a", 1, 1, 3))
	saved := backup(t, s)
	rng := rand.New(rand.NewPCG(5, 6))
	bad := map[string][]byte{"nothing": {}, "text": []byte(strings.Repeat("x", 100_000)), "only the trailer": saved[len(saved)-trailerSize:],
		"twice": append(bytes.Clone(saved), saved...), "one byte more": append(bytes.Clone(saved), 0)}
	for _, n := range []int{1, trailerSize - 1, trailerSize, trailerSize + 1, len(saved) / 2, len(saved) - trailerSize, len(saved) - 1} {
		bad["cut "+string(rune('0'+n%10))] = saved[:n]
	}
	for i := range 30 {
		flipped := bytes.Clone(saved)
		flipped[rng.IntN(len(flipped))] ^= 1 << rng.IntN(8)
		bad["flip "+string(rune('a'+i))] = flipped
	}
	for name, b := range bad {
		dir := t.TempDir()
		if err := Restore(context.Background(), bytes.NewReader(b), dir, RestoreOptions{}); !errors.Is(err, ErrBackup) {
			t.Errorf("%s: Restore = %v, want ErrBackup", name, err)
		}
		if after := listing(t, dir); after != "" {
			t.Errorf("%s: Restore left %.100s", name, after)
		}
	}
	endless := iotest.TimeoutReader(io.MultiReader(bytes.NewReader(make([]byte, 4096)), bytes.NewReader(saved))) // fails at the second read
	if err := Restore(t.Context(), endless, t.TempDir(), RestoreOptions{}); !errors.Is(err, ErrBackup) {
		t.Errorf("Restore of what does not begin as a backup = %v, want ErrBackup before the rest is read", err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Restore(canceled, bytes.NewReader(saved), t.TempDir(), RestoreOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Restore = %v, want context.Canceled", err)
	}
	if _, err := s.Backup(canceled, new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Errorf("Backup = %v, want context.Canceled", err)
	}
}

// TestCompact shrinks a store. The new file ends with what it holds, not at a step of growth.
func TestCompact(t *testing.T) {
	s, col := newCollection(t)
	for i := range 20 {
		w := write(string(rune('a'+i)), 1, 2, 4)
		w.Fields = append(w.Fields[:len(w.Fields)-1], `,"pad":"`+strings.Repeat("x", 500_000)+`"}`...)
		mustApply(t, s, col, w)
	}
	for i := range 19 {
		mustApply(t, s, col, Write{ID: string(rune('b' + i)), Delete: true})
	}
	id := s.ID()
	if _, _, err := Compact(t.Context(), s.dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("Compact of an open store = %v, want ErrLocked", err)
	}
	must(t, s.Close())
	before, after, err := Compact(t.Context(), s.dir, Options{})
	if err != nil || after > 1<<20 || before < 10*after {
		t.Errorf("Compact went from %d to %d bytes (%v)", before, after, err)
	}
	s = open(t, s.dir)
	if size, err := s.Size(); err != nil || size != after || s.ID() != id {
		t.Errorf("the compacted file has %d bytes, %v; Compact said %d", size, err, after)
	}
	mustApply(t, s, col, write("b", 2, 2, 4))
	must(t, s.View(t.Context(), col, func(tx *Tx) error {
		if d, err := tx.Document("a"); err != nil || d.Revision != 1 {
			t.Errorf("after compacting: %+v, %v", d, err)
		}
		return nil
	}))
	if problems, err := s.Check(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("after the next write: %v, %v", problems, err)
	}
}

// TestCompactKeepsDamage damages a value: compacting must fail and leave the file.
func TestCompactKeepsDamage(t *testing.T) {
	s, col := newCollection(t)
	w := write("a", 1, 1, 4)
	w.Fields = []byte(`{"body":"find this text"}`)
	mustApply(t, s, col, w)
	s.Close()
	file, err := os.ReadFile(s.path)
	must(t, err)
	writeFile(t, s.path, strings.ReplaceAll(string(file), "find this", "fine this"))
	if _, _, err := Compact(t.Context(), s.dir, Options{}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "collection 1/fields, key 1") {
		t.Errorf("Compact = %v, want ErrCorrupt naming bucket and key", err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, newName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the unfinished copy is still there: %v", err)
	}
	mustApply(t, open(t, s.dir), col, write("b", 1, 1, 4)) // the store is as it was
}
