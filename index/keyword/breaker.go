package keyword

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// breaker stops an index whose background writer fails. bleve would retry at once and for ever
// (20,000 times in two seconds on a full disk), and reports such errors through one callback for
// the whole process.
type breaker struct {
	tripped   chan struct{} // closed by the first failure
	closeOnce sync.Once
	closeErr  error // of closeOnce

	mu struct {
		sync.Mutex
		cause  error
		frozen *scorch.IndexSnapshot // what searches read once tripped; holds one reference
		closed bool                  // scorch.Close has been called
	}
}

const asyncErrorCallback = "example.com/searchd/index/keyword"

// registered are the open indexes by folder, which is how the callback names them.
var registered struct {
	sync.Mutex
	byDir map[string]*Index
}

func init() {
	registered.byDir = map[string]*Index{}
	scorch.RegistryAsyncErrorCallbacks[asyncErrorCallback] = onAsyncError
}

func register(x *Index) {
	registered.Lock()
	defer registered.Unlock()
	registered.byDir[x.dir] = x
}

func unregister(x *Index) {
	registered.Lock()
	defer registered.Unlock()
	if registered.byDir[x.dir] == x {
		delete(registered.byDir, x.dir)
	}
}

// onAsyncError runs on the goroutine that failed. It must not close scorch, which waits for that
// goroutine to end; it only slows it down.
func onAsyncError(err error, dir string) {
	if errors.Is(err, scorch.ErrCleanup) {
		return // old files stay a while longer
	}
	registered.Lock()
	x := registered.byDir[dir]
	registered.Unlock()
	if x != nil {
		x.breaker.trip(x.scorch, err)
	}
	time.Sleep(20 * time.Millisecond)
}

// trip keeps the state that searches see and closes s in the background. Only the first call does
// anything.
func (b *breaker) trip(s *scorch.Scorch, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.cause != nil || b.mu.closed {
		return
	}
	b.mu.cause = cause
	if r, err := s.Reader(); err == nil {
		b.mu.frozen, _ = r.(*scorch.IndexSnapshot)
	}
	close(b.tripped)
	go func() {
		defer func() { _ = recover() }()   // bleve's state is unknown
		time.Sleep(100 * time.Millisecond) // a batch that is being introduced still finds its receiver
		_ = b.closeScorch(s)
	}()
}

// Broken returns a channel that is closed when the index can no longer write, see ErrBroken.
func (x *Index) Broken() <-chan struct{} { return x.breaker.tripped }

// Err returns ErrBroken with its cause if the index can no longer write, else nil.
func (x *Index) Err() error { return x.breaker.err() }

// Release releases the folder of a broken index, so that another Index can open it. This one still
// answers searches and must be closed. Release does nothing to an index that works.
func (x *Index) Release() {
	if x.breaker.err() != nil {
		_ = x.breaker.closeScorch(x.scorch) // what it had not written is lost
	}
}

// err returns ErrBroken with its cause, or nil.
func (b *breaker) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.cause == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrBroken, b.mu.cause)
}

// snapshot returns the frozen state with one more reference, or nil if the index works.
func (b *breaker) snapshot() *scorch.IndexSnapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.frozen != nil {
		b.mu.frozen.AddRef()
	}
	return b.mu.frozen
}

// close releases the frozen state, if any, and closes s unless trip does.
func (b *breaker) close(s *scorch.Scorch) error {
	b.mu.Lock()
	if b.mu.frozen != nil {
		_ = b.mu.frozen.Close()
		b.mu.frozen = nil
	}
	b.mu.Unlock()
	return b.closeScorch(s)
}

// closeScorch closes s once, because a second Close of scorch panics. A call waits for a running
// one.
func (b *breaker) closeScorch(s *scorch.Scorch) error {
	b.mu.Lock()
	b.mu.closed = true
	b.mu.Unlock()
	b.closeOnce.Do(func() { b.closeErr = s.Close() })
	return b.closeErr
}
