package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/embedded"
	"example.com/searchd/search/passage"
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
//	hash     32 bytes
//	fields   length, bytes
//	passages count, then of each: field (length, bytes), start, end
//	blocks   length, bytes, see passage.Encode
//	vectors  dimension, then 4 bytes for each component of each passage
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

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errMessage is returned for bytes that are not a message.
var errMessage = errors.New("not a message of this program's version, or damaged")

// barrier is a message that changes nothing: whoever reads its place in the log has read all that
// was accepted before it was sent.
func barrier() []byte { return seal([]byte{messageVersion, barrierMessage}) }

// mark is the message after the copies of a log that was lost.
func mark() []byte { return seal([]byte{messageVersion, markMessage}) }

// encodeMessage encodes a write without its condition. number is 0 for a new document.
func encodeMessage(w backend.Write, number uint32) []byte { return encodeCopy(w, number, 0) }

// encodeCopy encodes a document with its revision, or a write: then revision is 0.
func encodeCopy(w backend.Write, number uint32, revision uint64) []byte {
	size := 128 + len(w.ID) + len(w.Fields) + 64*len(w.Passages)
	for _, v := range w.Vectors {
		size += 4 * len(v)
	}
	b := make([]byte, 0, size)
	b = append(b, messageVersion, putMessage)
	if w.Delete {
		b[1] = deleteMessage
	}
	b = binary.LittleEndian.AppendUint32(b, number)
	b = appendBytes(b, w.ID)
	if w.Delete {
		return seal(b)
	}
	if revision > 0 {
		b[1] = copyMessage
		b = binary.LittleEndian.AppendUint64(b, revision)
	}
	b = append(b, w.Hash[:]...)
	b = appendBytes(b, w.Fields)
	b = binary.AppendUvarint(b, uint64(len(w.Passages)))
	for _, p := range w.Passages {
		b = appendBytes(b, p.Field)
		b = binary.AppendUvarint(b, uint64(p.Start))
		b = binary.AppendUvarint(b, uint64(p.End))
	}
	var blocks []byte
	if len(w.Passages) > 0 {
		blocks = passage.Encode(nil, w.Blocks)
	}
	b = appendBytes(b, blocks)
	dimension := 0
	if len(w.Vectors) > 0 {
		dimension = len(w.Vectors[0])
	}
	b = binary.AppendUvarint(b, uint64(dimension))
	for _, v := range w.Vectors {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return seal(b)
}

func appendBytes[S ~string | ~[]byte](b []byte, s S) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func seal(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeMessage decodes the message at a place of a log whose first message has the place first+1.
// ok is false for a barrier and a mark. What it returns does not share memory with b.
func decodeMessage(b []byte, place, first uint64) (e embedded.LogEntry, ok bool, err error) {
	if len(b) < 6 || b[0] != messageVersion || crc32.Checksum(b[:len(b)-4], castagnoli) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return e, false, errMessage
	}
	if b[1] == barrierMessage || b[1] == markMessage {
		return e, false, nil
	}
	own := place - first
	if place <= first || own > math.MaxUint32 {
		return e, false, fmt.Errorf("%w: place %d of a log that begins after %d and has at most %d", errMessage, place, first, uint32(math.MaxUint32))
	}
	d := reader{b: b[2 : len(b)-4]}
	e.Revision, e.Delete = place, b[1] == deleteMessage
	if e.Number = binary.LittleEndian.Uint32(append(d.take(4), 0, 0, 0, 0)); e.Number == 0 {
		e.Number = uint32(own)
	}
	e.ID = string(d.bytes())
	if b[1] == copyMessage {
		e.Place = place
		if e.Revision = binary.LittleEndian.Uint64(append(d.take(8), make([]byte, 8)...)); e.Revision == 0 || e.Revision > place || e.Number == uint32(own) {
			d.bad = true
		}
	}
	if !e.Delete {
		copy(e.Hash[:], d.take(32))
		e.Fields = append([]byte(nil), d.bytes()...)
		e.Passages = make([]backend.Passage, d.count(3))
		for i := range e.Passages {
			e.Passages[i] = backend.Passage{Field: string(d.bytes()), Start: d.number(), End: d.number()}
		}
		blocks := d.bytes()
		dimension := d.number()
		if uint64(len(d.b)) != 4*uint64(dimension)*uint64(len(e.Passages)) {
			d.bad = true
		}
		if !d.bad && len(e.Passages) > 0 {
			if e.Blocks, err = passage.Decode(append([]byte(nil), blocks...)); err != nil {
				return e, false, fmt.Errorf("%w: %w", errMessage, err)
			}
			e.Vectors = make([][]float32, len(e.Passages))
			for i := range e.Vectors {
				e.Vectors[i] = make([]float32, dimension)
				for j := range e.Vectors[i] {
					e.Vectors[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(d.take(4)))
				}
			}
		}
	}
	if d.bad || len(d.b) > 0 || b[1] > copyMessage {
		return e, false, errMessage
	}
	return e, true, nil
}

// reader reads the parts of a message. After the first that is missing it returns nothing, and bad
// is set.
type reader struct {
	b   []byte
	bad bool
}

func (d *reader) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.b, d.bad = nil, true
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

func (d *reader) uvarint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.b, d.bad = nil, true
		return 0
	}
	d.b = d.b[size:]
	return n
}

// number reads a number that an int of 32 bits holds.
func (d *reader) number() int {
	n := d.uvarint()
	if n > math.MaxInt32 {
		d.b, d.bad = nil, true
		return 0
	}
	return int(n)
}

// count reads the number of parts of at least so many bytes each, which must be there.
func (d *reader) count(size int) int {
	n := d.number()
	if n*size > len(d.b) {
		d.b, d.bad = nil, true
		return 0
	}
	return n
}

func (d *reader) bytes() []byte { return d.take(d.uvarint()) }
