package embedded

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/index/keyword"
	"searchd/store"
)

// A keyword index that could not write, because the disk is full for example, takes no more changes
// until it is opened again:
//
//  1. Searches go on over what it held. The documents whose changes it lacks are noted: what it
//     says of these is left out, and the answers say that documents may be missing.
//  2. It is opened again beside that, soon and then less and less often, and given what it lacks
//     from the log of the store. One that cannot be opened, or needs changes that the log no longer
//     has, is filled anew as after a restart.
//  3. When it has all changes, and the disk has them, it takes the place of the old one.

// Times between the attempts to open a keyword index again.
const (
	reopenFirst = time.Second
	reopenMost  = time.Minute
)

// applyWords applies changes to the keyword index, or notes that it lacks them. The caller holds
// c.write.
func (c *collection) applyWords(ctx context.Context, entries []keyword.Entry, seq uint64) error {
	err := c.words.Apply(ctx, entries, seq)
	if !errors.Is(err, keyword.ErrBroken) {
		return err
	}
	missed := roaring.New()
	if m := c.missed.Load(); m != nil {
		missed = m.Clone() // readers have the old one
	}
	for _, e := range entries {
		missed.Add(e.No)
	}
	c.missed.Store(missed)
	return nil
}

// missSince notes that the keyword index, which cannot write, may lack the changes after seq.
func (c *collection) missSince(ctx context.Context, seq uint64) error {
	missed := roaring.New()
	err := c.store.Changes(ctx, c.id, seq, func(ch store.Change) error {
		missed.Add(ch.No)
		return nil
	})
	if err == nil {
		c.missed.Store(missed)
	}
	return err
}

// lacking reports whether the keyword index may lack documents.
func (c *collection) lacking() bool { return c.rebuild.words.Load() || c.missed.Load() != nil }

// known leaves out of allow (nil: all) the documents whose changes the keyword index lacks.
func (c *collection) known(ctx context.Context, allow *roaring.Bitmap) (*roaring.Bitmap, error) {
	missed := c.missed.Load()
	if missed == nil {
		return allow, nil
	}
	if allow != nil {
		return roaring.AndNot(allow, missed), nil
	}
	all, err := c.words.Filter(ctx, nil)
	if err == nil {
		all.AndNot(missed)
	}
	return all, err
}

// keepWords opens the keyword index again whenever it could not write, until ctx ends.
func (c *collection) keepWords(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.words.Broken(): // only this goroutine puts another in its place
		}
		c.alarm("the keyword index cannot write and is opened again when it can; until then searches by words, values and facets may lack what is written: %v", c.words.Err())
		for wait := c.reopenFirst; ; wait = min(2*wait, reopenMost) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			err := c.reopenWords(ctx)
			if err == nil {
				break
			}
			if ctx.Err() == nil {
				c.tell("the keyword index cannot be opened again yet: %v", err)
			}
		}
	}
}

// reopenWords puts an index that can write in the place of one that cannot.
func (c *collection) reopenWords(ctx context.Context) error {
	c.words.Release()
	x, err := keyword.Open(filepath.Join(c.dir, wordsFolder), c.wordOptions())
	if err == nil {
		err = c.catchUp(ctx, x)
		if err == nil {
			c.tell("the keyword index works again")
			return nil
		}
		if closeErr := x.Close(); closeErr != nil {
			c.tell("closing a keyword index: %v", closeErr)
		}
	}
	if !c.unusable(err) {
		return err
	}
	if x, err = c.emptyWords(err); err != nil {
		return err
	}
	c.write.Lock()
	c.rebuild.words.Store(true) // before missed goes: one of both says that documents may be missing
	c.rebuild.added.Store(0)
	c.write.Unlock()
	if err := c.replaceWords(x, func() error { return nil }); err != nil {
		return err
	}
	c.fillWords(ctx)
	return nil
}

// unusable says whether an index that failed with err must be filled anew.
func (c *collection) unusable(err error) bool {
	if logDamaged(err) {
		return true
	}
	for _, e := range []error{store.ErrTrimmed, store.ErrAhead, keyword.ErrDamaged, keyword.ErrMismatch, syscall.ENOTDIR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// emptyWords opens an empty keyword index in the place of one that cannot be used. One that was
// being filled is not worth keeping.
func (c *collection) emptyWords(why error) (*keyword.Index, error) {
	out := c.setAside
	if c.rebuild.words.Load() {
		out = c.remove
	}
	if err := out(wordsFolder, why); err != nil {
		return nil, err
	}
	return keyword.Open(filepath.Join(c.dir, wordsFolder), c.wordOptions())
}

// catchUp gives x the changes that it lacks and lets it take the place of c.words.
func (c *collection) catchUp(ctx context.Context, x *keyword.Index) error {
	if x.Seq() == 0 && c.rebuild.words.Load() {
		return store.ErrTrimmed // it was being filled
	}
	replay := func() error { return c.replayWords(ctx, x, x.Seq()) }
	if err := errors.Join(replay(), x.Sync(ctx)); err != nil {
		return err
	}
	// What has come meanwhile is little. Waiting for writers here leaves less to do while searches
	// wait, and lets a check end first.
	c.write.Lock()
	err := replay()
	c.write.Unlock()
	if err != nil {
		return err
	}
	if err := c.replaceWords(x, replay); err != nil {
		return err
	}
	c.rebuild.words.Store(false) // it had its last document when it could not write any more
	return nil
}

// replaceWords puts x in the place of c.words once nobody uses that, after last has been done, and
// closes the old one.
func (c *collection) replaceWords(x *keyword.Index, last func() error) error {
	c.use.Lock()
	c.write.Lock()
	err := last()
	old := c.words
	if err == nil {
		c.words = x
		c.missed.Store(nil)
	}
	c.write.Unlock()
	c.use.Unlock()
	if err != nil {
		return err
	}
	if err := old.Close(); err != nil {
		c.tell("closing the keyword index that could not write: %v", err)
	}
	return nil
}
