package apitest

import (
	"context"
	"fmt"
	"io"

	"searchd/search"
)

// Tasks implements api.Engine: there are none.
func (e *Engine) Tasks(ctx context.Context) ([]search.Task, error) { return nil, e.enter(ctx, "Tasks") }

// Task implements api.Engine.
func (e *Engine) Task(ctx context.Context, id string) (search.Task, error) {
	if err := e.enter(ctx, "Task"); err != nil {
		return search.Task{}, err
	}
	return search.Task{}, fmt.Errorf("%w: %q", search.ErrTaskNotFound, id)
}

// CancelTask implements api.Engine.
func (e *Engine) CancelTask(ctx context.Context, id string) (search.Task, error) {
	return e.Task(ctx, id)
}

// Reembed implements api.Engine: it knows one way to make vectors.
func (e *Engine) Reembed(ctx context.Context, collection string, _ search.ReembedOptions) (search.Task, error) {
	if _, err := e.Collection(ctx, collection); err != nil {
		return search.Task{}, err
	}
	return search.Task{}, fmt.Errorf("%w: this engine has no tasks", search.ErrUnsupported)
}

// Snapshots implements api.Engine: there are none.
func (e *Engine) Snapshots(ctx context.Context) ([]search.Snapshot, error) {
	return []search.Snapshot{}, e.enter(ctx, "Snapshots")
}

// CreateSnapshot implements api.Engine: there is nothing to write one of.
func (e *Engine) CreateSnapshot(ctx context.Context) (search.Task, error) {
	if err := e.enter(ctx, "CreateSnapshot"); err != nil {
		return search.Task{}, err
	}
	return search.Task{}, search.ErrNoBackup
}

// OpenSnapshot implements api.Engine.
func (e *Engine) OpenSnapshot(ctx context.Context, id string) (io.ReadSeekCloser, search.Snapshot, error) {
	return nil, search.Snapshot{}, e.DeleteSnapshot(ctx, id)
}

// DeleteSnapshot implements api.Engine.
func (e *Engine) DeleteSnapshot(ctx context.Context, id string) error {
	if err := e.enter(ctx, "DeleteSnapshot"); err != nil {
		return err
	}
	return fmt.Errorf("%w: %q", search.ErrSnapshotNotFound, id)
}
