package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Task is a long operation of the server.
type Task struct {
	ID         string          `json:"id"`
	Kind       string          `json:"kind"` // reembed, snapshot, rebuild
	Collection string          `json:"collection"`
	Alias      string          `json:"alias"` // by which the collection was named, if by one
	State      string          `json:"state"` // queued, running, succeeded, failed, canceled, interrupted
	Done       int64           `json:"done"`
	Total      int64           `json:"total"`
	Error      string          `json:"error"`
	Result     json.RawMessage `json:"result"`
}

// ReembedOptions are options of Reembed. The zero value uses the checkpoint that the server was
// started with.
type ReembedOptions struct {
	Model     string   `json:"model,omitempty"`     // embedded, or OWNER/NAME; default: the server's own, with Settings the collection's
	Precision string   `json:"precision,omitempty"` // f32, int8; default: the server's, with Settings and without Model the collection's
	Settings  Settings `json:"settings,omitzero"`   // replace all of the collection's; zero: as they are
	KeepOld   bool     `json:"keep_old,omitempty"`  // keep the previous collection as COLLECTION-old
}

// Snapshot is a backup that the server keeps.
type Snapshot struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Bytes   int64     `json:"bytes"`
	Damaged bool      `json:"damaged,omitempty"` // a value in it is damaged; the task that made it has failed and names it
}

// Reembed starts a task that rebuilds a collection with another checkpoint or other settings, while
// the server goes on answering searches; see Wait. ErrNotFound, ErrInvalid, ErrOutcomeUnknown.
func (c *Client) Reembed(ctx context.Context, collection string, o ReembedOptions) (*Task, error) {
	t := &Task{}
	return t, c.send(ctx, call{method: http.MethodPost, path: collectionPath(collection) + "/reembed"}, o, t)
}

// Tasks lists the tasks that are under way and the last that have ended, newest first.
func (c *Client) Tasks(ctx context.Context) ([]Task, error) {
	var out struct {
		Tasks []Task `json:"tasks"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/tasks"}, &out)
	return out.Tasks, err
}

// Task returns a task.
func (c *Client) Task(ctx context.Context, id string) (*Task, error) {
	t := &Task{}
	return t, c.do(ctx, call{method: http.MethodGet, path: "/v1/tasks/" + url.PathEscape(id)}, t)
}

// Wait polls a task until it has ended, and returns it; a task that did not succeed is an error.
// watch, if not nil, is called with each answer.
func Wait(ctx context.Context, c *Client, id string, watch func(*Task)) (*Task, error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		t, err := c.Task(ctx, id)
		if err != nil {
			return nil, err
		}
		if watch != nil {
			watch(t)
		}
		switch t.State {
		case "succeeded":
			return t, nil
		case "queued", "running":
		default:
			return t, fmt.Errorf("client: task %s %s: %s", t.ID, t.State, t.Error)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return t, ctx.Err()
		}
	}
}

// CancelTask ends a task and returns it as it ended. One that has ended already is an [Error] of
// code task_finished. ErrOutcomeUnknown.
func (c *Client) CancelTask(ctx context.Context, id string) (*Task, error) {
	t := &Task{}
	return t, c.do(ctx, call{method: http.MethodDelete, path: "/v1/tasks/" + url.PathEscape(id)}, t)
}

// Snapshots lists the snapshots that the server keeps, newest first.
func (c *Client) Snapshots(ctx context.Context) ([]Snapshot, error) {
	var out struct {
		Snapshots []Snapshot `json:"snapshots"`
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/snapshots"}, &out)
	return out.Snapshots, err
}

// CreateSnapshot lets the server write a snapshot; the task's result is a [Snapshot].
// ErrOutcomeUnknown.
func (c *Client) CreateSnapshot(ctx context.Context) (*Task, error) {
	t := &Task{}
	return t, c.do(ctx, call{method: http.MethodPost, path: "/v1/snapshots"}, t)
}

// OpenSnapshot downloads a snapshot; the caller closes it.
func (c *Client) OpenSnapshot(ctx context.Context, id string) (io.ReadCloser, error) {
	res, err := c.open(ctx, call{method: http.MethodGet, path: "/v1/snapshots/" + url.PathEscape(id)})
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// DeleteSnapshot deletes a snapshot of the server; ErrNotFound, ErrOutcomeUnknown.
func (c *Client) DeleteSnapshot(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/v1/snapshots/" + url.PathEscape(id)}, nil)
}
