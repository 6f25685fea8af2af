// Package snapshot keeps backups in a folder.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/searchd/internal/disk"
	"example.com/searchd/search/fault"
)

// Errors of a [Folder].
var (
	ErrNotFound = errors.New("snapshot not found")
	ErrTooMany  = errors.New("too many snapshots")
)

// Max is the number of snapshots that are kept: each is as large as the store.
const Max = 8

const (
	suffix        = ".backup"
	damagedSuffix = ".damaged" + suffix // at most one is kept
	partSuffix    = ".part"
)

var validID = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// Snapshot is a backup that is kept in the data folder until it is deleted.
type Snapshot struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Bytes   int64     `json:"bytes"`
	Damaged bool      `json:"damaged,omitempty"` // it holds a damaged value; the task that made it has failed and names the value
}

// Folder holds the snapshots of a data folder.
type Folder struct {
	Dir    string
	Backup func(ctx context.Context, w io.Writer) (int64, error)
	Verify func(ctx context.Context, path string) (damage []string, err error) // reads a backup and describes each damaged value
}

// List returns the snapshots, newest first.
func (f Folder) List() ([]Snapshot, error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	list := []Snapshot{}
	for _, entry := range slices.Backward(entries) { // ids sort by time
		id, damaged := strings.CutSuffix(entry.Name(), damagedSuffix)
		id, ok := strings.CutSuffix(id, suffix)
		if info, err := entry.Info(); (ok || damaged) && err == nil && info.Mode().IsRegular() {
			list = append(list, Snapshot{id, info.ModTime().UTC(), info.Size(), damaged})
		}
	}
	return list, nil
}

// CheckRoom returns [ErrTooMany] if [Max] snapshots exist.
func (f Folder) CheckRoom() error {
	list, err := f.List()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(s Snapshot) bool { return s.Damaged })
	if len(list) >= Max {
		return fmt.Errorf("%w: %d, the oldest is %s; delete one first", ErrTooMany, len(list), list[len(list)-1].ID)
	}
	return nil
}

// Write writes a snapshot to a temporary file, verifies it and renames it. A snapshot with damaged
// values is an error; it replaces the last such one, under a name that marks it as damaged.
func (f Folder) Write(ctx context.Context, id string, report func(done, total int64)) (Snapshot, error) {
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return Snapshot{}, err
	}
	part := f.path(id, false) + partSuffix
	file, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Snapshot{}, err
	}
	defer os.Remove(part) // has been renamed on success
	n, err := f.Backup(ctx, &counter{w: file, report: report})
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return Snapshot{}, err
	}
	damage, err := f.Verify(ctx, part)
	if err != nil {
		return Snapshot{}, err
	}
	if len(damage) > 0 {
		return Snapshot{}, f.keepDamaged(id, part, damage)
	}
	if err := disk.Rename(part, f.path(id, false)); err != nil {
		return Snapshot{}, err
	}
	report(n, n)
	return f.find(id)
}

func (f Folder) keepDamaged(id, part string, damage []string) error {
	old, _ := disk.Glob(f.Dir, "*"+damagedSuffix)
	for _, o := range old {
		os.Remove(o)
	}
	err := os.Rename(part, f.path(id, true))
	return errors.Join(fmt.Errorf("the data folder is damaged in %d places, and so is the snapshot, which is kept as %s, marked damaged: %s",
		len(damage), id, damage[0]), err)
}

// counter reports the bytes written through it.
type counter struct {
	w      io.Writer
	n      int64
	report func(done, total int64)
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.report(c.n, 0)
	return n, err
}

func (f Folder) find(id string) (Snapshot, error) {
	notFound := fmt.Errorf("%w: %s", ErrNotFound, fault.Quote(id))
	if !validID.MatchString(id) {
		return Snapshot{}, notFound
	}
	for _, damaged := range []bool{false, true} {
		info, err := os.Lstat(f.path(id, damaged))
		if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return Snapshot{}, err
		}
		return Snapshot{id, info.ModTime().UTC(), info.Size(), damaged}, nil
	}
	return Snapshot{}, notFound
}

func (f Folder) path(id string, damaged bool) string {
	if damaged {
		return filepath.Join(f.Dir, id+damagedSuffix)
	}
	return filepath.Join(f.Dir, id+suffix)
}

// Open opens a snapshot for reading. The caller closes it.
func (f Folder) Open(id string) (io.ReadSeekCloser, Snapshot, error) {
	s, err := f.find(id)
	if err != nil {
		return nil, s, err
	}
	file, err := os.Open(f.path(id, s.Damaged))
	return file, s, err
}

// Delete deletes a snapshot.
func (f Folder) Delete(id string) error {
	s, err := f.find(id)
	if err != nil {
		return err
	}
	return os.Remove(f.path(id, s.Damaged))
}

// RemoveParts removes the temporary files of unfinished snapshots.
func (f Folder) RemoveParts() {
	parts, _ := disk.Glob(f.Dir, "*"+suffix+partSuffix)
	for _, p := range parts {
		os.Remove(p)
	}
}
