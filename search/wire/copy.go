package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"example.com/searchd/search/backend"
)

// A copy of documents is a sequence of: length of the rest (4 bytes), kind (1 byte: 0 document, 1
// there is none of this id), id (length, bytes), of a document what [Append] appends, CRC-32C.
const (
	documentKind = iota
	noneKind
)

// AppendCopy appends a document to a sequence; of a write that deletes, that there is none with its
// id.
func AppendCopy(b []byte, w backend.Write) []byte {
	one := make([]byte, 0, len(w.ID)+Size(w))
	one = append(one, documentKind)
	if w.Delete {
		one[0] = noneKind
	}
	if one = AppendBytes(one, w.ID); !w.Delete {
		one = Append(one, w)
	}
	one = Seal(one)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(one))), one...)
}

// Copies returns the writes of a sequence of at most so many, which do not share memory with it.
func Copies(b []byte, most int) (list []backend.Write, err error) {
	for len(b) > 0 {
		wrong := func(what string) error { return fmt.Errorf("%w: document %d: %s", ErrForm, len(list), what) }
		if len(list) == most {
			return nil, fmt.Errorf("%w: more than %d documents", ErrForm, most)
		}
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
			return nil, wrong("cut off")
		}
		n := 4 + int(binary.LittleEndian.Uint32(b))
		one, ok := Unseal(b[4:n])
		b = b[n:]
		if !ok || len(one) == 0 || one[0] > noneKind {
			return nil, wrong("wrong checksum or kind")
		}
		d := Reader{B: one[1:]}
		w := backend.Write{ID: string(d.Bytes()), Delete: one[0] == noneKind}
		if !w.Delete {
			if err := d.Document(&w); err != nil {
				return nil, wrong(err.Error())
			}
		}
		if d.Bad || len(d.B) > 0 {
			return nil, wrong("parts are missing or too long")
		}
		list = append(list, w)
	}
	return list, nil
}

// Of returns the write that makes a document, which came with its vectors.
func Of(d *backend.Document) backend.Write {
	return backend.Write{ID: d.ID, Fields: d.Fields, Hash: d.Hash, Passages: d.Passages, Blocks: d.Blocks, Vectors: d.Vectors}
}

// Digest returns a sum over everything that is stored of a document, which two have in common only
// if they are equal to the last bit of their vectors. Revisions do not count.
func Digest(d *backend.Document) string {
	w := Of(d)
	sum := sha256.Sum256(Append(make([]byte, 0, Size(w)), w))
	return hex.EncodeToString(sum[:16])
}
