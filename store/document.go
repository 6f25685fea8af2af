package store

import (
	"bytes"
	"encoding/binary"
	"math"
)

// A Passage is a window of a document's text. Its vector, if it has one, is stored under Slot.
type Passage struct {
	Slot       uint32 // set by the store; unique in the collection, never used again
	Field      string // field of the document that holds the text
	Start, End int    // byte offsets [Start, End) into the text of the field
}

// A Document is one entry of a collection as the store keeps it. All its memory is the caller's.
type Document struct {
	ID       string
	No       uint32    // document number, from 1; the id keeps it while the document lives
	Revision uint64    // sequence number of the write that made this revision
	Hash     [32]byte  // content hash as given by the writer
	Fields   []byte    // JSON object; nil in what Head, HeadByNo and Heads return
	Passages []Passage // in the order of the write; slots are consecutive

	// Structure is what the writer keeps of the structure of the text, which the store does not
	// look into; nil: nothing.
	Structure []byte
}

// head is the record of bucket docs: everything of a document but its fields.
type head struct {
	Document
	hasVector []bool // [len(Passages)]
}

// appendHead encodes h; see store/FORMAT.md for the layout.
func appendHead(b []byte, h *head) []byte {
	b = binary.LittleEndian.AppendUint64(b, h.Revision)
	b = append(b, h.Hash[:]...)
	b = appendString(b, h.ID)
	var names []string
	index := map[string]uint32{}
	for _, p := range h.Passages {
		if _, ok := index[p.Field]; !ok {
			index[p.Field] = uint32(len(names))
			names = append(names, p.Field)
		}
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(names)))
	for _, n := range names {
		b = appendString(b, n)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(h.Passages)))
	if len(h.Passages) > 0 {
		b = binary.LittleEndian.AppendUint32(b, h.Passages[0].Slot)
	}
	for i, p := range h.Passages {
		b = binary.LittleEndian.AppendUint32(b, index[p.Field])
		b = binary.LittleEndian.AppendUint32(b, uint32(p.Start))
		b = binary.LittleEndian.AppendUint32(b, uint32(p.End))
		b = append(b, boolByte(h.hasVector[i]))
	}
	return append(b, h.Structure...)
}

// decodeHead decodes a payload of bucket docs into memory of its own; ok is false where the layout
// is wrong.
func decodeHead(no uint32, payload []byte) (h head, ok bool) {
	d := decoder{b: payload}
	h.No = no
	h.Revision = d.u64()
	copy(h.Hash[:], d.bytes(32))
	h.ID = d.str()
	nNames := int(d.u32())
	if nNames > len(d.b)/2 { // a name takes two bytes or more
		return h, false
	}
	names := make([]string, nNames)
	for i := range names {
		names[i] = d.str()
	}
	n := int(d.u32())
	if n == 0 {
		return h, d.done()
	}
	first := d.u32()
	if n > len(d.b)/13 || uint64(first)+uint64(n) > math.MaxUint32 { // a passage takes 13 bytes
		return h, false
	}
	h.Passages = make([]Passage, n)
	h.hasVector = make([]bool, n)
	for i := range h.Passages {
		f := int(d.u32())
		if f >= len(names) {
			return h, false
		}
		h.Passages[i] = Passage{Slot: first + uint32(i), Field: names[f], Start: int(d.u32()), End: int(d.u32())}
		h.hasVector[i] = d.u8() != 0
	}
	if len(d.b) > 0 {
		h.Structure = bytes.Clone(d.b)
	}
	return h, !d.bad
}

// slots returns the slots of the document's passages.
func (h *head) slots() []uint32 {
	if len(h.Passages) == 0 {
		return nil
	}
	return slotRange(h.Passages[0].Slot, len(h.Passages))
}

// slotRange returns n consecutive slots.
func slotRange(first uint32, n int) []uint32 {
	if n == 0 {
		return nil
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = first + uint32(i)
	}
	return out
}

// appendString encodes s with its length in two bytes.
func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

func (d *decoder) str() string { return string(d.bytes(int(d.u16()))) }

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}
