package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
	"example.com/searchd/search/wire"
)

// A message of a log is a write that was accepted. All numbers are little-endian, lengths and
// counts are uvarints:
//
//	version  1 byte: 1
//	kind     1 byte: 0 put, 1 delete, 2 barrier, 3 copy, 4 mark; a barrier and a mark end here
//	number   4 bytes: the document's number; 0: the place of this message in the log, counted from
//	         the first of the log
//	id       length, bytes
//	of a copy, which is a document of a log that was lost:
//	revision 8 bytes
//	of a put and a copy:
//	the rest, see package wire
//	CRC-32C  4 bytes: of all before
const messageVersion = 1

// The kinds of a message.
const (
	putMessage = iota
	deleteMessage
	barrierMessage
	copyMessage
	markMessage // all copies come before it
)

// errMessage is returned for bytes that are not a message.
var errMessage = errors.New("not a message of this program's version, or damaged")

// barrier is a message that changes nothing: whoever reads its place in the log has read all that
// was accepted before it was sent.
func barrier() []byte { return wire.Seal([]byte{messageVersion, barrierMessage}) }

// mark is the message after the copies of a log that was lost.
func mark() []byte { return wire.Seal([]byte{messageVersion, markMessage}) }

// encodeMessage encodes a write without its condition. number is 0 for a new document.
func encodeMessage(w backend.Write, number uint32) []byte { return encodeCopy(w, number, 0) }

// encodeCopy encodes a document with its revision, or a write: then revision is 0.
func encodeCopy(w backend.Write, number uint32, revision uint64) []byte {
	b := make([]byte, 0, len(w.ID)+wire.Size(w))
	b = append(b, messageVersion, putMessage)
	if w.Delete {
		b[1] = deleteMessage
	}
	b = binary.LittleEndian.AppendUint32(b, number)
	b = wire.AppendBytes(b, w.ID)
	if w.Delete {
		return wire.Seal(b)
	}
	if revision > 0 {
		b[1] = copyMessage
		b = binary.LittleEndian.AppendUint64(b, revision)
	}
	return wire.Seal(wire.Append(b, w))
}

// decodeMessage decodes the message at a place of a log whose first message has the place first+1.
// ok is false for a barrier and a mark. What it returns does not share memory with b.
func decodeMessage(b []byte, place, first uint64) (e embedded.LogEntry, ok bool, err error) {
	b, ok = wire.Unseal(b)
	if !ok || len(b) < 2 || b[0] != messageVersion {
		return e, false, errMessage
	}
	if b[1] == barrierMessage || b[1] == markMessage {
		return e, false, nil
	}
	own := place - first
	if place <= first || own > math.MaxUint32 {
		return e, false, fmt.Errorf("%w: place %d of a log that begins after %d and has at most %d", errMessage, place, first, uint32(math.MaxUint32))
	}
	d := wire.Reader{B: b[2:]}
	e.Revision, e.Delete = place, b[1] == deleteMessage
	if e.Number = binary.LittleEndian.Uint32(append(d.Take(4), 0, 0, 0, 0)); e.Number == 0 {
		e.Number = uint32(own)
	}
	e.ID = string(d.Bytes())
	if b[1] == copyMessage {
		e.Place = place
		if e.Revision = binary.LittleEndian.Uint64(append(d.Take(8), make([]byte, 8)...)); e.Revision == 0 || e.Revision > place || e.Number == uint32(own) {
			d.Bad = true
		}
	}
	if !e.Delete {
		if err := d.Document(&e.Write); err != nil {
			return e, false, fmt.Errorf("%w: %w", errMessage, err)
		}
	}
	if d.Bad || len(d.B) > 0 || b[1] > copyMessage {
		return e, false, errMessage
	}
	return e, true, nil
}
