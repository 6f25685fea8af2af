package encoder

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// counter hands out 0, 1, 2 and so on to several goroutines.
type counter struct{ n atomic.Int64 }

func (c *counter) take() int { return int(c.n.Add(1) - 1) }

// team is the number of goroutines that work on one batch.
type team int

// each calls f for every i below n, from at most t goroutines, and returns when all calls have returned. worker tells the goroutines apart.
// A panic in f reaches the caller.
func (t team) each(n int, f func(worker, i int)) {
	size := min(int(t), n)
	if size <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var (
		next   counter
		wg     sync.WaitGroup
		failed = make(chan any, size)
	)
	work := func(worker int) {
		defer func() {
			if r := recover(); r != nil {
				failed <- r
			}
		}()
		for i := next.take(); i < n; i = next.take() {
			f(worker, i)
		}
	}
	for worker := 1; worker < size; worker++ {
		wg.Go(func() { work(worker) })
	}
	work(0)
	wg.Wait()
	select {
	case r := <-failed:
		panic(r)
	default:
	}
}

// maxThreads bounds Options.Threads.
const maxThreads = 4096

// defaultThreads is the number of goroutines where Options says nothing.
func defaultThreads() int { return runtime.GOMAXPROCS(0) }
