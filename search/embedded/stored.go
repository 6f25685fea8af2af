package embedded

import (
	"context"
	"errors"
	"sync"

	"searchd/index/hnsw"
	"searchd/search/backend"
	"searchd/store"
)

// stored is the collection's vectors as a graph of codes reads them: those of the store, and those
// that leave it.
type stored struct {
	store   *store.Store
	id      uint32
	leaving *leaving
	damaged func(tx *store.Tx, err error) (slot uint32, ok bool) // takes note of a damaged vector, which is passed over
}

var _ hnsw.Source = stored{}

// Read implements hnsw.Source.
func (s stored) Read(ctx context.Context, slots []uint32, each func(i int, v []float32)) error {
	return s.store.View(ctx, s.id, func(tx *store.Tx) error {
		var v []float32
		for i, slot := range slots {
			got, err := tx.Vector(slot, v)
			if errors.Is(err, store.ErrNotFound) {
				if old, ok := s.leaving.vector(slot); ok {
					each(i, old)
				}
				continue
			}
			if _, ok := s.damaged(tx, err); ok {
				continue
			}
			if err != nil {
				return err
			}
			v = got
			each(i, v)
		}
		return nil
	})
}

// leaving holds the vectors of documents that are being replaced, from before the commit takes them
// out of the store until the graph has those that come in their place, so that the documents are
// found meanwhile.
type leaving struct {
	mu struct {
		sync.RWMutex
		vectors map[uint32][]float32 // by slot; read-only
	}
}

func (l *leaving) set(vectors map[uint32][]float32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.vectors = vectors
}

func (l *leaving) all() map[uint32][]float32 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.mu.vectors
}

func (l *leaving) vector(slot uint32) ([]float32, bool) {
	v, ok := l.all()[slot]
	return v, ok
}

// keepLeaving reads the vectors that writes are about to replace, where the graph does not hold
// them. What cannot be read is missed for a moment, no more. The caller holds c.write.
func (c *collection) keepLeaving(ctx context.Context, writes []backend.Write) {
	if c.source == nil && c.rebuild.graph.Load() == nil {
		return
	}
	kept := map[uint32][]float32{}
	_ = c.store.View(ctx, c.id, func(tx *store.Tx) error {
		for _, w := range writes {
			if w.Delete {
				continue
			}
			d, err := tx.Head(w.ID)
			if err != nil {
				continue
			}
			for _, p := range d.Passages {
				if v, err := tx.Vector(p.Slot, nil); err == nil {
					kept[p.Slot] = v
				}
			}
		}
		return nil
	})
	c.leaving.set(kept)
}
