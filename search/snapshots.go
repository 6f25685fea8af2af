package search

import (
	"context"
	"errors"
	"io"

	"example.com/searchd/search/backend"
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

// Backups reads what backups of an engine are made of.
type Backups struct {
	engine *Engine
	id     string
}

// BackupsOf returns what makes backups of an engine, which must not be a node of a cluster.
func BackupsOf(e *Engine) (*Backups, error) {
	if err := e.alone("a backup in one file; `searchd migrate --from URL --to DIR` copies all collections to a folder, under writes, too"); err != nil {
		return nil, err
	}
	now, err := e.backend.Stats(context.Background(), backend.StatsRequest{})
	return &Backups{e, now.StoreID}, err
}

// ID is the identity of the store; it is another one after a backup was restored.
func (b *Backups) ID() string { return b.id }

// Size returns the bytes of the store's file.
func (b *Backups) Size(ctx context.Context) (int64, error) {
	now, err := b.engine.backend.Stats(ctx, backend.StatsRequest{})
	return now.StoreBytes, err
}

// Damage reads each stored value and describes those that are damaged. Writes continue meanwhile.
func (b *Backups) Damage(ctx context.Context) ([]string, error) {
	found, err := b.engine.backend.Check(ctx, backend.CheckRequest{Stored: true})
	var damage []string
	for _, p := range found.Problems {
		damage = append(damage, p.What)
	}
	return damage, err
}

// Write writes a backup of this moment. Reads and writes continue meanwhile.
func (b *Backups) Write(ctx context.Context, w io.Writer) (int64, error) {
	return b.engine.Backup(ctx, w)
}
