// Package wire has the binary form of documents as a backend stores them, with passages and
// vectors: of the messages of a cluster's logs, and of copies of collections.
//
// All numbers are little-endian, lengths and counts are uvarints. The form of a document is
//
//	hash     32 bytes
//	fields   length, bytes
//	passages count, then of each: field (length, bytes), start, end
//	blocks   length, bytes, see passage.Encode
//	vectors  dimension, then 4 bytes for each component of each passage
package wire

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"example.com/searchd/search/backend"
	"example.com/searchd/search/passage"
)

// ErrForm is returned for bytes that are not of the form.
var ErrForm = errors.New("not in the form of this program's version, or damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal appends the CRC-32C of b.
func Seal(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// Unseal returns what was sealed; false where it is damaged.
func Unseal(b []byte) ([]byte, bool) {
	n := len(b) - 4
	if n < 0 || crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, false
	}
	return b[:n], true
}

// Size is about how many bytes [Append] appends.
func Size(w backend.Write) int {
	size := 128 + len(w.Fields) + 64*len(w.Passages)
	for _, v := range w.Vectors {
		size += 4 * len(v)
	}
	return size
}

// Append appends hash, fields, passages, blocks and vectors of a write.
func Append(b []byte, w backend.Write) []byte {
	b = append(b, w.Hash[:]...)
	b = AppendBytes(b, w.Fields)
	b = binary.AppendUvarint(b, uint64(len(w.Passages)))
	for _, p := range w.Passages {
		b = AppendBytes(b, p.Field)
		b = binary.AppendUvarint(b, uint64(p.Start))
		b = binary.AppendUvarint(b, uint64(p.End))
	}
	var blocks []byte
	if len(w.Passages) > 0 {
		blocks = passage.Encode(nil, w.Blocks)
	}
	b = AppendBytes(b, blocks)
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
	return b
}

// AppendBytes appends a length and bytes.
func AppendBytes[S ~string | ~[]byte](b []byte, s S) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Reader reads the parts of what was appended. After the first that is missing it returns nothing,
// and Bad is set. What it returns shares memory with B.
type Reader struct {
	B   []byte // what is left
	Bad bool
}

// Document reads what [Append] appended, which is all that is left; the result does not share
// memory with it.
func (d *Reader) Document(w *backend.Write) (err error) {
	copy(w.Hash[:], d.Take(32))
	w.Fields = append([]byte(nil), d.Bytes()...)
	n := d.count(3)
	if n > backend.MaxPassages {
		d.B, d.Bad, n = nil, true, 0
	}
	w.Passages = make([]backend.Passage, n)
	for i := range w.Passages {
		w.Passages[i] = backend.Passage{Field: string(d.Bytes()), Start: d.number(), End: d.number()}
	}
	blocks := d.Bytes()
	dimension := d.number()
	if uint64(len(d.B)) != 4*uint64(dimension)*uint64(len(w.Passages)) {
		d.Bad = true
	}
	if d.Bad || len(w.Passages) == 0 {
		return nil
	}
	if w.Blocks, err = passage.Decode(append([]byte(nil), blocks...)); err != nil {
		return err
	}
	w.Vectors = make([][]float32, len(w.Passages))
	for i := range w.Vectors {
		w.Vectors[i] = make([]float32, dimension)
		for j := range w.Vectors[i] {
			w.Vectors[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(d.Take(4)))
		}
	}
	return nil
}

// Take reads n bytes.
func (d *Reader) Take(n uint64) []byte {
	if n > uint64(len(d.B)) {
		d.B, d.Bad = nil, true
		return nil
	}
	out := d.B[:n:n]
	d.B = d.B[n:]
	return out
}

// Bytes reads a length and bytes.
func (d *Reader) Bytes() []byte { return d.Take(d.uvarint()) }

func (d *Reader) uvarint() uint64 {
	n, size := binary.Uvarint(d.B)
	if size <= 0 {
		d.B, d.Bad = nil, true
		return 0
	}
	d.B = d.B[size:]
	return n
}

// number reads a number that an int of 32 bits holds.
func (d *Reader) number() int {
	n := d.uvarint()
	if n > math.MaxInt32 {
		d.B, d.Bad = nil, true
		return 0
	}
	return int(n)
}

// count reads the number of parts of at least so many bytes each, which must be there.
func (d *Reader) count(size int) int {
	n := d.number()
	if n > len(d.B)/size {
		d.B, d.Bad = nil, true
		return 0
	}
	return n
}
