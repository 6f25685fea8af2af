package store

import (
	"context"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// TestCheckFindsLooseEnds contradicts one record at a time, with a right checksum, as a defect of
// this package would.
func TestCheckFindsLooseEnds(t *testing.T) {
	no := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	tests := []struct {
		name  string
		spoil func(tx *bbolt.Tx, rm *room, cat catalog) error
		want  string // in a problem
		deep  bool   // only found by a deep check
	}{
		{"id missing", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.ids.Delete([]byte("a")) }, `its id "a" does not refer to it`, false},
		{"id of another", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.ids.put([]byte("a"), no(2)) }, `its id "a" does not refer to it`, false},
		{"id of nothing", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.ids.put([]byte("z"), no(2)) }, "collection 1/ids: 4 records, the documents have 3", false},
		{"document missing", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.docs.Delete(key32(1)) }, "3 records, the documents have 2", false},
		{"fields missing", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.fields.Delete(key32(1)) }, "no fields", false},
		{"fields of nothing", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.fields.put(key32(9), []byte("{}")) }, "collection 1/fields: 4 records", false},
		{"fields no JSON", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.fields.put(key32(1), []byte("{")) }, "not a JSON object", true},
		{"slot missing", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.slots.Delete(key32(1)) }, "slot 1 of passage 1 does not refer to it", false},
		{"slot of another", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.slots.put(key32(1), append(no(2), no(0)...)) }, "slot 1 of passage 1", false},
		{"slot of nothing", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.slots.put(key32(99), append(no(1), no(0)...)) }, "collection 1/slots: 5 records", false},
		{"vector missing", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.vectors.Delete(key32(0)) }, "vector of passage 0, slot 0", false},
		{"vector of nothing", func(_ *bbolt.Tx, rm *room, _ catalog) error {
			return rm.vectors.put(key32(99), appendVector(nil, []float32{1, 2, 3}))
		}, "collection 1/vectors: 5 records", false},
		{"vector too short", func(_ *bbolt.Tx, rm *room, _ catalog) error {
			return rm.vectors.put(key32(0), appendVector(nil, []float32{1, 2}))
		}, "8 bytes, want 12", true},
		{"vector not finite", func(_ *bbolt.Tx, rm *room, _ catalog) error {
			return rm.vectors.put(key32(0), []byte{0, 0, 0xc0, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0})
		}, "NaN", true},
		{"change missing", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.log.Delete(key64(2)) }, "change 2 should come here", false},
		{"last change missing", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.log.Delete(key64(4)) }, "ends at change 3, the last is 4", false},
		{"change of another", func(_ *bbolt.Tx, rm *room, _ catalog) error {
			return rm.logChange(Change{Seq: 2, No: 9, ID: "x", Op: OpPut})
		}, "is about something else", false},
		{"counters", func(_ *bbolt.Tx, rm *room, _ catalog) error {
			rm.state.documents++
			return rm.stateB.put(stateKey, rm.state.encode())
		}, "counts 4 documents", false},
		{"next number too small", func(_ *bbolt.Tx, rm *room, _ catalog) error {
			rm.state.nextNo = 2
			return rm.stateB.put(stateKey, rm.state.encode())
		}, "beyond the counters", false},
		{"name missing", func(_ *bbolt.Tx, _ *room, cat catalog) error { return cat.names.Delete([]byte("docs")) }, `"docs" does not refer to it`, false},
		{"name of nothing", func(_ *bbolt.Tx, _ *room, cat catalog) error { return cat.names.put([]byte("x"), no(7)) }, "2 names for 1 collections", false},
		{"collection record missing", func(_ *bbolt.Tx, _ *room, cat catalog) error { return cat.collections.Delete(key32(1)) }, "collection 1, which does not exist", false},
		{"collection bucket missing", func(tx *bbolt.Tx, _ *room, _ catalog) error { return tx.DeleteBucket(collectionBucket(1)) }, "bucket is missing", false},
		{"bucket missing", func(tx *bbolt.Tx, _ *room, _ catalog) error {
			return tx.Bucket(collectionBucket(1)).DeleteBucket([]byte("slots"))
		}, "collection 1/slots: bucket is missing", false},
		{"checksum", func(_ *bbolt.Tx, rm *room, _ catalog) error { return rm.ids.Put([]byte("a"), make([]byte, 8)) }, "checksum", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(memoryDir(t), Options{})
			must(t, err)
			defer s.Close()
			ctx := context.Background()
			if _, err := s.CreateCollection(ctx, "docs", []byte(`{}`), 0); err != nil {
				t.Fatal(err)
			}
			mustApply(t, s, 1, write("a", 1, 2, 3), write("b", 1, 1, 3), write("c", 1, 1, 3), write("c", 2, 1, 3))
			err = s.update(ctx, func(tx *bbolt.Tx) error {
				rm, err := openRoom(tx, 1)
				if err != nil {
					return err
				}
				cat, err := openCatalog(tx)
				if err != nil {
					return err
				}
				return tt.spoil(tx, rm, cat)
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, deep := range []bool{false, true} {
				problems, err := s.Check(ctx, deep)
				must(t, err)
				found := false
				for _, p := range problems {
					found = found || strings.Contains(p.String(), tt.want)
				}
				if want := deep || !tt.deep; found != want {
					t.Errorf("Check(deep %v) = %v; problem with %q: %v, want %v", deep, problems, tt.want, found, want)
				}
			}
		})
	}
}

// TestChangesWithAGap reads a log that lost an entry: a reader must not skip it unknowingly.
func TestChangesWithAGap(t *testing.T) {
	for _, gone := range []uint64{1, 2, 4} {
		s, col := newCollection(t)
		mustApply(t, s, col, write("a", 1, 0, 1), write("b", 1, 0, 1), write("c", 1, 0, 1), write("d", 1, 0, 1))
		err := s.update(context.Background(), func(tx *bbolt.Tx) error {
			rm, err := openRoom(tx, col)
			if err != nil {
				return err
			}
			return rm.log.Delete(key64(gone))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Changes(context.Background(), col, 0, func(Change) error { return nil }); !errors.Is(err, ErrCorrupt) {
			t.Errorf("Changes without %d = %v, want ErrCorrupt", gone, err)
		}
	}
}

// TestVectorsBeforeADamagedOne reads vectors of which a later one is too short: those before it are
// as they were written.
func TestVectorsBeforeADamagedOne(t *testing.T) {
	s, col := newCollection(t)
	w := write("a", 1, 4, 3)
	mustApply(t, s, col, w)
	err := s.update(t.Context(), func(tx *bbolt.Tx) error {
		rm, err := openRoom(tx, col)
		if err != nil {
			return err
		}
		return rm.vectors.put(key32(2), appendVector(nil, []float32{1, 2}))
	})
	if err != nil {
		t.Fatal(err)
	}
	var got [][]float32
	err = s.Vectors(t.Context(), col, 0, func(_ uint32, v []float32) error { got = append(got, slices.Clone(v)); return nil })
	if !errors.Is(err, ErrCorrupt) || !reflect.DeepEqual(got, w.Vectors[:2]) {
		t.Errorf("Vectors = %v, %v, want %v and ErrCorrupt", got, err, w.Vectors[:2])
	}
}

func TestCheckEndsWithContext(t *testing.T) {
	s, col := newCollection(t)
	var ws []Write
	for i := range 3000 {
		ws = append(ws, write(strings.Repeat("x", 1+i%100)+string(rune('a'+i/100)), 1, 0, 1))
	}
	mustApply(t, s, col, ws...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Check(ctx, true); !errors.Is(err, context.Canceled) {
		t.Errorf("Check = %v, want context.Canceled", err)
	}
}
