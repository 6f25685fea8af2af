package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"go.etcd.io/bbolt"
)

// Adopt gives a collection of a follower the record that its primary has, and makes the collection where there is none of its number:
// empty, with seq before its first change. It returns ErrExists if another collection has the name, and ErrInvalid for a record that
// Create would not have made.
func (s *Store) Adopt(ctx context.Context, col Collection, seq uint64) error {
	err := errors.Join(checkName(col.Name), checkSettings(col.Settings))
	if col.ID == 0 || col.ID == math.MaxUint32 || col.Generation == 0 || seq == math.MaxUint64 {
		err = errors.Join(err, fmt.Errorf("%w: collection %d of generation %d at %d", ErrInvalid, col.ID, col.Generation, seq))
	}
	if err != nil {
		return err
	}
	return s.updateCatalog(ctx, func(tx *bbolt.Tx, c catalog) error {
		switch other, err := c.byName(col.Name); {
		case err == nil && other.ID != col.ID:
			return fmt.Errorf("%w: %q", ErrExists, col.Name)
		case err != nil && !errors.Is(err, ErrNoCollection):
			return err
		}
		switch have, err := c.byID(col.ID); {
		case err == nil && have.Name != col.Name:
			return fmt.Errorf("%w: collection %d is %q, not %q", ErrInvalid, col.ID, have.Name, col.Name)
		case err == nil:
			return c.put(col)
		case !errors.Is(err, ErrNoCollection):
			return err
		}
		if err := c.passID(col.ID); err != nil {
			return err
		}
		return c.create(tx, col, seq)
	})
}

// passID makes the next collection number greater than id.
func (c catalog) passID(id uint32) error {
	next, err := c.nextID()
	if err != nil {
		return err
	}
	return c.meta.put(nextCollectionKey, binary.LittleEndian.AppendUint32(nil, max(next, id+1)))
}

// Replay writes changes of a primary's collection to that of a follower, in one transaction: the log as the primary has it, and each
// document under the number, the slots and the revision that it has there. A document whose change brings none stays as it was, until a
// later change says more. There is one Outcome per entry, of what this store held before: Unchanged and Missing where nothing was
// written but the log.
//
// Errors are those of Apply. What no primary at this place could send is ErrInvalid, and changes nothing.
func (s *Store) Replay(ctx context.Context, collection uint32, entries []Entry) ([]Outcome, uint64, error) {
	writes := make([]Write, len(entries))
	for i := range entries {
		writes[i] = entries[i].write()
	}
	for i := range entries {
		if err := entries[i].check(); err != nil {
			return nil, 0, fmt.Errorf("%w: change %d: %w", ErrInvalid, entries[i].Seq, err)
		}
	}
	if _, err := checkWrites(writes); err != nil {
		return nil, 0, err
	}
	outcomes := make([]Outcome, len(entries))
	var seq uint64
	err := s.update(ctx, func(tx *bbolt.Tx) error {
		rm, err := openRoom(tx, collection)
		if err != nil {
			return err
		}
		for i := range entries {
			if outcomes[i], err = rm.replay(&entries[i], &writes[i]); err != nil {
				return fmt.Errorf("change %d of collection %d: %w", entries[i].Seq, collection, err)
			}
		}
		seq = rm.state.seq
		return rm.stateB.put(stateKey, rm.state.encode())
	})
	if err != nil {
		return nil, 0, err
	}
	return outcomes, seq, nil
}

// write is the write that a change came from, as far as it is known.
func (e *Entry) write() Write {
	if e.Document == nil {
		return Write{ID: e.ID, Delete: true} // a put without a document has nothing to check but its id
	}
	d := e.Document
	return Write{ID: e.ID, Fields: d.Fields, Hash: d.Hash, Passages: d.Passages, Vectors: e.Vectors}
}

// check refuses what contradicts itself.
func (e *Entry) check() error {
	d := e.Document
	switch {
	case e.Op != OpPut && e.Op != OpDelete:
		return fmt.Errorf("no such change: %v", e.Op)
	case e.Op == OpDelete && (d != nil || len(e.NewSlots) > 0):
		return errors.New("a deletion brings nothing")
	case !consecutive(e.OldSlots) || !consecutive(e.NewSlots):
		return fmt.Errorf("its slots are not consecutive, or more than %d", MaxPassages)
	case d == nil:
		return nil
	case d.No != e.No || d.ID != e.ID || d.Revision != e.Seq || len(d.Passages) != len(e.NewSlots):
		return errors.New("it put another document")
	}
	for i, p := range d.Passages {
		if p.Slot != e.NewSlots[i] {
			return fmt.Errorf("passage %d has slot %d, the change %d", i, p.Slot, e.NewSlots[i])
		}
	}
	return nil
}

// consecutive reports whether slots are those of one document.
func consecutive(slots []uint32) bool {
	return len(slots) == 0 || len(slots) <= MaxPassages && slices.Equal(slots, slotRange(slots[0], len(slots)))
}

// replay brings one change into the buckets of the collection. w is the write of it.
func (rm *room) replay(e *Entry, w *Write) (out Outcome, err error) {
	st := &rm.state
	refuse := func(format string, args ...any) (Outcome, error) {
		return Outcome{}, fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	n := uint32(len(e.NewSlots))
	switch {
	case e.Seq != st.seq+1:
		return refuse("the last change here is %d", st.seq)
	case e.No == 0 || e.No > st.nextNo || e.No == math.MaxUint32 || e.Op == OpDelete && e.No == st.nextNo:
		return refuse("document number %d, the next is %d", e.No, st.nextNo)
	case n > 0 && (e.NewSlots[0] != st.nextSlot || math.MaxUint32-st.nextSlot < n):
		return refuse("its slots begin at %d, the next is %d", e.NewSlots[0], st.nextSlot)
	case len(e.OldSlots) > 0 && e.OldSlots[len(e.OldSlots)-1] >= st.nextSlot:
		return refuse("it frees slot %d, the next is %d", e.OldSlots[len(e.OldSlots)-1], st.nextSlot)
	}
	old, found, err := rm.headByNo(e.No)
	if err != nil {
		return out, err
	}
	if found && old.ID != e.ID {
		return refuse("document number %d is %q, not %q", e.No, old.ID, e.ID)
	}
	if !found {
		if taken, err := rm.ids.get([]byte(e.ID)); err != nil {
			return out, err
		} else if taken != nil {
			return refuse("%q is another document than number %d", e.ID, e.No)
		}
	}
	st.seq = e.Seq
	st.nextNo = max(st.nextNo, e.No+1)
	out = Outcome{Status: Unchanged, No: old.No, Revision: old.Revision}
	switch {
	case e.Document != nil:
		out, err = rm.write(w, &old, found, e.No)
	case e.Op == OpDelete && found:
		out.Status, out.OldSlots = Deleted, old.slots()
		err = rm.erase(&old)
	case e.Op == OpDelete:
		out.Status = Missing
	default:
		st.nextSlot += n
	}
	if err != nil {
		return out, err
	}
	return out, rm.logChange(e.Change)
}
