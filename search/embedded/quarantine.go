package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// quarantined is a collection that cannot be opened: a stored value that it needs is damaged, or
// its indexes cannot be opened now. It can be listed and dropped.
type quarantined struct {
	id     uint32
	name   string
	config backend.Config
	reason string
	err    error // the answer to every other request; a [backend.DamagedError]
}

// quarantine reports that a collection cannot be opened and returns what the caller puts in its
// place. Where no stored value is damaged, as when the disk is full, opening is tried again in the
// background.
func (b *Backend) quarantine(sc store.Collection, cause error) *quarantined {
	q := &quarantined{id: sc.ID, name: sc.Name}
	err := json.Unmarshal(sc.Settings, &q.config)
	report := b.notice
	if errors.Is(cause, store.ErrCorrupt) {
		q.reason = cause.Error()
		if ce := (*store.CorruptError)(nil); errors.As(cause, &ce) {
			_, q.reason, _ = owner(b.store, sc.ID, nil, ce)
		}
		if sc.Settings != nil && err != nil {
			q.reason += fmt.Sprintf("; settings: %v", err)
		}
	} else {
		q.reason = fmt.Sprintf("nothing is lost, but its indexes could not be opened; will try again: %v", cause)
		report = b.alarm
		b.background.Go(func() { b.retryOpen(q) })
	}
	q.err = &backend.DamagedError{Collection: sc.Name, Damage: q.reason}
	report(fmt.Sprintf("collection %s cannot be opened, the others can: %s", sc.Name, q.reason))
	return q
}

// retryOpen tries to open a quarantined collection, less and less often, until it succeeds, the
// collection is changed or dropped, or the backend closes.
func (b *Backend) retryOpen(q *quarantined) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.background.Go(func() {
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
		done, err := b.begin(ctx, q.name)
		if err != nil {
			return
		}
		again := b.tryOpen(ctx, q)
		done()
		if !again {
			return
		}
	}
}

// tryOpen is one attempt of retryOpen and reports whether there is to be another. The caller has
// begun a change of the name.
func (b *Backend) tryOpen(ctx context.Context, q *quarantined) (again bool) {
	if _, now, _ := b.lookup(q.name); now != q {
		return false
	}
	sc, err := b.store.CollectionByID(q.id)
	var c *collection
	if err == nil {
		c, err = b.openCollection(ctx, sc, min(b.rebuildFrom, changeFrom))
	}
	switch {
	case err == nil:
		b.setCollection(q.name, c, nil)
		c.notify("it is opened")
	case ctx.Err() != nil:
	case errors.Is(err, store.ErrCorrupt):
		damaged := b.quarantine(store.Collection{ID: q.id, Name: q.name}, err)
		damaged.config = q.config
		b.setCollection(q.name, nil, damaged)
	default:
		b.notice(fmt.Sprintf("collection %s cannot be opened yet: %v", q.name, err))
		return true
	}
	return false
}

// isNoSpace reports whether a full disk is the cause of an error.
func isNoSpace(err error) bool {
	for _, e := range []error{keyword.ErrNoSpace, store.ErrNoSpace, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// quarantineUnread quarantines a collection whose record in the catalog is damaged, under a new
// name where its own cannot be read or is taken.
func (b *Backend) quarantineUnread(d store.DamagedCollection) {
	name := d.Name
	for n := ""; ; n += "x" {
		if _, _, err := b.lookup(name); name != "" && err != nil {
			break
		}
		name = fmt.Sprintf("damaged-%d%s", d.ID, n)
	}
	b.setCollection(name, nil, b.quarantine(store.Collection{ID: d.ID, Name: name}, d.Err))
}
