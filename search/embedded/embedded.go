// Package embedded is the default backend: documents and vectors in bbolt, the source of truth,
// and beside it two derived indexes, an HNSW graph and a bleve index.
//
// Invariants:
//  1. A write is acknowledged after bbolt has committed it, never before.
//  2. Each derived index records the sequence number up to which it has applied every change. It
//     may be behind, never ahead, and never has holes. Opening replays what is missing from the
//     change log. A document that the mapping rejects is reported and left out.
//  3. A derived index that cannot be read, or belongs to another store, is quarantined and rebuilt
//     from bbolt; it is never repaired in place.
//  4. What a derived index finds is fetched from bbolt before it is shown, so that a stale index
//     shows no deleted text. Vectors that the graph lacks are found by a scan of bbolt; answers
//     that may lack documents of the keyword index are marked as partial.
//  5. A document with a damaged value is reported and left out until it is written again. A
//     collection that needs a damaged value to open is quarantined: it can be listed and dropped,
//     and the others serve.
//  6. The change log is trimmed only below what every derived index has made durable.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// Options tunes [Open]. The zero value is the documented default.
type Options struct {
	Notice func(text string) // receives repairs and rebuilds, from any goroutine; default: nobody
	Alarm  func(text string) // receives what an operator must look at; default: Notice

	// RebuildFrom is how many passages, or documents, an index may lack for Open to add them before
	// it returns. An index that lacks more is filled in the background. 0: 20,000.
	RebuildFrom int

	MustExist bool // return store.ErrNoStore for a folder without a store instead of creating one
}

// Backend keeps everything in one data folder. It is safe for concurrent use.
type Backend struct {
	dir    string
	store  *store.Store
	caches *keyword.Caches // of all keyword indexes
	notice func(text string)
	alarm  func(text string)

	rebuildFrom int

	names   nameLocks    // held while a collection is created, changed or dropped
	changes sync.RWMutex // held for reading meanwhile, so that Close waits

	closing    chan struct{}  // closed by stop
	stop       func()         // the first step of Close
	background sync.WaitGroup // retries of quarantined collections, and cleaning up after drops

	mu struct { // held for moments only
		sync.RWMutex
		byName      map[string]*collection
		quarantined map[string]*quarantined
		reopening   map[string]chan struct{} // closed when the collection has been reopened
		closed      bool
	}
}

var _ backend.Backend = (*Backend)(nil)

const _ = uint(store.MaxPassages - backend.MaxPassages) // the store takes as many

// indexFolder holds the derived indexes, a folder per collection.
const indexFolder = "indexes"

// storeOptions returns the options of a data folder's store. Where there are derived indexes, or
// files of the engine or of ingest, but no store, the store was lost: creating an empty one would
// hide that.
func storeOptions(mustExist bool) store.Options {
	return store.Options{MustExist: mustExist, Remains: []string{indexFolder, "snapshots", "ingest"}}
}

// Open is [OpenContext] without a context.
func Open(dir string, o Options) (*Backend, error) { return OpenContext(context.Background(), dir, o) }

// OpenContext opens the data folder and brings the derived indexes up to date. It creates a missing
// folder unless o.MustExist. If ctx ends first, the next opening continues where this one stopped.
func OpenContext(ctx context.Context, dir string, o Options) (*Backend, error) {
	st, err := store.Open(dir, storeOptions(o.MustExist))
	if err != nil {
		return nil, err
	}
	b := &Backend{dir: dir, store: st, caches: keyword.NewCaches(), notice: o.Notice, alarm: o.Alarm, rebuildFrom: o.RebuildFrom}
	b.closing = make(chan struct{})
	b.stop = sync.OnceFunc(func() { close(b.closing) })
	if b.rebuildFrom <= 0 {
		b.rebuildFrom = rebuildFrom
	}
	if b.notice == nil {
		b.notice = func(string) {}
	}
	if b.alarm == nil {
		b.alarm = b.notice
	}
	b.mu.byName, b.mu.quarantined, b.mu.reopening = map[string]*collection{}, map[string]*quarantined{}, map[string]chan struct{}{}
	if st.Created() {
		b.notice("new data folder " + dir)
	}
	if err := b.openAll(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Backend) openAll(ctx context.Context) error {
	list, err := b.store.Collections()
	var damaged *store.CollectionsError
	if err != nil && !errors.As(err, &damaged) {
		return err
	}
	known := map[string]bool{}
	for _, sc := range list {
		known[filepath.Base(b.folder(sc.ID))] = true
		stop := b.reportOpening(sc.Name)
		c, err := b.openCollection(ctx, sc, b.rebuildFrom)
		stop()
		switch {
		case err == nil:
			b.setCollection(sc.Name, c, nil)
		case errors.Is(err, store.ErrCorrupt), isNoSpace(err):
			b.setCollection(sc.Name, nil, b.quarantine(sc, err))
		default:
			return fmt.Errorf("collection %s: %w", sc.Name, err)
		}
	}
	if damaged != nil {
		for _, d := range damaged.Damaged {
			known[filepath.Base(b.folder(d.ID))] = true
			b.quarantineUnread(d)
		}
	}
	b.removeOrphans(known)
	return nil
}

// openingInterval is how often Open reports that it is still opening a collection.
var openingInterval = 10 * time.Second

// reportOpening reports now and then that a collection is being opened, until stop is called.
func (b *Backend) reportOpening(name string) (stop func()) {
	began, done := time.Now(), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		t := time.NewTicker(openingInterval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				b.notice(fmt.Sprintf("collection %s: being opened for %s", name, time.Since(began).Round(time.Second)))
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wait.Wait()
	}
}

// removeOrphans removes the indexes of collections that were dropped from the store when the
// program ended before it could remove these.
func (b *Backend) removeOrphans(known map[string]bool) {
	entries, err := os.ReadDir(filepath.Join(b.dir, indexFolder))
	if err != nil {
		return
	}
	for _, e := range entries {
		if !known[e.Name()] && !strings.Contains(e.Name(), quarantineMark) {
			b.notice("removing the indexes of a dropped collection: " + e.Name())
			os.RemoveAll(filepath.Join(b.dir, indexFolder, e.Name()))
		}
	}
}

// Close saves the graphs, so that the next opening has nothing to replay, and releases the folder.
func (b *Backend) Close() error {
	b.stop()
	b.changes.Lock()
	b.mu.Lock()
	closed := b.mu.closed
	b.mu.closed = true
	b.mu.Unlock()
	b.changes.Unlock()
	if closed {
		return nil
	}
	b.background.Wait()
	var errs []error
	for _, c := range b.mu.byName { // it no longer changes
		errs = append(errs, c.close())
	}
	return errors.Join(append(errs, b.store.Close())...)
}

// translate wraps errors of the store and of the keyword index in those of package backend.
func translate(err error) error {
	for _, pair := range [...]struct{ from, to error }{
		{store.ErrNoCollection, backend.ErrCollectionNotFound},
		{store.ErrExists, backend.ErrCollectionExists},
		{store.ErrCorrupt, backend.ErrDamaged},
		{store.ErrOutcomeUnknown, backend.ErrOutcomeUnknown},
		{store.ErrReadOnly, backend.ErrReadOnly},
		{store.ErrClosed, backend.ErrClosed},
		{store.ErrNoSpace, backend.ErrNoSpace},
		{store.ErrInvalid, backend.ErrInvalid},
		{keyword.ErrNoSpace, backend.ErrNoSpace},
		{keyword.ErrClosed, backend.ErrClosed},
	} {
		if errors.Is(err, pair.from) {
			return fmt.Errorf("%w: %w", pair.to, err)
		}
	}
	return err
}
