package hnsw

import (
	"context"
	"sync"
)

// job is work that no caller waits for.
type job uint8

const (
	jobCompact job = iota
	jobCalibrate
	jobs
)

// background runs at most one goroutine per job.
type background struct {
	sync.Mutex
	running [jobs]*running
	closed  bool
}

type running struct {
	stop  context.CancelFunc
	done  chan struct{}
	again bool // it was asked for while it ran
}

// start runs do in a goroutine of its own, unless the graph is closed. A job that is running
// already is run once more behind that: it may have looked before what it is asked for now. It
// returns what says that the job is done; nil after Close.
func (g *Graph) start(j job, do func(ctx context.Context)) <-chan struct{} {
	b := &g.background
	b.Lock()
	defer b.Unlock()
	if b.closed {
		return nil
	}
	if r := b.running[j]; r != nil {
		r.again = true
		return r.done
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &running{stop: stop, done: make(chan struct{})}
	b.running[j] = r
	go func() {
		for more := true; more; {
			do(ctx)
			b.Lock()
			more, r.again = r.again && !b.closed, false
			if !more {
				b.running[j] = nil
			}
			b.Unlock()
		}
		stop()
		close(r.done)
	}()
	return r.done
}

// Busy reports whether the graph is being compacted or calibrated in the background.
func (g *Graph) Busy() bool {
	g.background.Lock()
	defer g.background.Unlock()
	return g.background.running != [jobs]*running{}
}

// Wait returns when nothing runs in the background any more.
func (g *Graph) Wait() {
	for {
		var r *running
		g.background.Lock()
		for _, x := range g.background.running {
			if x != nil {
				r = x
			}
		}
		g.background.Unlock()
		if r == nil {
			return
		}
		<-r.done
	}
}

// Close stops what runs in the background, waits for its end, and lets nothing begin there any
// more. The graph can still be used, but for what a source that is gone would have to answer.
// Needed before a source is closed; without one, a graph may simply be forgotten.
func (g *Graph) Close() {
	g.background.Lock()
	g.background.closed = true
	for _, r := range g.background.running {
		if r != nil {
			r.stop()
		}
	}
	g.background.Unlock()
	g.Wait()
}
