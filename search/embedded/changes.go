package embedded

import (
	"context"

	"example.com/searchd/search/backend"
	"example.com/searchd/store"
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
		if c.write.pinned = nil; r.Keep {
			c.write.pinned = &r.After
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
