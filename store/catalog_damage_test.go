package store

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// spoilTop overwrites the last byte of what a record of the whole store says.
func spoilTop(t *testing.T, s *Store, k kind, key []byte) {
	t.Helper()
	err := s.update(t.Context(), func(tx *bbolt.Tx) error {
		b, err := openTop(tx, k)
		if err != nil {
			return err
		}
		v := bytes.Clone(b.Get(key))
		v[len(v)-5] ^= 1
		return b.Put(key, v)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamagedCatalogRecord damages the record of a collection, its name, or both: the others are
// listed, opened and dropped as ever, the damaged one is listed with why, and dropped.
func TestDamagedCatalogRecord(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name                     string
		record, named, available bool
		called                   string
	}{
		{"record", true, false, false, "bad"},
		{"name", false, true, true, "bad"},
		{"both", true, true, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, t.TempDir())
			var ids []uint32
			for _, name := range []string{"alpha", "bad", "zulu"} {
				col, err := s.CreateCollection(ctx, name, []byte(`{}`), 0)
				must(t, err)
				ids = append(ids, col.ID)
				mustApply(t, s, col.ID, write("a", 0, 1, 4))
			}
			if tt.record {
				spoilTop(t, s, kindCollections, key32(ids[1]))
			}
			if tt.named {
				spoilTop(t, s, kindNames, []byte("bad"))
			}
			cols, err := s.Collections()
			var damaged *CollectionsError
			switch {
			case tt.available:
				if err != nil || len(cols) != 3 {
					t.Fatalf("Collections = %+v, %v", cols, err)
				}
			case len(cols) != 2 || !errors.As(err, &damaged) || !errors.Is(err, ErrCorrupt):
				t.Fatalf("Collections = %+v, %v", cols, err)
			case len(damaged.Damaged) != 1 || damaged.Damaged[0].ID != ids[1] || damaged.Damaged[0].Name != tt.called:
				t.Errorf("the damaged: %+v", damaged.Damaged)
			}
			problems, err := s.Check(ctx, true)
			if err != nil || len(problems) == 0 || slices.ContainsFunc(problems, func(p Problem) bool { return p.Bucket == "" }) {
				t.Errorf("Check = %v, %v; want damaged records alone", problems, err)
			}
			var backup bytes.Buffer
			if _, err := s.Backup(ctx, &backup); err != nil {
				t.Fatal(err)
			}
			told := 0
			if err := Restore(ctx, &backup, t.TempDir(), RestoreOptions{Damaged: func(Problem) { told++ }}); err != nil || told == 0 {
				t.Errorf("Restore of the damaged = %v, told %d times", err, told)
			}
			must(t, s.DropCollection(ctx, ids[1]))
			if cols, err := s.Collections(); err != nil || len(cols) != 2 {
				t.Errorf("Collections = %+v, %v", cols, err)
			}
			if problems, err := s.Check(ctx, true); err != nil || len(problems) > 0 {
				t.Errorf("Check after the drop = %v, %v", problems, err)
			}
			if _, err := s.CreateCollection(ctx, "bad", []byte(`{}`), 0); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDamagedValues reads values of which one is damaged: the others come with the error, which
// names it.
func TestDamagedValues(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir())
	must(t, s.SetValues(ctx, map[string][]byte{"a/1": []byte("one"), "a/2": []byte("two"), "b/1": []byte("three")}))
	spoilTop(t, s, kindValues, []byte("a/1"))
	values, err := s.Values("a/")
	var damaged *ValuesError
	if !errors.As(err, &damaged) || !errors.Is(err, ErrCorrupt) || !slices.Equal(damaged.Keys, []string{"a/1"}) || !strings.Contains(err.Error(), `"a/1"`) {
		t.Errorf("Values: %v", err)
	}
	if got := slices.Collect(maps.Keys(values)); !slices.Equal(got, []string{"a/2"}) {
		t.Errorf("Values = %v", got)
	}
	if values, err := s.Values("b/"); err != nil || len(values) != 1 {
		t.Errorf("Values = %v, %v", values, err)
	}
	must(t, s.SetValues(ctx, map[string][]byte{"a/1": nil}))
	if values, err := s.Values("a/"); err != nil || len(values) != 1 {
		t.Errorf("Values = %v, %v", values, err)
	}
}

// TestDropKeepsOtherNames drops a collection whose record is damaged beside one whose name is: that
// keeps it.
func TestDropKeepsOtherNames(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir())
	var ids []uint32
	for _, name := range []string{"bad", "zulu"} {
		col, err := s.CreateCollection(ctx, name, []byte(`{}`), 0)
		must(t, err)
		ids = append(ids, col.ID)
	}
	spoilTop(t, s, kindCollections, key32(ids[0]))
	spoilTop(t, s, kindNames, []byte("zulu"))
	must(t, s.DropCollection(ctx, ids[0]))
	if _, err := s.CreateCollection(ctx, "zulu", []byte(`{}`), 0); err == nil {
		t.Error("zulu has lost its name to another")
	}
	must(t, s.DropCollection(ctx, ids[1]))
	if problems, err := s.Check(ctx, true); err != nil || len(problems) > 0 {
		t.Errorf("Check after the drops = %v, %v", problems, err)
	}
}
