// Package disk holds what the packages that keep files share: names that outlive a power cut, and
// locks that go with their process.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Rename gives a file, whose bytes are on the disk already, its name so that a power cut does not
// take it back. An old file of that name is replaced.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(to))
}

// SyncFolder flushes the names in a folder to the disk; Windows has no such thing.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Glob returns the paths of what a folder has whose names match a pattern of [filepath.Match].
// Unlike for [filepath.Glob] no sign in the folder's own path has a meaning. A folder that cannot
// be read has nothing.
func Glob(folder, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(folder), pattern)
	for i, name := range names {
		names[i] = filepath.Join(folder, name)
	}
	return names, err
}
