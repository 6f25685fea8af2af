package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// rounds returns n, or the number in the environment variable name.
func rounds(t testing.TB, name string, n int) int {
	if s := os.Getenv(name); s != "" {
		v, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("%s=%q: %v", name, s, err)
		}
		return v
	}
	return n
}

// memoryDir returns a folder in memory where the system has such a thing: these tests open hundreds
// of files and are not about the disk.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "store-test")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// sample makes a small store with history and returns the bytes of its file and what it says.
func sample(t testing.TB) (file []byte, want *contents) {
	t.Helper()
	dir := memoryDir(t)
	s, err := Open(dir, Options{PageSize: 4096})
	must(t, err)
	ctx := context.Background()
	for c := range 2 {
		col, err := s.CreateCollection(ctx, fmt.Sprintf("collection %d", c), []byte(`{"k":1}`), 0)
		must(t, err)
		for batch := range 4 {
			var ws []Write
			for i := range 25 {
				ws = append(ws, write(fmt.Sprintf("path/%d/%d.md", i, c), batch/2, (i+batch/2)%3, 8))
			}
			ws = append(ws, write("big", batch, 1, 8), Write{ID: "path/3/0.md", Delete: true})
			ws[25].Fields = fmt.Appendf(nil, `{"body":"%s"}`, bytes.Repeat([]byte{'a' + byte(batch)}, 10_000))
			mustApply(t, s, col.ID, ws...)
		}
		must(t, s.TrimChanges(ctx, col.ID, 20))
	}
	must(t, s.SetValues(ctx, map[string][]byte{"alias/x": []byte("collection 0")}))
	want = readAll(s, nil)
	if len(want.errs) > 0 {
		t.Fatal(want.errs)
	}
	if ps, err := s.Check(ctx, true); err != nil || len(ps) > 0 {
		t.Fatalf("Check = %v, %v", ps, err)
	}
	s.Close()
	file, err = os.ReadFile(filepath.Join(dir, fileName))
	must(t, err)
	h, err := readHeaders(bytes.NewReader(file), int64(len(file)))
	must(t, err)
	return file[:h.newest.highWater*uint64(h.newest.pageSize)], want
}

// contents is everything that a reader can learn from a store, as text by place.
type contents struct {
	said map[string]string
	errs map[string]error
}

func (c *contents) note(place string, v any, err error) {
	if err != nil {
		c.errs[place] = err
		return
	}
	c.said[place] = fmt.Sprintf("%+v", v)
}

// readAll reads a store through every reading method: by scan, and by number, id and slot up to
// some above the last. The places to look up are those of like, if it is not nil.
func readAll(s *Store, like *contents) *contents {
	c := &contents{said: map[string]string{}, errs: map[string]error{}}
	cols, err := s.Collections()
	c.note("collections", cols, err)
	v, err := s.Values("")
	c.note("values", v, err)
	for id := uint32(1); id <= 2; id++ {
		byID, err := s.CollectionByID(id)
		c.note(fmt.Sprint(id), byID, err)
		name := fmt.Sprintf("collection %d", id-1)
		byName, err := s.Collection(name)
		c.note(name, byName, err)
		readCollection(s, id, c, fmt.Sprint(id, "/"))
	}
	return c
}

func readCollection(s *Store, id uint32, c *contents, at string) {
	ctx := context.Background()
	var trimmed uint64
	var docs, vectors, changes []string
	err := s.View(ctx, id, func(tx *Tx) error { readPoints(tx, c, at); trimmed = tx.Trimmed(); return nil })
	c.note(fmt.Sprint("view ", id), "", err)
	err = s.Documents(ctx, id, 0, func(d Document) error { docs = append(docs, fmt.Sprintf("%+v", d)); return nil })
	c.note(at+"docs", docs, err)
	err = s.Vectors(ctx, id, 0, func(slot uint32, v []float32) error { vectors = append(vectors, fmt.Sprint(slot, v)); return nil })
	c.note(at+"vectors", vectors, err)
	err = s.Changes(ctx, id, trimmed, func(ch Change) error { changes = append(changes, fmt.Sprintf("%+v", ch)); return nil })
	c.note(at+"changes", changes, err)
}

func readPoints(tx *Tx, c *contents, at string) {
	c.note(at+"counts", fmt.Sprint(tx.Counts(), tx.Seq(), tx.Trimmed()), nil)
	point := func(place string, v any, err error) {
		if errors.Is(err, ErrNotFound) {
			v, err = "nothing", nil
		}
		c.note(at+place, v, err)
	}
	for no := range uint32(35) {
		d, err := tx.DocumentByNo(no)
		point(fmt.Sprint("no ", no), d, err)
	}
	for i := range 27 {
		for _, id := range []string{fmt.Sprintf("path/%d/0.md", i), fmt.Sprintf("path/%d/1.md", i)} {
			d, err := tx.Document(id)
			point(id, d, err)
		}
	}
	d, err := tx.Document("big")
	point("big", d, err)
	for slot := range uint32(150) {
		v, err := tx.Vector(slot, nil)
		point(fmt.Sprint("vector ", slot), v, err)
	}
}

// reopened writes file into a folder and tries to open it.
func reopened(t *testing.T, dir string, file []byte) (*Store, error) {
	t.Helper()
	path := filepath.Join(dir, fileName)
	must(t, os.WriteFile(path, file, 0o644))
	s, err := Open(dir, Options{})
	if err != nil {
		after, rerr := os.ReadFile(path)
		if rerr != nil || !bytes.Equal(after, file) {
			t.Fatalf("Open failed (%v) and changed the file (%v)", err, rerr)
		}
		return nil, err
	}
	return s, nil
}

// TestBitFlips flips one bit at a time. A flip may be harmless or be reported; it must never change
// what is read, hide a record, or crash the process. What reading reports, Check reports; a store
// that Check finds sound, or with harmless problems only, takes writes and is sound after them.
// SEARCHD_STORE_FLIPS sets the number of flips.
func TestBitFlips(t *testing.T) {
	file, want := sample(t)
	dir := memoryDir(t)
	seed := uint64(rounds(t, "SEARCHD_STORE_SEED", 1))
	rng := rand.New(rand.NewPCG(seed, 2))
	var refused, reported, onlyCheck, harmless int
	for range rounds(t, "SEARCHD_STORE_FLIPS", 300) {
		offset := rng.IntN(len(file))
		if rng.IntN(2) == 0 { // half of the flips in page headers and element tables
			offset = offset&^4095 + rng.IntN(128)
		}
		bit := rng.IntN(8)
		name := fmt.Sprintf("byte %d (page %d, %d), bit %d", offset, offset/4096, offset%4096, bit)
		flipped := bytes.Clone(file)
		flipped[offset] ^= 1 << bit
		s, err := reopened(t, dir, flipped)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: Open = %v, want ErrDamaged", name, err)
			}
			refused++
			continue
		}
		got := readAll(s, want)
		for place, said := range got.said {
			if want.said[place] != said {
				t.Errorf("%s: %s reads\n%.300s\nwant\n%.300s", name, place, said, want.said[place])
			}
		}
		for place, err := range got.errs {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %s: %v", name, place, err)
			}
		}
		problems, err := s.Check(context.Background(), true)
		if err != nil {
			t.Errorf("%s: Check: %v", name, err)
		}
		severe := 0
		for _, p := range problems {
			if !p.Harmless {
				severe++
			}
		}
		switch {
		case len(got.errs) > 0:
			reported++
			if severe == 0 {
				t.Errorf("%s: reading reports %v, Check does not", name, got.errs)
			}
		case severe > 0:
			onlyCheck++
		default:
			harmless++
			checkWritable(t, s, name)
		}
		s.Close()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("flips: %d refused by Open, %d reported when read, %d by Check only, %d harmless (seed %d)", refused, reported, onlyCheck, harmless, seed)
	if refused == 0 || reported == 0 || harmless == 0 {
		t.Errorf("test does not reach every outcome")
	}
}

// checkWritable rewrites every document and checks the store.
func checkWritable(t *testing.T, s *Store, name string) {
	t.Helper()
	for col := uint32(1); col <= 2; col++ {
		var ws []Write
		for i := range 25 {
			ws = append(ws, write(fmt.Sprintf("path/%d/%d.md", i, col-1), 9, 2, 8))
		}
		mustApply(t, s, col, ws...)
	}
	problems, err := s.Check(context.Background(), true)
	if err != nil {
		t.Errorf("%s: Check after writes: %v", name, err)
	}
	for _, p := range problems {
		if !p.Harmless {
			t.Errorf("%s: after writes: %v", name, p)
		}
	}
}

// TestTruncation cuts the file at many lengths.
func TestTruncation(t *testing.T) {
	file, _ := sample(t)
	dir := memoryDir(t)
	rng := rand.New(rand.NewPCG(3, 4))
	lengths := []int{0, 1, 15, 16, 79, 80, 4095, 4096, 4097, 8191, 8192, 16384, len(file) - 4096, len(file) - 1}
	for range 60 {
		lengths = append(lengths, rng.IntN(len(file)))
	}
	for _, n := range lengths {
		s, err := reopened(t, dir, file[:n])
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("Open of %d bytes of %d = %v, want ErrDamaged", n, len(file), err)
		}
	}
}

// TestTruncatedWhileOpen cuts the file under an open store: the memory map then faults, which must
// not kill the process.
func TestTruncatedWhileOpen(t *testing.T) {
	file, want := sample(t)
	dir := t.TempDir()
	s, err := reopened(t, dir, file)
	must(t, err)
	defer s.Close()
	must(t, os.Truncate(filepath.Join(dir, fileName), 3*4096))
	got := readAll(s, want)
	if len(got.errs) == 0 {
		t.Error("nothing was reported")
	}
	for place, err := range got.errs {
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", place, err)
		}
	}
	if _, _, err := s.Apply(context.Background(), 1, []Write{write("new", 1, 1, 8)}); err == nil {
		t.Error("Apply succeeded")
	}
	if problems, err := s.Check(context.Background(), true); err == nil && len(problems) == 0 {
		t.Error("Check found nothing")
	}
}

// TestDamagedHeader tells the newest header page from the older one.
func TestDamagedHeader(t *testing.T) {
	file, _ := sample(t)
	h, err := readHeaders(bytes.NewReader(file), int64(len(file)))
	must(t, err)
	newest, older := 4096, 0
	if h.atStart {
		newest, older = 0, 4096
	}
	for field, offset := range map[string]int{"magic": 0, "version": 4, "page size": 8, "root": 16, "free list": 32, "high water": 40, "transaction": 48, "checksum": 56} {
		for bit := range 8 {
			for name, page := range map[string]int{"newest": newest, "older": older} {
				flipped := bytes.Clone(file)
				flipped[page+pageHeaderSize+offset] ^= 1 << bit
				s, err := reopened(t, memoryDir(t), flipped)
				if err == nil {
					s.Close()
				}
				if wantErr := page == newest; errors.Is(err, ErrDamaged) != wantErr {
					t.Errorf("bit %d of the %s of the %s header: Open = %v", bit, field, name, err)
				}
			}
		}
	}
}

func TestAcceptRollback(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	col, err := s.CreateCollection(context.Background(), "docs", []byte(`{}`), 0)
	must(t, err)
	mustApply(t, s, col.ID, write("a", 1, 1, 4))
	mustApply(t, s, col.ID, write("b", 1, 1, 4))
	id := s.ID()
	s.Close()
	path := filepath.Join(dir, fileName)
	file, err := os.ReadFile(path)
	must(t, err)
	h, err := readHeaders(bytes.NewReader(file), int64(len(file)))
	must(t, err)
	at := pageHeaderSize
	if !h.atStart {
		at += int(h.newest.pageSize)
	}
	binary.NativeEndian.PutUint64(file[at+16:], 77)
	must(t, os.WriteFile(path, file, 0o644))
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrDamaged) {
		t.Fatalf("Open = %v, want ErrDamaged", err)
	}
	s, err = Open(dir, Options{AcceptRollback: true})
	if err != nil {
		t.Fatalf("Open with AcceptRollback: %v", err)
	}
	if !s.RolledBack() {
		t.Error("the store does not say that it has given up a commit")
	}
	if s.ID() == id {
		t.Error("the store kept its ID")
	}
	err = s.View(context.Background(), col.ID, func(tx *Tx) error {
		if _, err := tx.Head("a"); err != nil {
			return err
		}
		if _, err := tx.Head("b"); !errors.Is(err, ErrNotFound) {
			t.Errorf("Head(b) = %v, want ErrNotFound", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	s.Close()
	s = open(t, dir) // the damage is gone
	if s.RolledBack() {
		t.Error("the store says again that it has given up a commit")
	}
	if ps, err := s.Check(context.Background(), true); err != nil || len(ps) > 0 {
		t.Errorf("Check = %v, %v", ps, err)
	}
}

// FuzzPages gives foreign bytes to the reader of pages. Whatever they are, it answers.
func FuzzPages(f *testing.F) {
	file, _ := sample(f)
	f.Add(file)
	f.Add(file[:5*4096])
	f.Add([]byte("not a database"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := checkHeaders(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for _, leaves := range []bool{true, false} {
			if newWalker(bytes.NewReader(b), h.newest, leaves).walk() == nil {
				continue
			}
		}
	})
}
