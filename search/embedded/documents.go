package embedded

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"searchd/index/keyword"
	"searchd/search/backend"
	"searchd/store"
)

// Apply commits the writes of one call in one transaction and then brings the derived indexes up to
// date. A derived index that fails catches up later: the writes are committed all the same.
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
	outcomes, err := c.commit(ctx, r.Writes)
	if err != nil {
		return nil, err
	}
	out := make([]backend.Outcome, len(outcomes))
	for i, o := range outcomes {
		out[i] = backend.Outcome{Status: statusOf(o.Status), Revision: o.Revision}
	}
	return out, nil
}

// commit commits writes, and then brings the derived indexes up to date: ctx must not stop that.
func (c *collection) commit(ctx context.Context, writes []backend.Write) ([]store.Outcome, error) {
	batch := storeWrites(writes)
	c.write.Lock()
	defer c.write.Unlock()
	c.keepLeaving(ctx, writes)
	defer c.leaving.set(nil)
	before := c.seq.Load()
	outcomes, seq, err := c.store.Apply(ctx, c.id, batch)
	if err != nil {
		return nil, translate(err)
	}
	c.seq.Store(seq)
	c.damage.forget(outcomes)
	if err := c.index(context.WithoutCancel(ctx), writes, outcomes, before, seq); err != nil {
		c.write.behind = true
		c.alarm("a derived index is behind until the next opening: %v", err)
	}
	return outcomes, nil
}

// checkVectors refuses what the graph would not take: once the store has it, no opening could bring
// it into the graph.
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

// storeWrites are writes as the store takes them.
func storeWrites(writes []backend.Write) []store.Write {
	batch := make([]store.Write, len(writes))
	for i, w := range writes {
		batch[i] = store.Write{ID: w.ID, Delete: w.Delete, Fields: w.Fields, Hash: w.Hash, Vectors: w.Vectors, IfRevision: w.IfRevision}
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
//  1. What is gone leaves the slot table and the graph; what is new comes into the table.
//  2. The new vectors come into the graph. Those of documents that are replaced are not seen: the
//     table has the old slots.
//  3. The table takes the new slots of these for the old, and the graph drops the old. It does so
//     after an error too, as the store has the old ones no more.
//  4. The keyword index.
func (c *collection) index(ctx context.Context, writes []backend.Write, outcomes []store.Outcome, before, seq uint64) error {
	moves := movesOf(outcomes)
	replaced := slices.DeleteFunc(slices.Clone(moves), func(m move) bool { return !m.was || !m.there })
	others := slices.DeleteFunc(slices.Clone(moves), func(m move) bool { return m.was && m.there })
	c.move(others)
	slots, vectors := newVectors(writes, outcomes, moves)
	c.write.unsaved += len(slots)
	for _, m := range moves {
		if len(m.now) == 0 {
			c.write.unsaved++
		}
	}
	err := c.graph.AddBatch(ctx, slots, vectors, 0)
	c.move(replaced)
	if have := c.words.Seq(); have != before {
		seq = have // it lacks an earlier change, or is being filled: what it says it has applied must be without holes
	}
	err = errors.Join(err, c.applyWords(ctx, c.entries(writes, outcomes), seq))
	if err == nil && c.saveDue() {
		c.save(ctx)
	}
	return err
}

// move makes moves in the slot table, and deletes the old slots from the graph.
func (c *collection) move(moves []move) {
	c.slots.apply(moves)
	for _, m := range moves {
		for _, s := range m.old {
			c.graph.Delete(s)
		}
	}
}

// newVectors returns the slots that moves end with, and their vectors.
func newVectors(writes []backend.Write, outcomes []store.Outcome, moves []move) (slots []uint32, vectors [][]float32) {
	live := map[uint32]bool{} // an id written twice in one call: only its last slots are
	for _, m := range moves {
		for _, s := range m.now {
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

// entries are committed writes as the keyword index takes them.
func (c *collection) entries(writes []backend.Write, outcomes []store.Outcome) (entries []keyword.Entry) {
	for i, o := range outcomes {
		switch o.Status {
		case store.Deleted:
			entries = append(entries, keyword.Entry{No: o.No, Delete: true})
		case store.Created, store.Updated:
			entries = append(entries, c.entry(o.No, writes[i].ID, writes[i].Fields))
		}
	}
	return entries
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
			if _, ok := c.leaveOut(tx, err); ok {
				err = store.ErrNotFound
			}
			return nil, err
		}
	}
	return vectors, nil
}

// read returns n documents, nil where get finds none, or the first of them: a page ends at
// backend.PageBytes.
func (c *collection) read(ctx context.Context, n int, get func(tx *store.Tx, i int) (*backend.Document, error)) ([]*backend.Document, error) {
	out := make([]*backend.Document, 0, n)
	if n == 0 {
		return out, nil
	}
	err := c.store.View(ctx, c.id, func(tx *store.Tx) error {
		for size := 0; len(out) < n && size < backend.PageBytes; {
			if len(out)%readStep == 0 && ctx.Err() != nil {
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

// readStep is how many documents are read between two looks at whether anybody still wants them.
const readStep = 1024

// document returns a stored document. One with a damaged value has no hash: writing the same
// content repairs it.
func (c *collection) document(d store.Document) *backend.Document {
	out := &backend.Document{Ref: refOf(d.No), ID: d.ID, Revision: d.Revision, Hash: d.Hash, Fields: d.Fields}
	if c.damage.has(d.No) {
		out.Hash = [32]byte{}
	}
	out.Passages = make([]backend.Passage, len(d.Passages))
	for i, p := range d.Passages {
		out.Passages[i] = backend.Passage{Field: p.Field, Start: p.Start, End: p.End}
	}
	return out
}

// List returns documents in the order of their numbers. The cursor is the last number, opaque to
// callers.
func (b *Backend) List(ctx context.Context, r backend.ListRequest) (out backend.ListResponse, err error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	defer release()
	scan := c.store.Documents
	if r.NoFields {
		scan = c.store.Heads
	}
	out.Next, err = page(r.Cursor, r.Limit, func(from uint32, fn func(store.Document) error) error { return scan(ctx, c.id, from, fn) },
		func(d store.Document) int {
			out.Documents = append(out.Documents, c.document(d))
			return out.Documents[len(out.Documents)-1].Size()
		})
	return out, c.translate(err)
}

// page takes documents after a cursor of those that scan tells of, limit of them or fewer that
// together have backend.PageBytes by what take says of each, and returns the cursor of the page
// that follows; empty where none does.
func page(cursor string, limit int, scan func(from uint32, fn func(store.Document) error) error, take func(d store.Document) (size int)) (next string, err error) {
	from := uint32(0)
	if cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil || len(raw) != 4 {
			return "", fmt.Errorf("%w: cursor %.40q: allowed: what the page before gave as its next cursor", backend.ErrInvalid, cursor)
		}
		if from = binary.BigEndian.Uint32(raw); from == 0 { // no document has this number
			return "", fmt.Errorf("%w: cursor %.40q: allowed: what the page before gave as its next cursor", backend.ErrInvalid, cursor)
		}
	}
	n, size := 0, 0
	err = scan(from, func(d store.Document) error {
		if n == limit || size >= backend.PageBytes {
			next = base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, from))
			return store.ErrStop
		}
		n, from = n+1, d.No
		size += take(d)
		return nil
	})
	return next, err
}
