package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"
)

// Owner says which document of the collection a corrupt record belongs to: its number, 0 where
// there is none or it cannot be known, its id, as far as it can be read, and what of it the record
// is.
func (t *Tx) Owner(e *CorruptError) (no uint32, id, part string) {
	_ = t.guarded(func() error { no, id, part = t.room.owner(e); return nil }) // a fault: it cannot be known
	return no, id, part
}

func (rm *room) owner(e *CorruptError) (no uint32, id, part string) {
	if len(e.key) != 4 {
		return 0, "", ""
	}
	switch e.kind {
	case kindDocs:
		no, part = binary.BigEndian.Uint32(e.key), "record"
	case kindFields:
		no, part = binary.BigEndian.Uint32(e.key), "fields"
	case kindVectors:
		payload, err := rm.slots.get(e.key)
		if d := (decoder{b: payload}); err == nil && payload != nil {
			no, part = d.u32(), fmt.Sprintf("vector of passage %d", d.u32())
		}
	}
	if no == 0 {
		return 0, "", ""
	}
	if h, found, err := rm.headByNo(no); err == nil && found {
		return no, h.ID, part
	}
	cur := rm.ids.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		if payload, err := rm.ids.open(k, v); err == nil && len(payload) == 4 && binary.LittleEndian.Uint32(payload) == no {
			return no, string(k), part
		}
	}
	return no, "", part
}

// documentText names a document in messages.
func documentText(no uint32, id string) string {
	if id == "" {
		return fmt.Sprintf("document number %d", no)
	}
	return fmt.Sprintf("document %q", id)
}

// Dropped is a document that DropDamaged has removed.
type Dropped struct {
	Collection string
	No         uint32
	ID         string // empty where it cannot be read
}

// String returns it on one line.
func (d Dropped) String() string {
	return fmt.Sprintf("collection %q: %s", d.Collection, documentText(d.No, d.ID))
}

// DropDamaged removes each document of which Check finds a value damaged, and from a collection
// with damage also what no document leads to and the log of its changes. It calls dropped for each
// document after the commit. Indexes derived from such a collection cannot follow and must be made
// anew. Damage of the counters and of the catalog stays, and Check goes on naming it; so does a
// document of which nothing but vectors is damaged.
func (s *Store) DropDamaged(ctx context.Context, dropped func(Dropped)) error {
	var before map[string]map[uint32]string // found the last time
	for {
		problems, err := s.checkBy(&checker{s: s, ctx: ctx, deep: true})
		if err != nil {
			return err
		}
		found := map[string]map[uint32]string{} // ids by collection and number
		for _, p := range severe(problems) {
			if p.Collection == "" {
				continue
			}
			if found[p.Collection] == nil {
				found[p.Collection] = map[uint32]string{}
			}
			if p.No != 0 {
				found[p.Collection][p.No] = p.Document
			}
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			err := s.expunge(ctx, name, found[name])
			if errors.Is(err, ErrCorrupt) {
				continue
			}
			if err != nil {
				return err
			}
			for _, no := range slices.Sorted(maps.Keys(found[name])) {
				dropped(Dropped{name, no, found[name][no]})
			}
		}
		if len(problems) < maxProblems || maps.EqualFunc(found, before, maps.Equal) {
			return nil
		}
		before = found // there may be others
	}
}

// expunge removes documents by their numbers, reading nothing of them that may be damaged.
func (s *Store) expunge(ctx context.Context, collection string, ids map[uint32]string) error {
	return s.updateCatalog(ctx, func(tx *bbolt.Tx, c catalog) error {
		col, err := c.byName(collection)
		if err != nil {
			return err
		}
		rm, err := openRoom(tx, col.ID)
		if err != nil {
			return err
		}
		for no := range ids {
			if err := rm.docs.Delete(key32(no)); err != nil {
				return err
			}
		}
		leadsNowhere := func(b bucket) func(k, v []byte) bool { // also an entry that cannot be read
			return func(k, v []byte) bool {
				payload, err := b.open(k, v)
				return err != nil || len(payload) < 4 || rm.docs.Get(key32(binary.LittleEndian.Uint32(payload))) == nil
			}
		}
		for _, e := range []struct {
			b  bucket
			of func(k, v []byte) bool
		}{
			{rm.ids, leadsNowhere(rm.ids)},
			{rm.slots, leadsNowhere(rm.slots)},
			{rm.fields, func(k, _ []byte) bool { return rm.docs.Get(k) == nil }},
			{rm.vectors, func(k, _ []byte) bool { return rm.slots.Get(k) == nil }},
			{rm.log, func(_, _ []byte) bool { return true }},
		} {
			if err := e.b.remove(e.of); err != nil {
				return err
			}
		}
		st := &rm.state
		st.seq++
		st.trimmed = st.seq
		st.documents, st.passages, st.vectors = rm.docs.count(), rm.slots.count(), rm.vectors.count()
		return rm.stateB.put(stateKey, st.encode())
	})
}

// remove deletes the records that fn chooses.
func (b bucket) remove(fn func(k, v []byte) bool) error {
	var keys [][]byte
	cur := b.Cursor()
	for k, v := cur.First(); k != nil; k, v = cur.Next() {
		if fn(k, v) {
			keys = append(keys, bytes.Clone(k))
		}
	}
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// count returns the number of records.
func (b bucket) count() (n uint64) {
	cur := b.Cursor()
	for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
		n++
	}
	return n
}
