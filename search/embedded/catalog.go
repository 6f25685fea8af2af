package embedded

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// Creating, changing or dropping a collection holds the lock of its name from beginning to end, and
// Backend.mu for moments only, so that other collections answer meanwhile. Once the store has
// committed such a change, it is finished whether or not its context has ended: the name then leads
// to what the store has, or to the reason why that cannot be opened.

// changeFrom is how many passages, or documents, an index may lack for a change of settings to add
// them before it returns, which delays searches of the collection by some tenths of a second.
const changeFrom = 1000

// usePoll is how often a call looks whether the keyword index has been replaced.
const usePoll = 2 * time.Millisecond

// nameLocks are locks by name.
type nameLocks struct {
	mu struct {
		sync.Mutex
		locked map[string]chan struct{} // closed on unlock
	}
}

// lock waits for the lock of a name, or for the end of ctx.
func (l *nameLocks) lock(ctx context.Context, name string) (unlock func(), err error) {
	mine := make(chan struct{})
	for {
		l.mu.Lock()
		other := l.mu.locked[name]
		if other == nil {
			if l.mu.locked == nil {
				l.mu.locked = map[string]chan struct{}{}
			}
			l.mu.locked[name] = mine
		}
		l.mu.Unlock()
		if other == nil {
			break
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.mu.locked, name)
		close(mine)
	}, nil
}

// begin waits until the caller may create, change or drop a collection, until it calls done.
func (b *Backend) begin(ctx context.Context, name string) (done func(), err error) {
	unlock, err := b.names.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	b.changes.RLock()
	done = func() {
		b.changes.RUnlock()
		unlock()
	}
	if _, _, err := b.lookup(name); errors.Is(err, backend.ErrClosed) {
		done()
		return nil, err
	}
	return done, nil
}

// collection returns an open collection by name, and keeps its indexes open until release is
// called. It waits while the collection is reopened or its keyword index is replaced.
func (b *Backend) collection(ctx context.Context, name string) (c *collection, release func(), err error) {
	for {
		b.mu.RLock()
		c, q, reopening, closed := b.mu.byName[name], b.mu.quarantined[name], b.mu.reopening[name], b.mu.closed
		inUse := c != nil && reopening == nil && !closed && c.use.TryRLock() // waiting here would hold b.mu
		b.mu.RUnlock()
		switch {
		case closed:
			return nil, nil, backend.ErrClosed
		case q != nil && reopening == nil:
			return nil, nil, q.err
		case c == nil && reopening == nil:
			return nil, nil, fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, name)
		case inUse:
			return c, c.use.RUnlock, nil
		}
		var poll <-chan time.Time
		if reopening == nil {
			poll = time.After(usePoll)
		}
		select {
		case <-reopening:
		case <-poll:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// lookup returns the open or the quarantined collection of a name. The indexes of an open one may
// be closed at any time.
func (b *Backend) lookup(name string) (*collection, *quarantined, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	c, q := b.mu.byName[name], b.mu.quarantined[name]
	switch {
	case b.mu.closed:
		return nil, nil, backend.ErrClosed
	case c == nil && q == nil:
		return nil, nil, fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, name)
	}
	return c, q, nil
}

// number returns the number of a collection, open or quarantined.
func (b *Backend) number(name string) (uint32, error) {
	c, q, err := b.lookup(name)
	switch {
	case err != nil:
		return 0, err
	case q != nil:
		return q.id, nil
	}
	return c.id, nil
}

// setCollection makes a name lead to an open collection, to a quarantined one, or to none.
func (b *Backend) setCollection(name string, c *collection, q *quarantined) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.mu.byName, name)
	delete(b.mu.quarantined, name)
	if c != nil {
		b.mu.byName[name] = c
	}
	if q != nil {
		b.mu.quarantined[name] = q
	}
	if done := b.mu.reopening[name]; done != nil {
		delete(b.mu.reopening, name)
		close(done)
	}
}

// folder returns the folder of a collection's indexes.
func (b *Backend) folder(id uint32) string {
	return filepath.Join(b.dir, indexFolder, fmt.Sprintf("%08x", id))
}

// Configure creates a collection, or replaces the config of one. Indexes whose settings changed are
// rebuilt, large ones in the background.
func (b *Backend) Configure(ctx context.Context, r backend.ConfigureRequest) error {
	switch r.Config.Quantize {
	case "", backend.QuantizeNone, backend.QuantizeInt8:
	default:
		return fmt.Errorf("%w: quantize is %q, want %s or %s", backend.ErrInvalid, r.Config.Quantize, backend.QuantizeNone, backend.QuantizeInt8)
	}
	settings, err := json.Marshal(r.Config)
	if err != nil {
		return err
	}
	done, err := b.begin(ctx, r.Collection)
	if err != nil {
		return err
	}
	defer done()
	id, err := b.number(r.Collection)
	switch {
	case !r.Create && err != nil:
		return err
	case r.Create && err == nil:
		return fmt.Errorf("%w: %q", backend.ErrCollectionExists, r.Collection)
	case r.Create:
		return b.create(ctx, r, settings)
	}
	sc, err := b.store.UpdateCollection(ctx, id, settings)
	if err != nil {
		return translate(err)
	}
	return b.reopen(context.WithoutCancel(ctx), sc)
}

// create creates a collection with settings that encode r.Config.
func (b *Backend) create(ctx context.Context, r backend.ConfigureRequest, settings []byte) error {
	sc, err := b.store.CreateCollection(ctx, r.Collection, settings, r.Config.FirstSequence)
	if err != nil {
		return translate(err)
	}
	ctx = context.WithoutCancel(ctx)
	c, err := b.openCollection(ctx, sc, b.rebuildFrom)
	if err == nil {
		b.setCollection(sc.Name, c, nil)
		return nil
	}
	dropErr := b.store.DropCollection(ctx, sc.ID)
	if err = errors.Join(translate(err), dropErr); dropErr == nil {
		return errors.Join(err, os.RemoveAll(b.folder(sc.ID)))
	}
	b.setCollection(sc.Name, nil, b.quarantine(sc, err))
	return err
}

// reopen opens a collection with its new settings in the place of the open one, if there is one.
// Calls wait meanwhile, unless the indexes are the same with these settings.
func (b *Backend) reopen(ctx context.Context, sc store.Collection) error {
	old, _, err := b.lookup(sc.Name)
	if err == nil && old != nil {
		if config, err := readConfig(sc); err == nil && sameIndexes(*old.config.Load(), *config) {
			old.setConfig(config)
			return nil
		}
	}
	b.mu.Lock()
	b.mu.reopening[sc.Name] = make(chan struct{})
	b.mu.Unlock()
	if old != nil {
		if err := old.close(); err != nil {
			old.notify("closing the indexes before an update: %v", err)
		}
	}
	c, err := b.openCollection(ctx, sc, min(b.rebuildFrom, changeFrom))
	if err == nil {
		b.setCollection(sc.Name, c, nil)
		return nil
	}
	q := b.quarantine(sc, err)
	b.setCollection(sc.Name, nil, q)
	if errors.Is(err, store.ErrCorrupt) {
		return q.err
	}
	return translate(err)
}

// Drop removes a collection from the store, and its indexes once the calls that use them have
// ended. It does not wait for these.
func (b *Backend) Drop(ctx context.Context, name string) error {
	done, err := b.begin(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	id, err := b.number(name)
	if err != nil {
		return err
	}
	if err := b.store.DropCollection(ctx, id); err != nil {
		return translate(err)
	}
	c, _, err := b.lookup(name)
	b.setCollection(name, nil, nil)
	if err != nil || c == nil {
		return os.RemoveAll(b.folder(id))
	}
	if c.use.TryLock() { // no call begins any more
		c.use.Unlock()
		c.discard()
		return os.RemoveAll(c.dir)
	}
	b.background.Go(func() {
		c.discard()
		if err := os.RemoveAll(c.dir); err != nil {
			c.notify("cannot remove the indexes of a dropped collection, the next start tries again: %v", err)
		}
	})
	return nil
}

// Collections describes all collections, by name; those that cannot be opened come last.
func (b *Backend) Collections(context.Context) ([]backend.Collection, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.mu.closed {
		return nil, backend.ErrClosed
	}
	var out []backend.Collection
	for _, c := range b.mu.byName {
		out = append(out, b.describe(c))
	}
	for _, q := range b.mu.quarantined {
		out = append(out, backend.Collection{Name: q.name, Config: q.config, Damaged: q.reason, Origin: b.origin()})
	}
	slices.SortFunc(out, func(a, b backend.Collection) int {
		if open := a.Damaged == ""; open != (b.Damaged == "") {
			if open {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return out, nil
}

// Open describes a collection, with statistics of the words of a query.
func (b *Backend) Open(ctx context.Context, r backend.OpenRequest) (out backend.OpenResponse, err error) {
	c, q, err := b.lookup(r.Collection)
	if err != nil {
		return out, err
	}
	if q != nil {
		return out, q.err
	}
	if out.Collection = b.describe(c); r.Words == nil {
		return out, nil
	}
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	defer release()
	statistics, err := c.keyword.Statistics(ctx, c.query(*r.Words))
	out.Statistics = (*backend.Statistics)(&statistics)
	return out, queryError(err)
}

func (b *Backend) describe(c *collection) backend.Collection {
	documents, passages, seq := c.counts()
	return backend.Collection{Name: c.name, Config: *c.config.Load(), Documents: documents, Passages: passages, Sequence: seq, DamagedDocuments: c.damage.count(), Origin: b.origin()}
}

// origin returns the id of the store, which the sequence numbers belong to. A restored backup has
// another.
func (b *Backend) origin() string {
	id := b.store.ID()
	return hex.EncodeToString(id[:])
}
