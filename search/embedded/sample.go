package embedded

import (
	"context"
	"slices"

	"searchd/search/backend"
)

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

// spread returns n of the slots in use, or all where there are fewer, at even distances.
func (t *slotTable) spread(n int) []uint32 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if n = min(n, t.mu.live); n <= 0 {
		return nil
	}
	out := make([]uint32, 0, n)
	seen := 0
	for slot, owner := range t.mu.owner {
		if owner == 0 {
			continue
		}
		if seen*n/t.mu.live >= len(out) && len(out) < n {
			out = append(out, uint32(slot))
		}
		seen++
	}
	return out
}
