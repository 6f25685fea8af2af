package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"
)

// A backup is the database file, with zeros for its free pages, followed by a trailer: magic (16
// bytes), size of the file (u64, little-endian), SHA-256 of what comes before. bbolt ignores what
// follows its pages, so a backup also opens in place of the file it came from.
const (
	backupMagic = "searchd-backup-1"
	trailerSize = len(backupMagic) + 8 + sha256.Size
)

// ErrBackup is returned by Restore for a stream that is no backup, is cut off, or was changed since
// it was written.
var ErrBackup = errors.New("store: not a whole backup")

// ErrNotEmpty is returned by Restore when the folder holds a store already.
var ErrNotEmpty = errors.New("store: folder holds a store already")

// Backup writes the store as it is now to w and returns the number of bytes written. Reads and
// writes go on meanwhile; the pages of this moment stay in use until it returns, so a slow w lets
// the file grow. What was deleted before is not in it. Restore reads the result.
func (s *Store) Backup(ctx context.Context, w io.Writer) (int64, error) {
	db, tx, free, err := s.beginBackup(ctx)
	if err != nil {
		return 0, err
	}
	defer s.release()
	defer func() { _ = guard(tx.Rollback) }()
	sum := &summer{ctx: ctx, w: w, h: sha256.New()}
	n, err := tx.WriteTo(&blanker{w: sum, free: free, pageSize: int64(db.Info().PageSize)}) // reads through the file, not the memory map
	if err != nil {
		return n, fmt.Errorf("store: backup: %w", cmp.Or(sum.err, err)) // bbolt keeps the text of an error alone
	}
	trailer := append([]byte(nil), backupMagic...)
	trailer = binary.LittleEndian.AppendUint64(trailer, uint64(n))
	trailer = sum.h.Sum(trailer)
	m, err := w.Write(trailer)
	if err != nil {
		return n + int64(m), fmt.Errorf("store: backup: %w", err)
	}
	return n + int64(m), nil
}

// beginBackup acquires the file, begins a read transaction and returns with it the pages that are
// free in it. No writer commits meanwhile, so that the newest header of the file is that of the
// transaction.
func (s *Store) beginBackup(ctx context.Context) (db *bbolt.DB, tx *bbolt.Tx, free pageSet, err error) {
	if err := s.lockWriter(ctx); err != nil {
		return nil, nil, nil, err
	}
	defer s.unlockWriter()
	if db, err = s.acquire(); err != nil {
		return nil, nil, nil, err
	}
	err = s.damaged(guard(func() (err error) { tx, err = db.Begin(false); return err }))
	if err == nil {
		if free, err = s.freePages(uint64(tx.ID())); err != nil {
			_ = guard(tx.Rollback)
			err = fmt.Errorf("store: backup: %w", err)
		}
	}
	if err != nil {
		s.release()
		return nil, nil, nil, err
	}
	return db, tx, free, nil
}

// freePages reads the free list of the transaction that has committed last, which must be this one.
func (s *Store) freePages(txid uint64) (pageSet, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	heads, err := checkHeaders(f, fi.Size())
	if err == nil && heads.newest.txid != txid {
		err = fmt.Errorf("the file is at transaction %d, the store at %d", heads.newest.txid, txid)
	}
	if err != nil {
		return nil, s.unreliable(err)
	}
	w := newWalker(f, heads.newest, false)
	if err := w.readFreelist(); err != nil {
		return nil, s.unreliable(err)
	}
	return w.free, nil
}

// blanker passes a database file on with zeros for its free pages: what is in them was deleted or
// replaced.
type blanker struct {
	w        io.Writer
	free     pageSet
	pageSize int64
	at       int64 // of the next byte in the file
	buf      []byte
}

func (b *blanker) Write(p []byte) (int, error) {
	b.buf = append(b.buf[:0], p...)
	for i := int64(0); i < int64(len(p)); {
		id := (b.at + i) / b.pageSize
		end := min((id+1)*b.pageSize-b.at, int64(len(p)))
		if b.free.has(uint64(id)) {
			clear(b.buf[i:end])
		}
		i = end
	}
	n, err := b.w.Write(b.buf)
	b.at += int64(n)
	return n, err
}

// summer writes to w and a hash until ctx ends.
type summer struct {
	ctx context.Context
	w   io.Writer
	h   hash.Hash
	n   int64 // bytes written
	err error // of the last Write
}

func (s *summer) Write(p []byte) (n int, _ error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, s.err = s.w.Write(p)
	s.h.Write(p[:n])
	s.n += int64(n)
	return n, s.err
}

// RestoreOptions tunes Restore. The zero value is the default.
type RestoreOptions struct {
	// Damaged is called with each damaged value of the backup, and the backup is restored with
	// them: DropDamaged takes out what they belong to. nil: a backup with such a value is refused.
	// One whose pages are damaged always is.
	Damaged func(Problem)
}

// Restore reads a backup into the folder dir, which must not hold a store: it gets a new one only
// after the whole stream has arrived, its checksum is right and Check finds no problem; otherwise
// dir is left without one. It returns ErrNotEmpty, ErrLocked, ErrBackup, a *DamagedError,
// ErrNewerFormat or ErrNoSpace, or ctx.Err().
func Restore(ctx context.Context, r io.Reader, dir string, o RestoreOptions) (err error) {
	if err := prepareDir(dir, Options{}); err != nil {
		return err
	}
	lock, err := takeLock(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	target := filepath.Join(dir, fileName)
	if _, err := os.Lstat(target); err == nil {
		return fmt.Errorf("%w: %s", ErrNotEmpty, target)
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	tmp := filepath.Join(dir, newName)
	defer func() {
		if err != nil {
			os.Remove(tmp)
		}
	}()
	if err := receive(ctx, r, tmp); err != nil {
		return err
	}
	if err := verifyRestored(ctx, dir, lock, o); err != nil {
		return err
	}
	return publish(tmp, target)
}

// receive writes a backup without its trailer to path.
func receive(ctx context.Context, r io.Reader, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	err = receiveInto(ctx, r, f)
	return errors.Join(err, f.Close())
}

// receiveInto writes a backup without its trailer to w and compares it with the trailer.
func receiveInto(ctx context.Context, r io.Reader, w io.Writer) error {
	sum := &summer{ctx: ctx, w: w, h: sha256.New()}
	buf := make([]byte, 1<<20)
	held := 0 // bytes at the start of buf that may yet turn out to be the trailer
	for begun := false; ; {
		n, err := r.Read(buf[held:])
		held += n
		if !begun && held >= pageHeaderSize+4 { // what is something else may be as long as the disk, or have no end
			if begun = binary.NativeEndian.Uint32(buf[pageHeaderSize:]) == boltMagic; !begun {
				return fmt.Errorf("%w: it does not begin as one", ErrBackup)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("store: cannot read the backup: %w", err)
		}
		if held > trailerSize {
			if _, err := sum.Write(buf[:held-trailerSize]); err != nil {
				return noSpace(fmt.Errorf("store: %w", err))
			}
			held = copy(buf, buf[held-trailerSize:held])
		}
	}
	if body := held - trailerSize; body > 0 {
		if _, err := sum.Write(buf[:body]); err != nil {
			return noSpace(fmt.Errorf("store: %w", err))
		}
		held = copy(buf, buf[body:held])
	}
	trailer := buf[:held]
	if held < trailerSize || string(trailer[:len(backupMagic)]) != backupMagic {
		return fmt.Errorf("%w: it does not end with the trailer %q", ErrBackup, backupMagic)
	}
	trailer = trailer[len(backupMagic):]
	if want := binary.LittleEndian.Uint64(trailer); want != uint64(sum.n) {
		return fmt.Errorf("%w: it has %d bytes of %d", ErrBackup, sum.n, want)
	}
	if !bytes.Equal(trailer[8:], sum.h.Sum(nil)) {
		return fmt.Errorf("%w: its SHA-256 differs from the one in the trailer", ErrBackup)
	}
	return nil
}

// VerifyBackup reads the backup in a file as Restore does, without restoring it: its trailer, its
// pages, the checksum of each record and what the records say of each other. It returns what
// Restore would refuse it for. The file is not changed. The error is ErrBackup or a *DamagedError
// where the file is no whole backup, and otherwise that of reading, or ctx.Err().
func VerifyBackup(ctx context.Context, path string) ([]Problem, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := errors.Join(receiveInto(ctx, f, io.Discard), f.Close()); err != nil {
		return nil, err
	}
	s := newStore(filepath.Dir(path), filepath.Base(path), nil, Options{MustExist: true, VerifyLimit: 1 << 62}.withDefaults())
	s.readOnly = true
	if err := s.openFile(); err != nil {
		return nil, err
	}
	problems, err := s.Check(ctx, true)
	return severe(problems), errors.Join(err, s.closeFile())
}

// VerifyStream reads a backup and returns ErrBackup if its size or SHA-256 is not that of its
// trailer. Unlike VerifyBackup it does not look at the records.
func VerifyStream(ctx context.Context, r io.Reader) error { return receiveInto(ctx, r, io.Discard) }

// severe returns the problems that are not harmless.
func severe(problems []Problem) []Problem {
	return slices.DeleteFunc(problems, func(p Problem) bool { return p.Harmless })
}

// verifyRestored opens the received file under its temporary name and checks it.
func verifyRestored(ctx context.Context, dir string, lock *os.File, o RestoreOptions) error {
	s := newStore(dir, newName, lock, Options{MustExist: true, VerifyLimit: 1 << 62}.withDefaults())
	if err := s.openFile(); err != nil {
		return err
	}
	problems, err := s.Check(ctx, true)
	if problems = severe(problems); err == nil && len(problems) > 0 {
		err = &DamagedError{Path: s.path, Detail: fmt.Sprintf("the backup has %d problems, the first: %s", len(problems), problems[0]),
			Next: "try an older backup, or recover the undamaged part of this one"}
		if o.Damaged != nil && !slices.ContainsFunc(problems, func(p Problem) bool { return p.Bucket == "" }) {
			err = nil
			for _, p := range problems {
				o.Damaged(p)
			}
		}
	}
	if err == nil {
		err = s.renewID()
	}
	return errors.Join(err, s.closeFile())
}
