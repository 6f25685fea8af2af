package keyword

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	"example.com/searchd/index/keyword/analysis"
)

// Index is an open index. Its methods are safe for concurrent use.
type Index struct {
	dir      string
	bm25     BM25
	analyzer *analysis.Analyzer
	scorch   *scorch.Scorch
	queue    *index.AnalysisQueue
	latest   latestView
	caches   *Caches
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
	// readers counts running searches; Close waits for them before it closes their files.
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

// Size returns the bytes that the index takes on disk, with files that bleve is about to remove.
func (x *Index) Size() (int64, error) {
	var n int64
	err := filepath.WalkDir(x.dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				n += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // a merge has removed the file
			return nil
		}
		return err
	})
	return n, err
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
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the outer call restores the setting
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s: panic while reading: %v\n%s", ErrDamaged, x.dir, r, debug.Stack())
		}
	}()
	v, err := x.latest.of(snapshot)
	if err != nil {
		return err
	}
	return f(v)
}

// snapshot returns the current state, to be closed after use.
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

// Close writes what is not on disk yet, for at most a few seconds, and releases the folder. It
// waits for Apply and for running searches. Only its first call does anything.
func (x *Index) Close() error {
	err := error(nil)
	x.once.Do(func() { err = x.close() })
	return err
}

func (x *Index) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	x.applying <- struct{}{} // never released: no Apply after this
	_ = x.waitPersisted(ctx) // what is lost is applied again after the next Open
	x.readers.Lock()
	defer x.readers.Unlock()
	close(x.closed)
	unregister(x)
	err := x.breaker.close(x.scorch)
	x.queue.Close()
	return err
}
