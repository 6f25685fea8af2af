package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
)

// This file checks the pages of a bbolt file by reading them, never through the memory map, so that
// nothing in the file can make it panic. bbolt keeps no checksum over its pages; but it writes them
// so regularly that a wrong bit in a page header, an element table or a page number contradicts
// something else:
//
//  1. a page names its own number and one of the types branch, leaf, free list;
//  2. keys and values follow the element table without a gap, in the order of the table, and end
//     inside the page run;
//  3. keys rise within a page, and within a subtree they lie between the keys of its parent entry
//     and of the next;
//  4. no page is reached twice, none is beyond the high-water mark, none in use is on the free
//     list.
//
// What remains are bits inside keys and values, and those the checksum of each record covers.

// Page types of bbolt.
const (
	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageFreelist = 0x10

	elementSize   = 16 // branch: pos, key size u32, page u64; leaf: flags, pos, key size, value size u32
	elementBucket = 1  // flag of a leaf element whose value is a bucket header
	bucketHeader  = 16 // root page u64 (0: the page follows inside the value), sequence u64

	maxTreeDepth = 64
)

// verifyFile checks searchd.db before bbolt maps it. The file is not changed.
func (s *Store) verifyFile() error {
	f, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	heads, err := checkHeaders(f, fi.Size())
	if err != nil {
		return s.unreliable(err)
	}
	s.rolledBack = false
	if o := heads.other; !o.valid && !o.isOlderThan(heads.newest.txid) {
		if !s.opts.AcceptRollback {
			return &DamagedError{Path: s.path, Detail: "a header page is damaged and may be that of the last commit",
				Next: "restore a backup, or drop only the last commit: searchd check --repair --drop-damaged"}
		}
		s.rolledBack = true
	}
	w := newWalker(f, heads.newest, s.opts.VerifyLimit >= 0 && fi.Size() <= s.opts.VerifyLimit)
	if err := w.walk(); err != nil {
		return s.unreliable(err)
	}
	return nil
}

// unreliable returns the error of a check of the pages: that of the disk where it does not give
// them, and a *DamagedError where they are wrong.
func (s *Store) unreliable(err error) error {
	var disk *readError
	if errors.As(err, &disk) {
		return fmt.Errorf("store: cannot read %s: %w", s.path, err)
	}
	return &DamagedError{Path: s.path, Detail: err.Error()}
}

// checkHeaders reads the headers and compares them with the size of the file.
func checkHeaders(r io.ReaderAt, size int64) (headers, error) {
	heads, err := readHeaders(r, size)
	if err != nil {
		return heads, err
	}
	h := heads.newest
	if pages := uint64(size) / uint64(h.pageSize); h.highWater > pages {
		return heads, fmt.Errorf("file has %d bytes, its header claims %d pages of %d bytes: the end is missing", size, h.highWater, h.pageSize)
	}
	if h.highWater < 4 || h.root >= h.highWater {
		return heads, fmt.Errorf("header has root page %d of %d pages", h.root, h.highWater)
	}
	return heads, nil
}

// readError is a failure of the disk rather than of the file's content.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// pageSet is a set of page numbers.
type pageSet []uint64

func newPageSet(n uint64) pageSet    { return make(pageSet, (n+63)/64) }
func (s pageSet) has(id uint64) bool { return s[id/64]&(1<<(id%64)) != 0 }
func (s pageSet) add(id uint64)      { s[id/64] |= 1 << (id % 64) }
func (s pageSet) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// walker visits the pages of a file.
type walker struct {
	r        io.ReaderAt
	pageSize int
	head     header
	leaves   bool // read every leaf page, not only the first of each tree
	used     pageSet
	free     pageSet
	leaf     []byte // first page of the leaf that is being read
}

func newWalker(r io.ReaderAt, h header, leaves bool) *walker {
	return &walker{r: r, pageSize: int(h.pageSize), head: h, leaves: leaves,
		used: newPageSet(h.highWater), free: newPageSet(h.highWater), leaf: make([]byte, h.pageSize)}
}

// walk checks every page that the header leads to.
func (w *walker) walk() error {
	w.used.add(0)
	w.used.add(1)
	if err := w.readFreelist(); err != nil {
		return err
	}
	if err := w.tree(w.head.root); err != nil {
		return err
	}
	for i := range w.used {
		if both := w.used[i] & w.free[i]; both != 0 {
			return fmt.Errorf("page %d is in use and on the free list", i*64+bits.TrailingZeros64(both))
		}
	}
	return nil
}

// lost returns the number of pages that are neither in use nor free. They waste room and harm
// nothing.
func (w *walker) lost() int { return int(w.head.highWater) - w.used.count() - w.free.count() }

// page is a page run: its first page is in memory, the rest is read as needed.
type page struct {
	w        *walker
	id       uint64
	kind     uint16
	count    int
	overflow uint32
	run      int // bytes of the run
	first    []byte
}

// readPage reads the first page of a run into buf and claims the pages of the run.
func (w *walker) readPage(id uint64, buf []byte) (*page, error) {
	if id < 2 || id >= w.head.highWater {
		return nil, fmt.Errorf("page %d is referred to, the file has %d", id, w.head.highWater)
	}
	if err := w.readAt(buf, id, 0); err != nil {
		return nil, err
	}
	u16, u32, u64 := binary.NativeEndian.Uint16, binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	p := &page{w: w, id: id, kind: u16(buf[8:]), count: int(u16(buf[10:])), overflow: u32(buf[12:]), first: buf}
	if own := u64(buf); own != id {
		return nil, fmt.Errorf("page %d says that it is page %d", id, own)
	}
	if id+uint64(p.overflow) >= w.head.highWater {
		return nil, fmt.Errorf("page %d has %d pages more, the file has %d", id, p.overflow, w.head.highWater)
	}
	p.run = w.pageSize * (1 + int(p.overflow))
	for i := id; i <= id+uint64(p.overflow); i++ {
		if w.used.has(i) {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
		w.used.add(i)
	}
	return p, nil
}

func (w *walker) readAt(buf []byte, id uint64, offset int) error {
	if _, err := w.r.ReadAt(buf, int64(id)*int64(w.pageSize)+int64(offset)); err != nil {
		return &readError{fmt.Errorf("page %d: %w", id, err)}
	}
	return nil
}

// bytes returns n bytes of the run from offset.
func (p *page) bytes(offset, n int) ([]byte, error) {
	if offset < 0 || n < 0 || offset > p.run-n {
		return nil, fmt.Errorf("page %d: bytes [%d, %d) are outside its %d", p.id, offset, offset+n, p.run)
	}
	if offset+n <= len(p.first) {
		return p.first[offset : offset+n : offset+n], nil
	}
	b := make([]byte, n) // n <= p.run, which lies inside the file
	return b, p.w.readAt(b, p.id, offset)
}

// readFreelist reads the list of free pages: a count (in the page header, or in the first number if
// that is 0xFFFF) and rising page numbers.
func (w *walker) readFreelist() error {
	p, err := w.readPage(w.head.freelist, make([]byte, w.pageSize))
	if err != nil {
		return fmt.Errorf("free list: %w", err)
	}
	if p.kind != pageFreelist {
		return fmt.Errorf("page %d is of type %#x, want the free list", p.id, p.kind)
	}
	start, count := pageHeaderSize, p.count
	if count == 0xFFFF {
		b, err := p.bytes(start, 8)
		if err != nil {
			return err
		}
		n := binary.NativeEndian.Uint64(b)
		if n > w.head.highWater {
			return fmt.Errorf("free list counts %d pages of %d", n, w.head.highWater)
		}
		start, count = start+8, int(n)
	}
	b, err := p.bytes(start, 8*count)
	if err != nil {
		return fmt.Errorf("free list: %w", err)
	}
	last := uint64(1)
	for i := range count {
		id := binary.NativeEndian.Uint64(b[8*i:])
		if id <= last || id >= w.head.highWater {
			return fmt.Errorf("free list has page %d after page %d; the file has %d", id, last, w.head.highWater)
		}
		w.free.add(id)
		last = id
	}
	return nil
}

// tree checks the tree of one bucket and those of the buckets inside it.
func (w *walker) tree(root uint64) error {
	t := &tree{w: w, leaves: w.leaves}
	if err := t.visit(root, nil, nil, 0); err != nil {
		return err
	}
	for _, b := range t.buckets {
		if b.page >= w.head.highWater {
			return fmt.Errorf("bucket %.40q has root page %d, the file has %d", b.name, b.page, w.head.highWater)
		}
		if err := w.tree(b.page); err != nil {
			return fmt.Errorf("bucket %.40q: %w", b.name, err)
		}
	}
	return nil
}

// tree is the tree of one bucket while it is checked.
type tree struct {
	w         *walker
	leaves    bool // read every leaf
	seenLeaf  bool
	leafDepth int
	buckets   []childBucket
}

type childBucket struct {
	name string
	page uint64
}

// visit checks the subtree at page id, whose keys lie in [low, high); nil: no bound.
func (t *tree) visit(id uint64, low, high []byte, depth int) error {
	if depth > maxTreeDepth {
		return fmt.Errorf("page %d is deeper than %d levels", id, maxTreeDepth)
	}
	if t.seenLeaf && !t.leaves && depth == t.leafDepth {
		if id < 2 || id >= t.w.head.highWater || t.w.used.has(id) {
			return fmt.Errorf("page %d is used twice or does not exist", id)
		}
		t.w.used.add(id)
		return nil
	}
	p, err := t.w.readPage(id, t.buffer(depth))
	if err != nil {
		return err
	}
	switch p.kind {
	case pageLeaf:
		if t.seenLeaf && depth != t.leafDepth {
			return fmt.Errorf("page %d is a leaf on level %d, others are on level %d", id, depth, t.leafDepth)
		}
		t.seenLeaf, t.leafDepth = true, depth
		return t.leaf(p, low, high)
	case pageBranch:
		return t.branch(p, low, high, depth)
	}
	return fmt.Errorf("page %d is of type %#x, want branch or leaf", id, p.kind)
}

// buffer returns memory for a page on level depth. Branches stay in use while their children are
// read; leaves do not.
func (t *tree) buffer(depth int) []byte {
	if t.seenLeaf && depth == t.leafDepth {
		return t.w.leaf
	}
	return make([]byte, t.w.pageSize)
}

// branch checks a branch page and its children.
func (t *tree) branch(p *page, low, high []byte, depth int) error {
	if p.count == 0 {
		return fmt.Errorf("branch page %d is empty", p.id)
	}
	keys := make([][]byte, p.count, p.count+1)
	children := make([]uint64, p.count)
	err := p.elements(func(i int, e element) error {
		keys[i] = e.key
		children[i] = e.page
		return checkOrder(p.id, i, keys, low, high)
	})
	if err != nil {
		return err
	}
	keys = append(keys, high)
	for i, c := range children {
		if err := t.visit(c, keys[i], keys[i+1], depth+1); err != nil {
			return err
		}
	}
	return nil
}

// leaf checks a leaf page and remembers the buckets in it.
func (t *tree) leaf(p *page, low, high []byte) error {
	keys := make([][]byte, p.count)
	return p.elements(func(i int, e element) error {
		keys[i] = e.key
		if err := checkOrder(p.id, i, keys, low, high); err != nil || e.flags&elementBucket == 0 {
			return err
		}
		t.leaves = true // a tree of buckets is small and must be read whole
		return t.bucket(p, e)
	})
}

// bucket checks the header of a bucket inside a leaf, and its page if that is stored inside the
// value.
func (t *tree) bucket(p *page, e element) error {
	if e.valueSize < bucketHeader {
		return fmt.Errorf("bucket %.40q on page %d has a header of %d bytes", e.key, p.id, e.valueSize)
	}
	v, err := p.bytes(e.value, e.valueSize)
	if err != nil {
		return err
	}
	if root := binary.NativeEndian.Uint64(v); root != 0 {
		if e.valueSize != bucketHeader {
			return fmt.Errorf("bucket %.40q on page %d has %d bytes after its header", e.key, p.id, e.valueSize-bucketHeader)
		}
		t.buckets = append(t.buckets, childBucket{name: string(e.key), page: root})
		return nil
	}
	v = v[bucketHeader:]
	if len(v) < pageHeaderSize || binary.NativeEndian.Uint16(v[8:]) != pageLeaf {
		return fmt.Errorf("bucket %.40q on page %d holds no leaf page", e.key, p.id)
	}
	in := &page{w: t.w, id: p.id, kind: pageLeaf, count: int(binary.NativeEndian.Uint16(v[10:])), run: len(v), first: v}
	keys := make([][]byte, in.count)
	return in.elements(func(i int, e element) error {
		keys[i] = e.key
		if e.flags != 0 {
			return fmt.Errorf("bucket inside page %d holds a bucket", p.id)
		}
		return checkOrder(p.id, i, keys, nil, nil)
	})
}

// element is one entry of a branch or leaf page.
type element struct {
	key              []byte
	page             uint64 // branch: page of the child
	flags            uint32 // leaf
	value, valueSize int    // leaf: offset in the run, bytes
}

// elements calls fn for each element of a page after checking its place. Keys are the caller's to
// keep only if the buffer of the page is not used again.
func (p *page) elements(fn func(i int, e element) error) error {
	if p.count == 0 {
		b, err := p.bytes(pageHeaderSize, min(elementSize, p.run-pageHeaderSize))
		if err == nil && len(bytes.Trim(b, "\x00")) != 0 { // bbolt clears pages, so an element would show
			err = fmt.Errorf("page %d says that it is empty and is not", p.id)
		}
		return err
	}
	table, err := p.bytes(pageHeaderSize, elementSize*p.count)
	if err != nil {
		return err
	}
	u32 := binary.NativeEndian.Uint32
	next := pageHeaderSize + elementSize*p.count // where the key of the next element must be
	for i := range p.count {
		b := table[elementSize*i:]
		at := pageHeaderSize + elementSize*i
		var e element
		var pos, keySize uint32
		if p.kind == pageBranch {
			pos, keySize, e.page = u32(b), u32(b[4:]), binary.NativeEndian.Uint64(b[8:])
		} else {
			e.flags, pos, keySize, e.valueSize = u32(b), u32(b[4:]), u32(b[8:]), int(u32(b[12:]))
		}
		if at+int(pos) != next || keySize == 0 || e.flags > elementBucket {
			return fmt.Errorf("page %d: element %d of %d is misplaced", p.id, i, p.count)
		}
		if e.key, err = p.bytes(next, int(keySize)); err != nil {
			return err
		}
		e.value = next + int(keySize)
		next = e.value + e.valueSize
		if next > p.run {
			return fmt.Errorf("page %d: element %d of %d ends at byte %d of %d", p.id, i, p.count, next, p.run)
		}
		if err := fn(i, e); err != nil {
			return err
		}
	}
	return nil
}

// checkOrder checks key i of a page against the one before and the bounds of the subtree.
func checkOrder(id uint64, i int, keys [][]byte, low, high []byte) error {
	k := keys[i]
	if i > 0 && bytes.Compare(keys[i-1], k) >= 0 || low != nil && bytes.Compare(k, low) < 0 || high != nil && bytes.Compare(k, high) >= 0 {
		return fmt.Errorf("page %d: key %d (%.40q) is out of order", id, i, k)
	}
	return nil
}
