package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

var update = flag.Bool("update", false, "rewrite the goldens of this package")

// TestLayout holds the encoders to the bytes of store/FORMAT.md.
func TestLayout(t *testing.T) {
	h := head{Document: Document{ID: "a/b", Revision: 7, Hash: [32]byte{0xaa, 31: 0xbb}, Passages: []Passage{
		{Slot: 258, Field: "body", Start: 1, End: 2}, {Slot: 259, Field: "title", Start: 0, End: 3}, {Slot: 260, Field: "body", Start: 4, End: 5}}},
		hasVector: []bool{true, false, true}}
	st := state{nextNo: 1, nextSlot: 2, seq: 3, trimmed: 2, dim: 4, documents: 5, passages: 6, vectors: 7}
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{"docs", appendHead(nil, &h), "0700000000000000" + "aa" + strings.Repeat("00", 30) + "bb" + "0300" + "612f62" +
			"02000000" + "0400" + "626f6479" + "0500" + "7469746c65" + "03000000" + "02010000" +
			"00000000" + "01000000" + "02000000" + "01" + "01000000" + "00000000" + "03000000" + "00" + "00000000" + "04000000" + "05000000" + "01"},
		{"docs without passages", appendHead(nil, &head{Document: Document{ID: "x", Revision: 1}}),
			"0100000000000000" + strings.Repeat("00", 32) + "0100" + "78" + "00000000" + "00000000"},
		{"state", st.encode(), "01000000" + "02000000" + "0300000000000000" + "0200000000000000" + "04000000" + "0500000000000000" + "0600000000000000" + "0700000000000000"},
		{"collections", encodeCollection(Collection{Name: "n", Generation: 2, Settings: []byte("{}")}), "0200000000000000" + "0100" + "6e" + "7b7d"},
		{"vectors", appendVector(nil, []float32{1, -2}), "0000803f" + "000000c0"},
		{"log", encodeChange(Change{Seq: 9, No: 1, ID: "x", Op: OpPut, OldSlots: []uint32{3, 4}, NewSlots: []uint32{5}}),
			"01" + "01000000" + "03000000" + "02000000" + "05000000" + "01000000" + "0100" + "78"},
		{"key", key32(258), "00000102"},
		{"collection bucket", collectionBucket(1), "6300000001"},
	}
	for _, tt := range tests {
		if got := hex.EncodeToString(tt.got); got != tt.want {
			t.Errorf("%s mismatch\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
	b := bucket{kind: kindSlots, collection: 1}
	// crc32c("l" 00000001 0004 00000102 "abc"), computed apart from this program.
	if got, want := b.sum(key32(258), []byte("abc")), uint32(0x5a741bed); got != want {
		t.Errorf("checksum = %#08x, want %#08x", got, want)
	}
}

// TestVectorRoundTrip gives the vector codec every kind of float32.
func TestVectorRoundTrip(t *testing.T) {
	v := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, math.SmallestNonzeroFloat32, 1e-40, 0.1}
	got, ok := decodeVector(nil, appendVector(nil, v))
	if !ok || !slices.EqualFunc(got, v, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
		t.Errorf("round trip of %v gives %v", v, got)
	}
	if fast, slow := appendVector(nil, v), appendVectorPortable(nil, v); !bytes.Equal(fast, slow) {
		t.Errorf("encoding by memory gives %x, by number %x", fast, slow)
	}
	slow := make([]float32, len(v))
	decodeVectorPortable(slow, appendVectorPortable(nil, v))
	if !slices.EqualFunc(slow, got, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
		t.Errorf("decoding by number gives %v, by memory %v", slow, got)
	}
}

// FuzzRecords gives foreign bytes to the decoders: they answer, and what they accept they write
// back the same.
func FuzzRecords(f *testing.F) {
	h := head{Document: Document{ID: "a", Revision: 1, Passages: []Passage{{Field: "f", End: 3}}}, hasVector: []bool{true}}
	f.Add(appendHead(nil, &h))
	f.Add(encodeChange(Change{No: 1, ID: "x", Op: OpPut, NewSlots: []uint32{5}}))
	f.Add(encodeCollection(Collection{Name: "n", Settings: []byte("{}")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, ok := decodeHead(1, b); ok {
			again, ok := decodeHead(1, appendHead(nil, &h))
			if !ok || again.ID != h.ID || !slices.Equal(again.Passages, h.Passages) {
				t.Errorf("%+v came back as %+v", h, again)
			}
		}
		if c, ok := decodeChange(1, b); ok && len(c.OldSlots)+len(c.NewSlots) > 0 {
			if again, ok := decodeChange(1, encodeChange(c)); !ok || again.ID != c.ID || !slices.Equal(again.NewSlots, c.NewSlots) {
				t.Errorf("%+v came back as %+v", c, again)
			}
		}
		if c, ok := decodeCollection(1, b); ok && !bytes.Equal(encodeCollection(c), b) {
			t.Errorf("%+v came back as other bytes", c)
		}
		new(state).decode(b)
	})
}

// TestOldFormats opens the file of each format that was ever released and reads what it held.
func TestOldFormats(t *testing.T) {
	const golden, said = "testdata/format1.db.gz", "testdata/format1.txt"
	if *update {
		writeGolden(t, golden, said)
	}
	for _, name := range []string{golden} {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, fileName), string(gunzip(t, name)))
		s := open(t, dir)
		want, err := os.ReadFile(said)
		must(t, err)
		if got := describe(s); got != string(want) {
			t.Errorf("%s mismatch\n got %s\nwant %s", name, got, want)
		}
		mustApply(t, s, 1, write("new", 1, 1, 4))
		if ps, err := s.Check(context.Background(), true); err != nil || len(ps) > 0 {
			t.Errorf("Check = %v, %v", ps, err)
		}
	}
}

// describe returns everything in a store as text.
func describe(s *Store) string {
	all := readAll(s, nil)
	var lines []string
	for place, v := range all.said {
		if v != "nothing" {
			lines = append(lines, place+": "+v)
		}
	}
	for place, err := range all.errs {
		lines = append(lines, place+": "+err.Error())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func writeGolden(t *testing.T, golden, said string) {
	dir := t.TempDir()
	s, err := Open(dir, Options{PageSize: 4096})
	must(t, err)
	ctx := context.Background()
	for _, name := range []string{"collection 0", "collection 1"} {
		if _, err := s.CreateCollection(ctx, name, []byte(`{"language":"en"}`), 0); err != nil {
			t.Fatal(err)
		}
	}
	mustApply(t, s, 1, write("path/1/0.md", 1, 2, 4), write("path/2/0.md", 1, 0, 4), write("big", 1, 1, 4))
	mustApply(t, s, 1, write("path/1/0.md", 2, 3, 4), Write{ID: "big", Delete: true})
	must(t, s.TrimChanges(ctx, 1, 2))
	must(t, s.SetValues(ctx, map[string][]byte{"alias/x": []byte("collection 0")}))
	writeFile(t, said, describe(s))
	var pages bytes.Buffer
	must(t, s.view(func(tx *bbolt.Tx) error { _, err := tx.WriteTo(&pages); return err }))
	s.Close()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(pages.Bytes())
	w.Close()
	writeFile(t, golden, z.String())
}

func gunzip(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	must(t, err)
	b, err := io.ReadAll(r)
	must(t, err)
	return b
}
