package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// spoil makes a value of the first collection in a store's file one that its checksum does not fit.
func spoil(t *testing.T, path string, k kind, key []byte) {
	t.Helper()
	change(t, path, k, key, func(b *bbolt.Bucket, v []byte) error {
		for i := range min(16, len(v)) {
			v[i] ^= 0x5a
		}
		return b.Put(key, v)
	})
}

// change changes a value of the first collection in a store's file.
func change(t *testing.T, path string, k kind, key []byte, fn func(b *bbolt.Bucket, v []byte) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o644, nil)
	must(t, err)
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(collectionBucket(1)).Bucket([]byte(bucketNames[k]))
		v := bytes.Clone(b.Get(key))
		if v == nil {
			t.Fatalf("nothing at %s %x", bucketNames[k], key)
		}
		return fn(b, v)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// damages are the values that can be bad, with what is said of them. What they belong to is
// dropped.
var damages = []struct {
	name    string
	kind    kind
	key     func(d Document) []byte
	says    string
	dropped bool
}{
	{"vector", kindVectors, func(d Document) []byte { return key32(d.Passages[1].Slot) }, `collection "collection 0": document "path/4/0.md": vector of passage 1: `, false},
	{"fields", kindFields, func(d Document) []byte { return key32(d.No) }, `collection "collection 0": document "path/4/0.md": fields: `, true},
	{"record", kindDocs, func(d Document) []byte { return key32(d.No) }, `collection "collection 0": document "path/4/0.md": record: `, true},
	{"slot", kindSlots, func(d Document) []byte { return key32(d.Passages[1].Slot) }, `document "path/4/0.md": record: `, true},
	{"id", kindIDs, func(d Document) []byte { return []byte(d.ID) }, `document "path/4/0.md": record: `, true},
	{"change", kindLog, func(d Document) []byte { return key64(d.Revision) }, `collection "collection 0": collection 1/log: `, false},
}

// eachDamage gives fn a store's folder with one bad value, for each kind of value.
func eachDamage(t *testing.T, fn func(t *testing.T, dir string, i int)) {
	file, _ := sample(t)
	for i, tt := range damages {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := reopened(t, dir, file)
			must(t, err)
			var d Document
			err = s.View(t.Context(), 1, func(tx *Tx) (err error) { d, err = tx.Document("path/4/0.md"); return err })
			if err != nil || len(d.Passages) < 2 {
				t.Fatal(d, err)
			}
			s.Close()
			spoil(t, filepath.Join(dir, fileName), tt.kind, tt.key(d))
			fn(t, dir, i)
		})
	}
}

// TestDropDamaged names what is bad, drops it, and leaves a sound store with everything else.
func TestDropDamaged(t *testing.T) {
	eachDamage(t, func(t *testing.T, dir string, i int) {
		s := open(t, dir)
		defer s.Close()
		problems, err := s.Check(t.Context(), true)
		if err != nil || !slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.String(), damages[i].says) }) {
			t.Fatalf("Check = %v, %v; want %s", problems, err, damages[i].says)
		}
		var dropped []string
		must(t, s.DropDamaged(t.Context(), func(d Dropped) { dropped = append(dropped, d.String()) }))
		want := []string{`collection "collection 0": document "path/4/0.md"`}
		if !damages[i].dropped {
			want = nil
		}
		if !slices.Equal(dropped, want) {
			t.Errorf("dropped %q, want %q", dropped, want)
		}
		onlyVectors(t, s)
		checkWritable(t, s, "after it")
	})
}

// onlyVectors wants nothing to be damaged but vectors.
func onlyVectors(t *testing.T, s *Store) {
	t.Helper()
	problems, err := s.Check(t.Context(), true)
	if err != nil || slices.ContainsFunc(problems, func(p Problem) bool { return !p.Vector }) {
		t.Errorf("Check after it = %v, %v", problems, err)
	}
}

// TestDropAllDamaged drops what is damaged where that is more than one check lists, in records of
// no document first, and behind more damaged vectors than it lists.
func TestDropAllDamaged(t *testing.T) {
	dir := memoryDir(t)
	s := open(t, dir)
	var cols []uint32
	for _, name := range []string{"vectors", "log", "docs"} {
		col, err := s.CreateCollection(t.Context(), name, []byte("{}"), 0)
		must(t, err)
		cols = append(cols, col.ID)
	}
	var writes, vectors []Write
	for i := range maxProblems + 10 {
		vectors = append(vectors, write(fmt.Sprint(i), 1, 1, 2))
		writes = append(writes, Write{ID: fmt.Sprint(i), Fields: []byte("{}")}, Write{ID: fmt.Sprint(i), Delete: true})
	}
	mustApply(t, s, cols[0], vectors...)
	mustApply(t, s, cols[1], writes...)
	mustApply(t, s, cols[2], write("bad", 1, 1, 3), write("good", 1, 1, 3))
	err := s.update(t.Context(), func(tx *bbolt.Tx) error {
		whole, err := openRoom(tx, cols[0])
		if err != nil {
			return err
		}
		log, err := openRoom(tx, cols[1])
		if err != nil {
			return err
		}
		for seq := range uint64(maxProblems + 10) {
			if err := whole.vectors.Put(key32(uint32(seq)), make([]byte, 12)); err != nil {
				return err
			}
			if err := log.log.Put(key64(seq+1), make([]byte, 4)); err != nil {
				return err
			}
		}
		docs, err := openRoom(tx, cols[2])
		if err != nil {
			return err
		}
		return docs.fields.Put(key32(1), make([]byte, 4))
	})
	if err != nil {
		t.Fatal(err)
	}
	var dropped []string
	must(t, s.DropDamaged(t.Context(), func(d Dropped) { dropped = append(dropped, d.String()) }))
	if want := []string{`collection "docs": document "bad"`}; !slices.Equal(dropped, want) {
		t.Errorf("dropped %q, want %q", dropped, want)
	}
	must(t, s.DropCollection(t.Context(), cols[0]))
	if problems, err := s.Check(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("Check after it = %d problems, %v", len(problems), err)
	}
}

// TestVerifyBackup finds in a backup the damage for which Restore refuses it, and restores it with
// RestoreOptions.Damaged.
func TestVerifyBackup(t *testing.T) {
	eachDamage(t, func(t *testing.T, dir string, i int) {
		s := open(t, dir)
		b := backup(t, s)
		s.Close()
		path := filepath.Join(t.TempDir(), "backup")
		if err := os.WriteFile(path, b, 0o400); err != nil { // it is not written to
			t.Fatal(err)
		}
		problems, err := VerifyBackup(t.Context(), path)
		if err != nil || !slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.String(), damages[i].says) }) {
			t.Errorf("VerifyBackup = %v, %v; want %s", problems, err, damages[i].says)
		}
		to := t.TempDir()
		if err := Restore(t.Context(), bytes.NewReader(b), to, RestoreOptions{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("Restore = %v, want ErrDamaged", err)
		}
		told := 0
		if err := Restore(t.Context(), bytes.NewReader(b), to, RestoreOptions{Damaged: func(Problem) { told++ }}); err != nil || told != len(problems) {
			t.Fatalf("Restore with Damaged = %v, told of %d of %d", err, told, len(problems))
		}
		r := open(t, to)
		defer r.Close()
		must(t, r.DropDamaged(t.Context(), func(Dropped) {}))
		onlyVectors(t, r)
	})
}

// TestVerifySoundBackup finds nothing in a sound backup, and refuses what is none.
func TestVerifySoundBackup(t *testing.T) {
	file, _ := sample(t)
	s, err := reopened(t, t.TempDir(), file)
	must(t, err)
	b := backup(t, s)
	s.Close()
	path := filepath.Join(t.TempDir(), "backup")
	verify := func(b []byte) ([]Problem, error) {
		must(t, os.WriteFile(path, b, 0o600))
		return VerifyBackup(context.Background(), path)
	}
	if problems, err := verify(b); err != nil || len(problems) > 0 {
		t.Errorf("VerifyBackup = %v, %v", problems, err)
	}
	if _, err := verify(b[:len(b)-100]); !errors.Is(err, ErrBackup) {
		t.Errorf("VerifyBackup of a part = %v, want ErrBackup", err)
	}
	b[len(b)/2] ^= 1
	if _, err := verify(b); !errors.Is(err, ErrBackup) {
		t.Errorf("VerifyBackup of a changed one = %v, want ErrBackup", err)
	}
	b[len(b)/2] ^= 1
	binary.LittleEndian.PutUint64(b[len(b)-40:], 77)
	if _, err := verify(b); !errors.Is(err, ErrBackup) {
		t.Errorf("VerifyBackup with another size = %v, want ErrBackup", err)
	}
}

// TestWriteMendsDamage writes a document of which a value is bad, or missing, again, with the
// content that it has: it is whole, and then unchanged.
func TestWriteMendsDamage(t *testing.T) {
	lose := func(t *testing.T, path string, k kind, key []byte) {
		change(t, path, k, key, func(b *bbolt.Bucket, _ []byte) error { return b.Delete(key) })
	}
	t.Run("bad", func(t *testing.T) { testWriteMends(t, spoil) })
	t.Run("missing", func(t *testing.T) { testWriteMends(t, lose) })
}

func testWriteMends(t *testing.T, spoil func(t *testing.T, path string, k kind, key []byte)) {
	for _, tt := range damages[:2] {
		t.Run(tt.name, func(t *testing.T) {
			dir := memoryDir(t)
			s := open(t, dir)
			col, err := s.CreateCollection(t.Context(), "docs", []byte("{}"), 0)
			must(t, err)
			w := write("a", 1, 3, 8)
			out, _ := mustApply(t, s, col.ID, w)
			s.Close()
			d := Document{No: out[0].No, Passages: []Passage{{}, {Slot: out[0].NewSlots[1]}}}
			spoil(t, filepath.Join(dir, fileName), tt.kind, tt.key(d))
			s = open(t, dir)
			for _, want := range []Status{Updated, Unchanged} {
				if out, _ := mustApply(t, s, col.ID, w); out[0].Status != want {
					t.Errorf("written again: %v, want %v", out[0].Status, want)
				}
			}
			if ps, err := s.Check(t.Context(), true); err != nil || len(ps) > 0 {
				t.Errorf("Check = %v, %v", ps, err)
			}
		})
	}
}
