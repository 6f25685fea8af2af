package embedded

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"searchd/index/keyword"
	"searchd/search/backend"
	"searchd/store"
)

// Apply commits the writes of one call in one transaction and then brings the derived indexes up to date.
// A derived index that fails catches up later: the writes are committed all the same.
func (b *Backend) Apply(ctx context.Context, name string, writes []backend.Write) ([]backend.Outcome, error) {
	c, release, err := b.collection(name)
	if err != nil {
		return nil, err
	}
	defer release()
	batch := make([]store.Write, len(writes))
	for i, w := range writes {
		batch[i] = store.Write{ID: w.ID, Delete: w.Delete, Fields: w.Fields, Hash: w.Hash, Vectors: w.Vectors, IfRevision: w.IfRevision}
		batch[i].Passages = make([]store.Passage, len(w.Passages))
		for j, p := range w.Passages {
			batch[i].Passages[j] = store.Passage{Field: p.Field, Start: p.Start, End: p.End}
		}
	}
	c.write.Lock()
	defer c.write.Unlock()
	outcomes, seq, err := c.store.Apply(ctx, c.id, batch)
	if err != nil {
		return nil, translate(err)
	}
	c.seq.Store(seq)
	// From here on the writes are committed: ctx must not stop what keeps the indexes in step.
	if err := c.index(context.WithoutCancel(ctx), writes, outcomes, seq); err != nil {
		c.write.behind = true
		c.alarm("a derived index is behind until the next opening: %v", err)
	}
	out := make([]backend.Outcome, len(outcomes))
	for i, o := range outcomes {
		out[i] = backend.Outcome{Status: statusOf(o.Status), Revision: o.Revision}
	}
	return out, nil
}

// index applies committed writes to the slot table, the graph and the keyword index. The caller holds c.write.
func (c *collection) index(ctx context.Context, writes []backend.Write, outcomes []store.Outcome, seq uint64) error {
	var entries []keyword.Entry
	var slots []uint32
	var vectors [][]float32
	live := map[uint32]bool{}
	for i, o := range outcomes {
		c.slots.free(o.No, o.OldSlots)
		for _, s := range o.OldSlots {
			c.graph.Delete(s)
			delete(live, s)
		}
		switch o.Status {
		case store.Deleted:
			entries = append(entries, keyword.Entry{No: o.No, Delete: true})
		case store.Created, store.Updated:
			if n := len(o.NewSlots); n > 0 {
				c.slots.put(o.No, o.NewSlots[0], uint32(n))
			}
			for j, s := range o.NewSlots {
				slots, vectors = append(slots, s), append(vectors, writes[i].Vectors[j])
				live[s] = true
			}
			e, err := c.entry(o.No, writes[i].Fields)
			if err != nil {
				return err
			}
			entries = append(entries, e)
		}
	}
	n := 0
	for i, s := range slots { // an id written twice in one call: only its last slots are live
		if live[s] {
			slots[n], vectors[n] = s, vectors[i]
			n++
		}
	}
	c.write.unsaved += len(slots)
	if c.rebuild.words.Load() {
		seq = 0 // until it is filled
	}
	err := errors.Join(
		c.graph.AddBatch(ctx, slots[:n], vectors[:n], 0),
		c.applyWords(ctx, entries, seq),
	)
	if err == nil && c.write.unsaved >= snapshotEvery && c.savable() {
		err = c.saveGraph(ctx)
	}
	return err
}

func statusOf(s store.Status) backend.Status {
	switch s {
	case store.Created:
		return backend.Created
	case store.Updated:
		return backend.Updated
	case store.Unchanged:
		return backend.Unchanged
	case store.Deleted:
		return backend.Deleted
	case store.Missing:
		return backend.Missing
	case store.Conflict:
		return backend.Conflict
	}
	panic(fmt.Sprintf("embedded: unknown status %d of the store", s))
}

// Lookup returns documents by id.
func (b *Backend) Lookup(ctx context.Context, name string, ids []string) ([]*backend.Document, error) {
	return b.read(ctx, name, len(ids), func(tx *store.Tx, i int) (store.Document, error) { return tx.Document(ids[i]) })
}

// Fetch returns documents by ref.
func (b *Backend) Fetch(ctx context.Context, name string, refs []backend.Ref) ([]*backend.Document, error) {
	return b.read(ctx, name, len(refs), func(tx *store.Tx, i int) (store.Document, error) { return tx.DocumentByNo(uint32(refs[i])) })
}

// read returns n documents, nil where get finds none.
func (b *Backend) read(ctx context.Context, name string, n int, get func(tx *store.Tx, i int) (store.Document, error)) ([]*backend.Document, error) {
	c, release, err := b.collection(name)
	if err != nil {
		return nil, err
	}
	defer release()
	out := make([]*backend.Document, n)
	if n == 0 {
		return out, nil
	}
	err = c.store.View(ctx, c.id, func(tx *store.Tx) error {
		for i := range out {
			d, err := get(tx, i)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			out[i] = document(d)
		}
		return nil
	})
	return out, translate(err)
}

func document(d store.Document) *backend.Document {
	out := &backend.Document{Ref: refOf(d.No), ID: d.ID, Revision: d.Revision, Hash: d.Hash, Fields: d.Fields}
	out.Passages = make([]backend.Passage, len(d.Passages))
	for i, p := range d.Passages {
		out.Passages[i] = backend.Passage{Field: p.Field, Start: p.Start, End: p.End}
	}
	return out
}

// List returns documents in the order of their numbers. The cursor is the last number, opaque to callers.
func (b *Backend) List(ctx context.Context, name, cursor string, limit int) (docs []*backend.Document, next string, err error) {
	c, release, err := b.collection(name)
	if err != nil {
		return nil, "", err
	}
	defer release()
	from := uint32(0)
	if cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil || len(raw) != 4 {
			return nil, "", fmt.Errorf("%w: cursor %.40q: allowed: what the page before gave as its next cursor", backend.ErrInvalid, cursor)
		}
		from = binary.BigEndian.Uint32(raw)
	}
	err = c.store.Documents(ctx, c.id, from, func(d store.Document) error {
		if len(docs) == limit {
			next = base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, uint32(docs[limit-1].Ref)))
			return store.ErrStop
		}
		docs = append(docs, document(d))
		return nil
	})
	return docs, next, translate(err)
}
