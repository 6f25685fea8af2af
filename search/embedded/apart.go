package embedded

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"searchd/index/keyword"
	"searchd/search/backend"
	"searchd/store"
)

// apart is a collection that cannot be opened because a stored value is damaged, or has indexes
// that cannot be opened now. It is listed and can be dropped.
type apart struct {
	id     uint32
	name   string
	config backend.Config
	damage string // which value, and what is wrong
	err    error  // what every other request gets; [backend.ErrDamaged]
}

// setApart notes why a collection cannot be opened.
func (b *Backend) setApart(sc store.Collection, err error) *apart {
	a := &apart{id: sc.ID, name: sc.Name, damage: b.damage(sc.ID, err)}
	if err := json.Unmarshal(sc.Settings, &a.config); sc.Settings != nil && err != nil {
		a.damage += fmt.Sprintf("; settings: %v", err)
	}
	b.notice(fmt.Sprintf("collection %s cannot be opened, the others can: %s", sc.Name, a.damage))
	a.err = &backend.DamagedError{Collection: sc.Name, Damage: a.damage}
	return a
}

// setApartUnopened is setApart of a collection of which nothing is damaged: there is no room for
// its indexes, for example. It is tried again until it can be opened, or is found to be damaged.
// The caller puts it in its place.
func (b *Backend) setApartUnopened(sc store.Collection, err error) *apart {
	a := &apart{id: sc.ID, name: sc.Name, damage: fmt.Sprintf("nothing is lost, but its indexes could not be opened, which is tried again: %v", err)}
	_ = json.Unmarshal(sc.Settings, &a.config)
	a.err = &backend.DamagedError{Collection: sc.Name, Damage: a.damage}
	b.alarm(fmt.Sprintf("collection %s cannot be opened, the others can: %s", sc.Name, a.damage))
	b.again.Go(func() { b.openAgain(a) })
	return a
}

// openAgain opens a collection that was set apart, less and less often until it can be, another
// change comes first, or the backend closes.
func (b *Backend) openAgain(a *apart) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.again.Go(func() {
		select {
		case <-b.closing:
			cancel()
		case <-ctx.Done():
		}
	})
	for wait := reopenFirst; ; wait = min(2*wait, reopenMost) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		done, err := b.begin(ctx, a.name)
		if err != nil {
			return
		}
		again := b.openOnce(ctx, a)
		done()
		if !again {
			return
		}
	}
}

// openOnce is one attempt of openAgain and reports whether there is to be another. The caller has
// begun a change of the name.
func (b *Backend) openOnce(ctx context.Context, a *apart) (again bool) {
	b.mu.RLock()
	still := b.mu.apart[a.name] == a
	b.mu.RUnlock()
	if !still {
		return false
	}
	sc, err := b.store.CollectionByID(a.id)
	var c *collection
	if err == nil {
		c, err = b.openCollection(ctx, sc, min(b.rebuildFrom, changeFrom))
	}
	if err != nil && ctx.Err() != nil {
		return false
	}
	if errors.Is(err, store.ErrCorrupt) {
		damaged := b.setApart(store.Collection{ID: a.id, Name: a.name}, err)
		damaged.config = a.config
		b.mu.Lock()
		b.mu.apart[a.name] = damaged
		b.mu.Unlock()
		return false
	}
	if err != nil {
		b.notice(fmt.Sprintf("collection %s cannot be opened yet: %v", a.name, err))
		return true
	}
	b.mu.Lock()
	delete(b.mu.apart, a.name)
	b.mu.byName[a.name] = c
	b.mu.Unlock()
	c.tell("it is opened")
	return false
}

// noRoom reports whether a full disk is why something failed.
func noRoom(err error) bool {
	for _, e := range []error{keyword.ErrNoSpace, store.ErrNoSpace, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// setApartUnread is setApart of a collection of which the record itself is damaged. One whose name
// cannot be read either gets one.
func (b *Backend) setApartUnread(d store.DamagedCollection) {
	b.mu.RLock()
	name := d.Name
	for n := ""; name == "" || b.mu.byName[name] != nil || b.mu.apart[name] != nil; n += "x" {
		name = fmt.Sprintf("damaged-%d%s", d.ID, n)
	}
	b.mu.RUnlock()
	a := b.setApart(store.Collection{ID: d.ID, Name: name}, d.Err)
	b.mu.Lock()
	b.mu.apart[name] = a
	b.mu.Unlock()
}

// damage says which document a corrupt record belongs to.
func (b *Backend) damage(collection uint32, err error) string {
	var ce *store.CorruptError
	if !errors.As(err, &ce) {
		return err.Error()
	}
	var no uint32
	var id, part string
	viewErr := b.store.View(context.Background(), collection, func(tx *store.Tx) error {
		no, id, part = tx.Owner(ce)
		return nil
	})
	switch {
	case viewErr != nil || no == 0:
		return err.Error()
	case id == "":
		return fmt.Sprintf("document number %d, %s: %v", no, part, err)
	}
	return fmt.Sprintf("document %q, %s: %v", id, part, err)
}

// setApartNow returns the collections that cannot be opened, by name.
func (b *Backend) setApartNow() []*apart {
	b.mu.RLock()
	defer b.mu.RUnlock()
	list := make([]*apart, 0, len(b.mu.apart))
	for _, a := range b.mu.apart {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *apart) int { return cmp.Compare(a.name, b.name) })
	return list
}
