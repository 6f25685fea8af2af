package search

import (
	"context"
	"errors"
	"slices"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/task"
)

// Task is a long operation: its subject, its progress and its outcome.
type Task = task.Task

// Kinds and states of tasks.
const (
	TaskReembed  = task.Reembed
	TaskSnapshot = task.Snapshot
	TaskRebuild  = task.Rebuild

	TaskQueued      = task.Queued
	TaskRunning     = task.Running
	TaskSucceeded   = task.Succeeded
	TaskFailed      = task.Failed
	TaskCanceled    = task.Canceled
	TaskInterrupted = task.Interrupted
)

// interrupted is the error of a task that the end of the program has ended.
const interrupted = "the program ended before it was done; start it again"

// Tasks lists the rebuilds of derived indexes, then the unfinished tasks and the last hundred that
// have ended, newest first.
func (e *Engine) Tasks(ctx context.Context) ([]Task, error) {
	if err := errors.Join(ctx.Err(), e.Ready()); err != nil {
		return nil, err
	}
	return append(e.rebuilds(ctx), e.tasks.All()...), nil
}

// Task returns one task, or [ErrTaskNotFound].
func (e *Engine) Task(ctx context.Context, id string) (Task, error) {
	list, err := e.Tasks(ctx)
	if err != nil {
		return Task{}, err
	}
	if i := slices.IndexFunc(list, func(t Task) bool { return t.ID == id }); i >= 0 {
		return list[i], nil
	}
	return Task{}, task.NotFound(id)
}

// CancelTask ends a task, waits until it has ended, and returns it. It returns [ErrTaskNotFound],
// or [ErrTaskFinished] for one that has ended already or, like a rebuild, cannot be canceled.
func (e *Engine) CancelTask(ctx context.Context, id string) (Task, error) {
	t, err := e.Task(ctx, id)
	if err != nil {
		return t, err
	}
	if err := e.tasks.Cancel(ctx, t); err != nil {
		return t, err
	}
	return e.Task(ctx, id)
}

// rebuilds returns the derived indexes that are being filled, as tasks.
func (e *Engine) rebuilds(ctx context.Context) (list []Task) {
	now, err := e.backend.Stats(ctx, backend.StatsRequest{})
	if err != nil {
		return nil // closed
	}
	for _, r := range now.Rebuilds {
		name, _ := e.catalog.NameOf(r.Collection)
		list = append(list, Task{ID: "rebuild-" + r.Index + "-" + name, Kind: TaskRebuild, Collection: name, State: TaskRunning,
			Done: r.Done, Total: r.Total, Created: r.Began, Started: &r.Began})
	}
	return list
}
