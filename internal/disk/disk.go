// Package disk has durable renames, file locks that end with their process, and glob patterns
// within a folder.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Rename renames a file, whose content must be on the disk already, so that the new name survives a
// power cut. An old file of that name is replaced.
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
// Unlike with [filepath.Glob], special characters in the folder's own path have no meaning. A
// folder that cannot be read has no files.
func Glob(folder, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(folder), pattern)
	for i, name := range names {
		names[i] = filepath.Join(folder, name)
	}
	return names, err
}
