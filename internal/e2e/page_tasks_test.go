package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"searchd/search"

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
	w := &working{Engine: kitchen(t), task: search.Task{ID: "t1", Kind: "reembed", Collection: "kitchen", State: search.TaskRunning, Total: 1000, Created: time.Now()}}
	base := serve(t, w)
	p := open(t, base)
	p.do(t, chromedp.Navigate(base+"/?view=collections"))
	row := "document.querySelector('[aria-label=Tasks] .upload')"
	p.until(t, row+"?.innerText.includes('reembed kitchen') === true && "+row+".innerText.includes('running, ')")
	first := eval[float64](t, p, row+".querySelector('progress').value")
	p.until(t, row+".querySelector('progress').value > "+eval[string](t, p, "String("+row+".querySelector('progress').value)")) // it looks again by itself
	p.looks(t, "tasks")
	p.js(t, "document.querySelector('.cancel').click()")
	p.until(t, row+".innerText.includes('canceled') && document.querySelector('.cancel') === null")
	if last := eval[float64](t, p, row+".querySelector('progress').value"); last <= first {
		t.Errorf("progress %v, then %v", first, last)
	}
	p.clean(t)
}
