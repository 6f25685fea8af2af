package api

import (
	"context"
	"sync/atomic"
	"time"
)

// gate bounds how many requests of one kind run at once. Others wait in a queue; a request that
// finds it full, or waits too long, is refused, so that an overloaded server answers some requests
// in time instead of all of them late.
type gate struct {
	name     string
	slots    chan struct{}
	queue    int64
	wait     time.Duration
	refusal  error
	waiting  atomic.Int64
	refusals atomic.Int64
}

func newGate(name string, slots, queue int, wait time.Duration, refusal error) *gate {
	return &gate{name: name, slots: make(chan struct{}, slots), queue: int64(queue), wait: wait, refusal: refusal}
}

// enter takes a slot, which the caller releases with leave. It returns the gate's refusal if no
// slot becomes free in time, and ctx.Err() if ctx ends first.
func (g *gate) enter(ctx context.Context) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	if g.waiting.Add(1) > g.queue {
		g.waiting.Add(-1)
		g.refusals.Add(1)
		return g.refusal
	}
	defer g.waiting.Add(-1)
	t := time.NewTimer(g.wait)
	defer t.Stop()
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-t.C:
		g.refusals.Add(1)
		return g.refusal
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enterEventually waits for a slot until ctx ends.
func (g *gate) enterEventually(ctx context.Context) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) leave() { <-g.slots }
