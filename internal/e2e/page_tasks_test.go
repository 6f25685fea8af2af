package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/searchd/internal/longtest"
	"example.com/searchd/search"

	"github.com/chromedp/chromedp"
)

// working is an engine with a task that goes on, a step with each look at it, until it is canceled.
type working struct {
	*search.Engine
	mu   sync.Mutex
	task search.Task
}

func (w *working) Tasks(context.Context) ([]search.Task, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.task.Finished == nil {
		w.task.Done++
	}
	return []search.Task{w.task}, nil
}

func (w *working) Task(_ context.Context, id string) (search.Task, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id != w.task.ID {
		return search.Task{}, search.ErrTaskNotFound
	}
	return w.task, nil
}

func (w *working) CancelTask(_ context.Context, id string) (search.Task, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id != w.task.ID {
		return search.Task{}, search.ErrTaskNotFound
	}
	now := time.Now()
	w.task.State, w.task.Finished = search.TaskCanceled, &now
	return w.task, nil
}

// The page shows what runs in the background, how far it is while it goes on, and cancels it.
func TestPageTasks(t *testing.T) {
	longtest.Skip(t)
	w := &working{Engine: kitchen(t), task: search.Task{ID: "t1", Kind: "reembed", Collection: "kitchen", State: search.TaskRunning, Total: 1000, Created: time.Now()}}
	base := serve(t, w)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	row := "document.querySelector('[aria-label=Tasks] .upload')"
	p.until(t, row+"?.innerText.includes('Re-embedding: kitchen') === true && "+row+".innerText.includes('running, ')")
	p.js(t, "window.asked = []; const old = window.fetch; window.fetch = (path, init) => { window.asked.push(path); return old(path, init); }")
	first := eval[float64](t, p, row+".querySelector('progress').value")
	p.until(t, row+".querySelector('progress').value > "+eval[string](t, p, "String("+row+".querySelector('progress').value)")) // it looks again by itself
	p.looks(t, "tasks")
	if asked := eval[[]string](t, p, "[...new Set(window.asked)]"); !slices.Equal(asked, []string{"v1/tasks"}) {
		t.Errorf("while a task goes on the page asks for %q", asked)
	}
	p.js(t, "document.querySelector('.cancel').click()")
	p.until(t, row+".innerText.includes('canceled') && document.querySelector('.cancel') === null")
	p.until(t, "window.asked.includes('v1/collections')") // what the task has made
	if last := eval[float64](t, p, row+".querySelector('progress').value"); last <= first {
		t.Errorf("progress %v, then %v", first, last)
	}
	w.mu.Lock()
	w.task.Kind, w.task.State, w.task.Finished = search.TaskRebuild, search.TaskRunning, nil
	w.mu.Unlock()
	p.do(t, chromedp.Reload())
	p.until(t, row+"?.innerText.includes('Rebuilding an index: kitchen') === true")
	if cancel := eval[bool](t, p, "document.querySelector('.cancel') !== null"); cancel {
		t.Error("a rebuild, which nobody can cancel, is offered to be")
	}
	w.mu.Lock()
	now := time.Now()
	w.task.Kind, w.task.State, w.task.Finished = search.TaskSnapshot, search.TaskFailed, &now
	w.task.Total, w.task.Done, w.task.Error = 2e9, 1e9, "The disk is full."
	w.mu.Unlock()
	p.until(t, row+".innerText.includes('Snapshot kitchen') && "+row+".innerText.includes('The disk is full.')")
	p.clean(t)
}
