package search

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"searchd/search/backend"
	"searchd/search/fault"
)

// Task is a long operation: what it works on, how far it is and how it ended.
type Task struct {
	ID         string          `json:"id"`
	Kind       TaskKind        `json:"kind"`
	Collection string          `json:"collection,omitempty"`
	Alias      string          `json:"alias,omitempty"` // by which the collection was named, where that was not its own name
	State      TaskState       `json:"state"`
	Done       int64           `json:"done"`  // documents, passages or bytes, as the kind counts
	Total      int64           `json:"total"` // 0: not known yet
	Created    time.Time       `json:"created"`
	Started    *time.Time      `json:"started,omitempty"`
	Finished   *time.Time      `json:"finished,omitempty"`
	Error      string          `json:"error,omitempty"`
	Request    json.RawMessage `json:"request,omitempty"` // what was asked for
	Result     json.RawMessage `json:"result,omitempty"`  // what came of it
}

// TaskKind says what a task does.
type TaskKind string

// The kinds.
const (
	TaskReembed  TaskKind = "reembed"  // counts documents
	TaskSnapshot TaskKind = "snapshot" // counts bytes
	TaskRebuild  TaskKind = "rebuild"  // of a derived index; counts passages or documents
)

// TaskState says where a task is.
type TaskState string

// The states. The first two are those of a task that is not finished.
const (
	TaskQueued      TaskState = "queued" // tasks of one kind run one after another
	TaskRunning     TaskState = "running"
	TaskSucceeded   TaskState = "succeeded"
	TaskFailed      TaskState = "failed"
	TaskCanceled    TaskState = "canceled"
	TaskInterrupted TaskState = "interrupted" // the program ended, and this kind does not go on where it was
)

// Ended reports whether the task has ended.
func (t Task) Ended() bool { return t.State != TaskQueued && t.State != TaskRunning }

// Bounds of the tasks that are kept.
const (
	maxUnfinished = 32
	maxFinished   = 100
	taskKey       = "task/"
	taskSaveEvery = 2 * time.Second
)

// Why the context of a task ends.
var (
	errTaskCanceled = errors.New("task canceled")
	errShutdown     = errors.New("the program ends") // the task stays unfinished in the store
)

// work is what a task does. It calls report with its progress and returns what came of it.
type work func(ctx context.Context, report func(done, total int64)) (result any, err error)

// taskList runs tasks and remembers them: the unfinished ones, and the last maxFinished of the
// others. It is safe for concurrent use.
type taskList struct {
	values values
	ctx    context.Context
	stop   context.CancelCauseFunc
	wait   sync.WaitGroup
	turns  map[TaskKind]chan struct{} // one token each
	saving sync.Mutex                 // held by whoever stores tasks, so that the last state is stored last; not by those who look at them

	mu struct {
		sync.Mutex
		jobs   map[string]*job
		closed bool
	}
}

// job is a task with what runs it.
type job struct {
	task   Task // guarded by taskList.mu
	resume json.RawMessage
	cancel context.CancelCauseFunc
	ended  chan struct{}
	saved  time.Time
}

// interrupted is what a task says that the end of the program has ended.
const interrupted = "the program ended before it was done; start it again"

// openTasks reads the tasks of the store; one that cannot be read is told and passed over. Those
// that were not finished are returned, to be resumed or given up.
func openTasks(ctx context.Context, store values, alarm func(text string)) (*taskList, []taskRecord, error) {
	l := &taskList{values: store, turns: map[TaskKind]chan struct{}{TaskReembed: make(chan struct{}, 1), TaskSnapshot: make(chan struct{}, 1)}}
	l.ctx, l.stop = context.WithCancelCause(context.Background())
	l.mu.jobs = map[string]*job{}
	values, err := l.values.Values(ctx, taskKey)
	var damaged *backend.ValuesError
	switch {
	case errors.As(err, &damaged):
		alarm(fmt.Sprintf("tasks that cannot be read are passed over, and do not go on: %v", err))
	case err != nil:
		return nil, nil, fmt.Errorf("tasks: %w", err)
	}
	var open []taskRecord
	for key, v := range values {
		var t taskRecord
		if err := json.Unmarshal(v, &t); err != nil || taskKey+t.ID != key {
			return nil, nil, fmt.Errorf("tasks: value %s is no task", key)
		}
		if string(t.Request) == "null" {
			t.Request = nil // as older versions wrote it
		}
		j := &job{task: t.Task, resume: t.Resume, ended: make(chan struct{})}
		close(j.ended)
		l.mu.jobs[t.ID] = j
		if !t.Ended() {
			open = append(open, t)
		}
	}
	slices.SortFunc(open, func(a, b taskRecord) int { return cmp.Compare(a.ID, b.ID) })
	return l, open, nil
}

// taskRecord is a task as it is stored.
type taskRecord struct {
	Task
	Resume json.RawMessage `json:"resume,omitempty"` // what another run of the program needs to go on
}

// newTask makes a task that is not running yet; ids sort by their time.
func newTask(kind TaskKind, collection string, request, resume any) (t taskRecord, err error) {
	now := time.Now().UTC()
	id := strings.Replace(now.Format("20060102T150405.000"), ".", "-", 1) + "-" + strings.ToLower(rand.Text()[:6])
	t.Task = Task{ID: id, Kind: kind, Collection: collection, State: TaskQueued, Created: now}
	if request != nil {
		if t.Request, err = json.Marshal(request); err != nil {
			return t, err
		}
	}
	if resume != nil {
		t.Resume, err = json.Marshal(resume)
	}
	return t, err
}

// start runs w as the task of a record, in its turn, and returns the task as it is now stored.
func (l *taskList) start(ctx context.Context, r taskRecord, w work) (Task, error) {
	t := r.Task
	run, cancel := context.WithCancelCause(l.ctx)
	j := &job{task: t, resume: r.Resume, cancel: cancel, ended: make(chan struct{})}
	before, err := l.add(j)
	if err != nil {
		cancel(nil)
		return t, err
	}
	if err := l.save(ctx, r); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if delete(l.mu.jobs, t.ID); before != nil {
			l.mu.jobs[t.ID] = before
		}
		l.wait.Done()
		close(j.ended)
		cancel(nil)
		return t, err
	}
	go func() {
		defer l.wait.Done()
		l.run(run, j, w)
	}()
	return t, nil
}

// add puts a job among the others, in the place of the one of its id, which is returned. From then
// on close waits for it.
func (l *taskList) add(j *job) (before *job, err error) {
	t := j.task
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return nil, ErrClosed
	}
	open := 0
	for _, other := range l.mu.jobs {
		if other.task.Ended() || other.task.ID == t.ID {
			continue
		}
		if open++; open >= maxUnfinished {
			return nil, fmt.Errorf("%w: %d tasks are not finished", ErrBusy, open)
		}
		if other.task.Collection == t.Collection && other.task.Kind == t.Kind {
			return nil, fmt.Errorf("%w: %s %s is %s", ErrTaskRunning, t.Kind, other.task.ID, other.task.State)
		}
	}
	before = l.mu.jobs[t.ID]
	l.mu.jobs[t.ID] = j
	l.wait.Add(1)
	return before, nil
}

// saveWithin is how long a task may take to be stored where no request waits for it.
const saveWithin = 10 * time.Second

func (l *taskList) save(ctx context.Context, t taskRecord) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return l.values.SetValues(ctx, map[string][]byte{taskKey + t.ID: b})
}

// run waits for the task's turn, does its work and notes how it ended.
func (l *taskList) run(ctx context.Context, j *job, w work) {
	defer close(j.ended)
	defer j.cancel(nil)
	turn := l.turns[j.task.Kind]
	var result any
	var err error
	select {
	case turn <- struct{}{}:
		now := time.Now().UTC()
		l.change(j, true, func(t *Task) { t.State, t.Started = TaskRunning, &now })
		err = protected(func() (err error) {
			result, err = w(ctx, func(done, total int64) {
				l.change(j, false, func(t *Task) { t.Done, t.Total = done, total })
			})
			return err
		})
		<-turn
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && errors.Is(context.Cause(ctx), errShutdown) {
		return
	}
	now := time.Now().UTC()
	l.change(j, true, func(t *Task) {
		t.Finished = &now
		switch raw, bad := json.Marshal(result); {
		case err == nil && bad == nil:
			t.State, t.Result = TaskSucceeded, raw
		case err == nil:
			t.State, t.Error = TaskFailed, bad.Error()
		case errors.Is(context.Cause(ctx), errTaskCanceled):
			t.State = TaskCanceled
		default:
			t.State, t.Error = TaskFailed, err.Error()
		}
	})
	l.forget()
}

// change changes a task and stores it; what is only progress, not more often than every
// taskSaveEvery. A store that takes no writes does not end the work: what matters is written by the
// work itself.
func (l *taskList) change(j *job, always bool, fn func(*Task)) {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	fn(&j.task)
	r, now := taskRecord{j.task, j.resume}, time.Now()
	due := always || now.Sub(j.saved) >= taskSaveEvery
	if due {
		j.saved = now
	}
	l.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveWithin)
	defer cancel()
	_ = l.save(ctx, r)
}

// giveUp notes that a task of the last run does not go on.
func (l *taskList) giveUp(id, why string) {
	l.mu.Lock()
	j := l.mu.jobs[id]
	l.mu.Unlock()
	now := time.Now().UTC()
	l.change(j, true, func(t *Task) { t.State, t.Error, t.Finished = TaskInterrupted, why, &now })
	l.forget()
}

// forget removes the oldest finished tasks beyond maxFinished.
func (l *taskList) forget() {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	var finished []string
	for id, j := range l.mu.jobs {
		if j.task.Ended() {
			finished = append(finished, id)
		}
	}
	slices.Sort(finished)
	gone := map[string][]byte{}
	for _, id := range finished[:max(0, len(finished)-maxFinished)] {
		gone[taskKey+id] = nil
		delete(l.mu.jobs, id)
	}
	l.mu.Unlock()
	if len(gone) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveWithin)
	defer cancel()
	_ = l.values.SetValues(ctx, gone)
}

// beside does work in the background that is no task: closing the list ends its context and waits
// for it. It returns false, and does nothing, once the list is closed.
func (l *taskList) beside(work func(ctx context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mu.closed {
		l.wait.Go(func() { work(l.ctx) })
	}
	return !l.mu.closed
}

// close ends the running tasks, which stay unfinished in the store, and waits for them.
func (l *taskList) close() {
	l.mu.Lock()
	l.mu.closed = true
	l.mu.Unlock()
	l.stop(errShutdown)
	l.wait.Wait()
}

// unfinished returns the tasks of a collection that have not ended.
func (l *taskList) unfinished(collection string) (list []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.mu.jobs {
		if j.task.Collection == collection && !j.task.Ended() {
			list = append(list, j)
		}
	}
	return list
}

// Tasks lists the tasks that are not finished and the last hundred that are, newest first, and the
// derived indexes that are being rebuilt.
func (e *Engine) Tasks(ctx context.Context) ([]Task, error) {
	if err := errors.Join(ctx.Err(), e.running()); err != nil {
		return nil, err
	}
	list := e.rebuilds()
	l := e.tasks
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(l.mu.jobs))) {
		list = append(list, l.mu.jobs[id].task)
	}
	return list, nil
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
	return Task{}, fmt.Errorf("%w: %s; the last %d that have ended are kept", ErrTaskNotFound, fault.Quote(id), maxFinished)
}

// CancelTask ends a task, waits until it has, and returns it. It returns [ErrTaskNotFound], or
// [ErrTaskFinished] for one that has ended already or, like a rebuild, cannot be ended.
func (e *Engine) CancelTask(ctx context.Context, id string) (Task, error) {
	t, err := e.Task(ctx, id)
	if err != nil {
		return t, err
	}
	e.tasks.mu.Lock()
	j := e.tasks.mu.jobs[id]
	e.tasks.mu.Unlock()
	if t.Ended() || j == nil || j.cancel == nil {
		return t, fmt.Errorf("%w: %s %s is %s", ErrTaskFinished, t.Kind, id, t.State)
	}
	if err := j.end(ctx); err != nil {
		return t, err
	}
	return e.Task(ctx, id)
}

// end cancels the job and waits for it.
func (j *job) end(ctx context.Context) error {
	if j.cancel == nil { // nobody works on it
		return nil
	}
	j.cancel(errTaskCanceled)
	select {
	case <-j.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rebuilds shows the derived indexes that are being filled as tasks.
func (e *Engine) rebuilds() (list []Task) {
	now, err := e.backend.Stats(context.Background(), backend.StatsRequest{})
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
