package embedded

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/keyword"
	"example.com/searchd/store"
)

// A keyword index that could not write, as when the disk is full, takes no more changes until it is
// opened again:
//
//  1. Searches go on over what it has. The documents whose changes it lacks are noted as stale:
//     what it has of these is ignored, and answers are marked as partial.
//  2. It is opened a second time beside the first, soon and then less and less often, and gets what
//     it lacks from the change log. One that cannot be opened, or needs changes that the log no
//     longer has, is rebuilt.
//  3. When it has all changes on the disk, it replaces the first.

// Times between the attempts to open a keyword index again.
const (
	reopenFirst = time.Second
	reopenMost  = time.Minute
)

// applyKeyword applies changes to the keyword index, or notes the documents as stale. The caller
// holds c.write.
func (c *collection) applyKeyword(ctx context.Context, entries []keyword.Entry, seq uint64) error {
	err := c.keyword.Apply(ctx, entries, seq)
	if !errors.Is(err, keyword.ErrBroken) {
		return err
	}
	stale := roaring.New()
	if s := c.stale.Load(); s != nil {
		stale = s.Clone() // readers have the old one
	}
	for _, e := range entries {
		stale.Add(e.No)
	}
	c.stale.Store(stale)
	return nil
}

// noteStale notes that the keyword index, which cannot write, may lack the changes after seq.
func (c *collection) noteStale(ctx context.Context, seq uint64) error {
	stale := roaring.New()
	err := c.store.Changes(ctx, c.id, seq, func(ch store.Change) error {
		stale.Add(ch.No)
		return nil
	})
	if err == nil {
		c.stale.Store(stale)
	}
	return err
}

// partial reports whether the keyword index may lack documents.
func (c *collection) partial() bool { return c.rebuild.keyword.Load() || c.stale.Load() != nil }

// withoutStale returns the documents of a set (nil: all) that are not stale, nil for all.
func (c *collection) withoutStale(ctx context.Context, docs *roaring.Bitmap) (*roaring.Bitmap, error) {
	stale := c.stale.Load()
	if stale == nil {
		return docs, nil
	}
	if docs != nil {
		return roaring.AndNot(docs, stale), nil
	}
	all, err := c.keyword.Filter(ctx, nil)
	if err == nil {
		all.AndNot(stale)
	}
	return all, err
}

// repairKeyword opens the keyword index again whenever it could not write, until ctx ends.
func (c *collection) repairKeyword(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.keyword.Broken(): // only this goroutine replaces it
		}
		c.warn("the keyword index cannot write and will be reopened; until then keyword search, filters and facets may lack recent writes: %v", c.keyword.Err())
		for wait := c.reopenFirst; ; wait = min(2*wait, reopenMost) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			err := c.reopenKeyword(ctx)
			if err == nil {
				break
			}
			if ctx.Err() == nil {
				c.notify("the keyword index cannot be reopened yet: %v", err)
			}
		}
	}
}

// reopenKeyword replaces a keyword index that cannot write by one that can.
func (c *collection) reopenKeyword(ctx context.Context) error {
	c.keyword.Release()
	x, err := keyword.Open(filepath.Join(c.dir, keywordFolder), c.keywordOptions())
	if err == nil {
		if err = c.catchUp(ctx, x); err == nil {
			c.notify("the keyword index works again")
			return nil
		}
		if closeErr := x.Close(); closeErr != nil {
			c.notify("closing a keyword index: %v", closeErr)
		}
	}
	if !unusable(err) {
		return err
	}
	if x, err = c.emptyKeyword(err); err != nil {
		return err
	}
	c.write.Lock()
	c.rebuild.keyword.Store(true) // before stale is cleared: one of both marks answers as partial
	c.rebuild.added.Store(0)
	c.write.Unlock()
	if err := c.replaceKeyword(x, func() error { return nil }); err != nil {
		return err
	}
	c.fillKeyword(ctx)
	return nil
}

// catchUp gives x the changes that it lacks and replaces c.keyword by it.
func (c *collection) catchUp(ctx context.Context, x *keyword.Index) error {
	if x.Seq() == 0 && c.rebuild.keyword.Load() {
		return store.ErrTrimmed // it was being filled
	}
	replay := func() error { return c.replayKeyword(ctx, x, x.Seq()) }
	if err := errors.Join(replay(), x.Sync(ctx)); err != nil {
		return err
	}
	// Few changes have come meanwhile. Replaying them here, while only writers wait, leaves less to
	// do while searches wait, and lets a check end first.
	c.write.Lock()
	err := replay()
	c.write.Unlock()
	if err != nil {
		return err
	}
	if err := c.replaceKeyword(x, replay); err != nil {
		return err
	}
	c.rebuild.keyword.Store(false) // the former index may have broken with its last document
	return nil
}

// replaceKeyword waits until nobody uses c.keyword, calls last, replaces the index by x and closes
// it.
func (c *collection) replaceKeyword(x *keyword.Index, last func() error) error {
	c.use.Lock()
	c.write.Lock()
	err := last()
	old := c.keyword
	if err == nil {
		c.keyword = x
		c.stale.Store(nil)
	}
	c.write.Unlock()
	c.use.Unlock()
	if err != nil {
		return err
	}
	if err := old.Close(); err != nil {
		c.notify("closing the keyword index that could not write: %v", err)
	}
	return nil
}
