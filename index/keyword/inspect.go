package keyword

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// inspect checks, without changing it, that the index in dir can be opened for writing. bleve
// itself panics on a truncated root.bolt, never verifies a checksum, takes a missing root.bolt or
// an unreadable segment for an empty index, and then deletes the segments as unused.
func inspect(dir string, want settings, verify bool) error {
	if err := checkRoot(filepath.Join(dir, "root.bolt")); err != nil {
		return err
	}
	var have settings
	var files []string
	err := guarded(dir, func() (err error) {
		have, files, err = readState(dir)
		return err
	})
	if err != nil {
		return openError(dir, err)
	}
	if have != want {
		return fmt.Errorf("%w: %s has %+v, wanted %+v", ErrMismatch, dir, have, want)
	}
	if !verify {
		return nil
	}
	for _, f := range files {
		if err := checkSegment(f); err != nil {
			return err
		}
	}
	return nil
}

// readState opens the index for reading and returns its settings and the files of its segments.
func readState(dir string) (have settings, files []string, err error) {
	s, err := newScorch(dir, nil, true)
	if err != nil {
		return have, nil, err
	}
	if err := s.Open(); err != nil {
		return have, nil, err
	}
	defer s.Close()
	x := &Index{dir: dir, scorch: s}
	snapshot, err := x.snapshot()
	if err != nil {
		return have, nil, err
	}
	defer snapshot.Close()
	b, ok := snapshot.Internal()[string(keySettings)]
	if !ok {
		return have, nil, fmt.Errorf("%w: %s: no readable snapshot with settings", ErrDamaged, dir)
	}
	if err := json.Unmarshal(b, &have); err != nil {
		return have, nil, fmt.Errorf("%w: %s: settings: %w", ErrDamaged, dir, err)
	}
	seq := snapshot.Internal()[string(keySeq)]
	if _, ok := decodeSeq(seq); !ok {
		return have, nil, fmt.Errorf("%w: %s: sequence number is missing or damaged", ErrDamaged, dir)
	}
	if _, _, err := snapshotNames(snapshot); err != nil {
		return have, nil, fmt.Errorf("%s: %w", dir, err)
	}
	// bleve falls back to an older snapshot when the latest names an unreadable segment. s holds
	// the lock, so that this does not wait.
	points, err := scorch.RollbackPoints(dir)
	if err != nil {
		return have, nil, err
	}
	if len(points) == 0 || !bytes.Equal(points[0].GetInternal(keySeq), seq) {
		return have, nil, fmt.Errorf("%w: %s: the latest snapshot cannot be read", ErrDamaged, dir)
	}
	for _, seg := range snapshot.Segments() {
		if p, ok := seg.Segment().(segment.PersistedSegment); ok {
			files = append(files, p.Path())
		}
	}
	return have, files, nil
}

// checkRoot compares the size of a bbolt file with the pages in use by its meta pages, of which the
// valid one with the higher transaction counts. Reading a mapped page that the file lacks would
// kill the process.
func checkRoot(path string) error {
	const metaBytes, magic, version = 64, 0xED0CDAED, 2
	f, err := os.Open(path)
	if err != nil {
		if os.IsNotExist(err) {
			return fmt.Errorf("%w: %s is missing", ErrDamaged, path)
		}
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var bestTx, need uint64
	found := false
	readMeta := func(at int64) (pageSize int64) {
		page := make([]byte, 16+metaBytes) // page header, meta
		if _, err := f.ReadAt(page, at); err != nil {
			return 0
		}
		m := page[16:]
		u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
		sum := fnv.New64a()
		sum.Write(m[:56])
		if u32(m) != magic || u32(m[4:]) != version || u64(m[56:]) != sum.Sum64() {
			return 0
		}
		size, pages, tx := u32(m[8:]), u64(m[40:]), u64(m[48:])
		if !found || tx > bestTx {
			found, bestTx, need = true, tx, pages*uint64(size)
		}
		return int64(size)
	}
	if size := readMeta(0); size > 0 {
		readMeta(size)
	} else {
		for size := int64(1024); size <= 64<<10; size *= 2 {
			readMeta(size)
		}
	}
	if !found {
		return fmt.Errorf("%w: %s: no valid meta page", ErrDamaged, path)
	}
	if uint64(info.Size()) < need {
		return fmt.Errorf("%w: %s has %d bytes, its pages take %d", ErrDamaged, path, info.Size(), need)
	}
	return nil
}

// checkSegment verifies the checksum at the end of a segment file, CRC-32 (IEEE) of all before it.
func checkSegment(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyN(sum, f, info.Size()-4); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	var stored [4]byte
	if _, err := io.ReadFull(f, stored[:]); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	if !bytes.Equal(stored[:], sum.Sum(nil)) {
		return fmt.Errorf("%w: %s: checksum is %x, the file has %x", ErrDamaged, path, sum.Sum(nil), stored)
	}
	return nil
}
