package search

import (
	"context"
	"errors"
	"io"

	"example.com/searchd/search/snapshot"
	"example.com/searchd/search/task"
)

// Snapshot is a backup that is kept in the data folder until it is deleted.
type Snapshot = snapshot.Snapshot

// MaxSnapshots is the number of snapshots that are kept.
const MaxSnapshots = snapshot.Max

// Snapshots lists the snapshots, newest first.
func (e *Engine) Snapshots(ctx context.Context) ([]Snapshot, error) {
	if err := errors.Join(ctx.Err(), e.Ready()); err != nil {
		return nil, err
	}
	return e.snapshots.List()
}

// CreateSnapshot starts a task that writes a snapshot of this moment. It returns
// [ErrTooManySnapshots] if MaxSnapshots exist.
func (e *Engine) CreateSnapshot(ctx context.Context) (Task, error) {
	if err := e.alone("snapshots; `searchd migrate --from URL --to DIR` copies all collections to a folder"); err != nil {
		return Task{}, err
	}
	if err := errors.Join(ctx.Err(), e.Ready(), e.snapshots.CheckRoom()); err != nil {
		return Task{}, err
	}
	t, err := task.New(TaskSnapshot, "", nil, nil)
	if err != nil {
		return Task{}, err
	}
	return e.tasks.Start(ctx, t, func(ctx context.Context, report func(done, total int64)) (any, error) {
		return e.snapshots.Write(ctx, t.ID, report)
	})
}

// OpenSnapshot opens a snapshot, a backup to be restored, for reading. The caller closes it. It
// returns [ErrSnapshotNotFound].
func (e *Engine) OpenSnapshot(ctx context.Context, id string) (io.ReadSeekCloser, Snapshot, error) {
	if err := errors.Join(ctx.Err(), e.Ready()); err != nil {
		return nil, Snapshot{}, err
	}
	return e.snapshots.Open(id)
}

// DeleteSnapshot deletes a snapshot. It returns [ErrSnapshotNotFound].
func (e *Engine) DeleteSnapshot(ctx context.Context, id string) error {
	if err := errors.Join(ctx.Err(), e.Ready()); err != nil {
		return err
	}
	return e.snapshots.Delete(id)
}
