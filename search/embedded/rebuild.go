package embedded

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// A derived index that lacks much is filled in the background. Meanwhile vector searches are exact,
// since they scan the store for what the graph lacks; the keyword index answers from what it has;
// and writes go to both as usual.

// rebuildFrom is the default of Options.RebuildFrom.
const rebuildFrom = 20000

// rebuild is the state of filling the derived indexes.
type rebuild struct {
	stop    context.CancelFunc
	began   time.Time
	fillers sync.WaitGroup
	repair  sync.WaitGroup // for repairKeyword, which runs until stop

	graph   atomic.Pointer[span] // what the graph lacks; nil: nothing
	keyword atomic.Bool          // the keyword index lacks documents; until it has them its sequence number is 0
	added   atomic.Int64         // documents added to the keyword index

	graphFailed, keywordFailed atomic.Pointer[string] // why filling has failed; nil: it has not
}

// span is a range of slots, [from, until), of which the graph may lack some. Slots are added in
// order, and from moves up.
type span struct {
	from  atomic.Uint32
	until uint32
}

// begin starts the background work of an open collection.
func (c *collection) begin() {
	ctx, stop := context.WithCancel(context.Background())
	c.rebuild.stop, c.rebuild.began = stop, time.Now().UTC()
	c.setBeamWidth() // the snapshot may have another
	if s := c.rebuild.graph.Load(); s != nil {
		c.rebuild.fillers.Go(func() { c.fillGraph(ctx, s) })
	}
	filled := make(chan struct{})
	if c.rebuild.keyword.Load() {
		c.rebuild.fillers.Go(func() {
			defer close(filled)
			c.fillKeyword(ctx)
		})
	} else {
		close(filled)
	}
	c.rebuild.repair.Go(func() {
		<-filled
		c.repairKeyword(ctx)
	})
}

// end stops the background work and waits for it. The caller holds no lock.
func (c *collection) end() {
	if c.rebuild.stop != nil {
		c.rebuild.stop()
	}
	c.rebuild.fillers.Wait()
	c.rebuild.repair.Wait()
}

// fillGraph adds the stored vectors that the graph lacks, and saves it.
func (c *collection) fillGraph(ctx context.Context, s *span) {
	_, live := c.slots.counts()
	c.notify("building the vector index in the background: it has %d of %d passages; searches scan the others", c.graph.Len(), live)
	if err := c.addSpan(ctx, s, max(1, runtime.GOMAXPROCS(0)/2)); err != nil {
		c.fillFailed(ctx, "vector", &c.rebuild.graphFailed, err)
		return
	}
	c.write.Lock()
	c.rebuild.graph.Store(nil)
	c.save(ctx)
	c.write.Unlock()
	c.notify("the vector index is built: %d passages", c.graph.Len())
}

// fillFailed records and reports why an index could not be filled, unless that was stopped.
func (c *collection) fillFailed(ctx context.Context, index string, reason *atomic.Pointer[string], err error) {
	if ctx.Err() == nil {
		text := err.Error()
		reason.Store(&text)
		c.warn("building the %s index failed, the next start tries again: %v", index, err)
	}
}

// addBlock is how many vectors are read and added to the graph at a time.
const addBlock = 1024

// fillInterval is how often the progress of filling an index is reported.
var fillInterval = time.Minute

// addSpan adds what the graph lacks of s.
func (c *collection) addSpan(ctx context.Context, s *span, workers int) error {
	reported := time.Now()
	var slots []uint32
	var vectors [][]float32
	flush := func(next uint32) error {
		if err := c.graph.AddBatch(ctx, slots, vectors, workers); err != nil {
			return err
		}
		c.write.Lock()
		defer c.write.Unlock()
		for _, slot := range slots {
			if _, _, ok := c.slots.document(slot); !ok { // deleted since it was read
				c.graph.Delete(slot)
			}
		}
		s.from.Store(next)
		slots, vectors = slots[:0], vectors[:0]
		if time.Since(reported) >= fillInterval {
			reported = time.Now()
			_, live := c.slots.counts()
			c.notify("the vector index has %d of %d passages", c.graph.Len(), live)
		}
		return nil
	}
	err := c.vectorsFrom(ctx, s.from.Load(), func(slot uint32, v []float32) error {
		if slot >= s.until {
			return store.ErrStop
		}
		if !c.graph.Contains(slot) {
			slots, vectors = append(slots, slot), append(vectors, append([]float32(nil), v...))
		}
		if len(slots) == addBlock {
			return flush(slot + 1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush(s.until)
}

// fillKeyword adds all stored documents to the keyword index.
func (c *collection) fillKeyword(ctx context.Context) {
	documents, _ := c.slots.counts()
	c.notify("building the keyword index in the background: %d documents; searches find those that it has", documents)
	err := c.addDocuments(ctx)
	switch {
	case err == nil:
		c.rebuild.keywordFailed.Store(nil)
		c.notify("the keyword index is built")
	case !errors.Is(err, keyword.ErrBroken): // which repairKeyword reports
		c.fillFailed(ctx, "keyword", &c.rebuild.keywordFailed, err)
	}
}

// addDocuments adds all stored documents to the keyword index, which then is up to date.
func (c *collection) addDocuments(ctx context.Context) error {
	reported := time.Now()
	for after, more := uint32(0), true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Since(reported) >= fillInterval {
			reported = time.Now()
			documents, _ := c.slots.counts()
			c.notify("the keyword index has %d of %d documents", c.rebuild.added.Load(), documents)
		}
		var err error
		if after, more, err = c.addDocumentBlock(ctx, after); err != nil {
			return err
		}
	}
	return nil
}

// errBehind ends a rebuild because it is not known which changes the index has.
var errBehind = errors.New("an index failed to apply a commit meanwhile")

// addDocumentBlock adds a block of the documents after a number to the keyword index, and returns
// the number of the last and whether there are more. Writers wait meanwhile, so that the index
// never gets a document that is older than what it has.
func (c *collection) addDocumentBlock(ctx context.Context, after uint32) (last uint32, more bool, err error) {
	c.write.Lock()
	defer c.write.Unlock()
	var b block
	last = after
	err = c.documents(ctx, after, func(d store.Document) error {
		last = d.No
		if more = b.add(c.entry(d.No, d.ID, d.Fields, d.Structure), len(d.Fields)); more {
			return store.ErrStop
		}
		return nil
	}, func(uint32) error { return nil })
	if err != nil {
		return last, more, err
	}
	c.rebuild.added.Add(int64(len(b.entries)))
	seq := uint64(0) // until the end: an interrupted rebuild starts again
	if !more {
		if c.write.behind {
			return last, more, errBehind
		}
		seq = c.seq.Load()
	}
	if err := c.keyword.Apply(ctx, b.entries, seq); err != nil {
		return last, more, err
	}
	c.rebuild.keyword.Store(more)
	return last, more, nil
}

// rebuilds returns the derived indexes that are being filled.
func (b *Backend) rebuilds() (list []backend.Rebuild) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for name, c := range b.mu.byName {
		documents, passages := c.slots.counts()
		if s := c.rebuild.graph.Load(); s != nil {
			list = append(list, backend.Rebuild{Collection: name, Index: "vector", Done: min(int64(s.from.Load()), int64(passages)), Total: int64(passages), Began: c.rebuild.began})
		}
		if c.rebuild.keyword.Load() {
			list = append(list, backend.Rebuild{Collection: name, Index: "keyword", Done: min(c.rebuild.added.Load(), int64(documents)), Total: int64(documents), Began: c.rebuild.began})
		}
	}
	return list
}
