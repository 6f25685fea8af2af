package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"go.etcd.io/bbolt"
)

// A Write is one document to put or delete.
type Write struct {
	ID     string // valid UTF-8 of 1 to MaxIDBytes bytes without control characters
	Delete bool   // remove the document; only ID and IfRevision count

	Fields   []byte   // JSON object
	Hash     [32]byte // content hash; a document that has it already, and can be read, is left as it is. Zero: always write
	Passages []Passage
	Vectors  [][]float32 // one per passage, nil for a passage without; or empty if no passage has one

	Structure []byte // see Document; a document without passages has none

	// IfRevision, if not nil, makes the write a Conflict unless the document has this revision; 0:
	// unless there is none.
	IfRevision *uint64

	Keep *Keep // which versions of the document are kept; nil: none is added or removed

	// Revision, if not 0, is the place of the write in a log outside of the store, which decides
	// the document's revision instead of the sequence number: the write is made whatever is there,
	// or left out as Unchanged where the collection has this place or a later one already. The
	// writes of such a collection have all of them one, in rising order.
	Revision uint64
	Place    uint64 // in that log, where it is not Revision but later, as in a log that was rebuilt; 0: Revision
	No       uint32 // document number of a new document with a Revision; not 0 then
}

// place returns the place of the write in a log outside of the store.
func (w *Write) place() uint64 { return max(w.Place, w.Revision) }

// A Status says what became of a write.
type Status uint8

// The statuses. Only the first three of them change the collection.
const (
	Created   Status = iota + 1 // the id was new
	Updated                     // the document was replaced
	Deleted                     // the document is gone
	Unchanged                   // the document has this hash already
	Missing                     // there was nothing to delete
	Conflict                    // IfRevision did not match; Outcome has the revision that is there
)

var statusNames = [...]string{Created: "created", Updated: "updated", Deleted: "deleted",
	Unchanged: "unchanged", Missing: "missing", Conflict: "conflict"}

// String returns the status in lower case.
func (s Status) String() string {
	if int(s) < len(statusNames) && statusNames[s] != "" {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// An Outcome is the answer to one Write.
type Outcome struct {
	Status   Status
	No       uint32 // document number; 0 if there is no document
	Revision uint64 // revision that is now stored; for Deleted the one that was removed; 0 if there is none
	OldSlots []uint32
	NewSlots []uint32
}

// request is an Apply call on its way to the disk.
type request struct {
	ctx        context.Context
	collection uint32
	writes     []Write
	bytes      int

	done     chan struct{} // closed when the fields below are set
	outcomes []Outcome
	seq      uint64
	err      error
}

// A group takes requests up to these sizes, so that one commit stays short.
const (
	groupWrites = 4096
	groupBytes  = 16 << 20
)

// Apply writes a batch to a collection in one transaction: all of it or, on an error, nothing.
// It returns one Outcome per write, in order, and the collection's sequence number after the batch.
// When it returns without an error the batch is on the disk.
//
// A write that finds another state than it asked for is no error; its Status says so. Several
// writes of one id are applied one after the other. Concurrent calls share commits: each has its
// own answer, none waits for a timer.
//
// Errors: a *WriteError that wraps ErrInvalid or ErrDimension for a write that is not allowed;
// ErrNoCollection; ErrNoSpace; ErrFull; ErrReadOnly; ErrCorrupt where a record that the batch had
// to read is damaged; ctx.Err() if ctx ended before the batch was begun. The store does not keep or
// change writes.
func (s *Store) Apply(ctx context.Context, collection uint32, writes []Write) ([]Outcome, uint64, error) {
	bytes, err := checkWrites(writes)
	if err != nil {
		return nil, 0, err
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	r := &request{ctx: ctx, collection: collection, writes: writes, bytes: bytes, done: make(chan struct{})}
	s.queue.Lock()
	s.queue.waiting = append(s.queue.waiting, r)
	s.queue.Unlock()
	for {
		select {
		case <-r.done:
			return r.outcomes, r.seq, r.err
		case <-ctx.Done():
			if s.withdraw(r) {
				return nil, 0, ctx.Err()
			}
			<-r.done // it is being committed: its outcome will be known
			return r.outcomes, r.seq, r.err
		case s.writer <- struct{}{}:
			// Whoever holds writer commits for everyone who waits, in order, so r is soon done.
			s.commitGroup(s.takeGroup())
			s.unlockWriter()
		}
	}
}

// withdraw takes r out of the queue; false if it is no longer there.
func (s *Store) withdraw(r *request) bool {
	s.queue.Lock()
	defer s.queue.Unlock()
	i := slices.Index(s.queue.waiting, r)
	if i >= 0 {
		s.queue.waiting = slices.Delete(s.queue.waiting, i, i+1)
	}
	return i >= 0
}

// takeGroup removes the next requests from the queue, at least one if there is any.
func (s *Store) takeGroup() []*request {
	s.queue.Lock()
	defer s.queue.Unlock()
	var n, writes, bytes int
	for n < len(s.queue.waiting) {
		r := s.queue.waiting[n]
		writes += len(r.writes)
		bytes += r.bytes
		if n > 0 && (writes > groupWrites || bytes > groupBytes) {
			break
		}
		n++
	}
	group := slices.Clone(s.queue.waiting[:n])
	s.queue.waiting = slices.Delete(s.queue.waiting, 0, n) // and nothing holds what they write
	return group
}

// commitGroup writes the requests in one transaction and answers them. A request that fails by
// itself is answered and taken out, and the transaction starts again without it. The caller holds
// writer.
func (s *Store) commitGroup(group []*request) {
	for len(group) > 0 {
		failed := -1
		err := s.commit(func(tx *bbolt.Tx) error {
			rooms := map[uint32]*room{}
			dirty := false
			for i, r := range group {
				changed, err := r.run(tx, rooms)
				if err != nil {
					failed = i
					return err
				}
				dirty = dirty || changed
			}
			if !dirty {
				return errNothing
			}
			for _, rm := range rooms {
				if err := rm.stateB.put(stateKey, rm.state.encode()); err != nil {
					return err
				}
				if rm.structured {
					if err := raiseFormat(tx, structureFormat); err != nil {
						return err
					}
				}
				if rm.state.place != 0 {
					if err := raiseFormat(tx, placeFormat); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil && failed >= 0 {
			group[failed].finish(err)
			group = append(group[:failed], group[failed+1:]...)
			continue
		}
		for _, r := range group {
			r.finish(err)
		}
		return
	}
}

// finish answers the request.
func (r *request) finish(err error) {
	if r.err = err; err != nil {
		r.outcomes, r.seq = nil, 0
	}
	close(r.done)
}

// run applies the writes of r inside tx and reports whether they changed anything.
func (r *request) run(tx *bbolt.Tx, rooms map[uint32]*room) (changed bool, err error) {
	rm := rooms[r.collection]
	if rm == nil {
		if rm, err = openRoom(tx, r.collection); err != nil {
			return false, err
		}
		rooms[r.collection] = rm
	}
	r.outcomes = make([]Outcome, len(r.writes))
	before, place := rm.state.seq, rm.state.place
	for i := range r.writes {
		if i%256 == 0 && r.ctx.Err() != nil {
			return false, r.ctx.Err()
		}
		w := &r.writes[i]
		if r.outcomes[i], err = rm.apply(w); err != nil {
			return false, &WriteError{Index: i, ID: w.ID, Err: err}
		}
	}
	r.seq = rm.state.seq
	return rm.state.seq != before || rm.state.place != place, nil
}

// apply brings one write into the buckets of the collection.
func (rm *room) apply(w *Write) (Outcome, error) {
	old, found, err := rm.headByID(w.ID)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{No: old.No, Revision: old.Revision}
	if w.Revision != 0 {
		if w.place() <= rm.state.place {
			out.Status = Unchanged
			return out, nil
		}
		rm.state.place = w.place()
	}
	switch {
	case w.Delete && !found:
		out.Status = Missing
		return out, nil
	case w.IfRevision != nil && *w.IfRevision != old.Revision:
		out.Status = Conflict
		return out, nil
	case w.Delete:
		out.Status, out.OldSlots = Deleted, old.slots()
		if err := rm.keep(w.Keep, &old, true); err != nil {
			return out, err
		}
		return out, rm.remove(&old)
	case found && w.Revision == 0 && w.Hash != [32]byte{} && w.Hash == old.Hash && rm.whole(&old):
		out.Status = Unchanged
		return out, nil
	}
	if found {
		if err := rm.keep(w.Keep, &old, false); err != nil {
			return out, err
		}
	}
	return rm.replace(w, &old, found)
}

// whole reports whether the fields and vectors of a document are there and can be read: the same
// content repairs what is not.
func (rm *room) whole(h *head) bool {
	if fields, err := rm.fields.get(key32(h.No)); err != nil || fields == nil {
		return false
	}
	for i, p := range h.Passages {
		if !h.hasVector[i] {
			continue
		}
		if v, err := rm.vectors.get(key32(p.Slot)); err != nil || v == nil {
			return false
		}
	}
	return true
}

// replace writes a new document, or a new revision of old, under the next number where there is
// none.
func (rm *room) replace(w *Write, old *head, found bool) (out Outcome, err error) {
	st, no := &rm.state, old.No
	if math.MaxUint32-uint64(st.nextSlot) < uint64(len(w.Passages)) {
		return out, fmt.Errorf("%w: slots", ErrFull)
	}
	if !found {
		if no = st.nextNo; w.Revision != 0 {
			if no, err = w.No, rm.free(w.No); err != nil {
				return out, err
			}
		}
		if no == math.MaxUint32 {
			return out, fmt.Errorf("%w: document numbers", ErrFull)
		}
		st.nextNo = max(st.nextNo, no+1)
	}
	st.seq++
	if out, err = rm.write(w, old, found, no); err != nil {
		return out, err
	}
	return out, rm.logChange(Change{Seq: st.seq, No: no, ID: w.ID, Op: OpPut, OldSlots: out.OldSlots, NewSlots: out.NewSlots})
}

// free returns nil for a number that no document has.
func (rm *room) free(no uint32) error {
	payload, err := rm.docs.get(key32(no))
	if err == nil && payload != nil {
		err = fmt.Errorf("%w: another document has the number %d", ErrInvalid, no)
	}
	return err
}

// write puts a document under a number, in the place of old where that was found, with the next
// slots and the present sequence number.
func (rm *room) write(w *Write, old *head, found bool, no uint32) (out Outcome, err error) {
	st := &rm.state
	h := head{Document: Document{ID: w.ID, No: no, Hash: w.Hash, Revision: st.seq}, hasVector: make([]bool, len(w.Passages))}
	if w.Revision != 0 {
		h.Revision = w.Revision
	}
	out = Outcome{Status: Updated, OldSlots: old.slots()}
	if found {
		if err := rm.freeSlots(old); err != nil {
			return out, err
		}
	} else {
		out.Status = Created
		st.documents++
		if err := rm.ids.put([]byte(w.ID), binary.LittleEndian.AppendUint32(nil, no)); err != nil {
			return out, err
		}
	}
	h.Passages = append([]Passage(nil), w.Passages...)
	if len(w.Passages) > 0 && len(w.Structure) > 0 {
		h.Structure, rm.structured = w.Structure, true
	}
	for i := range h.Passages {
		h.Passages[i].Slot = st.nextSlot
		if err := rm.putSlot(&h, i, w.Vectors); err != nil {
			return out, err
		}
		st.nextSlot++
	}
	st.passages += uint64(len(h.Passages))
	if err := rm.docs.put(key32(no), appendHead(nil, &h)); err != nil {
		return out, err
	}
	if err := rm.fields.put(key32(no), append(make([]byte, 0, len(w.Fields)+4), w.Fields...)); err != nil {
		return out, err
	}
	out.No, out.Revision, out.NewSlots = no, h.Revision, h.slots()
	return out, nil
}

// putSlot writes the slot and the vector of passage i, whose Slot is set.
func (rm *room) putSlot(h *head, i int, vectors [][]float32) error {
	key := key32(h.Passages[i].Slot)
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 12), h.No)
	b = binary.LittleEndian.AppendUint32(b, uint32(i))
	if err := rm.slots.put(key, b); err != nil {
		return err
	}
	if len(vectors) == 0 || vectors[i] == nil {
		return nil
	}
	v := vectors[i]
	if rm.state.vectors == 0 {
		rm.state.dim = uint32(len(v))
	}
	if len(v) != int(rm.state.dim) {
		return fmt.Errorf("%w: the vector of passage %d has %d components, the collection's have %d", ErrDimension, i, len(v), rm.state.dim)
	}
	h.hasVector[i] = true
	rm.state.vectors++
	return rm.vectors.put(key, appendVector(make([]byte, 0, 4*len(v)+4), v))
}

// freeSlots removes the slots and vectors of a document.
func (rm *room) freeSlots(h *head) error {
	for i, p := range h.Passages {
		key := key32(p.Slot)
		if err := rm.slots.Delete(key); err != nil {
			return err
		}
		if !h.hasVector[i] {
			continue
		}
		if err := rm.vectors.Delete(key); err != nil {
			return err
		}
		rm.state.vectors--
	}
	rm.state.passages -= uint64(len(h.Passages))
	return nil
}

// remove deletes a document.
func (rm *room) remove(h *head) error {
	if err := rm.erase(h); err != nil {
		return err
	}
	rm.state.seq++
	return rm.logChange(Change{Seq: rm.state.seq, No: h.No, ID: h.ID, Op: OpDelete, OldSlots: h.slots()})
}

// erase removes the records of a document.
func (rm *room) erase(h *head) error {
	if err := rm.freeSlots(h); err != nil {
		return err
	}
	if err := rm.ids.Delete([]byte(h.ID)); err != nil {
		return err
	}
	if err := rm.docs.Delete(key32(h.No)); err != nil {
		return err
	}
	if err := rm.fields.Delete(key32(h.No)); err != nil {
		return err
	}
	rm.state.documents--
	return nil
}
