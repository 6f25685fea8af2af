package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"

	"golang.org/x/sync/semaphore"

	"example.com/searchd/encoder"
	"example.com/searchd/index/keyword"
	"example.com/searchd/models"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/catalog"
	"example.com/searchd/search/embedded"
	"example.com/searchd/search/inference"
	"example.com/searchd/search/projection"
	"example.com/searchd/search/snapshot"
	"example.com/searchd/search/suggest"
	"example.com/searchd/search/task"
	"example.com/searchd/trace"
)

// Options of [Open]. The zero value is the documented default.
type Options struct {
	Model          string                                                    // name or folder of the checkpoint; default: the embedded one. Ignored with Embedder
	Encoder        encoder.Options                                           // how the checkpoint runs. Ignored with Embedder
	Embedder       Embedder                                                  // default: the checkpoint that Model names
	Backend        backend.Backend                                           // default: the embedded one in the data folder; closed with the engine
	Reranker       Reranker                                                  // default: none, and queries that ask for re-ranking are refused
	Sparse         SparseEncoder                                             // default: the checkpoint, where it gives sparse vectors
	Load           func(source, precision, pooling string) (Embedder, error) // opens further checkpoints, as they say where pooling is empty; default: as Model is opened; with Embedder: none
	MustExist      bool                                                      // a folder that holds no data is refused, with store.ErrNoStore, instead of becoming a data folder. Ignored with Backend
	MaxCollections int                                                       // beyond which none is made; default: DefaultMaxCollections
	Complete       bool                                                      // wait until all indexes are complete, instead of filling large ones in the background
	Tracer         *trace.Tracer                                             // records spans of searches and ingests; default: none
	NoTasks        bool                                                      // what an earlier run did not finish stays as it is, for who only reads
	Notice         func(text string)                                         // told of repairs and rebuilds, from any goroutine; default: nobody
	Alarm          func(text string)                                         // told of what an operator must look at; default: Notice
}

// DefaultMaxCollections bounds the collections of an engine: an empty one takes some 0.2 MB of
// memory, an open file and 2 ms of each opening.
const DefaultMaxCollections = 10_000

// Engine is the search engine over one data folder. It is safe for concurrent use.
type Engine struct {
	inference *inference.Service
	backend   backend.Backend
	catalog   *catalog.Catalog
	maps      projection.Cache
	encodings *inference.Registry
	analyses  sync.Map // *keyword.Analysis by language
	tasks     *task.List
	tracer    *trace.Tracer // nil: none
	notice    func(text string)
	alarm     func(text string)
	snapshots snapshot.Folder
	throttle  inference.Throttle
	most      int             // collections
	single    *inference.Pace // of ingests of one document
	many      *inference.Pace // of the others
	suggest   *suggest.Cache  // filled by [Engine.Suggest] alone

	mu struct {
		sync.Mutex
		closed  bool
		records map[string]cachedRecord
		writers map[string]*semaphore.Weighted // by stored name; whoever writes holds one of writerSlots
	}
}

type cachedRecord struct {
	payload json.RawMessage
	record  record
}

// Open opens the data folder dir, made if it is missing unless o.MustExist, and loads the
// checkpoint. With Options.Backend dir may be empty. The folder is locked for this process until
// [Engine.Close]; where it is locked already, the error matches store.ErrLocked.
func Open(dir string, o Options) (*Engine, error) { return OpenContext(context.Background(), dir, o) }

// OpenContext is Open that ends early with ctx, while indexes are filled; the next opening goes on.
func OpenContext(ctx context.Context, dir string, o Options) (*Engine, error) {
	e := &Engine{suggest: suggest.NewCache(), backend: o.Backend, single: inference.NewPace(), many: inference.NewPace(), most: cmp.Or(o.MaxCollections, DefaultMaxCollections), tracer: o.Tracer}
	e.mu.records, e.mu.writers = map[string]cachedRecord{}, map[string]*semaphore.Weighted{}
	if e.notice = o.Notice; e.notice == nil {
		e.notice = func(string) {}
	}
	if e.alarm = o.Alarm; e.alarm == nil {
		e.alarm = e.notice
	}
	load, source, embedder := o.Load, inference.SourceOf(o.Model), o.Embedder
	if embedder != nil {
		source = embedder.Model().Name
	} else {
		c, err := models.OpenTexts(o.Model, o.Encoder)
		if err != nil {
			return nil, err
		}
		embedder = inference.NewEmbedder(c)
		if load == nil {
			load = inference.Loader(o.Encoder)
		}
	}
	var err error
	if e.encodings, err = inference.NewRegistry(embedder, source, inference.PrecisionOf(embedder), load); err != nil {
		return nil, err
	}
	e.encodings.OpenRemote = openRemote
	e.inference = inference.NewService(e.encodings.Own, o.Reranker, o.Sparse)
	if e.encodings.Folder = e.backend == nil; e.encodings.Folder {
		bo := embedded.Options{Notice: o.Notice, Alarm: o.Alarm, MustExist: o.MustExist}
		if o.Complete {
			bo.RebuildFrom = math.MaxInt
		}
		if e.backend, err = openBackend(ctx, dir, bo); err != nil {
			return nil, err
		}
	}
	e.snapshots = snapshot.Folder{Dir: filepath.Join(dir, "snapshots"), Backup: e.backend.Backup, Verify: embedded.VerifyBackup}
	if err := e.openNames(ctx, o.NoTasks); err != nil {
		return nil, errors.Join(err, e.backend.Close())
	}
	return e, nil
}

// openBackend opens the backend of an engine that is given none. Tests put another in its place.
var openBackend = func(ctx context.Context, dir string, o embedded.Options) (backend.Backend, error) {
	return embedded.OpenContext(ctx, dir, o)
}

// openNames reads names and tasks, loads the checkpoints of the collections and goes on with what
// was not finished, unless noTasks.
func (e *Engine) openNames(ctx context.Context, noTasks bool) (err error) {
	stored, err := e.backend.Collections(ctx)
	if err != nil {
		return err
	}
	if e.catalog, err = catalog.Open(ctx, e.backend, stored, e.alarm); err != nil {
		return err
	}
	if err := e.openEncodings(ctx, e.catalog); err != nil {
		return err
	}
	var open []task.Record
	if e.tasks, open, err = task.Open(ctx, e.backend, e.alarm); err != nil {
		return err
	}
	if noTasks {
		return nil
	}
	e.tasks.Background(e.sweep)
	if shared, ok := e.backend.(backend.Shared); ok {
		e.follow(shared)
		return nil
	}
	e.snapshots.RemoveParts()
	if err := e.resume(ctx, open); err != nil {
		e.tasks.Close()
		return err
	}
	return nil
}

// follow keeps the names, and the checkpoints of collections, as other nodes change them. Tasks
// that other nodes have begun are not resumed.
func (e *Engine) follow(b backend.Shared) {
	changed := make(chan struct{}, 1)
	b.OnChange(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	e.tasks.Background(func(ctx context.Context) {
		for {
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
			err := e.catalog.Refresh(ctx, e.alarm)
			if err == nil {
				err = e.openEncodings(ctx, e.catalog)
			}
			if err != nil && ctx.Err() == nil {
				e.notice(fmt.Sprintf("reading the names that other nodes have changed: %v", err))
			}
		}
	})
}

// alone returns an error if other nodes use the backend, too.
func (e *Engine) alone(what string) error {
	if _, shared := e.backend.(backend.Shared); shared {
		return fmt.Errorf("%w in a cluster: %s", ErrUnsupported, what)
	}
	return nil
}

// Close writes what makes the next opening fast and releases the data folder. A call that is under
// way is completed or returns [ErrClosed], which is what later ones return that need the folder. A
// second Close does nothing.
func (e *Engine) Close() error {
	e.tasks.Close() // while the engine answers: a task must not take its end for a failure
	e.mu.Lock()
	closed := e.mu.closed
	e.mu.closed = true
	e.mu.Unlock()
	if closed {
		return nil
	}
	e.suggest.Close()
	return e.backend.Close()
}

// Ready returns nil until the engine is closed, and then [ErrClosed].
func (e *Engine) Ready() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.closed {
		return ErrClosed
	}
	return nil
}

// Inference returns what answers requests for vectors, tokens and scores with the engine's
// checkpoints. It lives as long as the engine.
func (e *Engine) Inference() *inference.Service { return e.inference }

// openToWrite is open for a writer: until done is called, no other generation takes the
// collection's place. A copy that has not ended takes no writers.
func (e *Engine) openToWrite(ctx context.Context, name string) (c backend.Collection, r record, done func(), err error) {
	c, r, done, err = e.openToCopy(ctx, name)
	if err == nil {
		if err = r.checkCopied(name); err != nil {
			done()
		}
	}
	return c, r, done, err
}

// openToCopy is openToWrite for a copy, too.
func (e *Engine) openToCopy(ctx context.Context, name string) (c backend.Collection, r record, done func(), err error) {
	for {
		if c, r, err = e.open(ctx, name); err != nil {
			return c, r, nil, err
		}
		l := e.writers(c.Name)
		if err := l.Acquire(ctx, 1); err != nil {
			return c, r, nil, err
		}
		release := sync.OnceFunc(func() { l.Release(1) })
		if now, ok := e.catalog.Stored(name); ok && now == c.Name && l == e.writers(c.Name) {
			if c, r, err = e.open(ctx, name); err != nil { // its settings may have changed meanwhile
				release()
				return c, r, nil, err
			}
			return c, r, release, nil
		}
		release() // replaced meanwhile
	}
}

// writerSlots is more than the writers that there can be.
const writerSlots = 1 << 30

// openAlone is open for who changes the settings: until start is called, nobody writes and no other
// generation takes the collection's place.
func (e *Engine) openAlone(ctx context.Context, name string) (c backend.Collection, r record, start func(), err error) {
	for {
		if c, _, err = e.open(ctx, name); err != nil {
			return c, r, nil, err
		}
		stored := c.Name
		if start, err = e.stopWriters(ctx, stored); err != nil {
			return c, r, nil, err
		}
		if c, r, err = e.open(ctx, name); err == nil && c.Name == stored {
			return c, r, start, nil
		}
		start()
		if err != nil {
			return c, r, nil, err
		}
	}
}

// stopWriters waits for the writers of a stored collection, and keeps others out until start is
// called.
func (e *Engine) stopWriters(ctx context.Context, stored string) (start func(), err error) {
	for {
		l := e.writers(stored)
		if err := l.Acquire(ctx, writerSlots); err != nil {
			return nil, err
		}
		if l == e.writers(stored) {
			return func() { l.Release(writerSlots) }, nil
		}
		l.Release(writerSlots) // a collection of before had it
	}
}

// writers returns the lock of a stored collection. [Engine.trim] forgets that of one that is gone,
// so who has got it asks again whether it still is.
func (e *Engine) writers(stored string) *semaphore.Weighted {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.mu.writers[stored]
	if l == nil {
		l = semaphore.NewWeighted(writerSlots)
		e.mu.writers[stored] = l
	}
	return l
}

// analysis returns what turns texts of a language into terms.
func (e *Engine) analysis(language string) (*keyword.Analysis, error) {
	if a, ok := e.analyses.Load(language); ok {
		return a.(*keyword.Analysis), nil
	}
	a, err := keyword.NewAnalysis(language)
	if err != nil {
		return nil, err
	}
	e.analyses.Store(language, a)
	return a, nil
}
