package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"searchd/internal/disk"

	"go.etcd.io/bbolt"
)

// compactBatch bounds the bytes of one transaction of a compaction.
const compactBatch = 16 << 20

// Compact copies the store into a new file without free pages and puts it in the place of the old
// one. Every record is verified on the way: a damaged one ends the compaction with ErrCorrupt and
// the old file stays. Reads go on, writers wait. It needs room for the copy beside the file. The
// page size of Options applies to the new file.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.lockWriter(ctx); err != nil {
		return err
	}
	defer s.unlockWriter()
	if err := s.ReadOnly(); err != nil {
		return err
	}
	h, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release(h)
	// The copy would no longer show what the pages of the old file tell about lost records.
	problems, err := (&checker{s: s, ctx: ctx}).check(h, func() {})
	if err != nil {
		return err
	}
	for _, p := range problems {
		if !p.Harmless {
			return &CorruptError{Bucket: p.Bucket, Key: p.Key, Detail: p.Detail + "; not compacted"}
		}
	}
	tmp := filepath.Join(s.dir, newName)
	if err := s.copyTo(ctx, h, tmp); err != nil {
		os.Remove(tmp)
		return err
	}
	return s.exchange(h, tmp)
}

// exchange puts the finished file tmp in the place of the file of h.
func (s *Store) exchange(h *handle, tmp string) error {
	err := keepMode(tmp, s.path)
	if err == nil {
		err = syncFile(tmp)
	}
	if err == nil {
		err = os.Rename(tmp, s.path)
	}
	if err != nil {
		os.Remove(tmp)
		return noSpace(fmt.Errorf("store: %w", err))
	}
	// From here on the old file has no name: a write to it would be lost.
	fresh, _, err := s.openHandle()
	s.mu.Lock()
	s.mu.file = fresh
	h.replaced = true
	s.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("store: the compacted file was put in place but cannot be opened: %w", err)
	} else if err = disk.SyncFolder(s.dir); err != nil {
		err = fmt.Errorf("store: %w", err)
	}
	if err != nil {
		s.fail(err)
	}
	return err
}

// keepMode lets those read a file who may read the one that it replaces.
func keepMode(path, of string) error {
	fi, err := os.Stat(of)
	if err != nil {
		return err
	}
	return os.Chmod(path, fi.Mode().Perm())
}

// copyTo copies every record of h to a new file at path.
func (s *Store) copyTo(ctx context.Context, h *handle, path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	dst, err := s.openBolt(path)
	if err != nil {
		return noSpace(err)
	}
	dst.AllocSize = 0 // the file ends with the last page
	c := &copier{ctx: ctx, dst: dst}
	err = guard(func() error { return h.db.View(c.store) })
	if c.tx != nil { // Close would wait for it, also after a fault
		_ = guard(c.tx.Rollback)
	}
	return s.damaged(noSpace(errors.Join(err, guard(dst.Close))))
}

// copier copies buckets in transactions of bounded size.
type copier struct {
	ctx  context.Context
	dst  *bbolt.DB
	tx   *bbolt.Tx // one that has ended may be rolled back all the same
	size int
}

// store copies all buckets.
func (c *copier) store(src *bbolt.Tx) (err error) {
	if c.tx, err = c.dst.Begin(true); err != nil {
		return err
	}
	for _, k := range topKinds {
		from, err := openTop(src, k)
		if err != nil {
			return err
		}
		if err := c.bucket(from, []byte(bucketNames[k])); err != nil {
			return err
		}
	}
	cat, err := openCatalog(src)
	if err != nil {
		return err
	}
	cur := cat.collections.Cursor()
	for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
		id := binary.BigEndian.Uint32(k)
		rm, err := openRoom(src, id)
		if err != nil {
			return err
		}
		for _, kind := range collectionKinds {
			if err := c.bucket(*rm.bucket(kind), collectionBucket(id), []byte(bucketNames[kind])); err != nil {
				return err
			}
		}
	}
	return c.tx.Commit()
}

// bucket copies one bucket to the bucket at path.
func (c *copier) bucket(from bucket, path ...[]byte) error {
	to, err := c.target(path)
	if err != nil {
		return err
	}
	cur := from.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		if _, err := from.open(k, v); err != nil {
			return err
		}
		if err := to.Put(k, v); err != nil {
			return err
		}
		if c.size += len(k) + len(v); c.size < compactBatch {
			continue
		}
		if err := c.flush(); err != nil {
			return err
		}
		if to, err = c.target(path); err != nil {
			return err
		}
	}
	return nil
}

// target returns the bucket at path in the new file, making it if it is missing.
func (c *copier) target(path [][]byte) (*bbolt.Bucket, error) {
	b, err := c.tx.CreateBucketIfNotExists(path[0])
	if err != nil {
		return nil, err
	}
	for _, name := range path[1:] {
		if b, err = b.CreateBucketIfNotExists(name); err != nil {
			return nil, err
		}
	}
	b.FillPercent = appendFill // keys arrive in order
	return b, nil
}

// flush commits what was copied so far and begins the next transaction.
func (c *copier) flush() (err error) {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	c.size = 0
	if err := c.tx.Commit(); err != nil {
		return err
	}
	c.tx, err = c.dst.Begin(true)
	return err
}
