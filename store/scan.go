package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Sizes of a page of the iterators, in records and in bytes.
const (
	pageRecords  = 512
	pageBytes    = 4 << 20
	passageBytes = 64 // about what a passage takes in memory
)

// Documents calls fn for the documents of a collection with numbers greater than afterNo, in order
// of their numbers. ErrStop from fn ends it without an error.
//
// Like the other iterators it reads page by page, each in a short view, and calls fn between them:
// fn may take long, and may write to the store. Each page shows the collection at its own time.
func (s *Store) Documents(ctx context.Context, collection uint32, afterNo uint32, fn func(Document) error) error {
	return scan(ctx, s, collection, func(t *Tx) ([]Document, error) { return t.documentsPage(&afterNo, true) }, fn)
}

// Heads is Documents without their fields, which are not read.
func (s *Store) Heads(ctx context.Context, collection uint32, afterNo uint32, fn func(Document) error) error {
	return scan(ctx, s, collection, func(t *Tx) ([]Document, error) { return t.documentsPage(&afterNo, false) }, fn)
}

// Vectors calls fn for the vectors of a collection from fromSlot on, in order of their slots.
// The vector is valid until fn returns. ErrStop from fn ends it without an error.
func (s *Store) Vectors(ctx context.Context, collection uint32, fromSlot uint32, fn func(slot uint32, v []float32) error) error {
	from, dim, i := uint64(fromSlot), 0, 0
	var data []float32 // [len(page), dim]
	return scan(ctx, s, collection, func(t *Tx) (page []uint32, err error) {
		dim, i = int(t.room.state.dim), 0
		page, data, err = t.vectorsPage(&from, data[:0])
		return page, err
	}, func(slot uint32) error {
		v := data[i*dim : (i+1)*dim : (i+1)*dim]
		i++
		return fn(slot, v)
	})
}

// Changes calls fn for the changes of a collection after afterSeq, oldest first, up to the last
// one. It returns ErrTrimmed if some of them are gone and ErrAhead if afterSeq is greater than the
// last. ErrStop from fn ends it without an error.
func (s *Store) Changes(ctx context.Context, collection uint32, afterSeq uint64, fn func(Change) error) error {
	return scan(ctx, s, collection, func(t *Tx) ([]Change, error) { return t.changesPage(&afterSeq) }, fn)
}

// scan reads a page in a view and calls fn for its records after the view, until a page is empty.
func scan[T any](ctx context.Context, s *Store, collection uint32, read func(*Tx) ([]T, error), fn func(T) error) error {
	for {
		var page []T
		err := s.View(ctx, collection, func(t *Tx) (err error) { page, err = read(t); return err })
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			if err := fn(r); errors.Is(err, ErrStop) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

// readPage calls add for the records of b from a key on, until they fill a page. add returns the
// size of what it keeps. A corrupt record that is not the first ends the page without an error.
func (t *Tx) readPage(b bucket, from []byte, add func(k, payload []byte) (size int, err error)) error {
	n, bytes := 0, 0
	err := t.guarded(func() error {
		cur := b.Cursor()
		for k, v := cur.Seek(from); k != nil && n < pageRecords && bytes < pageBytes; k, v = cur.Next() {
			payload, err := b.open(k, v)
			if err != nil {
				return err
			}
			size, err := add(k, payload)
			if err != nil {
				return err
			}
			n, bytes = n+1, bytes+size
		}
		return nil
	})
	if n > 0 && errors.Is(err, ErrCorrupt) {
		return nil
	}
	return err
}

// documentsPage returns the documents after *after that fill a page and moves *after on.
func (t *Tx) documentsPage(after *uint32, fields bool) (page []Document, err error) {
	if *after == math.MaxUint32 {
		return nil, nil
	}
	err = t.readPage(t.room.docs, key32(*after+1), func(k, payload []byte) (int, error) {
		h, err := t.room.decodeHead(k, payload)
		if err == nil && fields {
			h.Fields, err = t.room.fieldsOf(h.No)
		}
		if err != nil {
			return 0, err
		}
		page, *after = append(page, h.Document), h.No
		return len(h.Fields) + len(h.Structure) + passageBytes*len(h.Passages), nil
	})
	return page, err
}

// vectorsPage returns the slots from *from on whose vectors fill a page, appends these to data, and
// moves *from on.
func (t *Tx) vectorsPage(from *uint64, data []float32) (slots []uint32, _ []float32, err error) {
	if *from > math.MaxUint32 {
		return nil, data, nil
	}
	dim := int(t.room.state.dim)
	err = t.readPage(t.room.vectors, key32(uint32(*from)), func(k, payload []byte) (int, error) {
		slot := binary.BigEndian.Uint32(k)
		n := len(data)
		data = append(data, make([]float32, dim)...)
		if _, err := t.room.vector(slot, payload, data[n:n+dim]); err != nil {
			return 0, err
		}
		slots, *from = append(slots, slot), uint64(slot)+1
		return 4 * dim, nil
	})
	return slots, data, err
}

// changesPage returns the changes after *after that fill a page and moves *after on.
func (t *Tx) changesPage(after *uint64) (page []Change, err error) {
	st, log := &t.room.state, t.room.log
	if *after < st.trimmed {
		return nil, fmt.Errorf("%w: changes up to %d are gone, asked for those after %d", ErrTrimmed, st.trimmed, *after)
	}
	if *after > st.seq {
		return nil, fmt.Errorf("%w: asked for changes after %d, the last is %d", ErrAhead, *after, st.seq)
	}
	err = t.readPage(log, key64(*after+1), func(k, payload []byte) (int, error) {
		seq := *after + 1
		switch {
		case seq > st.seq:
			return 0, log.corrupt(k, "change comes after the last, %d", st.seq)
		case !bytes.Equal(k, key64(seq)):
			return 0, log.corrupt(key64(seq), "change is missing, the last should be %d", st.seq)
		}
		c, err := t.room.decodeChange(k, payload)
		if err == nil {
			page, *after = append(page, c), seq
		}
		return c.size(), err
	})
	if err == nil && len(page) == 0 && *after < st.seq {
		err = log.corrupt(key64(*after+1), "change is missing, the last should be %d", st.seq)
	}
	return page, err
}
