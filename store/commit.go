package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// errNothing, returned by a function given to commit, says that it succeeded and changed nothing.
var errNothing = errors.New("nothing to commit")

// update waits for its turn to write and runs fn in one transaction. Nothing is written if fn
// returns an error.
func (s *Store) update(ctx context.Context, fn func(*bbolt.Tx) error) error {
	if err := s.lockWriter(ctx); err != nil {
		return err
	}
	defer s.unlockWriter()
	return s.commit(fn)
}

func (s *Store) lockWriter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) unlockWriter() { <-s.writer }

// commit runs fn in a write transaction and commits it. The caller holds writer.
func (s *Store) commit(fn func(*bbolt.Tx) error) error {
	if err := s.ReadOnly(); err != nil {
		return err
	}
	db, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release()
	var tx *bbolt.Tx
	err = guard(func() (err error) {
		s.tuneGrowth(db)
		tx, err = db.Begin(true)
		return err
	})
	if err != nil {
		return s.damaged(err)
	}
	id := uint64(tx.ID())
	if err := guard(func() error { return fn(tx) }); err != nil {
		s.rollback(tx)
		if errors.Is(err, errNothing) {
			return nil
		}
		return s.damaged(noSpace(err))
	}
	if err := guard(tx.Commit); err != nil {
		s.rollback(tx)
		return s.commitFailed(id, err)
	}
	return nil
}

// rollback ends a transaction that will not be committed. bbolt ignores it for one that Commit
// ended.
func (s *Store) rollback(tx *bbolt.Tx) {
	err := guard(func() error {
		if err := tx.Rollback(); err != nil && !errors.Is(err, berrors.ErrTxClosed) {
			return err
		}
		return nil
	})
	if err != nil {
		s.fail(err)
		s.mu.Lock()
		s.mu.wedged = true
		s.mu.Unlock()
	}
}

// commitFailed judges a failed commit. Where the disk was full and the file shows that the header
// page of transaction id was never written, nothing happened and the store goes on. Everything else
// is an unknown outcome: after a failed fsync the kernel has forgotten which pages are dirty, so
// trying again would lie.
func (s *Store) commitFailed(id uint64, err error) error {
	if full := noSpace(err); errors.Is(full, ErrNoSpace) {
		if newest, metaErr := newestTxID(s.path); metaErr == nil && newest < id {
			return full
		}
	}
	s.fail(err)
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}

// fail makes the store read-only.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.failed == nil {
		s.mu.failed = err
	}
}

// ReadOnly returns nil while the store takes writes, and otherwise an error that matches
// ErrReadOnly and has its cause: a commit that failed, or a file that is no longer at its place,
// whose writes nobody would find again. After the second it takes writes again where the file comes
// back.
func (s *Store) ReadOnly() error {
	s.mu.Lock()
	failed := s.mu.failed
	s.mu.Unlock()
	if failed != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, failed)
	}
	if fi, err := os.Stat(s.path); errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(fi, s.file) {
		return &MovedError{s.path}
	}
	return nil
}

// noSpace wraps err in ErrNoSpace if the disk or a quota is the cause.
func noSpace(err error) error {
	if err == nil || errors.Is(err, ErrNoSpace) {
		return err
	}
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		// bbolt formats some causes with %s, so the text is all that is left of them.
		if errors.Is(err, e) || strings.Contains(err.Error(), e.Error()) {
			return fmt.Errorf("%w: %w", ErrNoSpace, err)
		}
	}
	return err
}

// tuneGrowth makes the file grow in steps of an eighth of its size, 1 to 16 MiB: each step costs a
// truncate and an fsync.
func (s *Store) tuneGrowth(db *bbolt.DB) {
	step := int64(16 << 20)
	if fi, err := os.Stat(db.Path()); err == nil {
		step = min(step, max(1<<20, fi.Size()/8))
	}
	db.AllocSize = int(step)
}
