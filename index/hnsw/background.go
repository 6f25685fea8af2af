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
	again bool // requested again while running
}

// start runs do in its own goroutine, unless the graph is closed. A running job is run once more,
// as it may have missed the reason for this call. The channel returned is closed when the job is
// done; it is nil after Close.
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

// Wait returns when no background job is running.
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

// Close stops the background jobs, waits for them, and starts no more. Call it before the source is
// closed; a graph without one need not be closed. Calls that need no source still work.
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
