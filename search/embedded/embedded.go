// Package embedded is the default backend: documents and vectors in bbolt, which alone is the truth, an HNSW graph and a
// bleve index beside it, both derived.
//
// Invariants:
//  1. A write is acknowledged when bbolt has committed it, never before.
//  2. Each derived index records the sequence number that it has applied. Opening replays what is missing from the change log.
//  3. A derived index that cannot be read, or belongs to another store, is set aside and rebuilt from bbolt; it is never repaired in place.
//  4. What a derived index finds is fetched from bbolt before it is shown: a stale index shows no deleted text.
//     What it lacks while it is rebuilt, or cannot write, is found in bbolt, or, for words, missed with a notice.
//  5. The change log is trimmed only below what every derived index has made durable.
package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"searchd/search/backend"
	"searchd/store"
)

// Options of [Open]. The zero value is the documented default.
type Options struct {
	Notice func(text string) // told of repairs and rebuilds, from any goroutine; default: nobody
	Alarm  func(text string) // told of what an operator must look at; default: Notice

	// RebuildFrom is how many passages, or documents, an index may lack for the opening to wait for them. What lacks more is
	// filled while the collection serves. 0: 20,000.
	RebuildFrom int
}

// Backend keeps everything in one data folder. It is safe for concurrent use.
type Backend struct {
	dir    string
	store  *store.Store
	notice func(text string)
	alarm  func(text string)

	rebuildFrom int

	mu struct {
		sync.RWMutex
		byName map[string]*collection
		closed bool
	}
}

var (
	_ backend.Backend = (*Backend)(nil)
	_ backend.Values  = (*Backend)(nil)
)

// indexFolder holds the derived indexes, a folder per collection.
const indexFolder = "indexes"

// Open opens the data folder, made if it is missing, and brings the derived indexes up to date.
func Open(dir string, o Options) (*Backend, error) {
	st, err := store.Open(dir, store.Options{})
	if err != nil {
		return nil, err
	}
	b := &Backend{dir: dir, store: st, notice: o.Notice, rebuildFrom: o.RebuildFrom}
	if b.rebuildFrom <= 0 {
		b.rebuildFrom = rebuildFrom
	}
	if b.notice == nil {
		b.notice = func(string) {}
	}
	if b.alarm = o.Alarm; b.alarm == nil {
		b.alarm = b.notice
	}
	b.mu.byName = map[string]*collection{}
	if err := b.openAll(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Backend) openAll() error {
	list, err := b.store.Collections()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, sc := range list {
		c, err := b.openCollection(context.Background(), sc)
		if err != nil {
			return fmt.Errorf("collection %s: %w", sc.Name, err)
		}
		b.mu.byName[sc.Name] = c
		known[filepath.Base(c.dir)] = true
	}
	b.removeOrphans(known)
	return nil
}

// removeOrphans removes the indexes of collections that were dropped when the program ended between the two steps of a drop.
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.closed {
		return nil
	}
	b.mu.closed = true
	var errs []error
	for _, c := range b.mu.byName {
		errs = append(errs, c.close())
	}
	return errors.Join(append(errs, b.store.Close())...)
}

// collection returns an open collection by name, and keeps its indexes open until release is called.
func (b *Backend) collection(name string) (c *collection, release func(), err error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.mu.closed {
		return nil, nil, fmt.Errorf("%w: closed", backend.ErrReadOnly)
	}
	c = b.mu.byName[name]
	if c == nil {
		return nil, nil, fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, name)
	}
	c.use.RLock()
	return c, c.use.RUnlock, nil
}

// checkConfig checks what nothing else would.
func checkConfig(config backend.Config) error {
	switch q := config.Quantize; q {
	case "", backend.QuantizeNone, backend.QuantizeInt8:
		return nil
	default:
		return fmt.Errorf("%w: quantize is %q, want %s or %s", backend.ErrInvalid, q, backend.QuantizeNone, backend.QuantizeInt8)
	}
}

// Create makes a collection.
func (b *Backend) Create(ctx context.Context, name string, config backend.Config) error {
	if err := checkConfig(config); err != nil {
		return err
	}
	settings, err := json.Marshal(config)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.byName[name] != nil {
		return fmt.Errorf("%w: %q", backend.ErrCollectionExists, name)
	}
	sc, err := b.store.CreateCollectionAt(ctx, name, settings, config.FirstSequence)
	if err != nil {
		return translate(err)
	}
	c, err := b.openCollection(ctx, sc)
	if err != nil {
		return errors.Join(err, b.store.DropCollection(ctx, sc.ID))
	}
	b.mu.byName[name] = c
	return nil
}

// Update replaces the config of a collection. Indexes whose settings changed are rebuilt.
func (b *Backend) Update(ctx context.Context, name string, config backend.Config) error {
	if err := checkConfig(config); err != nil {
		return err
	}
	settings, err := json.Marshal(config)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.mu.byName[name]
	if c == nil {
		return fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, name)
	}
	sc, err := b.store.UpdateCollection(ctx, c.id, settings)
	if err != nil {
		return translate(err)
	}
	if err := c.close(); err != nil {
		c.tell("closing the indexes before an update: %v", err)
	}
	next, err := b.openCollection(ctx, sc)
	if err != nil {
		delete(b.mu.byName, name)
		return err
	}
	b.mu.byName[name] = next
	return nil
}

// Drop removes a collection: first from the store, then its indexes.
func (b *Backend) Drop(ctx context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.mu.byName[name]
	if c == nil {
		return fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, name)
	}
	if err := b.store.DropCollection(ctx, c.id); err != nil {
		return translate(err)
	}
	delete(b.mu.byName, name)
	c.discard()
	return os.RemoveAll(c.dir)
}

// Collections describes all collections, by name.
func (b *Backend) Collections(ctx context.Context) ([]backend.Collection, error) {
	b.mu.RLock()
	names := make([]string, 0, len(b.mu.byName))
	for name := range b.mu.byName {
		names = append(names, name)
	}
	b.mu.RUnlock()
	sort.Strings(names)
	out := make([]backend.Collection, 0, len(names))
	for _, name := range names {
		c, err := b.Collection(ctx, name)
		if errors.Is(err, backend.ErrCollectionNotFound) {
			continue // dropped since
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Collection describes a collection.
func (b *Backend) Collection(_ context.Context, name string) (backend.Collection, error) {
	c, release, err := b.collection(name)
	if err != nil {
		return backend.Collection{}, err
	}
	defer release()
	documents, passages, seq := c.counts()
	return backend.Collection{Name: name, Config: c.config, Documents: documents, Passages: passages, Sequence: seq}, nil
}

// translate gives the store's errors the seam's names.
func translate(err error) error {
	for _, pair := range [...]struct{ from, to error }{
		{store.ErrNoCollection, backend.ErrCollectionNotFound},
		{store.ErrExists, backend.ErrCollectionExists},
		{store.ErrReadOnly, backend.ErrReadOnly},
		{store.ErrNoSpace, backend.ErrNoSpace},
		{store.ErrInvalid, backend.ErrInvalid},
	} {
		if errors.Is(err, pair.from) {
			return fmt.Errorf("%w: %w", pair.to, err)
		}
	}
	return err
}
