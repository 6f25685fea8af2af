// Package embedded is the default backend: documents and vectors in bbolt, which alone is the
// truth, an HNSW graph and a bleve index beside it, both derived.
//
// Invariants:
//  1. A write is acknowledged when bbolt has committed it, never before.
//  2. Each derived index records the sequence number up to which it has applied every change: it
//     may be behind, never ahead, never with holes. Opening replays what is missing from the change
//     log. A document that the mapping refuses is told and left out.
//  3. A derived index that cannot be read, or belongs to another store, is set aside and rebuilt
//     from bbolt; it is never repaired in place.
//  4. What a derived index finds is fetched from bbolt before it is shown: a stale index shows no
//     deleted text. What it lacks while it is rebuilt, or cannot write, is found in bbolt, or, for
//     words, missed with a notice.
//  5. A document with a damaged value is told and left out until it is written again. A collection
//     that needs a damaged value of bbolt to open, its record in the catalog for one, is set apart:
//     the others serve, and it can be listed and dropped.
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

	"searchd/index/keyword"
	"searchd/search/backend"
	"searchd/store"
)

// Options of [Open]. The zero value is the documented default.
type Options struct {
	Notice func(text string) // told of repairs and rebuilds, from any goroutine; default: nobody
	Alarm  func(text string) // told of what an operator must look at; default: Notice

	// RebuildFrom is how many passages, or documents, an index may lack for the opening to wait for
	// them. What lacks more is filled while the collection serves. 0: 20,000.
	RebuildFrom int

	MustExist bool // a folder without a store is refused, with store.ErrNoStore, instead of getting one
}

// Backend keeps everything in one data folder. It is safe for concurrent use.
type Backend struct {
	dir    string
	store  *store.Store
	notice func(text string)
	alarm  func(text string)

	rebuildFrom int

	names   nameLocks    // one change of what a name leads to at a time
	changes sync.RWMutex // held for reading by what makes, changes or drops a collection, so that Close waits for it

	closing chan struct{}  // closed by Close
	stop    func()         // closes it
	again   sync.WaitGroup // for openAgain, and what a drop leaves to do

	mu struct { // held for moments only
		sync.RWMutex
		byName map[string]*collection
		apart  map[string]*apart        // those that cannot be opened
		moving map[string]chan struct{} // names whose collection is being opened anew; closed when that is done
		closed bool
	}
}

var _ backend.Backend = (*Backend)(nil)

// indexFolder holds the derived indexes, a folder per collection.
const indexFolder = "indexes"

// storeOptions are those of a data folder. Beside its store it has the derived indexes, and what
// the engine and ingest keep there: where they are, a missing store was lost, and an empty one in
// its place would only hide it.
func storeOptions(mustExist bool) store.Options {
	return store.Options{MustExist: mustExist, Remains: []string{indexFolder, "snapshots", "ingest"}}
}

// Open opens the data folder, made if it is missing unless o.MustExist, and brings the derived
// indexes up to date.
func Open(dir string, o Options) (*Backend, error) { return OpenContext(context.Background(), dir, o) }

// OpenContext is Open that the end of ctx stops; the next opening goes on.
func OpenContext(ctx context.Context, dir string, o Options) (*Backend, error) {
	st, err := store.Open(dir, storeOptions(o.MustExist))
	if err != nil {
		return nil, err
	}
	b := &Backend{dir: dir, store: st, notice: o.Notice, rebuildFrom: o.RebuildFrom}
	b.closing = make(chan struct{})
	b.stop = sync.OnceFunc(func() { close(b.closing) })
	if b.rebuildFrom <= 0 {
		b.rebuildFrom = rebuildFrom
	}
	if b.notice == nil {
		b.notice = func(string) {}
	}
	b.mu.byName, b.mu.apart, b.mu.moving = map[string]*collection{}, map[string]*apart{}, map[string]chan struct{}{}
	if st.Created() {
		b.notice("new data folder " + dir)
	}
	if b.alarm = o.Alarm; b.alarm == nil {
		b.alarm = b.notice
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
		opened := b.tellOpening(sc.Name)
		c, err := b.openCollection(ctx, sc, b.rebuildFrom)
		opened()
		var a *apart
		switch {
		case errors.Is(err, store.ErrCorrupt):
			a = b.setApart(sc, err)
		case noRoom(err):
			a = b.setApartUnopened(sc, err)
		case err != nil:
			return fmt.Errorf("collection %s: %w", sc.Name, err)
		}
		b.mu.Lock() // openAgain looks
		if a != nil {
			b.mu.apart[sc.Name] = a
		} else {
			b.mu.byName[sc.Name] = c
		}
		b.mu.Unlock()
	}
	if damaged != nil {
		for _, d := range damaged.Damaged {
			known[filepath.Base(b.folder(d.ID))] = true
			b.setApartUnread(d)
		}
	}
	b.removeOrphans(known)
	return nil
}

// openingTold is how often it is told that a collection is still being opened.
var openingTold = 10 * time.Second

// tellOpening tells that a collection is being opened for as long as it takes, until it is stopped.
func (b *Backend) tellOpening(name string) (stop func()) {
	began, done := time.Now(), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		t := time.NewTicker(openingTold)
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

// removeOrphans removes the indexes of collections that were dropped when the program ended between
// the two steps of a drop.
func (b *Backend) removeOrphans(known map[string]bool) {
	entries, err := os.ReadDir(filepath.Join(b.dir, indexFolder))
	if err != nil {
		return
	}
	for _, e := range entries {
		if !known[e.Name()] && !strings.Contains(e.Name(), setAsideMark) {
			b.notice("removing the indexes of a dropped collection: " + e.Name())
			os.RemoveAll(filepath.Join(b.dir, indexFolder, e.Name()))
		}
	}
}

// Close saves the graphs, so that the next opening need not replay, and releases the folder.
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
	b.again.Wait()
	var errs []error
	for _, c := range b.mu.byName { // nobody changes it any more
		errs = append(errs, c.close())
	}
	return errors.Join(append(errs, b.store.Close())...)
}

// translate gives the errors of the store and of the keyword index the names that they have in
// package backend.
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
