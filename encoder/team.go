package encoder

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// team is the number of goroutines that work on one batch.
type team int

// each calls f for every i below n, from at most t goroutines, and returns when all calls have
// returned. worker identifies the goroutine. A panic in f reaches the caller.
func (t team) each(n int, f func(worker, i int)) {
	size := min(int(t), n)
	if size <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var next atomic.Int64
	team(size).start(func(worker int) {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			f(worker, i)
		}
	})
}

// start calls f on each goroutine of the team at the same time and returns when all have returned.
// A panic in f reaches the caller.
func (t team) start(f func(worker int)) {
	var run struct {
		sync.WaitGroup
		first  sync.Once
		failed any
	}
	work := func(worker int) {
		defer func() {
			if r := recover(); r != nil {
				run.first.Do(func() { run.failed = r })
			}
		}()
		f(worker)
	}
	for worker := 1; worker < int(t); worker++ {
		run.Go(func() { work(worker) })
	}
	work(0)
	run.Wait()
	if run.failed != nil {
		panic(run.failed)
	}
}

// maxThreads bounds Options.Threads.
const maxThreads = 4096

// defaultThreads is the default of Options.Threads.
func defaultThreads() int { return runtime.GOMAXPROCS(0) }
