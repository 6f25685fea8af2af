package store

import (
	"context"
	"errors"
)

// The iterators of this file read in short transactions, one per page, and call fn between them:
// however long fn takes, it holds up no page and no writer, and it may write to the store. In
// exchange they see each page at its own time: a document that changes meanwhile is seen as it is
// when its page is read, and one may be seen that others, read before, did not know.

// Documents calls fn for the documents of a collection with numbers greater than afterNo, in order
// of their numbers. ErrStop from fn ends it without an error.
func (s *Store) Documents(ctx context.Context, collection uint32, afterNo uint32, fn func(Document) error) error {
	return s.documents(ctx, collection, afterNo, true, fn)
}

// Heads is Documents without their fields, which are not read.
func (s *Store) Heads(ctx context.Context, collection uint32, afterNo uint32, fn func(Document) error) error {
	return s.documents(ctx, collection, afterNo, false, fn)
}

func (s *Store) documents(ctx context.Context, collection uint32, afterNo uint32, fields bool, fn func(Document) error) error {
	var page []Document
	return s.pages(ctx, collection, func(t *Tx) (int, error) {
		page = page[:0]
		return t.documentsPage(&afterNo, pageRecords, fields, func(d Document) error { page = append(page, d); return nil })
	}, func() error {
		for _, d := range page {
			if err := fn(d); err != nil {
				return err
			}
		}
		return nil
	})
}

// Vectors calls fn for the vectors of a collection from fromSlot on, in order of their slots.
// The vector is valid until fn returns. ErrStop from fn ends it without an error.
func (s *Store) Vectors(ctx context.Context, collection uint32, fromSlot uint32, fn func(slot uint32, v []float32) error) error {
	var p vectorPage
	from := uint64(fromSlot)
	return s.pages(ctx, collection, func(t *Tx) (int, error) {
		return t.vectorsPage(&from, pageRecords, &p, func(uint32, []float32) error { return nil })
	}, func() error {
		for i, slot := range p.slots {
			if err := fn(slot, p.vector(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Changes calls fn for the changes of a collection after afterSeq, oldest first, up to the last
// one. It returns ErrTrimmed and ErrAhead as Tx.Changes does. ErrStop from fn ends it without an
// error.
func (s *Store) Changes(ctx context.Context, collection uint32, afterSeq uint64, fn func(Change) error) error {
	var page []Change
	return s.pages(ctx, collection, func(t *Tx) (int, error) {
		page = page[:0]
		return t.changesPage(&afterSeq, pageRecords, func(c Change) error { page = append(page, c); return nil })
	}, func() error {
		for _, c := range page {
			if err := fn(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// pages reads a page in a view and hands it out after the view, until a page is empty.
func (s *Store) pages(ctx context.Context, collection uint32, read func(*Tx) (int, error), hand func() error) error {
	for {
		var n int
		err := s.View(ctx, collection, func(t *Tx) (err error) { n, err = read(t); return err })
		if err != nil || n == 0 {
			return err
		}
		if err := hand(); errors.Is(err, ErrStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
