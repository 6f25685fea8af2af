package embedded

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"searchd/internal/disk"
	"searchd/store"
)

// Backup writes the store as it is now; reads and writes go on. The derived indexes are not in it:
// they are made again from the store.
func (b *Backend) Backup(ctx context.Context, w io.Writer) (int64, error) {
	n, err := b.store.Backup(ctx, w)
	return n, translate(err)
}

// BackupFolder is Backup of a data folder that no process uses. It needs no index of it, and no
// room there.
func BackupFolder(ctx context.Context, dir string, w io.Writer) (n int64, err error) {
	s, err := store.Open(dir, store.Options{MustExist: true})
	if err != nil {
		return 0, translate(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	n, err = s.Backup(ctx, w)
	return n, translate(err)
}

// Restore reads a backup into a folder that holds no store yet.
func Restore(ctx context.Context, r io.Reader, dir string) error {
	return translate(store.Restore(ctx, r, dir, store.RestoreOptions{}))
}

// RestoreDamaged is Restore that also takes a backup with damaged values, and calls damaged with
// each; DropDamaged removes them.
func RestoreDamaged(ctx context.Context, r io.Reader, dir string, damaged func(text string)) error {
	return translate(store.Restore(ctx, r, dir, store.RestoreOptions{Damaged: func(p store.Problem) { damaged(p.String()) }}))
}

// VerifyBackup reads the backup in a file and returns what Restore would refuse it for; an error
// where it is no whole backup.
func VerifyBackup(ctx context.Context, path string) (damage []string, err error) {
	problems, err := store.VerifyBackup(ctx, path)
	for _, p := range problems {
		damage = append(damage, p.String())
	}
	return damage, translate(err)
}

// DropDamaged removes each document with a damaged value other than a vector from a data folder
// that no process uses, calls dropped for it, and sets the indexes aside, which cannot follow. It
// returns where they went.
func DropDamaged(ctx context.Context, dir string, dropped func(text string)) (to string, err error) {
	s, err := store.Open(dir, store.Options{MustExist: true})
	if err != nil {
		return "", translate(err)
	}
	err = s.DropDamaged(ctx, func(d store.Dropped) { dropped(d.String()) })
	if err = errors.Join(translate(err), s.Close()); err != nil {
		return "", err
	}
	return SetAsideIndexes(dir)
}

// RollBack opens a data folder that no process uses once at the state before its last commit, where
// nothing but that is damaged. It reports whether that was so; what was committed last is lost
// then, and the derived indexes are made anew.
func RollBack(dir string) (done bool, err error) {
	s, err := store.Open(dir, store.Options{MustExist: true, AcceptRollback: true})
	if err != nil {
		return false, translate(err)
	}
	return s.RolledBack(), s.Close()
}

// Compact rewrites the store of a data folder that no process uses without the room of what was
// deleted, and returns its bytes before and after. The derived indexes stay as they are.
func Compact(ctx context.Context, dir string) (before, after int64, err error) {
	s, err := store.Open(dir, store.Options{MustExist: true})
	if err != nil {
		return 0, 0, translate(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if before, err = s.Size(); err != nil {
		return 0, 0, err
	}
	if err = s.Compact(ctx); err != nil {
		return before, before, translate(err)
	}
	after, err = s.Size()
	return before, after, err
}

// SetAsideIndexes renames the derived indexes of a data folder that no process uses, so that the
// next opening builds them anew. It returns where they went; empty where there were none. Older
// ones that were set aside in this way are removed.
func SetAsideIndexes(dir string) (to string, err error) {
	s, err := store.Open(dir, store.Options{MustExist: true})
	if err != nil {
		return "", translate(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	from := filepath.Join(dir, indexFolder)
	old, err := disk.Glob(dir, indexFolder+setAsideMark+"*")
	if err != nil {
		return "", err
	}
	for _, o := range old {
		if err := os.RemoveAll(o); err != nil {
			return "", err
		}
	}
	to = from + setAsideMark + time.Now().UTC().Format("20060102T150405")
	if err := os.Rename(from, to); errors.Is(err, os.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return to, nil
}
