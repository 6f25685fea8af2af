package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// This file reads the two header ("meta") pages of a bbolt file as bytes, before bbolt maps the
// file and after a commit failed. bbolt falls back to the older header without a word when the
// newer one is damaged, and so loses an acknowledged transaction; and it maps a truncated file,
// which kills the process at the first missing page.

const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	pageHeaderSize = 16 // id u64, flags u16, count u16, overflow u32
	headerSize     = 64 // magic, version, page size, flags u32; root, sequence, freelist, high water, txid, checksum u64
)

// header is one header page.
type header struct {
	pageSize  uint32
	root      uint64 // page of the root bucket
	freelist  uint64 // page of the list of free pages
	highWater uint64 // every page in use has a smaller number
	txid      uint64
	valid     bool // magic, version and checksum are right
	raw       [headerSize]byte
}

// decodeHeader reads the header in b [headerSize].
func decodeHeader(b []byte) header {
	var h header
	copy(h.raw[:], b)
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64 // bbolt writes the machine's own order
	h.pageSize = u32(b[8:])
	h.root, h.freelist, h.highWater, h.txid = u64(b[16:]), u64(b[32:]), u64(b[40:]), u64(b[48:])
	h.valid = u32(b) == boltMagic && u32(b[4:]) == boltVersion && h.sumIs(u64(b[56:])) && plausiblePageSize(h.pageSize)
	return h
}

// sumIs reports whether sum is the checksum of the header as it stands.
func (h *header) sumIs(sum uint64) bool {
	f := fnv.New64a()
	f.Write(h.raw[:56])
	return f.Sum64() == sum
}

func plausiblePageSize(n uint32) bool { return n >= 1024 && n <= 1<<20 && n&(n-1) == 0 }

// isOlderThan reports whether h, which is damaged, certainly was the header of an earlier
// transaction than txid, the one of the other header page: then bbolt would not have used it and
// nothing is lost. Consecutive commits differ by 1, a commit after a backup by 2. The transaction
// number itself may be what is damaged, so the checksum has a say.
func (h *header) isOlderThan(txid uint64) bool {
	for _, newer := range []uint64{txid + 1, txid + 2} {
		if h.sumWith(newer) {
			return false
		}
	}
	return h.txid == txid-1 || h.txid == txid-2 || h.sumWith(txid-1) || h.sumWith(txid-2)
}

// sumWith reports whether the stored checksum is right for h with another transaction number.
func (h *header) sumWith(txid uint64) bool {
	g := *h
	binary.NativeEndian.PutUint64(g.raw[48:], txid)
	return g.sumIs(binary.NativeEndian.Uint64(h.raw[56:]))
}

// headers are the two header pages of a file; newest is the one that bbolt uses.
type headers struct {
	newest  header
	other   header
	atStart bool // newest is page 0
}

// readHeaders reads the header pages of a file of size bytes. It fails if neither is valid, and
// with a *readError where the disk does not give them.
func readHeaders(r io.ReaderAt, size int64) (headers, error) {
	first, err := readHeader(r, 0)
	if errors.Is(err, io.EOF) {
		return headers{}, fmt.Errorf("file of %d bytes is too short for a header", size)
	}
	if err != nil {
		return headers{}, err
	}
	var second header
	if first.valid {
		if second, err = readHeader(r, int64(first.pageSize)); err != nil && !errors.Is(err, io.EOF) {
			return headers{}, err
		}
	} else {
		for pageSize := int64(1024); pageSize <= 1<<20 && !second.valid; pageSize *= 2 {
			h, err := readHeader(r, pageSize)
			if err != nil && !errors.Is(err, io.EOF) {
				return headers{}, err
			}
			if h.valid && int64(h.pageSize) == pageSize {
				second = h
			}
		}
	}
	switch {
	case !first.valid && !second.valid:
		return headers{}, fmt.Errorf("neither header page is valid: this is no store, or its first pages were overwritten")
	case !second.valid, first.valid && first.txid >= second.txid:
		return headers{newest: first, other: second, atStart: true}, nil
	}
	return headers{newest: second, other: first}, nil
}

// readHeader reads the header on the page at offset. The error is io.EOF beyond the end of the
// file, and otherwise a *readError.
func readHeader(r io.ReaderAt, offset int64) (header, error) {
	var b [headerSize]byte
	if _, err := r.ReadAt(b[:], offset+pageHeaderSize); errors.Is(err, io.EOF) {
		return header{}, io.EOF
	} else if err != nil {
		return header{}, &readError{err}
	}
	return decodeHeader(b[:]), nil
}

// newestTxID returns the number of the last transaction whose header reached the file.
func newestTxID(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	h, err := readHeaders(f, fi.Size())
	return h.newest.txid, err
}
