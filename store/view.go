package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

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
// reused, so the file grows under writes: for long scans use Store.Documents, Vectors and Changes.
// Do not write inside fn: the writer may have to wait for the view to end.
//
// It returns ErrNoCollection, ErrClosed, ctx.Err() if ctx has ended, and what fn returns.
func (s *Store) View(ctx context.Context, collection uint32, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release()
	t := &Tx{s: s, ctx: ctx}
	if err := guard(func() (err error) { t.tx, err = db.Begin(false); return err }); err != nil {
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

// Place returns the last place of a write in a log outside of the store, 0 if none had one.
func (t *Tx) Place() uint64 { return t.room.state.place }

// Seq returns the sequence number of the last change, 0 if there never was one.
func (t *Tx) Seq() uint64 { return t.room.state.seq }

// Trimmed returns the sequence number up to which the log was trimmed.
func (t *Tx) Trimmed() uint64 { return t.room.state.trimmed }

// Counts returns the sizes of the collection.
func (t *Tx) Counts() Counts { return t.room.state.counts() }

// Document returns the document with that id, or ErrNotFound.
func (t *Tx) Document(id string) (Document, error) { return t.byID(id, true) }

// Head returns the document with that id without its fields, or ErrNotFound.
func (t *Tx) Head(id string) (Document, error) { return t.byID(id, false) }

// DocumentByNo returns the document with that number, or ErrNotFound.
func (t *Tx) DocumentByNo(no uint32) (Document, error) { return t.byNo(no, true) }

// HeadByNo returns the document with that number without its fields, or ErrNotFound.
func (t *Tx) HeadByNo(no uint32) (Document, error) { return t.byNo(no, false) }

func (t *Tx) byID(id string, fields bool) (Document, error) {
	return t.document(fields, strconv.Quote(id), func() (head, bool, error) { return t.room.headByID(id) })
}

func (t *Tx) byNo(no uint32, fields bool) (Document, error) {
	return t.document(fields, fmt.Sprint("number ", no), func() (head, bool, error) { return t.room.headByNo(no) })
}

// document returns the document that find finds, with or without its fields.
func (t *Tx) document(fields bool, name string, find func() (head, bool, error)) (doc Document, err error) {
	err = t.guarded(func() error {
		h, found, err := find()
		if err == nil && !found {
			err = fmt.Errorf("%w: document %s", ErrNotFound, name)
		}
		if doc = h.Document; err == nil && fields {
			doc.Fields, err = t.room.fieldsOf(doc.No)
		}
		return err
	})
	if err != nil {
		return Document{}, err
	}
	return doc, nil
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
	h, err = rm.decodeHead(key32(no), payload)
	return h, err == nil, err
}

// decodeHead decodes a payload of bucket docs.
func (rm *room) decodeHead(k, payload []byte) (head, error) {
	h, ok := decodeHead(binary.BigEndian.Uint32(k), payload)
	if !ok {
		return h, rm.docs.corrupt(k, "payload of %d bytes is not a document", len(payload))
	}
	return h, nil
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
