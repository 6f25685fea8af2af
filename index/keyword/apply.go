package keyword

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	index "github.com/blevesearch/bleve_index_api"
)

const (
	batchEntries   = 1000
	batchBytes     = 8 << 20 // of text; bleve's heap is many times that
	maxUnpersisted = 4       // batches that wait for the disk
	closeTimeout   = 10 * time.Second
)

// Keys of bleve's internal values.
var (
	keySeq      = []byte("seq")      // see encodeSeq
	keySettings = []byte("settings") // JSON of settings
)

// Apply applies all changes after Seq up to and including seq, in order. Searches see them once it
// has returned. It does not wait for the disk (see Sync): after a crash, Open finds the changes up
// to its Seq applied, and possibly some of the next.
//
// After an error some of the entries may be applied and Seq has not changed: apply them again.
func (x *Index) Apply(ctx context.Context, entries []Entry, seq uint64) error {
	if err := x.beginApply(ctx); err != nil {
		return err
	}
	defer func() { <-x.applying }()
	if have := x.seq.Load(); seq < have {
		return fmt.Errorf("keyword: changes up to %d cannot be applied to an index that has those up to %d", seq, have)
	}
	for len(entries) > 0 || seq != x.seq.Load() {
		n := batchLen(entries)
		batch, err := x.newBatch(ctx, entries[:n])
		if err != nil {
			return err
		}
		names, count := x.names.encode()
		if names != nil {
			batch.SetInternal(keyNames, names)
		}
		entries = entries[n:]
		if len(entries) == 0 {
			batch.SetInternal(keySeq, encodeSeq(seq))
		}
		if err := x.index(ctx, batch); err != nil {
			return err
		}
		x.names.written = count
		if len(entries) == 0 {
			x.seq.Store(seq)
		}
	}
	return nil
}

// batchLen returns how many of entries the next batch takes: as many as stay within batchEntries
// and batchBytes, or one.
func batchLen(entries []Entry) int {
	size := 0
	for n := range entries {
		size += entries[n].bytes()
		if n == batchEntries || n > 0 && size > batchBytes {
			return n
		}
	}
	return len(entries)
}

// encodeSeq returns seq in 8 bytes and their CRC-32C in 4, little endian. bbolt's pages have no
// checksum, and an index with too large a Seq would lack documents for ever.
func encodeSeq(seq uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, seq)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeSeq(b []byte) (seq uint64, ok bool) {
	if len(b) != 12 || binary.LittleEndian.Uint32(b[8:]) != crc32.Checksum(b[:8], castagnoli) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// beginApply acquires applying.
func (x *Index) beginApply(ctx context.Context) error {
	select {
	case <-x.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case x.applying <- struct{}{}:
	}
	if err := x.breaker.err(); err != nil {
		<-x.applying
		return err
	}
	return nil
}

// newBatch analyses entries on all processors.
func (x *Index) newBatch(ctx context.Context, entries []Entry) (*index.Batch, error) {
	x.names.take(entries)
	batch := index.NewBatch()
	docs := make([]*document, len(entries))
	var next atomic.Int64
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(entries))
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					errs[w] = fmt.Errorf("keyword: panic while analysing: %v\n%s", r, debug.Stack())
				}
			}()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(entries) {
					return
				}
				if !entries[i].Delete {
					docs[i] = newDocument(&entries[i], x.analyzer, x.names.of)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, d := range docs { // the last entry of a document wins
		if d == nil {
			batch.Delete(docID(entries[i].No))
		} else {
			batch.Update(d)
		}
	}
	return batch, nil
}

// index passes a batch to bleve. It waits while maxUnpersisted batches are not on disk.
func (x *Index) index(ctx context.Context, batch *index.Batch) error {
	select {
	case x.unpersisted <- struct{}{}:
	case <-x.breaker.tripped:
		return x.breaker.err()
	case <-ctx.Done():
		return ctx.Err()
	}
	batch.SetPersistedCallback(func(error) { <-x.unpersisted })
	// bleve would wait for ever for a goroutine that has panicked.
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fmt.Errorf("keyword: panic while indexing: %v\n%s", r, debug.Stack())
			}
		}()
		done <- x.scorch.Batch(batch)
	}()
	select {
	case err := <-done:
		if err != nil { // bleve may have part of the batch
			x.breaker.trip(x.scorch, err)
			return x.breaker.err()
		}
		return nil
	case <-x.breaker.tripped:
		return x.breaker.err()
	}
}

// Sync returns once everything applied before it is on disk, so that the next Open finds at least
// the current Seq.
func (x *Index) Sync(ctx context.Context) error {
	if err := x.beginApply(ctx); err != nil {
		return err
	}
	defer func() { <-x.applying }()
	return x.waitPersisted(ctx)
}

// waitPersisted fills unpersisted, which batches leave as they reach the disk. The caller holds
// applying.
func (x *Index) waitPersisted(ctx context.Context) (err error) {
	taken := 0
	for taken < cap(x.unpersisted) && err == nil {
		select {
		case x.unpersisted <- struct{}{}:
			taken++
		case <-x.breaker.tripped:
			err = x.breaker.err()
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	for range taken {
		<-x.unpersisted
	}
	return err
}
