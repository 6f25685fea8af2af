package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// compactBatch bounds the bytes of one transaction of a compaction.
const compactBatch = 16 << 20

// Compact copies the store of a data folder that no process uses into a new file without free
// pages, which replaces the old one, and returns the sizes of both. Every record is verified on the
// way: a damaged one ends the compaction with ErrCorrupt and the old file stays. It needs room for
// the copy beside the file. The page size of o applies to the new file.
func Compact(ctx context.Context, dir string, o Options) (before, after int64, err error) {
	o.MustExist = true
	s, err := Open(dir, o)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if before, err = s.Size(); err != nil {
		return 0, 0, err
	}
	tmp := filepath.Join(dir, newName)
	if err = s.copyTo(ctx, tmp); err == nil {
		err = keepMode(tmp, s.path)
	}
	if err == nil {
		err = publish(tmp, s.path)
	}
	if err != nil {
		os.Remove(tmp)
		return before, before, noSpace(err)
	}
	after, err = s.Size()
	return before, after, err
}

// keepMode lets those read a file who may read the one that it replaces.
func keepMode(path, of string) error {
	fi, err := os.Stat(of)
	if err != nil {
		return err
	}
	return os.Chmod(path, fi.Mode().Perm())
}

// copyTo copies every record to a new file at path, after checking the pages: what they show of
// lost records, the copy would no longer show.
func (s *Store) copyTo(ctx context.Context, path string) error {
	problems, err := s.Check(ctx, false)
	if err != nil {
		return err
	}
	for _, p := range severe(problems) {
		return &CorruptError{Bucket: p.Bucket, Key: p.Key, Detail: p.Detail + "; not compacted"}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	dst, err := s.openBolt(path)
	if err != nil {
		return noSpace(err)
	}
	dst.AllocSize = 0 // the file ends with the last page
	c := &copier{ctx: ctx, dst: dst}
	err = guard(func() error { return s.db.View(c.store) })
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
		if versions := rm.versions(); versions.Bucket != nil {
			if err := c.bucket(versions, collectionBucket(id), []byte(bucketNames[kindVersions])); err != nil {
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
