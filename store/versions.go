package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// Keep determines which versions of a document a write keeps, besides the one that it makes.
type Keep struct {
	Most   int       // versions of the document; the oldest are removed
	At     time.Time // when the write is made
	Since  time.Time // versions that were replaced before are removed
	Forget bool      // instead: all are removed, the present one too
}

// A Version is a document as it was before a write.
type Version struct {
	ID       string
	Revision uint64
	Until    time.Time // when it was replaced or deleted, in milliseconds
	Deleted  bool      // what followed was a deletion
	Size     int       // bytes of Fields

	Fields    []byte // nil in lists
	Structure []byte // see Document; nil in lists
}

// The bucket of versions is made with the first of them, so that a collection without any has the
// same records as in earlier formats. Its keys are the id of the document, a zero byte, which no id
// has, and the revision.

// versionKey returns the key of a version.
func versionKey(id string, revision uint64) []byte {
	return binary.BigEndian.AppendUint64(versionPrefix(id), revision)
}

func versionPrefix(id string) []byte {
	return append(append(make([]byte, 0, len(id)+9), id...), 0)
}

// splitVersionKey splits a key; ok is false for one that cannot be of a version.
func splitVersionKey(k []byte) (id string, revision uint64, ok bool) {
	if len(k) < 10 || k[len(k)-9] != 0 || bytes.IndexByte(k, 0) != len(k)-9 {
		return "", 0, false
	}
	return string(k[:len(k)-9]), binary.BigEndian.Uint64(k[len(k)-8:]), true
}

// versions opens the bucket of versions; a Bucket of nil means that there is none.
func (rm *room) versions() bucket {
	return bucket{Bucket: rm.top.Bucket([]byte(bucketNames[kindVersions])), kind: kindVersions, collection: rm.ids.collection}
}

// keep keeps the document old, which a write is about to replace or delete, and removes versions
// that are too many or too old. One that cannot be read is not kept: writing it again repairs it.
func (rm *room) keep(k *Keep, old *head, deleted bool) error {
	if k == nil {
		return nil
	}
	b := rm.versions()
	if k.Forget {
		return b.removeVersions(old.ID, func(int, []byte) bool { return true })
	}
	fields, err := rm.fields.get(key32(old.No))
	if k.Most > 0 && err == nil && fields != nil {
		if b.Bucket == nil {
			if b.Bucket, err = rm.top.CreateBucket([]byte(bucketNames[kindVersions])); err != nil {
				return err
			}
			if err := raiseFormat(rm.top.Tx(), versionsFormat); err != nil {
				return err
			}
		}
		if err := b.put(versionKey(old.ID, old.Revision), appendVersion(k.At, deleted, old.Structure, fields)); err != nil {
			return err
		}
	}
	since := uint64(max(0, k.Since.UnixMilli()))
	return b.removeVersions(old.ID, func(newer int, v []byte) bool {
		return newer >= k.Most || len(v) >= 8 && binary.LittleEndian.Uint64(v) < since
	})
}

// removeVersions removes the versions of a document for which drop returns true; newer is how many
// of them are newer.
func (b bucket) removeVersions(id string, drop func(newer int, v []byte) bool) error {
	if b.Bucket == nil {
		return nil
	}
	prefix := versionPrefix(id)
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	for i, k := range keys {
		if drop(len(keys)-1-i, b.Get(k)) {
			if err := b.Delete(k); err != nil {
				return err
			}
		}
	}
	return nil
}

func appendVersion(until time.Time, deleted bool, structure, fields []byte) []byte {
	b := make([]byte, 0, 17+len(structure)+len(fields))
	b = binary.LittleEndian.AppendUint64(b, uint64(max(0, until.UnixMilli())))
	b = append(b, boolByte(deleted))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(structure)))
	b = append(b, structure...)
	return append(b, fields...)
}

// version decodes a record of the bucket; with content into memory of its own.
func (b bucket) version(k, payload []byte, content bool) (v Version, err error) {
	var ok bool
	v.ID, v.Revision, ok = splitVersionKey(k)
	d := decoder{b: payload}
	v.Until = time.UnixMilli(int64(d.u64())).UTC()
	v.Deleted = d.u8() != 0
	structure := d.bytes(int(d.u32()))
	if !ok || d.bad {
		return v, b.corrupt(k, "%d bytes are not a version of a document", len(payload))
	}
	if v.Size = len(d.b); content {
		v.Fields, v.Structure = bytes.Clone(d.b), bytes.Clone(structure)
	}
	return v, nil
}

// Versions returns the kept versions of a document, newest first, without their content. The
// document may have been deleted.
func (t *Tx) Versions(id string) (list []Version, err error) {
	err = t.guarded(func() error {
		b, prefix := t.room.versions(), versionPrefix(id)
		if b.Bucket == nil {
			return nil
		}
		c := b.Cursor()
		for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
			payload, err := b.open(k, v)
			if err != nil {
				return err
			}
			one, err := b.version(k, payload, false)
			if err != nil {
				return err
			}
			list = append([]Version{one}, list...)
		}
		return nil
	})
	return list, err
}

// Version returns a kept version of a document with its content, or ErrNotFound.
func (t *Tx) Version(id string, revision uint64) (v Version, err error) {
	err = t.guarded(func() error {
		b, k := t.room.versions(), versionKey(id, revision)
		missing := fmt.Errorf("%w: version %d of document %q", ErrNotFound, revision, id)
		if b.Bucket == nil {
			return missing
		}
		payload, err := b.get(k)
		if err == nil && payload == nil {
			err = missing
		}
		if err == nil {
			v, err = b.version(k, payload, true)
		}
		return err
	})
	return v, err
}

// Versions are trimmed and copied in transactions of these sizes, so that writers do not wait long.
const (
	versionBatch      = 1000
	versionBatchBytes = 8 << 20
)

// TrimVersions removes the versions of a collection that were replaced before a time, of one
// document or, where id is empty, of all, and returns how many it removed. Those that cannot be
// read go only with all of their document: where before is the zero time, everything is removed.
func (s *Store) TrimVersions(ctx context.Context, collection uint32, id string, before time.Time) (n int, err error) {
	limit := uint64(max(0, before.UnixMilli()))
	old := func(v []byte) bool {
		return before.IsZero() || len(v) >= 12 && binary.LittleEndian.Uint64(v) < limit
	}
	var from []byte
	if id != "" {
		from = versionPrefix(id)
	}
	prefix := from
	for {
		var keys [][]byte
		more := false
		err := s.View(ctx, collection, func(t *Tx) error {
			return t.guarded(func() error {
				b := t.room.versions()
				if b.Bucket == nil {
					return nil
				}
				c := b.Cursor()
				looked := 0
				for k, v := c.Seek(from); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
					if looked++; looked > 16*versionBatch || len(keys) == versionBatch {
						from, more = bytes.Clone(k), true
						return nil
					}
					if old(v) {
						keys = append(keys, bytes.Clone(k))
					}
				}
				return nil
			})
		})
		if err != nil {
			return n, err
		}
		if len(keys) > 0 {
			err = s.updateRoom(ctx, collection, func(rm *room) error {
				b := rm.versions()
				for _, k := range keys {
					if err := b.Delete(k); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return n, err
			}
		}
		if n += len(keys); !more {
			return n, nil
		}
	}
}

// CopyVersions copies the versions of a collection to another that lacks them.
func (s *Store) CopyVersions(ctx context.Context, from, to uint32) error {
	var after []byte
	for more := true; more; {
		more = false
		var keys, payloads [][]byte
		size, looked := 0, 0
		err := s.View(ctx, from, func(t *Tx) error {
			return t.guarded(func() error {
				b := t.room.versions()
				if b.Bucket == nil {
					return nil
				}
				target, err := openRoom(t.tx, to)
				if err != nil {
					return err
				}
				there := target.versions()
				c := b.Cursor()
				for k, v := c.Seek(after); k != nil; k, v = c.Next() {
					if looked++; size > versionBatchBytes || looked > 16*versionBatch || len(keys) == versionBatch {
						after, more = bytes.Clone(k), true
						return nil
					}
					if there.Bucket != nil && there.Get(k) != nil {
						continue
					}
					payload, err := b.open(k, v)
					if err != nil {
						continue // a damaged one is not copied
					}
					keys, payloads = append(keys, bytes.Clone(k)), append(payloads, bytes.Clone(payload))
					size += len(payload)
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			continue
		}
		err = s.updateRoom(ctx, to, func(rm *room) error {
			b := rm.versions()
			if b.Bucket == nil {
				var err error
				if b.Bucket, err = rm.top.CreateBucket([]byte(bucketNames[kindVersions])); err != nil {
					return err
				}
			}
			for i, k := range keys {
				if err := b.put(k, payloads[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// updateRoom runs fn on a collection in a write transaction of its own.
func (s *Store) updateRoom(ctx context.Context, collection uint32, fn func(*room) error) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		rm, err := openRoom(tx, collection)
		if err != nil {
			return err
		}
		return fn(rm)
	})
}
