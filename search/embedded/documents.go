package embedded

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"example.com/searchd/index/keyword"
	"example.com/searchd/search/backend"
	"example.com/searchd/search/passage"
	"example.com/searchd/store"
)

// Apply commits the writes of one call in one transaction and then updates the derived indexes. A
// derived index that fails catches up later: the writes are committed all the same.
func (b *Backend) Apply(ctx context.Context, r backend.ApplyRequest) ([]backend.Outcome, error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return nil, err
	}
	defer release()
	for _, w := range r.Writes {
		if err := checkVectors(w, c.config.Load().Dimension); err != nil {
			return nil, err
		}
	}
	outcomes, err := c.commitBatch(ctx, r.Writes, keeping(storeWrites(r.Writes), r.Keep))
	if err != nil {
		return nil, err
	}
	out := make([]backend.Outcome, len(outcomes))
	for i, o := range outcomes {
		out[i] = backend.Outcome{Status: statuses[o.Status], Revision: o.Revision}
	}
	return out, nil
}

// statuses are the statuses of the store as those of package backend.
var statuses = [...]backend.Status{
	store.Created: backend.Created, store.Updated: backend.Updated, store.Deleted: backend.Deleted,
	store.Unchanged: backend.Unchanged, store.Missing: backend.Missing, store.Conflict: backend.Conflict,
}

// commit commits writes and then updates the derived indexes, whether or not ctx ends meanwhile.
func (c *collection) commit(ctx context.Context, writes []backend.Write) ([]store.Outcome, error) {
	return c.commitBatch(ctx, writes, storeWrites(writes))
}

// commitBatch is commit of writes that are converted to those of the store in batch.
func (c *collection) commitBatch(ctx context.Context, writes []backend.Write, batch []store.Write) ([]store.Outcome, error) {
	c.write.Lock()
	defer c.write.Unlock()
	c.keepReplaced(ctx, writes)
	defer c.replaced.set(nil)
	before := c.seq.Load()
	outcomes, seq, err := c.store.Apply(ctx, c.id, batch)
	if err != nil {
		return nil, translate(err)
	}
	c.seq.Store(seq)
	c.damage.forget(outcomes)
	if err := c.index(context.WithoutCancel(ctx), writes, batch, outcomes, before, seq); err != nil {
		c.write.behind = true
		c.warn("a derived index is out of date until the next start: %v", err)
	}
	return outcomes, nil
}

// checkVectors rejects vectors that the graph would not take: once the store had them, no opening
// could bring them into the graph.
func checkVectors(w backend.Write, dimension int) error {
	if w.Delete {
		return nil
	}
	if len(w.Vectors) != len(w.Passages) {
		return fmt.Errorf("%w: document %q: %d vectors for %d passages", backend.ErrInvalid, w.ID, len(w.Vectors), len(w.Passages))
	}
	for i, v := range w.Vectors {
		if len(v) != dimension {
			return fmt.Errorf("%w: document %q: the vector of passage %d has %d components, the collection's have %d", backend.ErrInvalid, w.ID, i, len(v), dimension)
		}
		if !slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) {
			return fmt.Errorf("%w: document %q: the vector of passage %d is zero, which has no direction", backend.ErrInvalid, w.ID, i)
		}
	}
	return nil
}

// storeWrites converts writes to those of the store.
func storeWrites(writes []backend.Write) []store.Write {
	batch := make([]store.Write, len(writes))
	for i, w := range writes {
		batch[i] = store.Write{ID: w.ID, Delete: w.Delete, Fields: w.Fields, Hash: w.Hash, Vectors: w.Vectors, IfRevision: w.IfRevision}
		if len(w.Passages) > 0 {
			batch[i].Structure = passage.Encode(nil, w.Blocks)
		}
		batch[i].Passages = make([]store.Passage, len(w.Passages))
		for j, p := range w.Passages {
			batch[i].Passages[j] = store.Passage{Field: p.Field, Start: p.Start, End: p.End}
		}
	}
	return batch
}

// index applies committed writes, the changes after before up to seq, to the slot table, the graph
// and the keyword index. The caller holds c.write.
//
//  1. Deleted documents leave the slot table and the graph; new ones enter the table.
//  2. The graph gets the new vectors. Those of replaced documents are not found yet, since the
//     table has the old slots.
//  3. The table replaces the old slots of these, and the graph drops them. This happens after an
//     error too, since the store no longer has the old vectors.
//  4. The keyword index gets the changes.
func (c *collection) index(ctx context.Context, writes []backend.Write, batch []store.Write, outcomes []store.Outcome, before, seq uint64) error {
	moves := movesOf(outcomes)
	var replaced, others []move
	for _, m := range moves {
		if m.existed && m.exists {
			replaced = append(replaced, m)
		} else {
			others = append(others, m)
		}
		c.write.unsaved += max(1, len(m.slots))
	}
	c.move(others)
	slots, vectors := newVectors(writes, outcomes, moves)
	err := c.graph.AddBatch(ctx, slots, vectors, 0)
	c.move(replaced)
	if have := c.keyword.Seq(); have != before {
		seq = have // it lacks an earlier change, or is being filled: what it records must have no holes
	}
	err = errors.Join(err, c.applyKeyword(ctx, c.entries(writes, batch, outcomes), seq))
	if err == nil && c.saveDue() {
		c.save(ctx)
	}
	return err
}

// move applies moves to the slot table and deletes the old slots from the graph.
func (c *collection) move(moves []move) {
	c.slots.apply(moves)
	for _, m := range moves {
		for _, s := range m.oldSlots {
			c.graph.Delete(s)
		}
	}
}

// newVectors returns the slots after moves, and their vectors.
func newVectors(writes []backend.Write, outcomes []store.Outcome, moves []move) (slots []uint32, vectors [][]float32) {
	live := map[uint32]bool{} // of an id that is written twice in one call, the last slots alone
	for _, m := range moves {
		for _, s := range m.slots {
			live[s] = true
		}
	}
	for i, o := range outcomes {
		for j, s := range o.NewSlots {
			if live[s] {
				slots, vectors = append(slots, s), append(vectors, writes[i].Vectors[j])
			}
		}
	}
	return slots, vectors
}

// entries converts committed writes to entries of the keyword index.
func (c *collection) entries(writes []backend.Write, batch []store.Write, outcomes []store.Outcome) (entries []keyword.Entry) {
	for i, o := range outcomes {
		switch o.Status {
		case store.Deleted:
			entries = append(entries, keyword.Entry{No: o.No, Delete: true})
		case store.Created, store.Updated:
			entries = append(entries, c.entry(o.No, writes[i].ID, writes[i].Fields, batch[i].Structure))
		}
	}
	return entries
}

// Lookup returns documents by id, a page of the first of them.
func (b *Backend) Lookup(ctx context.Context, r backend.LookupRequest) ([]*backend.Document, error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.read(ctx, len(r.IDs), func(tx *store.Tx, i int) (*backend.Document, error) {
		get := tx.Document
		if r.NoFields {
			get = tx.Head
		}
		d, err := get(r.IDs[i])
		if err != nil {
			return nil, err
		}
		out := c.document(d)
		if r.Vectors {
			out.Vectors, err = c.vectorsOf(tx, d)
		}
		return out, err
	})
}

// vectorsOf returns the stored vectors of a document, and store.ErrNotFound where one of them is
// damaged.
func (c *collection) vectorsOf(tx *store.Tx, d store.Document) (vectors [][]float32, err error) {
	vectors = make([][]float32, len(d.Passages))
	for i, p := range d.Passages {
		if vectors[i], err = tx.Vector(p.Slot, nil); err != nil {
			if _, ok := c.noteDamage(tx, err); ok {
				err = store.ErrNotFound
			}
			return nil, err
		}
	}
	return vectors, nil
}

// read returns a page of n documents, nil where get returns store.ErrNotFound. A page ends at
// backend.PageBytes.
func (c *collection) read(ctx context.Context, n int, get func(tx *store.Tx, i int) (*backend.Document, error)) ([]*backend.Document, error) {
	const contextInterval = 1024 // documents between two looks at the context
	out := make([]*backend.Document, 0, n)
	if n == 0 {
		return out, nil
	}
	err := c.store.View(ctx, c.id, func(tx *store.Tx) error {
		for size := 0; len(out) < n && size < backend.PageBytes; {
			if len(out)%contextInterval == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			d, err := get(tx, len(out))
			if errors.Is(err, store.ErrNotFound) {
				d = nil
			} else if err != nil {
				return err
			}
			out, size = append(out, d), size+d.Size()
		}
		return nil
	})
	return out, c.translate(err)
}

// document converts a stored document. One with a damaged value gets no hash, so that writing the
// same content again repairs it.
func (c *collection) document(d store.Document) *backend.Document {
	out := &backend.Document{Ref: refOf(d.No), ID: d.ID, Revision: d.Revision, Hash: d.Hash, Fields: d.Fields}
	if c.damage.has(d.No) {
		out.Hash = [32]byte{}
	}
	out.Blocks, _ = passage.Decode(d.Structure) // its checksum is right, so an error would be that of the writer
	out.Passages = make([]backend.Passage, len(d.Passages))
	for i, p := range d.Passages {
		out.Passages[i] = backend.Passage{Field: p.Field, Start: p.Start, End: p.End}
	}
	return out
}

// refOf returns the ref of a document number.
func refOf(no uint32) backend.Ref { return backend.Ref(no) }

// List returns a page of documents in the order of their numbers. Its cursor encodes the last one.
func (b *Backend) List(ctx context.Context, r backend.ListRequest) (out backend.ListResponse, err error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	defer release()
	after := uint32(0)
	if r.Cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(r.Cursor)
		if err == nil && len(raw) == 4 {
			after = binary.BigEndian.Uint32(raw)
		}
		if after == 0 { // no document has this number
			return out, fmt.Errorf("%w: cursor %.40q: allowed: the next cursor of the page before", backend.ErrInvalid, r.Cursor)
		}
	}
	scan := c.store.Documents
	if r.NoFields {
		scan = c.store.Heads
	}
	size := 0
	err = scan(ctx, c.id, after, func(d store.Document) error {
		if len(out.Documents) == r.Limit || size >= backend.PageBytes {
			out.Next = base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, after))
			return store.ErrStop
		}
		doc := c.document(d)
		out.Documents, size, after = append(out.Documents, doc), size+doc.Size(), d.No
		return nil
	})
	return out, c.translate(err)
}
