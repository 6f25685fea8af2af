package embedded

import (
	"context"
	"errors"

	"example.com/searchd/search/backend"
	"example.com/searchd/store"
)

// LogEntry is a write that a log outside of the data folder has accepted.
type LogEntry struct {
	backend.Write        // without IfRevision
	Revision      uint64 // the document's, its place in the log that accepted the write
	Place         uint64 // in a log that was rebuilt since, after Revision; 0: Revision
	Number        uint32 // of the document, from its creation to its deletion; without meaning for a deletion
}

// Replay makes a collection follow a log outside of the data folder: it commits the entries, in the
// order of their places, with their revisions and document numbers and with the place that the
// log was followed up to, in one transaction. Entries up to that place are left out, so that the
// same ones can be replayed again. A collection that follows a log takes no other writes, and one
// call of Replay at a time.
//
// An entry may come after others of the same document that the log no longer has: a document with
// another number was deleted in between.
func (b *Backend) Replay(ctx context.Context, collection string, entries []LogEntry) error {
	c, release, err := b.collection(ctx, collection)
	if err != nil {
		return err
	}
	defer release()
	writes, batch, err := c.replayed(ctx, entries)
	if err != nil {
		return err
	}
	_, err = c.commitBatch(ctx, writes, batch)
	return err
}

// replayed converts entries to writes of the store. A document that gets another number is deleted
// first.
func (c *collection) replayed(ctx context.Context, entries []LogEntry) (writes []backend.Write, batch []store.Write, err error) {
	numbers := map[string]uint32{} // of the documents as they are before the next entry; 0: none
	err = c.store.View(ctx, c.id, func(tx *store.Tx) error {
		for len(entries) > 0 && max(entries[0].Place, entries[0].Revision) <= tx.Place() {
			entries = entries[1:]
		}
		for _, e := range entries {
			d, err := tx.Head(e.ID)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			numbers[e.ID] = d.No
		}
		return nil
	})
	if err != nil {
		return nil, nil, c.translate(err)
	}
	dimension := c.config.Load().Dimension
	for _, e := range entries {
		if err := checkVectors(e.Write, dimension); err != nil {
			return nil, nil, err
		}
		if no := numbers[e.ID]; !e.Delete && no != 0 && no != e.Number {
			remove := backend.Write{ID: e.ID, Delete: true}
			writes, batch = append(writes, remove), append(batch, storeWrites([]backend.Write{remove})...)
		}
		numbers[e.ID] = 0
		if !e.Delete {
			numbers[e.ID] = e.Number
		}
		w := storeWrites([]backend.Write{e.Write})[0]
		w.Revision, w.Place, w.No = e.Revision, e.Place, e.Number
		writes, batch = append(writes, e.Write), append(batch, w)
	}
	return writes, batch, nil
}

// Place returns the place up to which a collection follows its log; 0: none yet.
func (b *Backend) Place(ctx context.Context, collection string) (place uint64, err error) {
	c, release, err := b.collection(ctx, collection)
	if err != nil {
		return 0, err
	}
	defer release()
	err = c.store.View(ctx, c.id, func(tx *store.Tx) error {
		place = tx.Place()
		return nil
	})
	return place, c.translate(err)
}

// newestTries bounds how many document numbers Newest looks at.
const newestTries = 1000

// Newest returns the head of a document that was created last, or nearly so; nil where the last
// numbers are of documents that were deleted.
func (b *Backend) Newest(ctx context.Context, collection string) (head *backend.Document, err error) {
	c, release, err := b.collection(ctx, collection)
	if err != nil {
		return nil, err
	}
	defer release()
	err = c.store.View(ctx, c.id, func(tx *store.Tx) error {
		next := tx.Counts().NextNo
		for no := next - 1; no > 0 && next-no <= newestTries; no-- {
			d, err := tx.HeadByNo(no)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err == nil {
				head = c.document(d)
			}
			return err
		}
		return nil
	})
	return head, c.translate(err)
}

// CheckWrites returns the error with which Apply refuses writes to a collection of vectors with so
// many components, whatever it holds; nil for others.
func CheckWrites(writes []backend.Write, dimension int) error {
	for _, w := range writes {
		if err := checkVectors(w, dimension); err != nil {
			return err
		}
	}
	return translate(store.CheckWrites(storeWrites(writes)))
}

// Partial reports whether searches of a collection may lack documents, as its keyword index is
// being filled or cannot write.
func (b *Backend) Partial(ctx context.Context, collection string) (bool, error) {
	c, release, err := b.collection(ctx, collection)
	if err != nil {
		return true, err
	}
	defer release()
	return c.partial() || c.keyword.Err() != nil, nil
}
