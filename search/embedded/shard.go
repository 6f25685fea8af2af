package embedded

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/search/backend"
	"searchd/store"
)

var _ backend.Shard = (*Backend)(nil)

// shardKey is the value that says which part of a cluster the folder is.
const shardKey = "shard"

// Statistics returns what the collection knows of the words of q.
func (b *Backend) Statistics(ctx context.Context, name string, q backend.Words) (backend.Statistics, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return backend.Statistics{}, err
	}
	defer release()
	return c.words.Statistics(ctx, c.query(q))
}

// Version names what is stored of collections and values.
func (b *Backend) Version(context.Context) (string, error) {
	select {
	case <-b.closing:
		return "", backend.ErrClosed
	default:
		return fmt.Sprintf("%s %d", b.opened, b.store.Version()), nil
	}
}

// Identity returns of which cluster the folder is a part.
func (b *Backend) Identity(context.Context) (id backend.Identity, err error) {
	if id, err = readIdentity(b.store); err != nil {
		return id, err
	}
	if m := b.Marker(); m != nil {
		id.Follows = cmp.Or(m.URL, "another one") // a marker that was damaged names none
	}
	return id, nil
}

// readIdentity returns of which cluster a folder is a part; the zero Identity where it is of none.
func readIdentity(s *store.Store) (id backend.Identity, err error) {
	values, err := readValues(s, shardKey)
	if v, ok := values[shardKey]; ok && err == nil {
		if err = json.Unmarshal(v, &id); err != nil {
			err = fmt.Errorf("value %q: %w", shardKey, err)
		}
	}
	return id, err
}

// whole returns nil where a folder is no shard.
func whole(s *store.Store) error {
	id, err := readIdentity(s)
	if err != nil || id.Cluster == "" {
		return err
	}
	return fmt.Errorf("%w: %d of %d of the cluster %s; `searchd shard` serves it, and `searchd serve --shards` answers for all of them", backend.ErrShard, id.Index+1, id.Of, id.Cluster)
}

// Claim makes the folder a part of a cluster.
func (b *Backend) Claim(ctx context.Context, id backend.Identity) error {
	if err := b.own(); err != nil {
		return err
	}
	was, err := b.Identity(ctx)
	if err != nil {
		return err
	}
	if was.Cluster != "" && (was.Cluster != id.Cluster || was.Index != id.Index || was.Of != id.Of || was.Epoch >= id.Epoch) {
		return fmt.Errorf("%w: it is shard %d of %d of %s with claim %d; this is claim %d as shard %d of %d of %s", backend.ErrClaimed,
			was.Index+1, was.Of, was.Cluster, was.Epoch, id.Epoch, id.Index+1, id.Of, id.Cluster)
	}
	if was.Moved != "" && id.Moved == "" && !id.Back {
		return was.MovedError()
	}
	id.Unclaimed, id.Back, id.Follows = false, false, ""
	v, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return b.SetValues(ctx, map[string][]byte{shardKey: v})
}

// unclaimed returns the value of a shard that is put in the place of what was there, and has to be claimed before it is written to; nil where a folder is
// no shard.
func unclaimed(s *store.Store) ([]byte, error) {
	id, err := readIdentity(s)
	if err != nil || id.Cluster == "" {
		return nil, err
	}
	id.Unclaimed = true
	return json.Marshal(id)
}

// Documents returns the numbers of the documents of a selection, which the caller must not change.
func (b *Backend) Documents(sel backend.Selection) *roaring.Bitmap { return documentsOf(sel) }

// Selected makes a selection of numbers of documents; with vectors it is for Nearest, too. Numbers that no document has had yet are left out: a few bytes
// name four billion of them.
func (b *Backend) Selected(ctx context.Context, name string, docs *roaring.Bitmap, partial, vectors bool) (backend.Selection, error) {
	c, release, err := b.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	defer release()
	if n := c.slots.numbers(); !docs.IsEmpty() && docs.Maximum() >= n {
		docs = docs.Clone()
		docs.RemoveRange(uint64(n), 1<<32)
	}
	sel := &selection{documents: docs, partial: partial}
	if vectors {
		sel.table = &c.slots
		sel.slots, sel.version = c.slots.of(docs)
	}
	return sel, nil
}
