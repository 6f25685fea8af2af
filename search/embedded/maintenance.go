package embedded

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"example.com/searchd/internal/disk"
	"example.com/searchd/store"
)

// Backup writes the store as it is now; reads and writes go on. It leaves out the derived indexes,
// which are rebuilt from the store.
func (b *Backend) Backup(ctx context.Context, w io.Writer) (int64, error) {
	n, err := b.store.Backup(ctx, w)
	return n, translate(err)
}

// offline opens the store of a data folder that no process uses for the length of fn.
func offline(dir string, o store.Options, fn func(*store.Store) error) error {
	o.MustExist = true
	s, err := store.Open(dir, o)
	if err != nil {
		return translate(err)
	}
	err = translate(fn(s))
	return errors.Join(err, s.Close())
}

// BackupFolder is Backup of a data folder that no process uses. It needs neither its indexes nor
// space there.
func BackupFolder(ctx context.Context, dir string, w io.Writer) (n int64, err error) {
	err = offline(dir, store.Options{}, func(s *store.Store) (err error) { n, err = s.Backup(ctx, w); return err })
	return n, err
}

// Damage reads each stored value of a data folder that no process uses and describes those that are
// damaged.
func Damage(ctx context.Context, dir string) (damage []string, err error) {
	err = offline(dir, store.Options{}, func(s *store.Store) error {
		problems, err := s.CheckValues(ctx)
		damage = damageOf(problems)
		return err
	})
	return damage, err
}

// damageOf describes the problems that are not harmless.
func damageOf(problems []store.Problem) (out []string) {
	for _, p := range problems {
		if !p.Harmless {
			out = append(out, p.String())
		}
	}
	return out
}

// Restore reads a backup into a folder without a store. With damaged it also takes a backup with
// damaged values, and calls it with each; DropDamaged removes them.
func Restore(ctx context.Context, r io.Reader, dir string, damaged func(text string)) error {
	var o store.RestoreOptions
	if damaged != nil {
		o.Damaged = func(p store.Problem) { damaged(p.String()) }
	}
	return translate(store.Restore(ctx, r, dir, o))
}

// VerifyBackup reads the backup in a file and returns the damage for which Restore would refuse it,
// or an error if it is not a whole backup.
func VerifyBackup(ctx context.Context, path string) (damage []string, err error) {
	problems, err := store.VerifyBackup(ctx, path)
	return damageOf(problems), translate(err)
}

// VerifyStream reads a backup and compares it with its size and SHA-256, which shows that its bytes
// are those that were written. It returns an error if they are not.
func VerifyStream(ctx context.Context, r io.Reader) error {
	return translate(store.VerifyStream(ctx, r))
}

// DropDamaged removes each document with a damaged value other than a vector from a data folder
// that no process uses, calls dropped with it, and quarantines the indexes, which cannot follow. It
// returns where they went.
func DropDamaged(ctx context.Context, dir string, dropped func(text string)) (to string, err error) {
	err = offline(dir, store.Options{}, func(s *store.Store) error {
		return s.DropDamaged(ctx, func(d store.Dropped) { dropped(d.String()) })
	})
	if err != nil {
		return "", err
	}
	return QuarantineIndexes(dir)
}

// RollBack opens a data folder that no process uses once at the state before its last commit, if
// only that is damaged. It reports whether that was so: then the last commit is lost, and the
// derived indexes are rebuilt.
func RollBack(dir string) (done bool, err error) {
	err = offline(dir, store.Options{AcceptRollback: true}, func(s *store.Store) error { done = s.RolledBack(); return nil })
	return done, err
}

// Compact rewrites the store of a data folder that no process uses without its free pages, and
// returns its bytes before and after. The derived indexes stay as they are.
func Compact(ctx context.Context, dir string) (before, after int64, err error) {
	before, after, err = store.Compact(ctx, dir, store.Options{})
	return before, after, translate(err)
}

// QuarantineIndexes renames the derived indexes of a data folder that no process uses, so that the
// next opening rebuilds them, and removes those that it renamed earlier. It returns where they
// went; empty where there were none.
func QuarantineIndexes(dir string) (to string, err error) {
	err = offline(dir, store.Options{}, func(*store.Store) error {
		from := filepath.Join(dir, indexFolder)
		old, err := disk.Glob(dir, indexFolder+quarantineMark+"*")
		if err != nil {
			return err
		}
		for _, o := range old {
			if err := os.RemoveAll(o); err != nil {
				return err
			}
		}
		to = from + quarantineMark + time.Now().UTC().Format("20060102T150405")
		if err = os.Rename(from, to); err != nil {
			to = ""
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
	return to, err
}
