package keyword

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
)

// Index is an open index. Its methods are safe for concurrent use.
type Index struct {
	dir      string
	bm25     BM25
	analyzer analyzer
	scorch   *scorch.Scorch
	queue    *index.AnalysisQueue
	caches   segmentCaches
	seq      atomic.Uint64 // of the last Apply
	names    fieldNames

	// applying is held during Apply, Sync and Close: one writer at a time.
	applying chan struct{}
	// unpersisted has one element per batch that is not on disk yet; its capacity bounds their
	// memory.
	unpersisted chan struct{}

	breaker breaker
	closed  chan struct{}
	once    sync.Once
	// readers counts the searches under way, so that Close leaves them their files.
	readers sync.RWMutex
}

// Seq returns the sequence number of the last Apply. After a crash or a Close without Sync, an
// index opens with the Seq of what had reached the disk; what comes after it must be applied again.
func (x *Index) Seq() uint64 { return x.seq.Load() }

// Count returns the number of documents.
func (x *Index) Count() (n uint64, err error) {
	err = x.read(func(v *view) error {
		n = v.docs
		return nil
	})
	return n, err
}

// Size returns the bytes that the index takes on disk, with what its next clean-up will remove.
func (x *Index) Size() (int64, error) {
	var n int64
	err := filepath.WalkDir(x.dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return ignoreMissing(err)
		}
		info, err := e.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		n += info.Size()
		return nil
	})
	return n, err
}

// ignoreMissing is for files that a merge removed after they had been listed.
func ignoreMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// read calls f with a view of the index that no change touches. A panic in f, or a fault where a
// file has become shorter under its mapping, is damage that the checks of Open did not find: bleve
// trusts its files.
func (x *Index) read(f func(v *view) error) (err error) {
	x.readers.RLock()
	defer x.readers.RUnlock()
	select {
	case <-x.closed:
		return ErrClosed
	default:
	}
	snapshot, err := x.snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // and back, when read returns
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s: panic while reading: %v\n%s", ErrDamaged, x.dir, r, debug.Stack())
		}
	}()
	v, err := x.caches.view(snapshot)
	if err != nil {
		return err
	}
	return f(v)
}

// snapshot returns the present state, to be closed after use.
func (x *Index) snapshot() (*scorch.IndexSnapshot, error) {
	if s := x.breaker.snapshot(); s != nil {
		return s, nil
	}
	r, err := x.scorch.Reader()
	if err != nil {
		return nil, err
	}
	s, ok := r.(*scorch.IndexSnapshot)
	if !ok || s == nil {
		return nil, ErrClosed
	}
	return s, nil
}

// Close writes what is not on disk yet, for at most a few seconds, and gives up the folder. It
// waits for Apply and for searches under way. Only its first call does anything.
func (x *Index) Close() error {
	err := error(nil)
	x.once.Do(func() { err = x.close() })
	return err
}

func (x *Index) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	x.applying <- struct{}{} // never given back: no Apply after this
	_ = x.waitPersisted(ctx) // what is lost is applied again after the next Open
	x.readers.Lock()
	defer x.readers.Unlock()
	close(x.closed)
	forgetIndex(x)
	err := x.breaker.close(x.scorch)
	x.queue.Close()
	return err
}
