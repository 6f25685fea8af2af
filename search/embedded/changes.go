package embedded

import (
	"context"

	"searchd/search/backend"
	"searchd/store"
)

// Position returns the sequence number of a collection.
func (b *Backend) Position(ctx context.Context, name string) (uint64, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return 0, err
	}
	defer release()
	return c.seq.Load(), nil
}

// Changed returns the ids of the documents of at most limit changes after a position, each once, and the position of the last of them.
func (b *Backend) Changed(ctx context.Context, name string, after uint64, limit int) (ids []string, next uint64, err error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return nil, after, err
	}
	defer release()
	next = after
	seen := map[string]bool{}
	err = c.store.Changes(ctx, c.id, after, func(ch store.Change) error {
		if !seen[ch.ID] {
			seen[ch.ID] = true
			ids = append(ids, ch.ID)
		}
		if next = ch.Seq; next-after == uint64(limit) {
			return store.ErrStop
		}
		return nil
	})
	return ids, next, translate(err)
}

// Hold keeps the changes after a position in the log until release is called or the collection is opened anew. One caller at a time.
func (b *Backend) Hold(ctx context.Context, name string, after uint64) (release func(), err error) {
	c, done, err := b.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	defer done()
	c.write.Lock()
	defer c.write.Unlock()
	c.write.held = &after
	return func() {
		c.write.Lock()
		defer c.write.Unlock()
		c.write.held = nil
	}, nil
}

// Rebuilds shows the derived indexes that are being filled.
func (b *Backend) Rebuilds() (list []backend.Rebuild) {
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
