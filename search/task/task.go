// Package task runs long operations in the background and stores their progress and outcome.
package task

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Errors of a [List].
var (
	ErrNotFound = errors.New("task not found")
	ErrFinished = errors.New("task has ended")
	ErrRunning  = errors.New("task under way") // another one of the same kind works on the collection
	ErrShutdown = errors.New("the program ends")
)

var errCanceled = errors.New("task canceled")

// Task is a long operation: its subject, its progress and its outcome.
type Task struct {
	ID         string          `json:"id"`
	Kind       Kind            `json:"kind"`
	Collection string          `json:"collection,omitempty"`
	Alias      string          `json:"alias,omitempty"` // by which the request named the collection; empty: its own name
	State      State           `json:"state"`
	Done       int64           `json:"done"`  // documents, passages or bytes, as the kind counts
	Total      int64           `json:"total"` // 0: not known yet
	Created    time.Time       `json:"created"`
	Started    *time.Time      `json:"started,omitempty"`
	Finished   *time.Time      `json:"finished,omitempty"`
	Error      string          `json:"error,omitempty"`
	Request    json.RawMessage `json:"request,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
}

// Kind is the operation of a task.
type Kind string

// The kinds.
const (
	Reembed  Kind = "reembed"  // counts documents
	Snapshot Kind = "snapshot" // counts bytes
	Rebuild  Kind = "rebuild"  // of a derived index; counts passages or documents
)

// State is the state of a task.
type State string

// The states. A task in one of the first two has not ended.
const (
	Queued      State = "queued" // tasks of one kind run one after another
	Running     State = "running"
	Succeeded   State = "succeeded"
	Failed      State = "failed"
	Canceled    State = "canceled"
	Interrupted State = "interrupted" // the program ended, and the task cannot be resumed
)

// Ended reports whether the task has ended.
func (t Task) Ended() bool { return t.State != Queued && t.State != Running }

// Record is a task as it is stored.
type Record struct {
	Task
	Resume json.RawMessage `json:"resume,omitempty"` // what a later run of the program needs to resume the task
}

// New returns the record of a queued task. IDs sort by creation time.
func New(kind Kind, collection string, request, resume any) (r Record, err error) {
	now := time.Now().UTC()
	id := strings.Replace(now.Format("20060102T150405.000"), ".", "-", 1) + "-" + strings.ToLower(rand.Text()[:6])
	r.Task = Task{ID: id, Kind: kind, Collection: collection, State: Queued, Created: now}
	if request != nil {
		if r.Request, err = json.Marshal(request); err != nil {
			return r, err
		}
	}
	if resume != nil {
		r.Resume, err = json.Marshal(resume)
	}
	return r, err
}

// Work is the operation of a task. It calls report with its progress and returns its result.
type Work func(ctx context.Context, report func(done, total int64)) (result any, err error)
