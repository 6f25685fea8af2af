package search

import (
	"context"
	"io"

	"searchd/search/embedded"
)

// Backup writes everything that [Restore] needs to w and returns the bytes written. Reads and
// writes go on meanwhile; the backup is the state of one moment.
func (e *Engine) Backup(ctx context.Context, w io.Writer) (int64, error) {
	return e.backend.Backup(ctx, w)
}

// BackupFolder is [Engine.Backup] of a data folder that no process uses. It needs neither its
// indexes nor a checkpoint, and no room there.
func BackupFolder(ctx context.Context, dir string, w io.Writer) (int64, error) {
	return embedded.BackupFolder(ctx, dir, w)
}

// Restore reads a backup into the data folder dir, which must not hold one yet. What arrives is
// verified before it is put in place.
func Restore(ctx context.Context, r io.Reader, dir string) error {
	return embedded.Restore(ctx, r, dir, nil)
}

// RestoreDamaged is [Restore] that takes a backup with damaged values, too, and tells of each;
// [DropDamaged] removes them.
func RestoreDamaged(ctx context.Context, r io.Reader, dir string, damaged func(text string)) error {
	return embedded.Restore(ctx, r, dir, damaged)
}

// VerifyBackup reads the backup in a file, without restoring it, and returns what [Restore] would
// refuse it for: a line for each damaged value. The error is for a file that is no whole backup, or
// cannot be read.
func VerifyBackup(ctx context.Context, path string) (damage []string, err error) {
	return embedded.VerifyBackup(ctx, path)
}

// DropDamaged removes each document with a damaged value from a data folder that is not open, calls
// dropped for it, and sets the indexes aside. It returns where they went. Documents of which
// nothing but vectors is damaged stay, for [Engine.EncodeDamaged].
func DropDamaged(ctx context.Context, dir string, dropped func(text string)) (to string, err error) {
	return embedded.DropDamaged(ctx, dir, dropped)
}

// RollBack gives up the last commit of a data folder that is not open, where the page that names it
// is damaged, so that [Open] refuses the folder. All commits before stay. It reports whether that
// was so.
func RollBack(dir string) (done bool, err error) { return embedded.RollBack(dir) }

// Compact rewrites the store of a data folder that no process uses: what was deleted takes no room
// any more, and its bytes are gone from the file. It returns the bytes of the store before and
// after; until it is done the store is as it was.
func Compact(ctx context.Context, dir string) (before, after int64, err error) {
	return embedded.Compact(ctx, dir)
}

// SetAsideIndexes renames the derived indexes of a data folder that is not open, so that the next
// [Open] builds them anew from what is stored. It returns where they went.
func SetAsideIndexes(dir string) (to string, err error) { return embedded.QuarantineIndexes(dir) }
