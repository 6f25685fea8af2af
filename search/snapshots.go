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

	"searchd/internal/disk"
	"searchd/search/fault"
)

// Snapshot is a backup that is kept in the data folder until it is deleted.
type Snapshot struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Bytes   int64     `json:"bytes"`
	Damaged bool      `json:"damaged,omitempty"` // a value in it is damaged; the task that made it has failed and names it
}

// MaxSnapshots bounds how many snapshots are kept: each is as large as the store.
const MaxSnapshots = 8

const (
	snapshotFolder = "snapshots"
	snapshotSuffix = ".backup"
	damagedSuffix  = ".damaged" + snapshotSuffix // one at most is kept
	partSuffix     = ".part"
)

var snapshotID = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// Snapshots lists the snapshots, newest first.
func (e *Engine) Snapshots(ctx context.Context) ([]Snapshot, error) {
	if err := errors.Join(ctx.Err(), e.running()); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(e.snapshots)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	list := []Snapshot{}
	for _, entry := range slices.Backward(entries) { // ids sort by time
		id, damaged := strings.CutSuffix(entry.Name(), damagedSuffix)
		id, ok := strings.CutSuffix(id, snapshotSuffix)
		if info, err := entry.Info(); (ok || damaged) && err == nil && info.Mode().IsRegular() {
			list = append(list, Snapshot{id, info.ModTime().UTC(), info.Size(), damaged})
		}
	}
	return list, nil
}

// CreateSnapshot begins to write a snapshot, as a task: the state of one moment, while reads and
// writes go on. It returns [ErrTooManySnapshots] where MaxSnapshots are kept already.
func (e *Engine) CreateSnapshot(ctx context.Context) (Task, error) {
	list, err := e.Snapshots(ctx)
	if err != nil {
		return Task{}, err
	}
	list = slices.DeleteFunc(list, func(s Snapshot) bool { return s.Damaged })
	if len(list) >= MaxSnapshots {
		return Task{}, fmt.Errorf("%w: %d, the oldest is %s; delete one first", ErrTooManySnapshots, len(list), list[len(list)-1].ID)
	}
	t, err := newTask(TaskSnapshot, "", nil, nil)
	if err != nil {
		return Task{}, err
	}
	return e.tasks.start(ctx, t, func(ctx context.Context, report func(done, total int64)) (any, error) {
		return e.writeSnapshot(ctx, t.ID, report)
	})
}

// writeSnapshot writes a file under another name first, so that what has its name is whole. It
// reads the file again: one with damaged values fails the task, and is kept by a name that says so,
// in the place of an older such one.
func (e *Engine) writeSnapshot(ctx context.Context, id string, report func(done, total int64)) (any, error) {
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
	n, err := e.backend.Backup(ctx, &counter{w: f, report: report})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	damage, err := VerifyBackup(ctx, part)
	if err != nil {
		return nil, err
	}
	if len(damage) > 0 {
		return nil, e.keepDamaged(id, part, damage)
	}
	if err := disk.Rename(part, path); err != nil {
		return nil, err
	}
	report(n, n)
	return e.snapshot(id)
}

// keepDamaged keeps a snapshot with damaged values and returns what its task says.
func (e *Engine) keepDamaged(id, part string, damage []string) error {
	old, _ := disk.Glob(e.snapshots, "*"+damagedSuffix)
	for _, o := range old {
		os.Remove(o)
	}
	err := os.Rename(part, filepath.Join(e.snapshots, id+damagedSuffix))
	return errors.Join(fmt.Errorf("the data folder is damaged in %d places, and so is the snapshot, which is kept as %s, marked damaged: %s",
		len(damage), id, damage[0]), err)
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
	none := fmt.Errorf("%w: %s", ErrSnapshotNotFound, fault.Quote(id))
	if !snapshotID.MatchString(id) {
		return Snapshot{}, none
	}
	for _, damaged := range []bool{false, true} {
		info, err := os.Lstat(e.snapshotPath(id, damaged))
		if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return Snapshot{}, err
		}
		return Snapshot{id, info.ModTime().UTC(), info.Size(), damaged}, nil
	}
	return Snapshot{}, none
}

func (e *Engine) snapshotPath(id string, damaged bool) string {
	suffix := snapshotSuffix
	if damaged {
		suffix = damagedSuffix
	}
	return filepath.Join(e.snapshots, id+suffix)
}

// OpenSnapshot opens a snapshot for reading; [Restore] takes what it reads. The caller closes it.
// It returns [ErrSnapshotNotFound].
func (e *Engine) OpenSnapshot(ctx context.Context, id string) (io.ReadSeekCloser, Snapshot, error) {
	if err := errors.Join(ctx.Err(), e.running()); err != nil {
		return nil, Snapshot{}, err
	}
	s, err := e.snapshot(id)
	if err != nil {
		return nil, s, err
	}
	f, err := os.Open(e.snapshotPath(id, s.Damaged))
	return f, s, err
}

// DeleteSnapshot deletes a snapshot. It returns [ErrSnapshotNotFound].
func (e *Engine) DeleteSnapshot(ctx context.Context, id string) error {
	if err := errors.Join(ctx.Err(), e.running()); err != nil {
		return err
	}
	s, err := e.snapshot(id)
	if err != nil {
		return err
	}
	return os.Remove(e.snapshotPath(id, s.Damaged))
}

// removeParts removes what a snapshot that was not finished has left.
func (e *Engine) removeParts() {
	parts, _ := disk.Glob(e.snapshots, "*"+snapshotSuffix+partSuffix)
	for _, p := range parts {
		os.Remove(p)
	}
}
