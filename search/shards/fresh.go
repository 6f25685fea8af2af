package shards

import (
	"context"
	"errors"
	"sync"
	"time"
)

// keptFor is how long an answer is kept: longer than a search takes, which asks for some things several times, and short enough for what changes on a
// shard by itself, such as an index that is being filled.
const keptFor = time.Second

// keptMost bounds how many answers are kept.
const keptMost = 256

// fresh keeps answers by what was asked, until a second has passed or the moment is another: something was written. Who asks while somebody else does waits for the same answer.
// The zero value is empty.
type fresh[V any] struct {
	mu struct {
		sync.Mutex
		answers map[string]*answer[V]
	}
}

type answer[V any] struct {
	moment string // before it was asked for
	began  time.Time
	done   chan struct{} // closed when value and err are there
	value  V
	err    error
}

// get returns the answer to what key says, from ask where none of this moment is kept.
func (f *fresh[V]) get(ctx context.Context, key, moment string, ask func() (V, error)) (V, error) {
	for {
		a, mine := f.find(key, moment)
		if mine {
			a.value, a.err = ask()
			if a.err != nil {
				f.forget(key, a)
			}
			close(a.done)
			return a.value, a.err
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return a.value, ctx.Err()
		}
		if ended := errors.Is(a.err, context.Canceled) || errors.Is(a.err, context.DeadlineExceeded); !ended { // else the other's time was up, not ours
			return a.value, a.err
		}
	}
}

// has reports whether an answer of a moment is kept, or asked for.
func (f *fresh[V]) has(key, moment string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.mu.answers[key]
	return a != nil && a.good(moment, time.Now())
}

// keep keeps an answer that came with another, which was asked for when it began.
func (f *fresh[V]) keep(key, moment string, began time.Time, value V) {
	a := &answer[V]{moment: moment, began: began, done: make(chan struct{}), value: value}
	close(a.done)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(key, a)
}

// find returns what is kept for key; mine: nothing was, and the caller has to fill it.
func (f *fresh[V]) find(key, moment string) (a *answer[V], mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if a := f.mu.answers[key]; a != nil && a.good(moment, now) {
		return a, false
	}
	a = &answer[V]{moment: moment, began: now, done: make(chan struct{})}
	f.put(key, a)
	return a, true
}

// put puts an answer in the place of another. The caller holds mu.
func (f *fresh[V]) put(key string, a *answer[V]) {
	if f.mu.answers == nil {
		f.mu.answers = map[string]*answer[V]{}
	}
	if len(f.mu.answers) >= keptMost {
		now := time.Now()
		for k, a := range f.mu.answers {
			if now.Sub(a.began) >= keptFor {
				delete(f.mu.answers, k)
			}
		}
	}
	if len(f.mu.answers) >= keptMost {
		clear(f.mu.answers)
	}
	f.mu.answers[key] = a
}

func (a *answer[V]) good(moment string, now time.Time) bool {
	return a.moment == moment && now.Sub(a.began) < keptFor
}

// forget removes an answer that is no good to anybody.
func (f *fresh[V]) forget(key string, a *answer[V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.answers[key] == a {
		delete(f.mu.answers, key)
	}
}
