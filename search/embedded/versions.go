package embedded

import (
	"context"
	"errors"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/passage"
	"example.com/searchd/store"
)

var _ backend.Versioned = (*Backend)(nil)

// keeping has the writes of a batch keep versions.
func keeping(batch []store.Write, k *backend.Keep) []store.Write {
	if k == nil {
		return batch
	}
	keep := store.Keep(*k)
	for i := range batch {
		batch[i].Keep = &keep
	}
	return batch
}

// Versions returns the versions of a document, or one with its content.
func (b *Backend) Versions(ctx context.Context, r backend.VersionsRequest) (out []backend.Version, err error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return nil, err
	}
	defer release()
	err = c.store.View(ctx, c.id, func(tx *store.Tx) error {
		var list []store.Version
		var err error
		if r.Revision == 0 {
			list, err = tx.Versions(r.ID)
		} else {
			var one store.Version
			if one, err = tx.Version(r.ID, r.Revision); errors.Is(err, store.ErrNotFound) {
				return nil
			}
			list = []store.Version{one}
		}
		if err != nil {
			return err
		}
		for _, v := range list {
			w := backend.Version{Revision: v.Revision, Until: v.Until, Deleted: v.Deleted, Size: v.Size, Fields: v.Fields}
			w.Blocks, _ = passage.Decode(v.Structure) // its checksum is right, so an error would be that of the writer
			out = append(out, w)
		}
		return nil
	})
	return out, translate(err)
}

// TrimVersions removes versions that were replaced before a time.
func (b *Backend) TrimVersions(ctx context.Context, r backend.TrimRequest) (int, error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return 0, err
	}
	defer release()
	n, err := c.store.TrimVersions(ctx, c.id, r.ID, r.Before)
	return n, translate(err)
}

// CopyVersions copies the versions of a collection to another.
func (b *Backend) CopyVersions(ctx context.Context, from, to string) error {
	source, release, err := b.collection(ctx, from)
	if err != nil {
		return err
	}
	defer release()
	target, release, err := b.collection(ctx, to)
	if err != nil {
		return err
	}
	defer release()
	return translate(source.store.CopyVersions(ctx, source.id, target.id))
}
