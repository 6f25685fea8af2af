package search

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
)

// Snapshot is a backup that is kept in the data folder until it is deleted.
type Snapshot struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Bytes   int64     `json:"bytes"`
}

// MaxSnapshots bounds how many snapshots are kept: each is as large as the store.
const MaxSnapshots = 8

const (
	snapshotFolder = "snapshots"
	snapshotSuffix = ".backup"
	partSuffix     = ".part"
)

var snapshotID = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// backer is a backend that can be backed up.
type backer interface {
	Backup(ctx context.Context, w io.Writer) (int64, error)
}

// Snapshots lists the snapshots, newest first.
func (e *Engine) Snapshots(ctx context.Context) ([]Snapshot, error) {
	if err := errors.Join(ctx.Err(), e.Ready()); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(e.snapshots)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	list := []Snapshot{}
	for _, entry := range slices.Backward(entries) { // ids sort by time
		id, ok := strings.CutSuffix(entry.Name(), snapshotSuffix)
		if info, err := entry.Info(); ok && err == nil && info.Mode().IsRegular() {
			list = append(list, Snapshot{id, info.ModTime().UTC(), info.Size()})
		}
	}
	return list, nil
}

// CreateSnapshot begins to write a snapshot, as a task: the state of one moment, while reads and writes go on. It returns
// [ErrTooManySnapshots] where MaxSnapshots are kept already, and [ErrNoBackup] over a backend that keeps backups of its own.
func (e *Engine) CreateSnapshot(ctx context.Context) (Task, error) {
	list, err := e.Snapshots(ctx)
	if err != nil {
		return Task{}, err
	}
	b, ok := e.backend.(backer)
	if !ok {
		return Task{}, ErrNoBackup
	}
	if len(list) >= MaxSnapshots {
		return Task{}, fmt.Errorf("%w: %d, the oldest is %s; delete one first", ErrTooManySnapshots, len(list), list[len(list)-1].ID)
	}
	t, err := newTask(TaskSnapshot, "", nil, nil)
	if err != nil {
		return Task{}, err
	}
	return e.tasks.start(ctx, t, func(ctx context.Context, report func(done, total int64)) (any, error) {
		return e.writeSnapshot(ctx, t.ID, b, report)
	})
}

// writeSnapshot writes a file under another name first, so that what has its name is whole.
func (e *Engine) writeSnapshot(ctx context.Context, id string, b backer, report func(done, total int64)) (any, error) {
	if err := os.MkdirAll(e.snapshots, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(e.snapshots, id+snapshotSuffix)
	part := path + partSuffix
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer os.Remove(part) // gone already where all went well
	n, err := b.Backup(ctx, &counter{w: f, report: report})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, translate(err)
	}
	if err := os.Rename(part, path); err != nil {
		return nil, err
	}
	report(n, n)
	dir, err := os.Open(e.snapshots)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
		return nil, err
	}
	return e.snapshot(id)
}

// counter counts what is written through it.
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

func (e *Engine) snapshot(id string) (Snapshot, error) {
	none := fmt.Errorf("%w: %s", ErrSnapshotNotFound, quoteShort(id))
	if !snapshotID.MatchString(id) {
		return Snapshot{}, none
	}
	info, err := os.Lstat(filepath.Join(e.snapshots, id+snapshotSuffix))
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return Snapshot{}, none
	}
	if err != nil {
		return Snapshot{}, err
	}
	return Snapshot{id, info.ModTime().UTC(), info.Size()}, nil
}

// OpenSnapshot opens a snapshot for reading; [Restore] takes what it reads. The caller closes it. It returns [ErrSnapshotNotFound].
func (e *Engine) OpenSnapshot(ctx context.Context, id string) (io.ReadSeekCloser, Snapshot, error) {
	if err := errors.Join(ctx.Err(), e.Ready()); err != nil {
		return nil, Snapshot{}, err
	}
	s, err := e.snapshot(id)
	if err != nil {
		return nil, s, err
	}
	f, err := os.Open(filepath.Join(e.snapshots, id+snapshotSuffix))
	return f, s, err
}

// DeleteSnapshot deletes a snapshot. It returns [ErrSnapshotNotFound].
func (e *Engine) DeleteSnapshot(ctx context.Context, id string) error {
	if err := errors.Join(ctx.Err(), e.Ready()); err != nil {
		return err
	}
	if _, err := e.snapshot(id); err != nil {
		return err
	}
	return os.Remove(filepath.Join(e.snapshots, id+snapshotSuffix))
}

// removeParts removes what a snapshot that was not finished has left.
func (e *Engine) removeParts() {
	parts, _ := filepath.Glob(filepath.Join(e.snapshots, "*"+snapshotSuffix+partSuffix))
	for _, p := range parts {
		os.Remove(p)
	}
}
