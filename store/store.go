package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"go.etcd.io/bbolt"
)

// A Store is an open data folder. All methods are safe for concurrent use.
type Store struct {
	dir, path string
	opts      Options
	id        [16]byte
	lock      *os.File

	readOnly   bool // the file is only to be looked at
	created    bool // by Open
	rolledBack bool // the newest header page was damaged and Options.AcceptRollback given

	// writer is held by whoever has a write transaction open.
	writer chan struct{}

	queue struct {
		sync.Mutex
		waiting []*request
	}

	db   *bbolt.DB
	file os.FileInfo // of db

	mu struct {
		sync.Mutex
		users  int // calls in flight
		closed bool
		wedged bool       // a panic left bbolt's locks taken: closing would wait for ever
		failed error      // what made the store read-only
		idle   *sync.Cond // users became 0
	}
}

// Open takes the lock of the data folder dir and opens the store in it, creating both where they
// are missing.
//
// It returns ErrLocked with the holder's pid if the folder is in use, a *DamagedError if the file
// cannot be trusted (the file is left untouched), a *LostError if it is missing from a folder with
// o.Remains, ErrNewerFormat if a later version wrote it, ErrNoStore with o.MustExist, and the file
// system's error otherwise.
func Open(dir string, o Options) (*Store, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if err := prepareDir(dir, o); err != nil {
		return nil, err
	}
	lock, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	s := newStore(dir, fileName, lock, o)
	if err := s.openFile(); err != nil {
		lock.Close()
		return nil, err
	}
	// What a crash left of a creation, a restore or a compaction was never part of the store.
	_ = os.Remove(filepath.Join(dir, newName))
	return s, nil
}

// newStore returns a store whose file is not open yet.
func newStore(dir, name string, lock *os.File, o Options) *Store {
	s := &Store{dir: dir, path: filepath.Join(dir, name), opts: o, lock: lock, writer: make(chan struct{}, 1)}
	s.mu.idle = sync.NewCond(&s.mu.Mutex)
	return s
}

// prepareDir makes sure that dir is a folder, and holds a store if it must.
func prepareDir(dir string, o Options) error {
	if o.MustExist {
		if _, err := os.Stat(filepath.Join(dir, fileName)); errors.Is(err, os.ErrNotExist) {
			if found := remains(dir, o); len(found) > 0 {
				return &LostError{Dir: dir, Found: found}
			}
			return fmt.Errorf("%w: %s has no file %s", ErrNoStore, dir, fileName)
		} else if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("store: cannot make the data folder: %w", err)
	}
	return nil
}

// ID is the random identity of the store. Derived indexes keep it with their sequence number and
// rebuild when it differs: a restored backup has another ID, because its sequence numbers have
// another history.
func (s *Store) ID() [16]byte { return s.id }

// Created reports whether Open has made the store.
func (s *Store) Created() bool { return s.created }

// RolledBack reports whether Open has given up the last commit, see Options.AcceptRollback.
func (s *Store) RolledBack() bool { return s.rolledBack }

// Size returns the bytes of the store's file.
func (s *Store) Size() (int64, error) {
	fi, err := os.Stat(s.path)
	if err != nil {
		return 0, fmt.Errorf("store: %w", err)
	}
	return fi.Size(), nil
}

// Close waits for the calls in flight, closes the file and releases the folder. Later calls get
// ErrClosed. A function running inside View that calls the store again gets ErrClosed too, so Close
// never deadlocks with it.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		return nil
	}
	s.mu.closed = true
	for s.mu.users > 0 {
		s.mu.idle.Wait()
	}
	s.mu.Unlock()
	return errors.Join(s.closeFile(), s.lock.Close())
}

func (s *Store) closeFile() error {
	if s.mu.wedged {
		return errors.New("store: file was left open after a fault inside bbolt")
	}
	return guard(s.db.Close)
}

// acquire begins a call that uses the file and returns that; release ends it.
func (s *Store) acquire() (*bbolt.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return nil, ErrClosed
	}
	s.mu.users++
	return s.db, nil
}

func (s *Store) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.users--; s.mu.users == 0 {
		s.mu.idle.Broadcast()
	}
}

// view runs fn in a read transaction under guard.
func (s *Store) view(fn func(*bbolt.Tx) error) error {
	db, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release()
	return s.damaged(guard(func() error { return db.View(fn) }))
}

// readIdentity checks the format version and returns the id of the store.
func (s *Store) readIdentity(tx *bbolt.Tx) (id [16]byte, err error) {
	meta, err := openTop(tx, kindMeta)
	if err != nil {
		return id, err
	}
	v, err := readFormat(meta)
	if err != nil {
		return id, err
	}
	if v > formatVersion {
		return id, fmt.Errorf("%w: %s has format %d, this program reads formats up to %d: use the program version that wrote it, or a later one",
			ErrNewerFormat, s.path, v, formatVersion)
	}
	b, err := meta.get(storeIDKey)
	if err != nil {
		return id, err
	}
	if copy(id[:], b) != len(id) || len(b) != len(id) {
		return id, meta.corrupt(storeIDKey, "%d bytes, want %d", len(b), len(id))
	}
	return id, nil
}

// Versions of the layout in store/FORMAT.md. A new file has the first; the version rises with
// the first record that an older program must not read.
const (
	firstFormat     = 1
	structureFormat = 2 // documents may have a structure
	placeFormat     = 3 // a collection may follow a log outside of the store
	versionsFormat  = 4 // a collection may have versions of documents
	formatVersion   = versionsFormat
)

func readFormat(meta bucket) (uint32, error) {
	payload, err := meta.get(formatKey)
	if err != nil {
		return 0, err
	}
	d := decoder{b: payload}
	v := d.u32()
	if !d.done() || v == 0 {
		return 0, meta.corrupt(formatKey, "no format version")
	}
	return v, nil
}

// raiseFormat raises the format of the file to a version.
func raiseFormat(tx *bbolt.Tx, version uint32) error {
	meta, err := openTop(tx, kindMeta)
	if err != nil {
		return err
	}
	if v, err := readFormat(meta); err != nil || v >= version {
		return err
	}
	return meta.put(formatKey, binary.LittleEndian.AppendUint32(nil, version))
}

var (
	formatKey  = []byte("format")
	storeIDKey = []byte("store-id")
)
