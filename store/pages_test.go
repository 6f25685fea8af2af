package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// raw is a database file as bytes with pages of 4096 bytes, for tests that break it by hand.
type raw struct {
	t *testing.T
	b []byte
	h headers
}

func newRaw(t *testing.T) *raw {
	t.Helper()
	s, err := Open(memoryDir(t), Options{PageSize: 4096})
	must(t, err)
	defer s.Close()
	col, err := s.CreateCollection(context.Background(), "docs", []byte(`{}`), 0)
	must(t, err)
	for batch := range 3 { // several, so that the free list is not empty
		var ws []Write
		for i := range 300 {
			ws = append(ws, write(fmt.Sprintf("document/%04d", i), batch, 1, 4))
		}
		mustApply(t, s, col.ID, ws...)
	}
	r := &raw{t: t, b: backup(t, s)}
	if r.h, err = checkHeaders(bytes.NewReader(r.b), int64(len(r.b))); err != nil {
		t.Fatal(err)
	}
	if err := r.walk(true); err != nil {
		t.Fatalf("the file is broken from the start: %v", err)
	}
	return r
}

func (r *raw) walk(leaves bool) error {
	return newWalker(bytes.NewReader(r.b), r.h.newest, leaves).walk()
}

func (r *raw) page(id uint64) []byte { return r.b[4096*id : 4096*(id+1)] }

// find returns the first page in use of a type for which ok says yes.
func (r *raw) find(kind uint16, ok func(p []byte) bool) uint64 {
	r.t.Helper()
	w := newWalker(bytes.NewReader(r.b), r.h.newest, true)
	if err := w.walk(); err != nil {
		r.t.Fatal(err)
	}
	for id := uint64(2); id < r.h.newest.highWater; id++ {
		p := r.page(id)
		if w.used.has(id) && binary.NativeEndian.Uint64(p) == id && binary.NativeEndian.Uint16(p[8:]) == kind && ok(p) {
			return id
		}
	}
	r.t.Fatalf("no page of type %#x", kind)
	return 0
}

func put16(b []byte, v uint16) { binary.NativeEndian.PutUint16(b, v) }
func put32(b []byte, v uint32) { binary.NativeEndian.PutUint32(b, v) }
func put64(b []byte, v uint64) { binary.NativeEndian.PutUint64(b, v) }

func many(p []byte) bool { return binary.NativeEndian.Uint16(p[10:]) > 3 }

// TestBrokenPages breaks one rule of a sound file at a time.
func TestBrokenPages(t *testing.T) {
	plain := func(p []byte) bool { return many(p) && binary.NativeEndian.Uint32(p[16:]) == 0 } // no buckets
	leaf := func(r *raw) []byte { return r.page(r.find(pageLeaf, plain)) }
	branch := func(r *raw) []byte { return r.page(r.find(pageBranch, many)) }
	free := func(r *raw) []byte { return r.page(r.h.newest.freelist) }
	key := func(p []byte, i int) []byte { // key i of a page
		e := p[16+16*i:]
		pos, size := binary.NativeEndian.Uint32(e), binary.NativeEndian.Uint32(e[4:])
		if binary.NativeEndian.Uint16(p[8:]) == pageLeaf {
			pos, size = binary.NativeEndian.Uint32(e[4:]), binary.NativeEndian.Uint32(e[8:])
		}
		return e[pos : pos+size]
	}
	tests := []struct {
		name  string
		spoil func(r *raw)
		want  string
	}{
		{"page number", func(r *raw) { put64(leaf(r), 3) }, "says that it is page 3"},
		{"page type", func(r *raw) { put16(leaf(r)[8:], pageFreelist) }, "want branch or leaf"},
		{"unknown type", func(r *raw) { put16(leaf(r)[8:], 0x80) }, "want branch or leaf"},
		{"count too small", func(r *raw) { put16(leaf(r)[10:], 2) }, "misplaced"},
		{"count too large", func(r *raw) { put16(leaf(r)[10:], 60000) }, "outside"},
		{"count of nothing", func(r *raw) { put16(leaf(r)[10:], 0) }, "says that it is empty"},
		{"overflow", func(r *raw) { put32(leaf(r)[12:], 1<<20) }, "1048576 pages more"},
		{"overflow into a neighbour", func(r *raw) { put32(leaf(r)[12:], 1) }, "used twice|in use and on the free list"},
		{"position", func(r *raw) { put32(leaf(r)[16+4:], 8) }, "misplaced"},
		{"key size", func(r *raw) { put32(leaf(r)[16+8:], 5) }, "misplaced|out of order"},
		{"no key", func(r *raw) { put32(leaf(r)[16+8:], 0) }, "misplaced"},
		{"value size", func(r *raw) { put32(leaf(r)[16+12:], 1<<31) }, "ends at byte|outside|misplaced"},
		{"flag", func(r *raw) { put32(leaf(r)[16:], 2) }, "misplaced"},
		{"bucket flag", func(r *raw) { put32(leaf(r)[16:], 1) }, "bucket"},
		{"key order", func(r *raw) { copy(key(leaf(r), 1), key(leaf(r), 0)) }, "out of order"},
		{"key beyond its subtree", func(r *raw) { key(leaf(r), 2)[0] ^= 0x80 }, "out of order"},
		{"branch key", func(r *raw) { key(branch(r), 1)[3] ^= 0x80 }, "out of order"},
		{"child twice", func(r *raw) { p := branch(r); copy(p[16+8:16+16], p[32+8:32+16]) }, "out of order|used twice"},
		{"same child twice", func(r *raw) { p := branch(r); copy(p[32+8:32+16], p[16+8:16+16]) }, "used twice"},
		{"child beyond the end", func(r *raw) { put64(branch(r)[16+8:], 1<<40) }, "is referred to"},
		{"child is a header", func(r *raw) { put64(branch(r)[16+8:], 1) }, "is referred to"},
		{"empty branch", func(r *raw) { put16(branch(r)[10:], 0) }, "branch page"},
		{"free list type", func(r *raw) { put16(free(r)[8:], pageLeaf) }, "want the free list"},
		{"free list count", func(r *raw) { put16(free(r)[10:], 60000) }, "free list"},
		{"free list long count", func(r *raw) { put16(free(r)[10:], 0xFFFF); put64(free(r)[16:], 1<<40) }, "free list counts"},
		{"free page in use", func(r *raw) {
			id := r.find(pageLeaf, many)
			n := int(binary.NativeEndian.Uint16(free(r)[10:]))
			for i := range n { // in the place where it keeps the order
				if e := free(r)[16+8*i:]; i == n-1 || binary.NativeEndian.Uint64(e[8:]) > id {
					put64(e, id)
					return
				}
			}
		}, "in use and on the free list"},
		{"free page twice", func(r *raw) { copy(free(r)[16:24], free(r)[24:32]) }, "free list has page"},
		{"free page beyond the end", func(r *raw) {
			put64(free(r)[16+8*(int(binary.NativeEndian.Uint16(free(r)[10:]))-1):], 1<<40)
		}, "free list has page"},
	}
	sound := newRaw(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &raw{t: t, b: bytes.Clone(sound.b), h: sound.h}
			tt.spoil(r)
			if bytes.Equal(r.b, sound.b) {
				t.Fatal("nothing was broken")
			}
			err := r.walk(true)
			if err == nil {
				t.Fatal("walk found nothing")
			}
			for _, want := range strings.Split(tt.want, "|") {
				if strings.Contains(err.Error(), want) {
					return
				}
			}
			t.Errorf("walk = %v, want %q", err, tt.want)
		})
	}
}

// TestLostPage takes a page off the free list: that is no damage, and Check says how to get it
// back.
func TestLostPage(t *testing.T) {
	r := newRaw(t)
	p := r.page(r.h.newest.freelist)
	put16(p[10:], binary.NativeEndian.Uint16(p[10:])-1)
	s, err := reopened(t, memoryDir(t), r.b)
	must(t, err)
	defer s.Close()
	check := func(want int) {
		t.Helper()
		ps, err := s.Check(context.Background(), true)
		if err != nil || len(ps) != want || want > 0 && !ps[0].Harmless {
			t.Errorf("Check = %v, %v; want %d harmless", ps, err, want)
		}
	}
	check(1)
	must(t, s.Close())
	_, _, err = Compact(t.Context(), s.dir, Options{})
	must(t, err)
	s = open(t, s.dir)
	check(0)
}

// TestInnerPagesOnly leaves out the leaves, as Open does for large files: it still sees what is
// wrong above them.
func TestInnerPagesOnly(t *testing.T) {
	r := newRaw(t)
	must(t, r.walk(false))
	p := r.page(r.find(pageBranch, many))
	copy(p[48+8:48+16], p[32+8:32+16])
	if err := r.walk(false); err == nil || !strings.Contains(err.Error(), "used twice") {
		t.Errorf("walk = %v, want a page used twice", err)
	}
}

// TestReadErrorIsNotDamage lets the disk refuse either header page: the error is the disk's, and
// does not call the file damaged.
func TestReadErrorIsNotDamage(t *testing.T) {
	s, _ := newCollection(t)
	b, err := os.ReadFile(s.path)
	must(t, err)
	for _, offset := range []int64{0, defaultPageSize} {
		r := refusing{bytes.NewReader(b), offset + pageHeaderSize}
		_, err := readHeaders(r, int64(len(b)))
		err = s.unreliable(err)
		if !errors.Is(err, syscall.EIO) || errors.Is(err, ErrDamaged) {
			t.Errorf("a page at %d that cannot be read: %v", offset, err)
		}
	}
}

// refusing is a file that cannot be read at one offset.
type refusing struct {
	io.ReaderAt
	at int64
}

func (r refusing) ReadAt(p []byte, offset int64) (int, error) {
	if offset == r.at {
		return 0, syscall.EIO
	}
	return r.ReaderAt.ReadAt(p, offset)
}
