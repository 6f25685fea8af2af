package embedded

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"searchd/index/hnsw"
	"searchd/index/keyword"
	"searchd/search/backend"
	"searchd/search/mapping"
	"searchd/store"
)

// replayDocuments is how many documents are added to the keyword index at a time, fewer where their
// fields have blockBytes.
const replayDocuments = 1000

// blockBytes is how many bytes of fields the documents have, and those of one more, that are added
// to the keyword index together.
var blockBytes = 16 << 20

// block is documents that are added to the keyword index together.
type block struct {
	entries []keyword.Entry
	bytes   int // of their fields
}

// add adds a document with so many bytes of fields, and reports whether the block is full, with
// most documents or by its bytes.
func (b *block) add(e keyword.Entry, bytes, most int) (full bool) {
	b.entries, b.bytes = append(b.entries, e), b.bytes+bytes
	return len(b.entries) >= most || b.bytes >= blockBytes
}

// graphOptions are the collection's settings as the graph takes them.
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

// openGraph loads the graph's snapshot and applies the changes since, or builds the graph anew from
// the stored vectors.
func (c *collection) openGraph(ctx context.Context) error {
	g, meta, err := hnsw.ReadSnapshot(filepath.Join(c.dir, graphFile), c.graphOptions())
	switch {
	case err == nil && meta.StoreID == c.store.ID():
		c.graph = g
		err = c.replayGraph(ctx, meta.Seq)
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrTrimmed) && !errors.Is(err, store.ErrAhead) && !logDamaged(err) {
			return err
		}
	case err == nil:
		err = errors.New("it belongs to another store")
	}
	if err := c.setAside(graphFile, err); err != nil {
		return err
	}
	return c.rebuildGraph(ctx)
}

// replayGraph applies the changes after seq.
func (c *collection) replayGraph(ctx context.Context, seq uint64) error {
	var added []uint32
	bare := 0
	err := c.store.Changes(ctx, c.id, seq, func(ch store.Change) error {
		for _, s := range ch.OldSlots {
			c.graph.Delete(s)
		}
		if added = append(added, ch.NewSlots...); len(ch.NewSlots) == 0 {
			bare++
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.write.unsaved = len(added) + bare
	if len(added) == 0 {
		return nil
	}
	return c.lack(ctx, slices.Min(added), len(added))
}

// lack notes that the graph lacks slots from from on. Where they are many, they are left to the
// background.
func (c *collection) lack(ctx context.Context, from uint32, n int) error {
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
		c.tell("the vector index is made anew from the store: %d passages", live)
	}
	return c.lack(ctx, 0, live)
}

// wordOptions are the collection's settings as the keyword index takes them. An index of documents
// that were taken apart otherwise is another's.
func (c *collection) wordOptions() keyword.Options {
	config := c.config.Load()
	return keyword.Options{Language: config.Language, Identity: fmt.Sprintf("%x parts %d", c.store.ID(), mapping.Version), OwnField: config.Mapping.Named}
}

// openWords opens the keyword index and applies the changes since, or builds it anew from the
// stored documents. With an error the caller closes it.
func (c *collection) openWords(ctx context.Context) error {
	dir := filepath.Join(c.dir, wordsFolder)
	x, err := keyword.Open(dir, c.wordOptions())
	if err == nil {
		c.words = x
		if x.Seq() == 0 && c.fresh {
			return c.unlessBroken(x.Apply(ctx, nil, c.seq.Load()))
		}
		if documents, _ := c.slots.counts(); x.Seq() == 0 && documents > c.rebuildFrom {
			c.rebuild.words.Store(true) // a rebuild was interrupted, or has never begun
			return c.restartWords()
		}
		from := x.Seq()
		if documents, _ := c.slots.counts(); from == 0 && documents > 0 { // made just now, or a rebuild was interrupted: it holds nothing to be kept
			if err := c.restartWords(); err != nil {
				return err
			}
			return c.unlessBroken(c.rebuildWords(ctx))
		}
		if err = c.replayWords(ctx, x, from); err == nil {
			return nil
		}
		if errors.Is(err, keyword.ErrBroken) {
			return c.missSince(ctx, from)
		}
		if closeErr := x.Close(); closeErr != nil {
			c.tell("closing a keyword index that cannot be used: %v", closeErr)
		}
	}
	if !c.unusable(err) {
		return err
	}
	if c.words, err = c.emptyWords(err); err != nil {
		return err
	}
	return c.unlessBroken(c.rebuildWords(ctx))
}

// unlessBroken returns the error of filling the keyword index; where it is that the index cannot
// write, it is filled when it can be opened again.
func (c *collection) unlessBroken(err error) error {
	if !errors.Is(err, keyword.ErrBroken) {
		return err
	}
	c.rebuild.words.Store(true)
	return nil
}

// replayWords applies the changes after seq to x: what a document is now, whatever it was in
// between.
func (c *collection) replayWords(ctx context.Context, x *keyword.Index, seq uint64) error {
	var b block
	flush := func(upTo uint64) error {
		err := x.Apply(ctx, b.entries, upTo)
		b = block{}
		return err
	}
	last := seq
	err := c.store.Changes(ctx, c.id, seq, func(ch store.Change) error {
		e, bytes, err := c.storedEntry(ctx, ch.No)
		if err != nil {
			return err
		}
		if last = ch.Seq; b.add(e, bytes, replayDocuments) {
			return flush(last)
		}
		return nil
	})
	if err != nil || last == seq {
		return err
	}
	return flush(last)
}

// rebuildWords builds the keyword index from all stored documents.
func (c *collection) rebuildWords(ctx context.Context) error {
	documents, _ := c.slots.counts()
	if documents > c.rebuildFrom {
		c.rebuild.words.Store(true)
		return nil
	}
	if documents > 0 {
		c.tell("the keyword index is made anew from the store: %d documents", documents)
	}
	var b block
	scan := func(after uint32, fn func(store.Document) error) error {
		return c.store.Documents(ctx, c.id, after, fn)
	}
	err := c.documents(nil, 0, scan, func(d store.Document) error {
		if !b.add(c.entry(d.No, d.ID, d.Fields), len(d.Fields), replayDocuments) {
			return nil
		}
		err := c.words.Apply(ctx, b.entries, 0) // sequence 0 until the end: an interrupted rebuild starts again
		b = block{}
		return err
	}, func(uint32) error { return nil })
	if err != nil {
		return err
	}
	return c.words.Apply(ctx, b.entries, c.seq.Load())
}

// entry is a stored document as the keyword index takes it: a deletion, which is told, where the
// mapping refuses it, so that one document stops neither the others nor an opening.
func (c *collection) entry(no uint32, id string, fields []byte) keyword.Entry {
	e, err := c.split(no, fields)
	if err != nil {
		c.tell("document %q is left out of the keyword index: %v", id, err)
		return keyword.Entry{No: no, Delete: true}
	}
	return e
}

// split takes a stored document apart. Its error is [mapping.ErrDocument]: the rules were others
// when the document came.
func (c *collection) split(no uint32, fields []byte) (keyword.Entry, error) {
	parts, err := c.config.Load().Mapping.SplitStored(fields)
	if err != nil {
		return keyword.Entry{}, err
	}
	return keyword.Entry{No: no, Values: parts.Values, Text: texts(parts)}, nil
}

// storedEntry is the document of a number as it stands now, with the bytes of its fields; a
// deletion where there is none, or its fields are damaged.
func (c *collection) storedEntry(ctx context.Context, no uint32) (e keyword.Entry, bytes int, err error) {
	err = c.store.View(ctx, c.id, func(tx *store.Tx) error {
		d, err := tx.DocumentByNo(no)
		if _, damaged := c.leaveOut(tx, err); damaged || errors.Is(err, store.ErrNotFound) {
			e = keyword.Entry{No: no, Delete: true}
			return nil
		}
		if err != nil {
			return err
		}
		e, bytes = c.entry(no, d.ID, d.Fields), len(d.Fields)
		return nil
	})
	return e, bytes, err
}

// refOf returns the ref of a document number.
func refOf(no uint32) backend.Ref { return backend.Ref(no) }
