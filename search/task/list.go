package task

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/fault"
)

const (
	maxUnfinished = 32
	maxFinished   = 100 // that are kept
	keyPrefix     = "task/"
	saveEvery     = 2 * time.Second
	saveTimeout   = 10 * time.Second
)

// Values is the key-value store of a [List].
type Values interface {
	Values(ctx context.Context, prefix string) (map[string][]byte, error)
	SetValues(ctx context.Context, values map[string][]byte) error
}

// List runs tasks and stores the unfinished ones and the last 100 that have ended. It is safe for
// concurrent use.
type List struct {
	values Values
	ctx    context.Context
	stop   context.CancelCauseFunc
	wait   sync.WaitGroup
	turns  map[Kind]chan struct{} // one token each
	saving sync.Mutex             // orders the writes, so that the last state is the one stored

	mu struct {
		sync.Mutex
		jobs   map[string]*job
		closed bool
	}
}

// job is a task of a list and the goroutine that runs it.
type job struct {
	record Record                  // guarded by List.mu
	cancel context.CancelCauseFunc // nil for a task of an earlier run of the program
	ended  chan struct{}
	saved  time.Time
}

// Open reads the stored tasks and returns the unfinished ones, for the caller to start again or
// interrupt. Damaged tasks are reported to alarm and skipped.
func Open(ctx context.Context, store Values, alarm func(text string)) (*List, []Record, error) {
	l := &List{values: store, turns: map[Kind]chan struct{}{Reembed: make(chan struct{}, 1), Snapshot: make(chan struct{}, 1)}}
	l.ctx, l.stop = context.WithCancelCause(context.Background())
	l.mu.jobs = map[string]*job{}
	values, err := store.Values(ctx, keyPrefix)
	var damaged *backend.ValuesError
	switch {
	case errors.As(err, &damaged):
		alarm(fmt.Sprintf("tasks that cannot be read are skipped and not resumed: %v", err))
	case err != nil:
		return nil, nil, fmt.Errorf("tasks: %w", err)
	}
	var open []Record
	for key, v := range values {
		var r Record
		if err := json.Unmarshal(v, &r); err != nil || keyPrefix+r.ID != key {
			return nil, nil, fmt.Errorf("tasks: value %s is not a task", key)
		}
		if string(r.Request) == "null" {
			r.Request = nil // as older versions wrote it
		}
		j := &job{record: r, ended: make(chan struct{})}
		close(j.ended)
		l.mu.jobs[r.ID] = j
		if !r.Ended() {
			open = append(open, r)
		}
	}
	slices.SortFunc(open, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	return l, open, nil
}

// All returns the tasks of the list, newest first.
func (l *List) All() (all []Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(l.mu.jobs))) {
		all = append(all, l.mu.jobs[id].record.Task)
	}
	return all
}

// Unfinished returns the unfinished tasks of a collection.
func (l *List) Unfinished(collection string) (all []Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.mu.jobs {
		if j.record.Collection == collection && !j.record.Ended() {
			all = append(all, j.record)
		}
	}
	return all
}

// NotFound returns the error for an id without a task.
func NotFound(id string) error {
	return fmt.Errorf("%w: %s; the last %d that have ended are kept", ErrNotFound, fault.Quote(id), maxFinished)
}

// Start stores a task and runs w when it is its turn.
func (l *List) Start(ctx context.Context, r Record, w Work) (Task, error) {
	run, cancel := context.WithCancelCause(l.ctx)
	j := &job{record: r, cancel: cancel, ended: make(chan struct{})}
	before, err := l.add(j)
	if err != nil {
		cancel(nil)
		return r.Task, err
	}
	if err := l.save(ctx, r); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if delete(l.mu.jobs, r.ID); before != nil {
			l.mu.jobs[r.ID] = before
		}
		l.wait.Done()
		close(j.ended)
		cancel(nil)
		return r.Task, err
	}
	go func() {
		defer l.wait.Done()
		l.run(run, j, w)
	}()
	return r.Task, nil
}

// add adds a job and returns the one that it replaces. From then on Close waits for it.
func (l *List) add(j *job) (before *job, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return nil, backend.ErrClosed
	}
	open := 0
	for _, other := range l.mu.jobs {
		o := other.record
		if o.Ended() || o.ID == j.record.ID {
			continue
		}
		if open++; open >= maxUnfinished {
			return nil, fmt.Errorf("%w: %d tasks are not finished", fault.ErrBusy, open)
		}
		if o.Collection == j.record.Collection && o.Kind == j.record.Kind {
			return nil, fmt.Errorf("%w: %s %s is %s", ErrRunning, o.Kind, o.ID, o.State)
		}
	}
	before = l.mu.jobs[j.record.ID]
	l.mu.jobs[j.record.ID] = j
	l.wait.Add(1)
	return before, nil
}

func (l *List) save(ctx context.Context, r Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return l.values.SetValues(ctx, map[string][]byte{keyPrefix + r.ID: b})
}

// run waits for the task's turn, does its work and stores the outcome. After Close the task stays
// unfinished in the store.
func (l *List) run(ctx context.Context, j *job, w Work) {
	defer close(j.ended)
	defer j.cancel(nil)
	turn := l.turns[j.record.Kind]
	var result any
	var err error
	select {
	case turn <- struct{}{}:
		now := time.Now().UTC()
		l.change(j, true, func(t *Task) { t.State, t.Started = Running, &now })
		err = fault.Protect(func() (err error) {
			result, err = w(ctx, func(done, total int64) {
				l.change(j, false, func(t *Task) { t.Done, t.Total = done, total })
			})
			return err
		})
		<-turn
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && errors.Is(context.Cause(ctx), ErrShutdown) {
		return
	}
	now := time.Now().UTC()
	l.change(j, true, func(t *Task) {
		t.Finished = &now
		raw, bad := json.Marshal(result)
		if err == nil {
			err = bad
		}
		switch {
		case err == nil:
			t.State, t.Result = Succeeded, raw
		case errors.Is(context.Cause(ctx), errCanceled):
			t.State = Canceled
		default:
			t.State, t.Error = Failed, err.Error()
		}
	})
	l.trim()
}

// change changes a task and stores it; mere progress is stored every 2 s at most. A store that
// refuses writes does not end the work, which reports that itself where it matters.
func (l *List) change(j *job, always bool, fn func(*Task)) {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	fn(&j.record.Task)
	r, now := j.record, time.Now()
	due := always || now.Sub(j.saved) >= saveEvery
	if due {
		j.saved = now
	}
	l.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	_ = l.save(ctx, r)
}

// Interrupt ends a task of an earlier run of the program that cannot be resumed.
func (l *List) Interrupt(id, why string) {
	l.mu.Lock()
	j := l.mu.jobs[id]
	l.mu.Unlock()
	now := time.Now().UTC()
	l.change(j, true, func(t *Task) { t.State, t.Error, t.Finished = Interrupted, why, &now })
	l.trim()
}

// trim removes the oldest ended tasks beyond maxFinished.
func (l *List) trim() {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	var finished []string
	for id, j := range l.mu.jobs {
		if j.record.Ended() {
			finished = append(finished, id)
		}
	}
	slices.Sort(finished)
	removed := map[string][]byte{}
	for _, id := range finished[:max(0, len(finished)-maxFinished)] {
		removed[keyPrefix+id] = nil
		delete(l.mu.jobs, id)
	}
	l.mu.Unlock()
	if len(removed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	_ = l.values.SetValues(ctx, removed)
}

// Background runs work that is not a task until Close, which ends its context and waits for it.
// After Close it does nothing.
func (l *List) Background(work func(ctx context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mu.closed {
		l.wait.Go(func() { work(l.ctx) })
	}
}

// Close stops the running tasks and waits for them. They stay unfinished in the store.
func (l *List) Close() {
	l.mu.Lock()
	l.mu.closed = true
	l.mu.Unlock()
	l.stop(ErrShutdown)
	l.wait.Wait()
}

// Cancel ends a task and waits until it has ended. It returns [ErrFinished] for one that has ended
// already or runs elsewhere.
func (l *List) Cancel(ctx context.Context, t Task) error {
	l.mu.Lock()
	j := l.mu.jobs[t.ID]
	l.mu.Unlock()
	if t.Ended() || j == nil || j.cancel == nil {
		return fmt.Errorf("%w: %s %s is %s", ErrFinished, t.Kind, t.ID, t.State)
	}
	j.cancel(errCanceled)
	select {
	case <-j.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
