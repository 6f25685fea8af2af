package embedded

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"searchd/search/backend"
	"searchd/store"
)

// What makes, changes or drops a collection holds the lock of its name from beginning to end, and
// that of all names for moments only: other collections answer meanwhile. From the store's commit
// on it does not end with its context: the name leads to what the store has, or says why it cannot
// be opened.

// changeFrom is how many passages, or documents, an index may lack for a change of settings to wait
// for them, and the searches of that collection with it: some tenths of a second. What lacks more
// is filled while the collection serves.
const changeFrom = 1000

// useLook is how often it is looked whether a keyword index has been replaced.
const useLook = 2 * time.Millisecond

// nameLocks are locks by name.
type nameLocks struct {
	mu struct {
		sync.Mutex
		held map[string]chan struct{} // closed when it is given back
	}
}

// lock waits for the lock of a name, or for the end of ctx.
func (l *nameLocks) lock(ctx context.Context, name string) (unlock func(), err error) {
	mine := make(chan struct{})
	for {
		l.mu.Lock()
		other := l.mu.held[name]
		if other == nil {
			if l.mu.held == nil {
				l.mu.held = map[string]chan struct{}{}
			}
			l.mu.held[name] = mine
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
		delete(l.mu.held, name)
		close(mine)
	}, nil
}

// begin takes the right to make, change or drop a collection, until done is called.
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
	if _, err := b.named(name); errors.Is(err, backend.ErrClosed) {
		done()
		return nil, err
	}
	return done, nil
}

// collection returns an open collection by name, and keeps its indexes open until release is
// called. It waits for one that is being opened anew, or whose keyword index is being replaced.
func (b *Backend) collection(ctx context.Context, name string) (c *collection, release func(), err error) {
	for {
		b.mu.RLock()
		c, moving, closed, damaged := b.mu.byName[name], b.mu.moving[name], b.mu.closed, b.mu.apart[name]
		inUse := c != nil && moving == nil && !closed && c.use.TryRLock() // who waits here keeps b.mu, and with it everybody else
		b.mu.RUnlock()
		switch {
		case closed:
			return nil, nil, backend.ErrClosed
		case damaged != nil && moving == nil:
			return nil, nil, damaged.err
		case c == nil && moving == nil:
			return nil, nil, fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, name)
		case inUse:
			return c, c.use.RUnlock, nil
		}
		var again <-chan time.Time
		if moving == nil {
			again = time.After(useLook)
		}
		select {
		case <-moving:
		case <-again:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// named returns a collection by name; only what needs no index may be asked of it.
func (b *Backend) named(name string) (*collection, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.mu.closed {
		return nil, backend.ErrClosed
	}
	if a := b.mu.apart[name]; a != nil {
		return nil, a.err
	}
	c := b.mu.byName[name]
	if c == nil {
		return nil, fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, name)
	}
	return c, nil
}

// number returns the number of a collection, one that could not be opened too.
func (b *Backend) number(name string) (uint32, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if a := b.mu.apart[name]; a != nil {
		return a.id, nil
	}
	if c := b.mu.byName[name]; c != nil {
		return c.id, nil
	}
	return 0, fmt.Errorf("%w: %q", backend.ErrCollectionNotFound, name)
}

// folder returns where the indexes of a collection are.
func (b *Backend) folder(id uint32) string {
	return filepath.Join(b.dir, indexFolder, fmt.Sprintf("%08x", id))
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

// beginWith is begin with a config that is checked, as the store keeps it.
func (b *Backend) beginWith(ctx context.Context, name string, config backend.Config) (settings []byte, done func(), err error) {
	if err = checkConfig(config); err != nil {
		return nil, nil, err
	}
	if settings, err = json.Marshal(config); err != nil {
		return nil, nil, err
	}
	done, err = b.begin(ctx, name)
	return settings, done, err
}

// Configure makes a collection, or gives one another config.
func (b *Backend) Configure(ctx context.Context, r backend.ConfigureRequest) error {
	if r.Create {
		return b.create(ctx, r.Collection, r.Config)
	}
	return b.update(ctx, r.Collection, r.Config)
}

// create makes a collection.
func (b *Backend) create(ctx context.Context, name string, config backend.Config) error {
	settings, done, err := b.beginWith(ctx, name, config)
	if err != nil {
		return err
	}
	defer done()
	if _, err := b.named(name); err == nil || errors.Is(err, backend.ErrDamaged) {
		return fmt.Errorf("%w: %q", backend.ErrCollectionExists, name)
	}
	sc, err := b.store.CreateCollectionAt(ctx, name, settings, config.FirstSequence)
	if err != nil {
		return translate(err)
	}
	ctx = context.WithoutCancel(ctx)
	c, err := b.openCollection(ctx, sc, b.rebuildFrom)
	var unopened *apart
	if err != nil {
		dropErr := b.store.DropCollection(ctx, sc.ID)
		if err = errors.Join(translate(err), dropErr); dropErr == nil {
			return errors.Join(err, os.RemoveAll(b.folder(sc.ID)))
		}
		unopened = b.setApartUnopened(sc, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if unopened != nil {
		b.mu.apart[name] = unopened
		return err
	}
	b.mu.byName[name] = c
	return nil
}

// update replaces the config of a collection. Indexes whose settings changed are rebuilt, large
// ones while the collection serves.
func (b *Backend) update(ctx context.Context, name string, config backend.Config) error {
	settings, done, err := b.beginWith(ctx, name, config)
	if err != nil {
		return err
	}
	defer done()
	id, err := b.number(name)
	if err != nil {
		return err
	}
	sc, err := b.store.UpdateCollection(ctx, id, settings)
	if err != nil {
		return translate(err)
	}
	return b.reopen(context.WithoutCancel(ctx), sc)
}

// reopen opens a collection with the settings that the store has now, in the place of the open one,
// if there is one. Who wants it meanwhile waits, unless the indexes are the same with these
// settings. One that cannot be opened is set apart.
func (b *Backend) reopen(ctx context.Context, sc store.Collection) error {
	if c, err := b.named(sc.Name); err == nil {
		if config, err := readConfig(sc); err == nil && indexedAs(*c.config.Load(), *config) {
			c.take(config)
			return nil
		}
	}
	moving := make(chan struct{})
	b.mu.Lock()
	old := b.mu.byName[sc.Name]
	b.mu.moving[sc.Name] = moving
	b.mu.Unlock()
	if old != nil {
		if err := old.close(); err != nil {
			old.tell("closing the indexes before an update: %v", err)
		}
	}
	next, err := b.openCollection(ctx, sc, min(b.rebuildFrom, changeFrom))
	var unopened *apart
	switch {
	case errors.Is(err, store.ErrCorrupt):
		unopened = b.setApart(sc, err)
		err = unopened.err
	case err != nil:
		unopened = b.setApartUnopened(sc, err)
		err = translate(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.mu.byName, sc.Name)
	delete(b.mu.apart, sc.Name)
	switch {
	case err == nil:
		b.mu.byName[sc.Name] = next
	default:
		b.mu.apart[sc.Name] = unopened
	}
	delete(b.mu.moving, sc.Name)
	close(moving)
	return err
}

// Drop removes a collection: first from the store, then its indexes, when the calls that use them
// have ended. It does not wait for these.
func (b *Backend) Drop(ctx context.Context, name string) error {
	done, err := b.begin(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	return b.drop(ctx, name)
}

// drop is Drop for a caller who has begun a change of the name.
func (b *Backend) drop(ctx context.Context, name string) error {
	id, err := b.number(name)
	if err != nil {
		return err
	}
	if err := b.store.DropCollection(ctx, id); err != nil {
		return translate(err)
	}
	b.mu.Lock()
	c := b.mu.byName[name]
	delete(b.mu.byName, name)
	delete(b.mu.apart, name)
	b.mu.Unlock()
	if c == nil {
		return os.RemoveAll(b.folder(id))
	}
	if c.use.TryLock() { // no call begins any more
		c.use.Unlock()
		c.discard()
		return os.RemoveAll(c.dir)
	}
	b.again.Go(func() {
		c.discard()
		if err := os.RemoveAll(c.dir); err != nil {
			c.tell("removing the indexes of a dropped collection, the next opening tries again: %v", err)
		}
	})
	return nil
}

// Collections describes all collections, by name; those that cannot be opened come last.
func (b *Backend) Collections(context.Context) ([]backend.Collection, error) {
	b.mu.RLock()
	open, unopened, closed := slices.Collect(maps.Values(b.mu.byName)), slices.Collect(maps.Values(b.mu.apart)), b.mu.closed
	b.mu.RUnlock()
	if closed {
		return nil, backend.ErrClosed
	}
	slices.SortFunc(open, func(a, b *collection) int { return cmp.Compare(a.name, b.name) })
	slices.SortFunc(unopened, func(a, b *apart) int { return cmp.Compare(a.name, b.name) })
	out := make([]backend.Collection, 0, len(open)+len(unopened))
	for _, c := range open {
		out = append(out, b.describe(c))
	}
	origin := b.origin()
	for _, a := range unopened {
		out = append(out, backend.Collection{Name: a.name, Config: a.config, Damaged: a.damage, Origin: origin})
	}
	return out, nil
}

// Open describes a collection, with statistics of the words of a query.
func (b *Backend) Open(ctx context.Context, r backend.OpenRequest) (out backend.OpenResponse, err error) {
	c, err := b.named(r.Collection)
	if err != nil {
		return out, err
	}
	if out.Collection = b.describe(c); r.Words == nil {
		return out, nil
	}
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	defer release()
	known, err := c.words.Statistics(ctx, c.query(*r.Words))
	out.Statistics = (*backend.Statistics)(&known)
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

// openNames returns the names of the open collections, in order.
func (b *Backend) openNames() []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Sorted(maps.Keys(b.mu.byName))
}
