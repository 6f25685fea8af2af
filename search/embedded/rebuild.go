package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"searchd/index/keyword"
	"searchd/store"
)

// A derived index that lacks much is filled while the collection serves. The vector leg is exact
// meanwhile: what the graph lacks is scanned in the store. The keyword leg answers from what it
// has. Writes go to both as ever.

// rebuildFrom is how many passages, or documents, an index may lack for the opening to wait for
// them.
const rebuildFrom = 20000

// rebuild is what is being filled. Fields are set while a collection opens, or by the goroutine
// that fills.
type rebuild struct {
	stop  context.CancelFunc
	wait  sync.WaitGroup       // for what was left to do by the opening
	graph atomic.Pointer[span] // what the graph lacks; nil: nothing
	began time.Time
	added atomic.Int64 // documents added to the keyword index
	words atomic.Bool  // the keyword index lacks documents; its sequence number stays 0 until it does not

	graphFailed, wordsFailed atomic.Pointer[string] // why filling has ended before its time; nil: it has not

	keeper sync.WaitGroup // of keepWords, which runs until stop
}

// span is a range of slots, [from, until), of which the graph may lack some. Slots are added in
// their order, so that from moves up.
type span struct {
	from  atomic.Uint32
	until uint32
}

// begin starts what openGraph and openWords left to do, and what keeps the keyword index writing.
func (c *collection) begin() {
	ctx, stop := context.WithCancel(context.Background())
	c.rebuild.stop, c.rebuild.began = stop, time.Now().UTC()
	c.aim() // the snapshot may have been made for another
	if s := c.rebuild.graph.Load(); s != nil {
		c.rebuild.wait.Go(func() { c.fillGraph(ctx, s) })
	}
	filled := make(chan struct{})
	if c.rebuild.words.Load() {
		c.rebuild.wait.Go(func() {
			defer close(filled)
			c.fillWords(ctx)
		})
	} else {
		close(filled)
	}
	c.rebuild.keeper.Go(func() {
		<-filled
		c.keepWords(ctx)
	})
}

// end stops what begin started, and waits for it. The caller holds no lock.
func (c *collection) end() {
	if c.rebuild.stop != nil {
		c.rebuild.stop()
	}
	c.rebuild.wait.Wait()
	c.rebuild.keeper.Wait()
}

// fillGraph adds the stored vectors that the graph lacks, and saves it.
func (c *collection) fillGraph(ctx context.Context, s *span) {
	_, live := c.slots.counts()
	c.tell("building the vector index in the background: %d of %d passages are in it; the others are found by a scan", c.graph.Len(), live)
	err := c.addSpan(ctx, s, max(1, runtime.GOMAXPROCS(0)/2))
	switch {
	case err == nil:
		c.graphFilled(ctx)
		c.tell("the vector index is built: %d passages", c.graph.Len())
	case ctx.Err() == nil:
		why := err.Error()
		c.rebuild.graphFailed.Store(&why)
		c.alarm("building the vector index has failed, the next opening tries again: %v", err)
	}
}

// graphFilled lets the graph answer alone, and saves it.
func (c *collection) graphFilled(ctx context.Context) {
	c.write.Lock()
	defer c.write.Unlock()
	c.rebuild.graph.Store(nil)
	c.save(ctx)
}

// fillBlock is how many vectors are read and added at a time.
const fillBlock = 1024

// fillTold is how often it is told how far the filling of an index is.
var fillTold = time.Minute

// addSpan adds what the graph lacks between s.from and s.until.
func (c *collection) addSpan(ctx context.Context, s *span, workers int) error {
	told := time.Now()
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
		if time.Since(told) >= fillTold {
			told = time.Now()
			_, live := c.slots.counts()
			c.tell("the vector index has %d of %d passages", c.graph.Len(), live)
		}
		return nil
	}
	err := c.storedVectors(ctx, s.from.Load(), func(slot uint32, v []float32) error {
		if slot >= s.until {
			return store.ErrStop
		}
		if !c.graph.Contains(slot) {
			slots, vectors = append(slots, slot), append(vectors, append([]float32(nil), v...))
		}
		if len(slots) == fillBlock {
			return flush(slot + 1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush(s.until)
}

// fillWords adds all stored documents to the keyword index. Each block is read and added while
// writers wait, so that none of them is overtaken by what was read before it.
func (c *collection) fillWords(ctx context.Context) {
	documents, _ := c.slots.counts()
	c.tell("building the keyword index in the background: %d documents; searches see those that it has", documents)
	err := c.addDocuments(ctx)
	switch {
	case err == nil:
		c.rebuild.wordsFailed.Store(nil)
		c.tell("the keyword index is built")
	case errors.Is(err, keyword.ErrBroken): // keepWords tells
	case ctx.Err() == nil:
		why := err.Error()
		c.rebuild.wordsFailed.Store(&why)
		c.alarm("building the keyword index has failed, the next opening tries again: %v", err)
	}
}

// fillDocuments is how many documents are added to the keyword index at a time, fewer where their
// fields have blockBytes.
const fillDocuments = 500

func (c *collection) addDocuments(ctx context.Context) error {
	told := time.Now()
	for after, more := uint32(0), true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Since(told) >= fillTold {
			told = time.Now()
			documents, _ := c.slots.counts()
			c.tell("the keyword index has %d of %d documents", c.rebuild.added.Load(), documents)
		}
		if err := c.addPage(ctx, &after, &more); err != nil {
			return err
		}
	}
	return nil
}

// errBehind ends a rebuild that cannot say which changes the index has.
var errBehind = errors.New("an index failed to apply a commit meanwhile")

// addPage adds the documents after the number after and moves it on; with the last, the index is up
// to date.
func (c *collection) addPage(ctx context.Context, after *uint32, more *bool) error {
	c.write.Lock()
	defer c.write.Unlock()
	var b block
	full := false
	err := c.store.View(ctx, c.id, func(tx *store.Tx) error {
		return c.documents(tx, *after, tx.Documents, func(d store.Document) error {
			*after = d.No
			if full = b.add(c.entry(d.No, d.ID, d.Fields), len(d.Fields), fillDocuments); full {
				return store.ErrStop
			}
			return nil
		}, func(uint32) error { return nil })
	})
	if err != nil {
		return err
	}
	c.rebuild.added.Add(int64(len(b.entries)))
	if *more = full; *more {
		return c.words.Apply(ctx, b.entries, 0) // sequence 0 until the end: an interrupted rebuild starts again
	}
	if c.write.behind {
		return errBehind
	}
	if err := c.words.Apply(ctx, b.entries, c.seq.Load()); err != nil {
		return err
	}
	c.rebuild.words.Store(false)
	return nil
}

// restartWords opens an empty keyword index in the place of one that was left half filled.
func (c *collection) restartWords() error {
	dir := filepath.Join(c.dir, wordsFolder)
	if err := errors.Join(c.words.Close(), os.RemoveAll(dir)); err != nil {
		return err
	}
	x, err := keyword.Open(dir, c.wordOptions())
	if err == nil {
		c.words = x
	}
	return err
}
