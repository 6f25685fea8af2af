package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"

	"go.etcd.io/bbolt"
)

// A Collection is a named set of documents.
type Collection struct {
	ID         uint32 // from 1; never used again after DropCollection
	Name       string
	Settings   []byte // JSON object that only the caller understands
	Generation uint64 // 1 when created, one more with each UpdateCollection
}

// Counts are the sizes of a collection.
type Counts struct {
	Documents, Passages, Vectors uint64
	Dim                          int    // length of the vectors; 0 while there is none
	NextSlot                     uint32 // every slot in use is smaller
	NextNo                       uint32 // every document number in use is smaller
}

// state is the one record of bucket state: the counters of a collection.
type state struct {
	nextNo, nextSlot             uint32 // math.MaxUint32: used up
	seq, trimmed                 uint64 // last change; changes up to trimmed are gone from the log
	dim                          uint32
	documents, passages, vectors uint64
	place                        uint64 // in a log, of the last write that had a Revision; 0: none had one
}

var stateKey = []byte("state")

func (st *state) encode() []byte {
	b := make([]byte, 0, 72)
	b = binary.LittleEndian.AppendUint32(b, st.nextNo)
	b = binary.LittleEndian.AppendUint32(b, st.nextSlot)
	b = binary.LittleEndian.AppendUint64(b, st.seq)
	b = binary.LittleEndian.AppendUint64(b, st.trimmed)
	b = binary.LittleEndian.AppendUint32(b, st.dim)
	b = binary.LittleEndian.AppendUint64(b, st.documents)
	b = binary.LittleEndian.AppendUint64(b, st.passages)
	b = binary.LittleEndian.AppendUint64(b, st.vectors)
	if st.place != 0 {
		b = binary.LittleEndian.AppendUint64(b, st.place)
	}
	return b
}

func (st *state) decode(payload []byte) bool {
	d := decoder{b: payload}
	*st = state{nextNo: d.u32(), nextSlot: d.u32(), seq: d.u64(), trimmed: d.u64(), dim: d.u32(),
		documents: d.u64(), passages: d.u64(), vectors: d.u64()}
	if len(d.b) > 0 {
		st.place = d.u64()
	}
	return d.done() && st.trimmed <= st.seq && st.nextNo > 0 && st.dim <= MaxDim
}

func (st *state) counts() Counts {
	return Counts{Documents: st.documents, Passages: st.passages, Vectors: st.vectors, Dim: int(st.dim),
		NextSlot: st.nextSlot, NextNo: st.nextNo}
}

// room holds the buckets and counters of one collection inside one transaction.
type room struct {
	state                                          state
	stateB, ids, docs, fields, slots, vectors, log bucket
	structured                                     bool // a document with a structure was written

	top *bbolt.Bucket // of the collection
}

// collectionBucket is the name of the bucket that holds the buckets of a collection.
func collectionBucket(id uint32) []byte { return binary.BigEndian.AppendUint32([]byte{'c'}, id) }

// openRoom opens the buckets of a collection; ErrNoCollection if there is none.
func openRoom(tx *bbolt.Tx, id uint32) (*room, error) {
	top := tx.Bucket(collectionBucket(id))
	if top == nil {
		cols, err := openTop(tx, kindCollections)
		if err != nil {
			return nil, err
		}
		if payload, err := cols.get(key32(id)); err != nil {
			return nil, err
		} else if payload != nil {
			return nil, &CorruptError{Bucket: fmt.Sprintf("collection %d", id), Detail: "bucket is missing"}
		}
		return nil, fmt.Errorf("%w: number %d", ErrNoCollection, id)
	}
	r := &room{top: top}
	for _, k := range collectionKinds {
		b, err := openBucket(top.Bucket([]byte(bucketNames[k])), k, id)
		if err != nil {
			return nil, err
		}
		*r.bucket(k) = b
	}
	payload, err := r.stateB.get(stateKey)
	if err != nil {
		return nil, err
	}
	if !r.state.decode(payload) {
		return nil, r.stateB.corrupt(stateKey, "%d bytes do not hold the counters", len(payload))
	}
	return r, nil
}

// bucket returns the field of r that holds buckets of kind k.
func (r *room) bucket(k kind) *bucket {
	switch k {
	case kindState:
		return &r.stateB
	case kindIDs:
		return &r.ids
	case kindDocs:
		return &r.docs
	case kindFields:
		return &r.fields
	case kindSlots:
		return &r.slots
	case kindVectors:
		return &r.vectors
	case kindLog:
		return &r.log
	}
	panic("store: not a bucket of a collection: " + string(k))
}

func encodeCollection(c Collection) []byte {
	b := binary.LittleEndian.AppendUint64(nil, c.Generation)
	b = appendString(b, c.Name)
	return append(b, c.Settings...)
}

func decodeCollection(id uint32, payload []byte) (Collection, bool) {
	d := decoder{b: payload}
	c := Collection{ID: id, Generation: d.u64(), Name: d.str()}
	c.Settings = append([]byte(nil), d.b...)
	return c, !d.bad
}

// catalog holds the buckets that list the collections, inside one transaction.
type catalog struct{ meta, collections, names bucket }

func openCatalog(tx *bbolt.Tx) (c catalog, err error) {
	for _, e := range []struct {
		b *bucket
		k kind
	}{{&c.meta, kindMeta}, {&c.collections, kindCollections}, {&c.names, kindNames}} {
		if *e.b, err = openTop(tx, e.k); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (c catalog) byID(id uint32) (Collection, error) {
	payload, err := c.collections.get(key32(id))
	if err != nil {
		return Collection{}, err
	}
	if payload == nil {
		return Collection{}, fmt.Errorf("%w: number %d", ErrNoCollection, id)
	}
	return c.decode(key32(id), payload)
}

// decode decodes a payload of bucket collections.
func (c catalog) decode(k, payload []byte) (Collection, error) {
	col, ok := decodeCollection(binary.BigEndian.Uint32(k), payload)
	if !ok {
		return Collection{ID: col.ID}, c.collections.corrupt(k, "payload of %d bytes is not a collection", len(payload))
	}
	return col, nil
}

func (c catalog) byName(name string) (Collection, error) {
	payload, err := c.names.get([]byte(name))
	if err != nil {
		return Collection{}, err
	}
	if payload == nil {
		return Collection{}, fmt.Errorf("%w: name %q", ErrNoCollection, name)
	}
	d := decoder{b: payload}
	id := d.u32()
	col, err := c.byID(id)
	if !d.done() || errors.Is(err, ErrNoCollection) || err == nil && col.Name != name {
		return Collection{}, c.names.corrupt([]byte(name), "points to collection %d, which has another name or is missing", id)
	}
	return col, err
}

// put writes the record of col and the name that points to it.
func (c catalog) put(col Collection) error {
	if err := c.collections.put(key32(col.ID), encodeCollection(col)); err != nil {
		return err
	}
	return c.names.put([]byte(col.Name), binary.LittleEndian.AppendUint32(nil, col.ID))
}

func checkName(name string) error {
	if err := checkText("collection name", name, MaxNameBytes); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

func checkSettings(settings []byte) error {
	if len(settings) > MaxSettingsBytes {
		return fmt.Errorf("%w: settings take %d bytes: at most %d are allowed", ErrInvalid, len(settings), MaxSettingsBytes)
	}
	if !isObject(settings) {
		return fmt.Errorf("%w: settings are not a JSON object", ErrInvalid)
	}
	return nil
}

// isObject reports whether b is one valid JSON object.
func isObject(b []byte) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return json.Valid(b)
		}
		break
	}
	return false
}

// CreateCollection makes an empty collection, whose first change gets the sequence number seq+1: a
// collection that replaces another gives out none of its revisions again. settings is a JSON
// object. It returns ErrExists if the name is taken and ErrInvalid for a name or settings that are
// not allowed: a name is valid UTF-8 of 1 to MaxNameBytes bytes without control characters.
func (s *Store) CreateCollection(ctx context.Context, name string, settings []byte, seq uint64) (Collection, error) {
	if err := errors.Join(checkName(name), checkSettings(settings)); err != nil {
		return Collection{}, err
	}
	col := Collection{Name: name, Settings: append([]byte(nil), settings...), Generation: 1}
	err := s.updateCatalog(ctx, func(tx *bbolt.Tx, c catalog) error {
		if _, err := c.byName(name); err == nil {
			return fmt.Errorf("%w: %q", ErrExists, name)
		} else if !errors.Is(err, ErrNoCollection) {
			return err
		}
		id, err := c.nextID()
		if err != nil {
			return err
		}
		col.ID = id
		return c.create(tx, col, seq)
	})
	if err != nil {
		return Collection{}, err
	}
	return col, nil
}

// create writes the record of col, its name and its empty buckets; seq is the sequence number
// before its first change.
func (c catalog) create(tx *bbolt.Tx, col Collection, seq uint64) error {
	if err := c.put(col); err != nil {
		return err
	}
	top, err := tx.CreateBucket(collectionBucket(col.ID))
	if err != nil {
		return err
	}
	var stateB bucket
	for _, k := range collectionKinds {
		b, err := top.CreateBucket([]byte(bucketNames[k]))
		if err != nil {
			return err
		}
		if k == kindState {
			stateB = bucket{Bucket: b, kind: k, collection: col.ID}
		}
	}
	st := state{nextNo: 1, seq: seq, trimmed: seq}
	return stateB.put(stateKey, st.encode())
}

var nextCollectionKey = []byte("next-collection")

// nextID takes the next collection number.
func (c catalog) nextID() (uint32, error) {
	payload, err := c.meta.get(nextCollectionKey)
	if err != nil {
		return 0, err
	}
	d := decoder{b: payload}
	id := d.u32()
	if !d.done() {
		return 0, c.meta.corrupt(nextCollectionKey, "%d bytes are not a number", len(payload))
	}
	if id == math.MaxUint32 {
		return 0, fmt.Errorf("%w: collections", ErrFull)
	}
	return id, c.meta.put(nextCollectionKey, binary.LittleEndian.AppendUint32(nil, id+1))
}

// UpdateCollection replaces the settings of a collection and returns it with its new generation.
func (s *Store) UpdateCollection(ctx context.Context, id uint32, settings []byte) (Collection, error) {
	if err := checkSettings(settings); err != nil {
		return Collection{}, err
	}
	var col Collection
	err := s.updateCatalog(ctx, func(_ *bbolt.Tx, c catalog) (err error) {
		if col, err = c.byID(id); err != nil {
			return err
		}
		col.Settings = append([]byte(nil), settings...)
		col.Generation++
		return c.put(col)
	})
	return col, err
}

// DropCollection removes a collection with everything in it, in one transaction. Its record may be
// damaged, and so may its name.
func (s *Store) DropCollection(ctx context.Context, id uint32) error {
	return s.updateCatalog(ctx, func(tx *bbolt.Tx, c catalog) error {
		col, err := c.byID(id)
		switch {
		case errors.Is(err, ErrCorrupt):
			err = c.names.remove(c.leadsTo(id))
		case err == nil:
			err = c.names.Delete([]byte(col.Name))
		}
		if err != nil {
			return err
		}
		if err := c.collections.Delete(key32(id)); err != nil {
			return err
		}
		if tx.Bucket(collectionBucket(id)) == nil {
			return nil
		}
		return tx.DeleteBucket(collectionBucket(id))
	})
}

// leadsTo chooses the names of a collection whose record is damaged: those that lead to it, and
// those that cannot be read and are of no collection that can.
func (c catalog) leadsTo(id uint32) func(k, v []byte) bool {
	known := map[string]bool{}
	cur := c.collections.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		if payload, err := c.collections.open(k, v); err == nil {
			col, _ := decodeCollection(0, payload)
			known[col.Name] = true
		}
	}
	return func(k, v []byte) bool {
		payload, err := c.names.open(k, v)
		return !known[string(k)] && (err != nil || bytes.Equal(payload, binary.LittleEndian.AppendUint32(nil, id)))
	}
}

// updateCatalog runs fn in a write transaction of its own.
func (s *Store) updateCatalog(ctx context.Context, fn func(*bbolt.Tx, catalog) error) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		c, err := openCatalog(tx)
		if err != nil {
			return err
		}
		return fn(tx, c)
	})
}

// Collection returns the collection with that name, or ErrNoCollection.
func (s *Store) Collection(name string) (col Collection, err error) {
	err = s.viewCatalog(func(c catalog) (err error) { col, err = c.byName(name); return err })
	return col, err
}

// CollectionByID returns the collection with that number, or ErrNoCollection.
func (s *Store) CollectionByID(id uint32) (col Collection, err error) {
	err = s.viewCatalog(func(c catalog) (err error) { col, err = c.byID(id); return err })
	return col, err
}

// viewCatalog runs fn in a read transaction.
func (s *Store) viewCatalog(fn func(catalog) error) error {
	return s.view(func(tx *bbolt.Tx) error {
		c, err := openCatalog(tx)
		if err != nil {
			return err
		}
		return fn(c)
	})
}

// Collections returns all collections in the order of their numbers. Where the records of some are
// damaged it returns the others, with a *CollectionsError.
func (s *Store) Collections() (cols []Collection, err error) {
	var damaged CollectionsError
	err = s.viewCatalog(func(c catalog) error {
		for col, err := range c.all() {
			if err != nil {
				damaged.Damaged = append(damaged.Damaged, DamagedCollection{col.ID, c.nameOf(col.ID), err})
				continue
			}
			cols = append(cols, col)
		}
		return nil
	})
	if err == nil && len(damaged.Damaged) > 0 {
		err = &damaged
	}
	return cols, err
}

// all yields the collections in the order of their numbers; of one whose record is damaged the
// number alone, with the error.
func (c catalog) all() iter.Seq2[Collection, error] {
	return func(yield func(Collection, error) bool) {
		cur := c.collections.Cursor()
		for k, v := cur.First(); k != nil; k, v = cur.Next() {
			if len(k) != 4 {
				continue // Check reports it
			}
			col := Collection{ID: binary.BigEndian.Uint32(k)}
			payload, err := c.collections.open(k, v)
			if err == nil {
				col, err = c.decode(k, payload)
			}
			if !yield(col, err) {
				return
			}
		}
	}
}

// nameOf returns the name that leads to a collection; empty where none can be read.
func (c catalog) nameOf(id uint32) string {
	cur := c.names.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		if payload, err := c.names.open(k, v); err == nil && len(payload) == 4 && binary.LittleEndian.Uint32(payload) == id {
			return string(k)
		}
	}
	return ""
}
