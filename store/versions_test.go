package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// keeping is a write that keeps so many versions of the last ten days, n days after the first.
func keeping(w Write, most, n int) Write {
	at := day.AddDate(0, 0, n)
	w.Keep = &Keep{Most: most, At: at, Since: at.AddDate(0, 0, -10)}
	return w
}

// kept returns the versions of a document as revision@day, with ! where a deletion followed.
func kept(t *testing.T, s *Store, col uint32, id string) (out string) {
	t.Helper()
	err := s.View(t.Context(), col, func(tx *Tx) error {
		list, err := tx.Versions(id)
		for _, v := range list {
			out += fmt.Sprintf(" %d@%d", v.Revision, int(v.Until.Sub(day).Hours()/24))
			if v.Deleted {
				out += "!"
			}
			whole, err := tx.Version(id, v.Revision)
			if err != nil || v.Fields != nil || v.Size != len(whole.Fields) || whole.ID != id {
				t.Errorf("Version(%q, %d) = %+v, %v; listed %+v", id, v.Revision, whole, err, v)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestVersions(t *testing.T) {
	s, col := newCollection(t)
	remove := Write{ID: "a", Delete: true}
	structured := keeping(write("a", 2, 1, 3), 3, 1)
	structured.Structure = []byte("structure")
	for _, x := range []struct {
		name  string
		write Write
		want  string
	}{
		{"new", keeping(write("a", 1, 1, 3), 3, 0), ""},
		{"the same", keeping(write("a", 1, 1, 3), 3, 0), ""},
		{"another id with the same beginning", keeping(write("ab", 1, 1, 3), 3, 0), ""},
		{"second", structured, " 1@1"},
		{"third", keeping(write("a", 3, 1, 3), 3, 2), " 3@2 1@1"},
		{"a write that keeps none", write("a", 4, 1, 3), " 3@2 1@1"},
		{"deleted", keeping(remove, 3, 3), " 5@3! 3@2 1@1"},
		{"nothing to delete", keeping(remove, 3, 3), " 5@3! 3@2 1@1"},
		{"back again", keeping(write("a", 5, 1, 3), 3, 4), " 5@3! 3@2 1@1"},
		{"too many", keeping(write("a", 6, 1, 3), 3, 5), " 7@5 5@3! 3@2"},
		{"too old", keeping(write("a", 7, 1, 3), 3, 13), " 8@13 7@5 5@3!"},
		{"fewer kept", keeping(write("a", 8, 1, 3), 1, 14), " 9@14"},
		{"forgotten", func() Write { w := remove; w.Keep = &Keep{Forget: true}; return w }(), ""},
	} {
		out, _ := mustApply(t, s, col, x.write)
		if got := kept(t, s, col, "a"); got != x.want {
			t.Errorf("%s: %s, kept%s, want%s", x.name, out[0].Status, got, x.want)
		}
		if x.name == "third" {
			must(t, s.View(t.Context(), col, func(tx *Tx) error {
				v, err := tx.Version("a", 3)
				if string(v.Structure) != "structure" || string(v.Fields) != string(structured.Fields) {
					t.Errorf("Version = %+v", v)
				}
				if _, err := tx.Version("a", 2); !errors.Is(err, ErrNotFound) {
					t.Errorf("of a revision of another document: %v", err)
				}
				return err
			}))
		}
	}
	if got := kept(t, s, col, "ab"); got != "" {
		t.Errorf("of the other document:%s", got)
	}
	if problems, err := s.Check(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("Check: %v, %v", problems, err)
	}
}

// fill keeps two versions of each of n documents.
func fill(t *testing.T, s *Store, col uint32, n int) {
	t.Helper()
	for rev := 1; rev <= 3; rev++ {
		writes := make([]Write, n)
		for i := range writes {
			writes[i] = keeping(write(fmt.Sprintf("d%d", i), rev, 1, 3), 5, rev)
		}
		mustApply(t, s, col, writes...)
	}
}

func (s *Store) versionCount(t *testing.T, col uint32) (n int) {
	t.Helper()
	must(t, s.View(t.Context(), col, func(tx *Tx) error {
		if b := tx.room.versions(); b.Bucket != nil {
			n = b.Stats().KeyN
		}
		return nil
	}))
	return n
}

func TestTrimAndCopyVersions(t *testing.T) {
	s, col := newCollection(t)
	const docs = 1100 // more than one batch of versions
	fill(t, s, col, docs)
	other, err := s.CreateCollection(t.Context(), "next", []byte(`{}`), 0)
	must(t, err)
	for range 2 { // the second finds all of them there
		must(t, s.CopyVersions(t.Context(), col, other.ID))
		if n := s.versionCount(t, other.ID); n != 2*docs {
			t.Fatalf("%d versions copied, want %d", n, 2*docs)
		}
	}
	if got := kept(t, s, other.ID, "d7"); got != kept(t, s, col, "d7") || got == "" {
		t.Errorf("copied%s", got)
	}
	for _, x := range []struct {
		id     string
		before time.Time
		n      int
	}{{"", day, 0}, {"d7", day.AddDate(0, 0, 3), 1}, {"", day.AddDate(0, 0, 3), docs - 1}, {"", time.Time{}, docs}, {"", time.Time{}, 0}} {
		if n, err := s.TrimVersions(t.Context(), col, x.id, x.before); err != nil || n != x.n {
			t.Errorf("TrimVersions(%q, %v) = %d, %v, want %d", x.id, x.before, n, err, x.n)
		}
	}
	if problems, err := s.Check(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("Check: %v, %v", problems, err)
	}
	if n, err := s.TrimVersions(t.Context(), 99, "", day); !errors.Is(err, ErrNoCollection) {
		t.Errorf("of no collection: %d, %v", n, err)
	}
}

func TestVersionsAreCompactedAndBackedUp(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	c, err := s.CreateCollection(t.Context(), "docs", []byte(`{}`), 0)
	must(t, err)
	format := func() (v uint32) {
		must(t, s.view(func(tx *bbolt.Tx) error {
			meta, err := openTop(tx, kindMeta)
			if err == nil {
				v, err = readFormat(meta)
			}
			return err
		}))
		return v
	}
	mustApply(t, s, c.ID, write("x", 1, 1, 3), write("x", 2, 1, 3))
	if v := format(); v != firstFormat {
		t.Errorf("format %d without versions", v)
	}
	fill(t, s, c.ID, 10)
	if v := format(); v != versionsFormat {
		t.Errorf("format %d with versions, want %d", v, versionsFormat)
	}
	want := kept(t, s, c.ID, "d3")
	must(t, s.Close())
	if _, _, err := Compact(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if got := kept(t, s, c.ID, "d3"); got != want || got == "" {
		t.Errorf("compacted:%s, want%s", got, want)
	}
	must(t, s.DropCollection(t.Context(), c.ID))
	if problems, err := s.Check(context.Background(), true); err != nil || len(problems) > 0 {
		t.Errorf("Check: %v, %v", problems, err)
	}
}

// TestDamagedVersions damages a version: it is found by a check, is an error of those that read it,
// and keeps no write from succeeding.
func TestDamagedVersions(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	c, err := s.CreateCollection(t.Context(), "docs", []byte(`{}`), 0)
	must(t, err)
	fill(t, s, c.ID, 2)
	must(t, s.Close())
	db, err := bbolt.Open(filepath.Join(dir, "searchd.db"), 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(collectionBucket(c.ID)).Bucket([]byte("versions"))
		k := versionKey("d0", 1)
		v := append([]byte(nil), b.Get(k)...)
		v[20] ^= 1
		return b.Put(k, v)
	}))
	must(t, db.Close())
	s = open(t, dir)
	problems, err := s.Check(t.Context(), false)
	if err != nil || len(problems) != 1 || problems[0].Bucket != "collection 1/versions" {
		t.Errorf("Check: %v, %v", problems, err)
	}
	err = s.View(t.Context(), c.ID, func(tx *Tx) error { _, err := tx.Versions("d0"); return err })
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("Versions: %v", err)
	}
	mustApply(t, s, c.ID, keeping(write("d0", 4, 1, 3), 5, 4))
	if _, err := s.TrimVersions(t.Context(), c.ID, "d0", time.Time{}); err != nil {
		t.Error(err)
	}
	if problems, err := s.Check(t.Context(), true); err != nil || len(problems) > 0 {
		t.Errorf("Check: %v, %v", problems, err)
	}
}
