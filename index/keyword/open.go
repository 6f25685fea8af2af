package keyword

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/search/searcher"
	index "github.com/blevesearch/bleve_index_api"
)

func init() { searcher.DisjunctionMaxClauseCount = 1024 }

// analysisVersion changes whenever a text or a value gives other terms, so that old indexes are
// rebuilt.
const analysisVersion = 17

// settings are what the postings of an index depend on; they are stored in it.
type settings struct {
	Analysis int    `json:"analysis"`
	Language string `json:"language"`
	Identity string `json:"identity"`
}

// Open opens the index in dir, or creates one if dir is missing or empty. It reads the whole index
// once to verify its checksums, see Options.SkipVerify. On ErrDamaged and ErrMismatch it has
// changed nothing: rename the folder and fill a new index. Other errors are ErrLocked, ErrNoSpace
// and ErrOptions.
func Open(dir string, o Options) (*Index, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, fmt.Errorf("%w: the folder has no name", ErrOptions)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	a, err := o.Caches.analyzer(o.Language)
	if err != nil {
		return nil, err
	}
	want := settings{analysisVersion, o.Language, o.Identity}
	fresh, err := isFresh(dir)
	if err != nil {
		return nil, err
	}
	if !fresh {
		if err := inspect(dir, want, !o.SkipVerify); err != nil {
			return nil, err
		}
	}
	x := &Index{
		dir: dir, bm25: o.BM25, analyzer: a,
		applying:    make(chan struct{}, 1),
		unpersisted: make(chan struct{}, maxUnpersisted),
		closed:      make(chan struct{}),
		queue:       index.NewAnalysisQueue(1), // documents come analysed
	}
	x.breaker.tripped = make(chan struct{})
	x.caches, x.latest.caches = o.Caches, o.Caches
	x.names.own, x.names.mu.taken = o.OwnField, map[string]bool{}
	if err := x.openScorch(fresh, want); err != nil {
		x.queue.Close()
		if !isFull(err) {
			return nil, err
		}
		if fresh {
			os.RemoveAll(dir) // an incomplete index would be damaged
		}
		return nil, fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return x, nil
}

// isFresh reports whether dir is missing or empty.
func isFresh(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	return len(entries) == 0, err
}

// openScorch opens or creates the index for writing.
func (x *Index) openScorch(fresh bool, want settings) error {
	register(x)
	err := guarded(x.dir, func() (err error) {
		x.scorch, err = newScorch(x.dir, x.queue, false)
		if err != nil {
			return err
		}
		return x.scorch.Open()
	})
	if err != nil {
		unregister(x)
		return openError(x.dir, err)
	}
	if fresh {
		err = x.initialize(want)
	} else {
		err = x.loadState()
	}
	if err != nil {
		unregister(x)
		_ = x.breaker.close(x.scorch)
	}
	return err
}

// initialize writes the settings of a new index and waits until they are on disk.
func (x *Index) initialize(want settings) error {
	b, err := json.Marshal(want)
	if err != nil {
		return err
	}
	batch := index.NewBatch()
	batch.SetInternal(keySettings, b)
	batch.SetInternal(keySeq, encodeSeq(0))
	written := make(chan struct{})
	batch.SetPersistedCallback(func(error) { close(written) })
	if err := x.scorch.Batch(batch); err != nil {
		return fmt.Errorf("keyword: create %s: %w", x.dir, err)
	}
	select {
	case <-written:
		return nil
	case <-x.breaker.tripped:
		return x.breaker.err()
	}
}

func (x *Index) loadState() error {
	s, err := x.snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	seq, ok := decodeSeq(s.Internal()[string(keySeq)])
	if !ok {
		return fmt.Errorf("%w: %s: sequence number is missing or damaged", ErrDamaged, x.dir)
	}
	x.seq.Store(seq)
	return x.names.load(s)
}

// maxFiles is the number of segment files at which writing waits for merges, because every search
// reads each of them. An index of half a million documents usually has about twenty.
var maxFiles = 100

// newScorch configures bleve's index. unsafe_batch lets Batch return before the batch is on disk: a
// batch reaches the disk with its sequence number or not at all, and the caller applies again what
// is missing.
func newScorch(dir string, queue *index.AnalysisQueue, readOnly bool) (*scorch.Scorch, error) {
	x, err := scorch.NewScorch(scorch.Name, map[string]any{
		"path":                   dir,
		"read_only":              readOnly,
		"unsafe_batch":           true,
		"bolt_timeout":           "1s",
		"asyncErrorCallbackName": asyncErrorCallback,
		"scorchPersisterOptions": map[string]any{"PersisterNapUnderNumFiles": maxFiles},
	}, queue)
	if err != nil {
		return nil, err
	}
	s, ok := x.(*scorch.Scorch)
	if !ok {
		return nil, fmt.Errorf("keyword: bleve returned a %T", x)
	}
	return s, nil
}

// guarded runs f on its own goroutine, where a fault in a memory-mapped file is a panic, and
// returns panics as ErrDamaged.
func guarded(dir string, f func() error) error {
	done := make(chan error, 1)
	go func() {
		debug.SetPanicOnFault(true)
		defer func() {
			if r := recover(); r != nil {
				done <- fmt.Errorf("%w: %s: panic while opening: %v", ErrDamaged, dir, r)
			}
		}()
		done <- f()
	}()
	return <-done
}

// openError classifies the errors of opening: in use, not permitted, or else damaged.
func openError(dir string, err error) error {
	switch {
	case errors.Is(err, ErrDamaged), errors.Is(err, ErrMismatch):
		return err
	case err.Error() == "timeout": // bbolt's; only the store imports bbolt
		return fmt.Errorf("%w: %s", ErrLocked, dir)
	case errors.Is(err, os.ErrPermission), strings.Contains(err.Error(), "too many open files"), isFull(err):
		return fmt.Errorf("keyword: open %s: %w", dir, err)
	default:
		return fmt.Errorf("%w: %s: %w", ErrDamaged, dir, err)
	}
}

// isFull reports whether a full disk or a quota caused err. bleve formats some causes with %s, so
// that only their text is left.
func isFull(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}, func(e syscall.Errno) bool {
		return errors.Is(err, e) || strings.Contains(err.Error(), e.Error())
	})
}
