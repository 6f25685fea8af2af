package embedded

import (
	"context"
	"errors"
	"slices"
	"sync"

	"example.com/searchd/index/hnsw"
	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// storedVectors reads the vectors of a collection from the store, and those that a commit is
// replacing. It is the source of a graph of codes.
type storedVectors struct {
	store      *store.Store
	id         uint32
	replaced   *replacedVectors
	noteDamage func(tx *store.Tx, err error) (slot uint32, ok bool) // a damaged vector is skipped
}

var _ hnsw.Source = storedVectors{}

// Read implements hnsw.Source.
func (s storedVectors) Read(ctx context.Context, slots []uint32, each func(i int, v []float32)) error {
	return s.store.View(ctx, s.id, func(tx *store.Tx) error {
		var v []float32
		for i, slot := range slots {
			got, err := tx.Vector(slot, v)
			if errors.Is(err, store.ErrNotFound) {
				if old, ok := s.replaced.all()[slot]; ok {
					each(i, old)
				}
				continue
			}
			if _, ok := s.noteDamage(tx, err); ok {
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

// replacedVectors holds the vectors of documents that are being replaced, from before the commit
// removes them from the store until the graph has the new ones, so that searches find the documents
// meanwhile.
type replacedVectors struct {
	mu struct {
		sync.RWMutex
		vectors map[uint32][]float32 // by slot; read-only
	}
}

func (r *replacedVectors) set(vectors map[uint32][]float32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.vectors = vectors
}

func (r *replacedVectors) all() map[uint32][]float32 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.mu.vectors
}

// keepReplaced reads the vectors that writes are about to replace, unless the graph holds them. A
// vector that cannot be read is only missed until the commit is done. The caller holds c.write.
func (c *collection) keepReplaced(ctx context.Context, writes []backend.Write) {
	if c.source == nil && c.rebuild.graph.Load() == nil {
		return
	}
	vectors := map[uint32][]float32{}
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
					vectors[p.Slot] = v
				}
			}
		}
		return nil
	})
	c.replaced.set(vectors)
}

// vectors calls each with the vector of every slot that has one: from the graph where that has it,
// else from the store.
func (c *collection) vectors(ctx context.Context, slots []uint32, each func(i int, v []float32)) error {
	if len(slots) == 0 {
		return nil
	}
	if c.source != nil {
		return c.source.Read(ctx, slots, each)
	}
	var missing []uint32
	var places []int
	for i, s := range slots {
		if v, ok := c.graph.Vector(s); ok {
			each(i, v)
		} else if c.rebuild.graph.Load() != nil {
			missing, places = append(missing, s), append(places, i)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return c.storedVectors().Read(ctx, missing, func(i int, v []float32) { each(places[i], v) })
}

// sample returns at most n passages with their vectors, spread evenly over the collection.
func (c *collection) sample(ctx context.Context, n int) ([]backend.PassageVector, error) {
	slots := c.slots.spread(n)
	out := make([]backend.PassageVector, len(slots))
	err := c.vectors(ctx, slots, func(i int, v []float32) {
		if no, ordinal, ok := c.slots.document(slots[i]); ok {
			out[i] = backend.PassageVector{Ref: refOf(no), Ordinal: ordinal, Vector: slices.Clone(v)}
		}
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(out, func(p backend.PassageVector) bool { return p.Vector == nil }), ctx.Err() // deleted meanwhile
}
