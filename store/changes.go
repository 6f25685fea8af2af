package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"go.etcd.io/bbolt"
)

// An Op is the kind of a change.
type Op uint8

// The kinds of change.
const (
	OpPut    Op = 1 // document No was created or replaced
	OpDelete Op = 2 // document No is gone
)

// String returns the kind in lower case.
func (o Op) String() string {
	switch o {
	case OpPut:
		return "put"
	case OpDelete:
		return "delete"
	}
	return "Op(" + strconv.Itoa(int(o)) + ")"
}

// A Change is one entry of a collection's log: what a derived index needs to follow the collection.
// Replaying it needs no order between OldSlots and NewSlots, since slots are never used again; the
// content is read from the document, which may have changed once more or be gone: a later change
// will say so.
type Change struct {
	Seq      uint64
	No       uint32
	ID       string
	Op       Op
	OldSlots []uint32 // slots that this change freed
	NewSlots []uint32 // slots that it brought
}

// size is about how many bytes a change takes in memory, which may be half a megabyte.
func (c *Change) size() int { return changeBytes + len(c.ID) + 4*(len(c.OldSlots)+len(c.NewSlots)) }

// changeBytes is what a change takes without its id and slots.
const changeBytes = 96

// logChange appends c to the log.
func (rm *room) logChange(c Change) error { return rm.log.put(key64(c.Seq), encodeChange(c)) }

// encodeChange encodes c; see store/FORMAT.md for the layout. The slots of a change are
// consecutive.
func encodeChange(c Change) []byte {
	b := make([]byte, 0, 40+len(c.ID))
	b = append(b, byte(c.Op))
	b = binary.LittleEndian.AppendUint32(b, c.No)
	for _, slots := range [][]uint32{c.OldSlots, c.NewSlots} {
		var first uint32
		if len(slots) > 0 {
			first = slots[0]
		}
		b = binary.LittleEndian.AppendUint32(b, first)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(slots)))
	}
	return appendString(b, c.ID)
}

// decodeChange decodes a payload of bucket log.
func decodeChange(seq uint64, payload []byte) (c Change, ok bool) {
	d := decoder{b: payload}
	c = Change{Seq: seq, Op: Op(d.u8()), No: d.u32()}
	var runs [2][2]uint32
	for i := range runs {
		runs[i] = [2]uint32{d.u32(), d.u32()}
		if runs[i][1] > MaxPassages {
			return c, false
		}
	}
	c.ID = d.str()
	c.OldSlots = slotRange(runs[0][0], int(runs[0][1]))
	c.NewSlots = slotRange(runs[1][0], int(runs[1][1]))
	return c, d.done() && (c.Op == OpPut || c.Op == OpDelete)
}

// decodeChange decodes a payload of bucket log.
func (rm *room) decodeChange(k, payload []byte) (Change, error) {
	c, ok := decodeChange(binary.BigEndian.Uint64(k), payload)
	if !ok {
		return c, rm.log.corrupt(k, "payload of %d bytes is not a change", len(payload))
	}
	return c, nil
}

// trimBatch bounds one transaction of TrimChanges.
const trimBatch = 10_000

// TrimChanges removes the changes up to and including upTo from the log; call it with the smallest
// sequence number that every derived index has applied durably. A reader that is further behind
// gets ErrTrimmed. It returns ErrAhead if upTo is greater than the last sequence number; trimming
// twice is no error. A long log goes in several transactions, each complete in itself.
func (s *Store) TrimChanges(ctx context.Context, collection uint32, upTo uint64) error {
	for more := true; more; {
		err := s.update(ctx, func(tx *bbolt.Tx) error {
			rm, err := openRoom(tx, collection)
			if err != nil {
				return err
			}
			if upTo > rm.state.seq {
				return fmt.Errorf("%w: cannot trim up to %d, the last change is %d", ErrAhead, upTo, rm.state.seq)
			}
			if upTo <= rm.state.trimmed {
				more = false
				return errNothing
			}
			to := min(upTo, rm.state.trimmed+trimBatch)
			more = to < upTo
			for seq := rm.state.trimmed + 1; seq <= to; seq++ {
				if err := rm.log.Delete(key64(seq)); err != nil {
					return err
				}
			}
			rm.state.trimmed = to
			return rm.stateB.put(stateKey, rm.state.encode())
		})
		if err != nil {
			return err
		}
	}
	return nil
}
