package embedded

import (
	"context"

	"searchd/search/backend"
	"searchd/store"
)

// Changes reads the change log of a collection, and keeps it from being trimmed.
func (b *Backend) Changes(ctx context.Context, r backend.ChangesRequest) (out backend.ChangesResponse, err error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	defer release()
	if r.Keep || r.Release {
		c.write.Lock()
		if c.write.held = nil; r.Keep {
			c.write.held = &r.After
		}
		c.write.Unlock()
	}
	out.Next, out.End = r.After, c.seq.Load()
	if r.Limit == 0 {
		return out, nil
	}
	seen := map[string]bool{}
	err = c.store.Changes(ctx, c.id, r.After, func(ch store.Change) error {
		if !seen[ch.ID] {
			seen[ch.ID] = true
			out.IDs = append(out.IDs, ch.ID)
		}
		if out.Next = ch.Seq; out.Next-r.After == uint64(r.Limit) {
			return store.ErrStop
		}
		return nil
	})
	return out, translate(err)
}

// rebuilds shows the derived indexes that are being filled.
func (b *Backend) rebuilds() (list []backend.Rebuild) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for name, c := range b.mu.byName {
		documents, passages := c.slots.counts()
		if s := c.rebuild.graph.Load(); s != nil {
			list = append(list, backend.Rebuild{Collection: name, Index: "vector", Done: min(int64(s.from.Load()), int64(passages)), Total: int64(passages), Began: c.rebuild.began})
		}
		if c.rebuild.words.Load() {
			list = append(list, backend.Rebuild{Collection: name, Index: "keyword", Done: min(c.rebuild.added.Load(), int64(documents)), Total: int64(documents), Began: c.rebuild.began})
		}
	}
	return list
}
