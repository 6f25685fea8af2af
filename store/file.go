package store

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"example.com/searchd/internal/disk"
)

// mmapSize is the address space reserved for the file, which costs no memory; it is twice the size
// of a larger file. A writer that outgrows it waits for the readers in flight, of which a backup
// may take hours.
const mmapSize = 4 << 30 * (strconv.IntSize / 64) // 0 on 32-bit machines

const (
	fileName = "searchd.db"
	newName  = "searchd.db.new" // a file on its way to becoming searchd.db; worthless after a crash
)

// openFile opens searchd.db, making it first if there is none.
func (s *Store) openFile() error {
	fi, err := os.Stat(s.path)
	switch {
	case errors.Is(err, os.ErrNotExist) && s.opts.MustExist:
		return fmt.Errorf("%w: %s has no file %s", ErrNoStore, s.dir, fileName)
	case errors.Is(err, os.ErrNotExist):
		if found := remains(s.dir, s.opts); len(found) > 0 {
			return &LostError{Dir: s.dir, Found: found}
		}
		if err := s.createFile(); err != nil {
			return err
		}
		s.created = true
	case err != nil:
		return fmt.Errorf("store: %w", err)
	case !fi.Mode().IsRegular():
		return fmt.Errorf("store: %s is not a regular file", s.path)
	}
	if err := s.verifyFile(); err != nil {
		return err
	}
	if err := s.openVerified(); err != nil {
		return err
	}
	if s.rolledBack {
		if err := s.renewID(); err != nil {
			_ = s.closeFile()
			return err
		}
	}
	return nil
}

// remains returns those of o.Remains that are in dir.
func remains(dir string, o Options) (found []string) {
	for _, name := range o.Remains {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			found = append(found, name)
		}
	}
	return found
}

// openVerified opens a verified file and reads its identity.
func (s *Store) openVerified() (err error) {
	if s.db, err = s.openBolt(s.path); err != nil {
		return err
	}
	if s.file, err = os.Stat(s.path); err != nil {
		_ = s.closeFile()
		return fmt.Errorf("store: %w", err)
	}
	err = guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) (err error) { s.id, err = s.readIdentity(tx); return err })
	})
	if err = s.damaged(err); err != nil {
		_ = s.closeFile()
		if errors.Is(err, ErrCorrupt) { // a store without its identity is no store
			err = &DamagedError{Path: s.path, Detail: err.Error()}
		}
	}
	return err
}

// renewID gives the store another ID, so that indexes derived from a history that is no longer this
// one rebuild.
func (s *Store) renewID() error {
	id := newID()
	err := guard(func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			meta, err := openTop(tx, kindMeta)
			if err != nil {
				return err
			}
			return meta.put(storeIDKey, bytes.Clone(id[:]))
		})
	})
	if err != nil {
		return s.damaged(noSpace(err))
	}
	s.id = id
	return nil
}

// openBolt opens a file that has been verified.
func (s *Store) openBolt(path string) (db *bbolt.DB, err error) {
	mapped := mmapSize
	if s.readOnly {
		mapped = 0
	} else if fi, err := os.Stat(path); err == nil && mapped > 0 && runtime.GOOS != "windows" { // where bbolt extends the file to the mapping
		mapped = max(mapped, 2*int(fi.Size()))
	}
	err = guard(func() error {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout:         time.Second,
			ReadOnly:        s.readOnly,
			PageSize:        s.opts.PageSize,
			FreelistType:    bbolt.FreelistMapType,
			InitialMmapSize: mapped,
			NoStatistics:    true,
		})
		return err
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, fmt.Errorf("%w: another program holds a lock on %s", ErrLocked, path)
	case errors.Is(err, errFault), errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return nil, &DamagedError{Path: path, Detail: err.Error()}
	case err != nil:
		return nil, fmt.Errorf("store: cannot open %s: %w", path, err)
	}
	s.tuneGrowth(db)
	return db, nil
}

// createFile makes an empty store under another name and renames it when every byte is on the disk,
// because a power cut during bbolt's own initialisation can leave a file that never opens again.
func (s *Store) createFile() error {
	tmp := filepath.Join(s.dir, newName)
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	db, err := s.openBolt(tmp)
	if err != nil {
		return noSpace(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, k := range topKinds {
			if _, err := tx.CreateBucket([]byte(bucketNames[k])); err != nil {
				return err
			}
		}
		meta, err := openTop(tx, kindMeta)
		if err != nil {
			return err
		}
		id := newID()
		if err := meta.put(storeIDKey, bytes.Clone(id[:])); err != nil {
			return err
		}
		if err := meta.put(formatKey, binary.LittleEndian.AppendUint32(nil, firstFormat)); err != nil {
			return err
		}
		return meta.put(nextCollectionKey, binary.LittleEndian.AppendUint32(nil, 1))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		os.Remove(tmp)
		return noSpace(fmt.Errorf("store: cannot create %s: %w", tmp, err))
	}
	return publish(tmp, s.path)
}

// newID returns a random store id.
func newID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails: the program ends if the system has no randomness
	return id
}

// publish renames a finished file to its final name so that it survives a power cut: file, name,
// folder.
func publish(from, to string) error {
	if err := syncFile(from); err != nil {
		return noSpace(err)
	}
	if err := disk.Rename(from, to); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// syncFile flushes a file to the disk.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("store: cannot flush %s: %w", path, err)
	}
	return nil
}
