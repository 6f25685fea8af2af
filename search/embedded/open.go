package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"example.com/searchd/index/hnsw"
	"example.com/searchd/index/keyword"
	"example.com/searchd/search/mapping"
	"example.com/searchd/store"
)

// graphOptions returns the collection's settings as the graph takes them.
func (c *collection) graphOptions() hnsw.Options {
	config := c.config.Load()
	o := hnsw.Options{
		Dim: config.Dimension, Metric: hnsw.Cosine,
		M: config.M, EfConstruction: config.EfConstruction, EfSearch: config.EfSearch, TargetRecall: config.TargetRecall,
	}
	if c.source != nil {
		o.Quantize, o.Source = hnsw.QuantizeInt8, c.source
	}
	return o
}

// openGraph loads the graph's snapshot and replays the changes since, or rebuilds the graph from
// the stored vectors.
func (c *collection) openGraph(ctx context.Context) error {
	g, meta, err := hnsw.ReadSnapshot(filepath.Join(c.dir, graphFile), c.graphOptions())
	switch {
	case err == nil && meta.StoreID == c.store.ID():
		c.graph = g
		if err = c.replayGraph(ctx, meta.Seq); err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrTrimmed) && !errors.Is(err, store.ErrAhead) && !isLogDamage(err) {
			return err
		}
	case err == nil:
		err = errors.New("it belongs to another store")
	}
	if err := c.quarantineIndex(graphFile, err); err != nil {
		return err
	}
	return c.rebuildGraph(ctx)
}

// replayGraph applies the changes after seq.
func (c *collection) replayGraph(ctx context.Context, seq uint64) error {
	var added []uint32
	without := 0 // changes without new slots
	err := c.store.Changes(ctx, c.id, seq, func(ch store.Change) error {
		for _, s := range ch.OldSlots {
			c.graph.Delete(s)
		}
		if added = append(added, ch.NewSlots...); len(ch.NewSlots) == 0 {
			without++
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.write.unsaved = len(added) + without
	if len(added) == 0 {
		return nil
	}
	return c.addSlots(ctx, slices.Min(added), len(added))
}

// addSlots adds the n slots that the graph lacks, from a slot on. Many are left to the background.
func (c *collection) addSlots(ctx context.Context, from uint32, n int) error {
	s := &span{until: c.slots.end()}
	s.from.Store(from)
	if n > c.rebuildFrom {
		c.rebuild.graph.Store(s)
		return nil
	}
	return c.addSpan(ctx, s, 0)
}

// rebuildGraph builds the graph from all stored vectors.
func (c *collection) rebuildGraph(ctx context.Context) error {
	if c.graph != nil {
		c.graph.Close()
	}
	g, err := hnsw.New(c.graphOptions())
	if err != nil {
		return err
	}
	c.graph = g
	_, live := c.slots.counts()
	c.write.unsaved = live
	if live > 0 && live <= c.rebuildFrom {
		c.notify("the vector index is rebuilt from the store: %d passages", live)
	}
	return c.addSlots(ctx, 0, live)
}

// keywordOptions returns the collection's settings as the keyword index takes them. An index made
// by another version of the mapping does not match them.
func (c *collection) keywordOptions() keyword.Options {
	config := c.config.Load()
	return keyword.Options{Language: config.Language, Identity: fmt.Sprintf("%x parts %d", c.store.ID(), mapping.Version), OwnField: config.Mapping.Named, Caches: c.caches}
}

// openKeyword opens the keyword index and replays the changes since, or rebuilds it from the stored
// documents. After an error the caller closes it.
func (c *collection) openKeyword(ctx context.Context) error {
	x, err := keyword.Open(filepath.Join(c.dir, keywordFolder), c.keywordOptions())
	if err == nil {
		c.keyword = x
		from := x.Seq()
		documents, _ := c.slots.counts()
		switch {
		case from == 0 && c.isNew:
			return c.brokenLater(x.Apply(ctx, nil, c.seq.Load()))
		case from == 0 && documents > 0: // new, or left by an interrupted rebuild
			if err := x.Close(); err != nil {
				return err
			}
			return c.rebuildKeyword(ctx, nil)
		}
		if err = c.replayKeyword(ctx, x, from); err == nil {
			return nil
		}
		if errors.Is(err, keyword.ErrBroken) {
			return c.noteStale(ctx, from)
		}
		if closeErr := x.Close(); closeErr != nil {
			c.notify("closing a keyword index that cannot be used: %v", closeErr)
		}
	}
	if !unusable(err) {
		return err
	}
	return c.rebuildKeyword(ctx, err)
}

// unusable reports whether an index that failed with err must be rebuilt.
func unusable(err error) bool {
	for _, e := range []error{store.ErrTrimmed, store.ErrAhead, keyword.ErrDamaged, keyword.ErrMismatch, syscall.ENOTDIR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return isLogDamage(err)
}

// brokenLater returns err unless the keyword index cannot write: then it is filled when it can be
// opened again.
func (c *collection) brokenLater(err error) error {
	if !errors.Is(err, keyword.ErrBroken) {
		return err
	}
	c.rebuild.keyword.Store(true)
	return nil
}

// rebuildKeyword builds the keyword index, which is closed, from all stored documents. why is nil
// if its folder has nothing to keep.
func (c *collection) rebuildKeyword(ctx context.Context, why error) (err error) {
	if c.keyword, err = c.emptyKeyword(why); err != nil {
		return err
	}
	documents, _ := c.slots.counts()
	c.rebuild.keyword.Store(true)
	if documents > c.rebuildFrom {
		return nil
	}
	if documents > 0 {
		c.notify("the keyword index is rebuilt from the store: %d documents", documents)
	}
	return c.brokenLater(c.addDocuments(ctx))
}

// emptyKeyword opens an empty keyword index in the place of one that cannot be used, which it
// quarantines, or removes if that was being filled. why is nil if there is nothing to keep.
func (c *collection) emptyKeyword(why error) (*keyword.Index, error) {
	dir := filepath.Join(c.dir, keywordFolder)
	var err error
	switch {
	case why == nil:
		err = os.RemoveAll(dir)
	case c.rebuild.keyword.Load():
		err = c.removeIndex(keywordFolder, why)
	default:
		err = c.quarantineIndex(keywordFolder, why)
	}
	if err != nil {
		return nil, err
	}
	return keyword.Open(dir, c.keywordOptions())
}

// A block of documents is added to the keyword index at once. It ends after blockDocuments, or
// after the document with which the fields reach blockBytes.
const blockDocuments = 500

var blockBytes = 16 << 20

type block struct {
	entries []keyword.Entry
	bytes   int // of their fields
}

// add adds a document with so many bytes of fields and reports whether the block is full.
func (b *block) add(e keyword.Entry, bytes int) (full bool) {
	b.entries, b.bytes = append(b.entries, e), b.bytes+bytes
	return len(b.entries) >= blockDocuments || b.bytes >= blockBytes
}

// replayKeyword applies the changes after seq to x: the present state of each document.
func (c *collection) replayKeyword(ctx context.Context, x *keyword.Index, seq uint64) error {
	var b block
	last := seq
	flush := func() error {
		err := x.Apply(ctx, b.entries, last)
		b = block{}
		return err
	}
	err := c.store.Changes(ctx, c.id, seq, func(ch store.Change) error {
		e, bytes, err := c.storedEntry(ctx, ch.No)
		if err != nil {
			return err
		}
		if last = ch.Seq; b.add(e, bytes) {
			return flush()
		}
		return nil
	})
	if err != nil || last == seq {
		return err
	}
	return flush()
}

// entry converts a document to an entry of the keyword index. A document that the mapping rejects
// is reported and becomes a deletion, so that it stops neither the others nor an opening.
func (c *collection) entry(no uint32, id string, fields, structure []byte) keyword.Entry {
	e, err := c.split(no, fields, structure)
	if err != nil {
		c.notify("document %q is left out of the keyword index: %v", id, err)
		return keyword.Entry{No: no, Delete: true}
	}
	return e
}

// split is entry with the error of the mapping, a [mapping.ErrDocument]: its rules may have changed
// since the document was written.
func (c *collection) split(no uint32, fields, structure []byte) (keyword.Entry, error) {
	parts, err := c.config.Load().Mapping.SplitStored(fields)
	if err != nil {
		return keyword.Entry{}, err
	}
	return keyword.Entry{No: no, Values: parts.Values, Text: append(texts(parts), languages(structure)...)}, nil
}

// storedEntry returns the entry of a stored document, with the bytes of its fields. It is a
// deletion if there is no such document or its fields are damaged.
func (c *collection) storedEntry(ctx context.Context, no uint32) (e keyword.Entry, bytes int, err error) {
	err = c.store.View(ctx, c.id, func(tx *store.Tx) error {
		d, err := tx.DocumentByNo(no)
		if _, damaged := c.noteDamage(tx, err); damaged || errors.Is(err, store.ErrNotFound) {
			e = keyword.Entry{No: no, Delete: true}
			return nil
		}
		if err != nil {
			return err
		}
		e, bytes = c.entry(no, d.ID, d.Fields, d.Structure), len(d.Fields)
		return nil
	})
	return e, bytes, err
}
