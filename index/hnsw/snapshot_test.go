package hnsw

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// memory is a source of vectors by id.
type memory [][]float32

func (m memory) Read(_ context.Context, ids []uint32, each func(i int, v []float32)) error {
	for i, id := range ids {
		if int(id) < len(m) {
			each(i, m[id])
		}
	}
	return nil
}

// small returns a graph with everything that a snapshot can hold: upper layers, copies, dead nodes.
func small(t testing.TB) *Graph { return smallWith(t, Options{}) }

func smallWith(t testing.TB, o Options) *Graph {
	t.Helper()
	base := clustered(1, 60, 4)
	base = append(base, base[3], base[3], base[7])
	o.M, o.Seed = 4, 1
	if o.Quantize != QuantizeNone {
		o.Source = memory(base)
	}
	g := build(t, o, base, 1)
	for _, id := range []uint32{5, 7, 11} {
		g.Delete(id)
	}
	wellFormed(t, g)
	return g
}

func snapshotBytes(t testing.TB, g *Graph, meta Meta) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "graph")
	if err := g.WriteSnapshot(path, meta); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSnapshotRoundTrip(t *testing.T) {
	large := clustered(3, 3000, 100) // some blocks
	codes := Options{Quantize: QuantizeInt8, Source: memory(large)}
	codesL2 := codes
	codesL2.Metric = L2
	for _, tc := range []struct {
		name string
		g    *Graph
		o    Options
	}{
		{"empty", build(t, Options{Dim: 8}, nil, 1), Options{Dim: 8}},
		{"one vector", build(t, Options{}, clustered(1, 1, 8), 1), Options{}},
		{"copies and dead nodes", small(t), Options{}},
		{"blocks", build(t, Options{Metric: L2}, large, 0), Options{Metric: L2}},
		{"int8", build(t, Options{Quantize: QuantizeInt8}, large, 0), Options{Quantize: QuantizeInt8}},
		{"codes", build(t, codes, large, 0), codes},
		{"codes for l2", build(t, codesL2, large, 0), codesL2},
		{"codes, copies and dead nodes", smallWith(t, codes), Options{Quantize: QuantizeInt8, Source: codes.Source, Seed: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "graph")
			meta := Meta{Seq: 1<<40 + 3, StoreID: [16]byte{1, 2, 15: 16}}
			if err := tc.g.WriteSnapshot(path, meta); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("temporary file is left: %v", err)
			}
			tc.o.ExactBelow = -1
			got, gotMeta, err := ReadSnapshot(path, tc.o)
			if err != nil {
				t.Fatal(err)
			}
			if gotMeta != meta {
				t.Errorf("meta = %v, want %v", gotMeta, meta)
			}
			wellFormed(t, got)
			if got.Digest() != tc.g.Digest() || got.Len() != tc.g.Len() {
				t.Errorf("digest %x of %d ids, want %x of %d", got.Digest(), got.Len(), tc.g.Digest(), tc.g.Len())
			}
			// Life goes on as if nothing had happened.
			if tc.g.Len() == 0 {
				return
			}
			v := clustered(9, 1, tc.g.Dim())[0]
			for _, g := range []*Graph{got, tc.g} {
				if err := g.Add(1<<31, v); err != nil {
					t.Fatal(err)
				}
				g.Delete(0)
			}
			if got.Digest() != tc.g.Digest() {
				t.Error("the same changes after a restart give another graph")
			}
			wellFormed(t, got)
		})
	}
}

func TestSnapshotThatDoesNotFit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "graph")
	if err := small(t).WriteSnapshot(path, Meta{}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		o    Options
		want error
	}{
		{"dimension", Options{Dim: 5}, ErrMismatch},
		{"metric", Options{Metric: L2}, ErrMismatch},
		{"M", Options{M: 5}, ErrMismatch},
		{"codes", Options{Quantize: QuantizeInt8, Source: memory(nil)}, ErrMismatch},
		{"options", Options{Dim: -1}, ErrOptions},
	} {
		if _, _, err := ReadSnapshot(path, tc.o); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	if _, _, err := ReadSnapshot(path+"x", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// decodeBounded decodes b, which must be an error, and fails the test where that takes much memory.
func decodeBounded(t *testing.T, b []byte, o Options, what string, at int) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := decodeSnapshot(bytes.NewReader(b), int64(len(b)), o)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrMismatch) {
		t.Fatalf("%s %d: %v, want ErrDamaged", what, at, err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Fatalf("%s %d: %d bytes allocated", what, at, n)
	}
}

// contents are the options to read a small graph back with, by what its snapshot holds.
func contents() map[string]Options {
	return map[string]Options{
		"vectors": {},
		"codes":   {Quantize: QuantizeInt8, Source: memory(nil), Seed: 1},
	}
}

func TestSnapshotWithAnyByteFlipped(t *testing.T) {
	for name, o := range contents() {
		t.Run(name, func(t *testing.T) {
			b := snapshotBytes(t, smallWith(t, o), Meta{Seq: 7})
			for i := range b {
				b[i] ^= 0x55
				decodeBounded(t, b, o, "byte", i)
				b[i] ^= 0x55
			}
		})
	}
}

func TestSnapshotCutShort(t *testing.T) {
	for name, o := range contents() {
		t.Run(name, func(t *testing.T) {
			b := snapshotBytes(t, smallWith(t, o), Meta{Seq: 7})
			for n := range b {
				decodeBounded(t, b[:n], o, "length", n)
			}
			decodeBounded(t, append(bytes.Clone(b), 0), o, "length", len(b)+1)
			base := clustered(3, 3000, 200)
			if o.Source != nil {
				o.Source = memory(base)
			}
			b = snapshotBytes(t, build(t, o, base, 0), Meta{})
			blocks := 0
			for at := headerSize; at+trailerSize < len(b); at += blockHead + blockSize {
				for _, n := range []int{at - 1, at, at + 1, at + blockHead, at + blockHead + 1} {
					decodeBounded(t, b[:n], o, "length", n)
				}
				blocks++
			}
			if blocks < 2 {
				t.Errorf("only %d blocks", blocks)
			}
		})
	}
}

// seal makes the checksums of a snapshot with one block right again.
func seal(b []byte) []byte {
	if len(b) < headerSize+blockHead+trailerSize {
		return b
	}
	le := binary.LittleEndian
	le.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
	payload := b[headerSize+blockHead : len(b)-trailerSize]
	le.PutUint32(b[headerSize+4:], crc32.Checksum(payload, castagnoli))
	trailer := b[len(b)-trailerSize:]
	le.PutUint32(trailer[trailerSize-8:], crc32.Checksum(b[headerSize+4:headerSize+8], castagnoli))
	le.PutUint32(trailer[trailerSize-4:], crc32.Checksum(trailer[:trailerSize-4], castagnoli))
	return b
}

// TestSnapshotThatLies has valid checksums over contents that make no sense.
func TestSnapshotThatLies(t *testing.T) {
	valid := snapshotBytes(t, small(t), Meta{})
	if _, _, err := decodeSnapshot(bytes.NewReader(seal(bytes.Clone(valid))), int64(len(valid)), Options{}); err != nil {
		t.Fatalf("sealed again: %v", err)
	}
	le := binary.LittleEndian
	nodes := int(le.Uint32(valid[52:]))
	rows := headerSize + blockHead
	ids := rows + nodes
	links := ids + 4*nodes
	vectors := len(valid) - trailerSize - 16*nodes
	for _, tc := range []struct {
		name string
		lie  func(b []byte)
	}{
		{"nodes", func(b []byte) { le.PutUint32(b[52:], 1<<30) }},
		{"dimension", func(b []byte) { le.PutUint32(b[40:], MaxDim) }},
		{"M", func(b []byte) { le.PutUint32(b[48:], 0) }},
		{"upper", func(b []byte) { le.PutUint64(b[56:], 1<<62) }},
		{"copies", func(b []byte) { le.PutUint64(b[64:], 1<<61) }},
		{"ids", func(b []byte) { le.PutUint64(b[72:], 1) }},
		{"entry point outside", func(b []byte) { le.PutUint64(b[80:], 1<<32|uint64(nodes)) }},
		{"entry point's level", func(b []byte) { b[84] ^= 1 }},
		{"no entry point", func(b []byte) { le.PutUint64(b[80:], 0) }},
		{"file size", func(b []byte) { b[96]++ }},
		{"row byte", func(b []byte) { b[rows] = 0x10 }},
		{"level", func(b []byte) { b[rows] ^= 0x0F }},
		{"a dead one more", func(b []byte) { b[rows] ^= rowDead }},
		{"id twice", func(b []byte) { copy(b[ids:ids+4], b[ids+4:ids+8]) }},
		{"link outside", func(b []byte) { le.PutUint32(b[links:], uint32(nodes)+1) }},
		{"link to itself", func(b []byte) { le.PutUint32(b[links:], 1) }},
		{"not a number", func(b []byte) { le.PutUint32(b[vectors:], 0x7FC00000) }},
		{"no unit vector", func(b []byte) { le.PutUint32(b[vectors:], 0x41000000) }},
	} {
		b := bytes.Clone(valid)
		tc.lie(b)
		_, _, err := decodeSnapshot(bytes.NewReader(seal(b)), int64(len(b)), Options{})
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", tc.name, err)
		}
	}
}

// TestSnapshotOfCodesThatLies is TestSnapshotThatLies for what only codes have.
func TestSnapshotOfCodesThatLies(t *testing.T) {
	o := contents()["codes"]
	valid := snapshotBytes(t, smallWith(t, o), Meta{})
	le := binary.LittleEndian
	codes := len(valid) - trailerSize - (8+64)*int(le.Uint32(valid[52:]))
	for _, tc := range []struct {
		name string
		lie  func(b []byte)
		want error
	}{
		{"nothing", func([]byte) {}, nil},
		{"contents", func(b []byte) { b[108] = 2 }, ErrDamaged},
		{"vectors", func(b []byte) { b[108] = 0 }, ErrDamaged},
		{"seed", func(b []byte) { b[112]++ }, ErrMismatch},
		{"reserved", func(b []byte) { b[120] = 1 }, ErrDamaged},
		{"tag", func(b []byte) { b[codes+3] |= 0x80 }, ErrDamaged},
		{"scale", func(b []byte) { le.PutUint32(b[codes+4:], 0x7FC00000) }, ErrDamaged},
		{"negative scale", func(b []byte) { b[codes+7] |= 0x80 }, ErrDamaged},
		{"no unit code", func(b []byte) { clear(b[codes+8 : codes+8+64]) }, ErrDamaged},
	} {
		b := bytes.Clone(valid)
		tc.lie(b)
		if _, _, err := decodeSnapshot(bytes.NewReader(seal(b)), int64(len(b)), o); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
}

func TestWriteSnapshotFails(t *testing.T) {
	if err := small(t).WriteSnapshot(filepath.Join(t.TempDir(), "none", "graph"), Meta{}); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

// full is a disk with room for so many bytes.
type full int

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), int(*f))
	if *f -= full(n); n < len(b) {
		return n, errFull
	}
	return n, nil
}

var errFull = errors.New("no space left")

// TestSnapshotOnAFullDisk fails at every place that a write can.
func TestSnapshotOnAFullDisk(t *testing.T) {
	g := build(t, Options{}, clustered(3, 1500, 200), 0)
	frozen := g.freeze()
	size := int(frozen.fileSize)
	for _, room := range []int{0, 1, headerSize, headerSize + blockHead + blockSize, size / 2, size - trailerSize, size - 1} {
		disk := full(room)
		if err := frozen.write(&disk); !errors.Is(err, errFull) {
			t.Errorf("room for %d of %d bytes: %v", room, size, err)
		}
	}
	disk := full(size)
	if err := frozen.write(&disk); err != nil || disk != 0 {
		t.Errorf("room for all: %v, %d left", err, disk)
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add(snapshotBytes(f, small(f), Meta{Seq: 7}))
	f.Add(snapshotBytes(f, build(f, Options{Dim: 3}, nil, 1), Meta{}))
	f.Add(snapshotBytes(f, smallWith(f, contents()["codes"]), Meta{Seq: 7}))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = seal(bytes.Clone(b)) // the checksums alone would stop the fuzzer
		var o Options
		if len(b) > 108 && b[108] == contentCodes {
			o = contents()["codes"]
		}
		g, _, err := decodeSnapshot(bytes.NewReader(b), int64(len(b)), o)
		if err != nil {
			return
		}
		if _, err := g.Search(t.Context(), make([]float32, g.Dim()), 1, 0, nil); err != nil && !errors.Is(err, ErrZero) {
			t.Error(err)
		}
		g.Check()
	})
}

// TestSnapshotIsReachable writes a graph a node of which has just been cut off. The live graph
// notices when more of it has changed; one that is read counts as verified.
func TestSnapshotIsReachable(t *testing.T) {
	g := build(t, Options{M: 4}, clustered(1, 2000, 8), 0)
	c := g.core.Load()
	s := g.pool.take()
	const lost = 1441
	for node := range c.next {
		for i, v := range c.record(node, 0) {
			if v == lost+1 {
				c.unlink(s, &c.record(node, 0)[i], 0)
			}
		}
	}
	g.pool.put(s)
	c.unchecked = 1
	path := filepath.Join(t.TempDir(), "graph")
	if err := g.WriteSnapshot(path, Meta{}); err != nil {
		t.Fatal(err)
	}
	got, _, err := ReadSnapshot(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range got.Check() {
		t.Error(problem)
	}
}
