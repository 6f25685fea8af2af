package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// A Tx is one collection as it was when the view began. It is valid inside the function given to
// View and must not be used by several goroutines at once. What its methods return is the caller's
// to keep.
type Tx struct {
	s    *Store
	ctx  context.Context
	col  Collection
	room *room
	tx   *bbolt.Tx // nil after the view
}

// View calls fn with a consistent view of a collection. Views see what was committed before they
// began, and never wait for writers; but a view left open keeps the pages of its time from being
// reused, so the file grows under writes: for long scans use the Store's own Documents, Vectors and
// Changes. Do not write inside fn: the writer may have to wait for the view to end.
//
// It returns ErrNoCollection, ErrClosed, ctx.Err() if ctx has ended, and what fn returns.
func (s *Store) View(ctx context.Context, collection uint32, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release(h)
	t := &Tx{s: s, ctx: ctx}
	if err := guard(func() (err error) { t.tx, err = h.db.Begin(false); return err }); err != nil {
		return s.damaged(err)
	}
	defer func() {
		tx := t.tx
		t.tx = nil
		_ = guard(tx.Rollback)
	}()
	err = t.guarded(func() error {
		c, err := openCatalog(t.tx)
		if err != nil {
			return err
		}
		if t.col, err = c.byID(collection); err != nil {
			return err
		}
		t.room, err = openRoom(t.tx, collection)
		return err
	})
	if err != nil {
		return err
	}
	return fn(t)
}

// guarded runs fn, which reads the file, and turns faults into errors.
func (t *Tx) guarded(fn func() error) error {
	if t.tx == nil {
		return fmt.Errorf("%w: the view has ended", ErrClosed)
	}
	return t.s.damaged(guard(fn))
}

// Seq returns the sequence number of the last change, 0 if there never was one.
func (t *Tx) Seq() uint64 { return t.room.state.seq }

// Trimmed returns the sequence number up to which the log was trimmed.
func (t *Tx) Trimmed() uint64 { return t.room.state.trimmed }

// Counts returns the sizes of the collection.
func (t *Tx) Counts() Counts { return t.room.state.counts() }

// Document returns the document with that id, or ErrNotFound.
func (t *Tx) Document(id string) (Document, error) {
	h, err := t.Head(id)
	if err != nil {
		return Document{}, err
	}
	return t.withFields(h)
}

// DocumentByNo returns the document with that number, or ErrNotFound.
func (t *Tx) DocumentByNo(no uint32) (Document, error) {
	h, err := t.HeadByNo(no)
	if err != nil {
		return Document{}, err
	}
	return t.withFields(h)
}

// Head returns the document with that id without its fields, or ErrNotFound.
func (t *Tx) Head(id string) (Document, error) {
	var h head
	err := t.guarded(func() error {
		var found bool
		var err error
		if h, found, err = t.room.headByID(id); err == nil && !found {
			return fmt.Errorf("%w: document %q", ErrNotFound, id)
		}
		return err
	})
	return h.Document, err
}

// HeadByNo returns the document with that number without its fields, or ErrNotFound.
func (t *Tx) HeadByNo(no uint32) (Document, error) {
	var h head
	err := t.guarded(func() error {
		var found bool
		var err error
		if h, found, err = t.room.headByNo(no); err == nil && !found {
			return fmt.Errorf("%w: document number %d", ErrNotFound, no)
		}
		return err
	})
	return h.Document, err
}

func (t *Tx) withFields(doc Document) (Document, error) {
	err := t.guarded(func() (err error) {
		doc.Fields, err = t.room.fieldsOf(doc.No)
		return err
	})
	if err != nil {
		return Document{}, err
	}
	return doc, nil
}

// Passage returns the document number and the position among its passages of a slot, or
// ErrNotFound.
func (t *Tx) Passage(slot uint32) (no uint32, ord int, err error) {
	err = t.guarded(func() error {
		payload, err := t.room.slots.get(key32(slot))
		if err != nil {
			return err
		}
		if payload == nil {
			return fmt.Errorf("%w: slot %d", ErrNotFound, slot)
		}
		d := decoder{b: payload}
		no, ord = d.u32(), int(d.u32())
		if !d.done() {
			return t.room.slots.corrupt(key32(slot), "payload has %d bytes, want 8", len(payload))
		}
		return nil
	})
	return no, ord, err
}

// Vector returns the vector of a slot, in dst if that is long enough, or ErrNotFound.
func (t *Tx) Vector(slot uint32, dst []float32) ([]float32, error) {
	err := t.guarded(func() error {
		payload, err := t.room.vectors.get(key32(slot))
		if err != nil {
			return err
		}
		if payload == nil {
			return fmt.Errorf("%w: vector of slot %d", ErrNotFound, slot)
		}
		dst, err = t.room.vector(slot, payload, dst)
		return err
	})
	if err != nil {
		return nil, err
	}
	return dst, nil
}

// headByID reads the document with that id without its fields.
func (rm *room) headByID(id string) (h head, found bool, err error) {
	if id == "" || len(id) > MaxIDBytes {
		return h, false, nil
	}
	payload, err := rm.ids.get([]byte(id))
	if err != nil || payload == nil {
		return h, false, err
	}
	d := decoder{b: payload}
	no := d.u32()
	if !d.done() {
		return h, false, rm.ids.corrupt([]byte(id), "payload has %d bytes, want 4", len(payload))
	}
	if h, found, err = rm.headByNo(no); err != nil {
		return h, false, err
	}
	if !found || h.ID != id {
		return h, false, rm.ids.corrupt([]byte(id), "points to document %d, which has another id or is missing", no)
	}
	return h, true, nil
}

// headByNo reads the document with that number without its fields.
func (rm *room) headByNo(no uint32) (h head, found bool, err error) {
	payload, err := rm.docs.get(key32(no))
	if err != nil || payload == nil {
		return h, false, err
	}
	h, ok := decodeHead(no, payload)
	if !ok {
		return h, false, rm.docs.corrupt(key32(no), "payload of %d bytes is not a document", len(payload))
	}
	return h, true, nil
}

// fieldsOf reads the fields of a document that exists.
func (rm *room) fieldsOf(no uint32) ([]byte, error) {
	payload, err := rm.fields.get(key32(no))
	if err != nil {
		return nil, err
	}
	if payload == nil {
		return nil, rm.fields.corrupt(key32(no), "document has no fields")
	}
	return append([]byte(nil), payload...), nil
}

// vector decodes a payload of bucket vectors to dst.
func (rm *room) vector(slot uint32, payload []byte, dst []float32) ([]float32, error) {
	if len(payload) != 4*int(rm.state.dim) {
		return nil, rm.vectors.corrupt(key32(slot), "%d bytes, want %d", len(payload), 4*rm.state.dim)
	}
	dst, ok := decodeVector(dst, payload)
	if !ok {
		return nil, rm.vectors.corrupt(key32(slot), "%d bytes are not a vector", len(payload))
	}
	return dst, nil
}

// Pages of the iterators, in records and in bytes.
const (
	pageRecords  = 512
	pageBytes    = 4 << 20
	passageBytes = 64 // about what a passage takes in memory
)

// each calls page until it returns no more records. ErrStop ends it without an error.
func (t *Tx) each(page func(limit int) (int, error)) error {
	for {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		n, err := page(pageRecords)
		if errors.Is(err, ErrStop) {
			return nil
		}
		if err != nil || n == 0 {
			return err
		}
	}
}

// Documents calls fn for the documents with numbers greater than afterNo, in order of their
// numbers. It returns what fn returns, except ErrStop, and ctx.Err() if the context of the view
// ends.
func (t *Tx) Documents(afterNo uint32, fn func(Document) error) error {
	return t.each(func(limit int) (int, error) { return t.documentsPage(&afterNo, limit, true, fn) })
}

// documentsPage hands at most limit documents after *after to fn, with their fields or without, and
// moves *after on. It returns how many there were.
func (t *Tx) documentsPage(after *uint32, limit int, fields bool, fn func(Document) error) (int, error) {
	var page []Document
	bytes := 0
	err := t.guarded(func() error {
		b := t.room.docs
		cur := b.Cursor()
		if *after == ^uint32(0) {
			return nil
		}
		for k, v := cur.Seek(key32(*after + 1)); k != nil && len(page) < limit; k, v = cur.Next() {
			payload, err := b.open(k, v)
			if err != nil {
				return err
			}
			h, ok := decodeHead(binary.BigEndian.Uint32(k), payload)
			if !ok {
				return b.corrupt(k, "payload of %d bytes is not a document", len(payload))
			}
			if fields {
				if h.Fields, err = t.room.fieldsOf(h.No); err != nil {
					return err
				}
			}
			page = append(page, h.Document)
			if bytes += len(h.Fields) + passageBytes*len(h.Passages); bytes >= pageBytes {
				break
			}
		}
		return nil
	})
	if err != nil && (len(page) == 0 || !errors.Is(err, ErrCorrupt)) { // what stands before a corrupt record comes first
		return 0, err
	}
	for _, d := range page {
		*after = d.No
		if err := fn(d); err != nil {
			return 0, err
		}
	}
	return len(page), nil
}

// Vectors calls fn for the vectors from fromSlot on, in order of their slots. The vector is valid
// until fn returns. It returns what fn returns, except ErrStop, and ctx.Err() if the context of the
// view ends.
func (t *Tx) Vectors(fromSlot uint32, fn func(slot uint32, v []float32) error) error {
	var p vectorPage
	from := uint64(fromSlot)
	return t.each(func(limit int) (int, error) { return t.vectorsPage(&from, limit, &p, fn) })
}

// vectorPage is the memory of one page of vectors.
type vectorPage struct {
	dim   int
	slots []uint32
	data  []float32 // [len(slots), dim], perhaps with the beginning of one more
}

// vector returns vector i.
func (p *vectorPage) vector(i int) []float32 {
	return p.data[i*p.dim : (i+1)*p.dim : (i+1)*p.dim]
}

// vectorsPage hands at most limit vectors from *from on to fn and moves *from on. It returns how
// many there were.
func (t *Tx) vectorsPage(from *uint64, limit int, p *vectorPage, fn func(uint32, []float32) error) (int, error) {
	dim := int(t.room.state.dim)
	p.dim, p.slots, p.data = dim, p.slots[:0], p.data[:0]
	if dim > 0 {
		limit = max(1, min(limit, pageBytes/(4*dim)))
	}
	err := t.guarded(func() error {
		b := t.room.vectors
		cur := b.Cursor()
		if *from > uint64(^uint32(0)) {
			return nil
		}
		for k, v := cur.Seek(key32(uint32(*from))); k != nil && len(p.slots) < limit; k, v = cur.Next() {
			payload, err := b.open(k, v)
			if err != nil {
				return err
			}
			slot := binary.BigEndian.Uint32(k)
			n := len(p.data)
			p.data = append(p.data, make([]float32, dim)...)
			if _, err := t.room.vector(slot, payload, p.data[n:n+dim]); err != nil {
				return err
			}
			p.slots = append(p.slots, slot)
		}
		return nil
	})
	if err != nil && (len(p.slots) == 0 || !errors.Is(err, ErrCorrupt)) { // what stands before a corrupt record comes first
		return 0, err
	}
	for i, slot := range p.slots {
		*from = uint64(slot) + 1
		if err := fn(slot, p.vector(i)); err != nil {
			return 0, err
		}
	}
	return len(p.slots), nil
}
