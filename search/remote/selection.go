package remote

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/search/backend"
)

// chosen is a selection on the wire; nil is none.
type chosen struct {
	Documents []byte `json:"documents,omitempty"` // a roaring bitmap in the format that is the same in all languages; none where the shard remembers it
	Digest    []byte `json:"digest,omitempty"`    // of a large one: the SHA-256 of Documents
	Partial   bool   `json:"partial,omitempty"`
	Vectors   bool   `json:"vectors,omitempty"` // it is for Nearest
}

// selection is what a shard's selection is on this side of the wire: its documents.
type selection struct {
	documents        *roaring.Bitmap // not changed any more
	partial, vectors bool

	encoded func() ([]byte, error)
	digest  func() []byte // once encoded has been called; nil of a small one
	sent    atomic.Bool   // the shard has it, or had
}

// newSelection returns a selection of documents that nobody changes, which encode encodes.
func newSelection(docs *roaring.Bitmap, encode func() ([]byte, error)) *selection {
	s := &selection{documents: docs, encoded: sync.OnceValues(encode)}
	s.digest = sync.OnceValue(func() []byte {
		b, _ := s.encoded()
		return digestOf(b)
	})
	return s
}

// digestOf returns the digest of a large set; nil of another.
func digestOf(b []byte) []byte {
	if len(b) < largeSet {
		return nil
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// Len implements backend.Selection.
func (s *selection) Len() int { return int(s.documents.GetCardinality()) }

// Contains implements backend.Selection.
func (s *selection) Contains(ref backend.Ref) bool {
	return ref <= math.MaxUint32 && s.documents.Contains(uint32(ref))
}

// Partial implements backend.Selection.
func (s *selection) Partial() bool { return s.partial }

// withSet asks with a selection of this package. One that the shard has is named by its digest, and sent where the shard has forgotten it.
func withSet[A any](sel backend.Selection, ask func(c *chosen) (A, error)) (a A, err error) {
	if sel == nil {
		return ask(nil)
	}
	own, err := ownSelection(sel)
	if err != nil {
		return a, err
	}
	b, err := own.encoded()
	if err != nil {
		return a, err
	}
	c := chosen{Digest: own.digest(), Partial: own.partial, Vectors: own.vectors}
	if c.Digest != nil && own.sent.Load() {
		if a, err = ask(&c); !errors.Is(err, errForgotten) {
			return a, err
		}
	}
	c.Documents = b
	if a, err = ask(&c); err == nil {
		own.sent.Store(true)
	}
	return a, err
}

func ownSelection(sel backend.Selection) (*selection, error) {
	own, ok := sel.(*selection)
	if !ok || own == nil {
		return nil, fmt.Errorf("%w: a selection of another backend: %T", backend.ErrInvalid, sel)
	}
	return own, nil
}

// selection returns what a shard answered with.
func (c *chosen) selection() (*selection, error) {
	docs, err := decodeBitmap(c.Documents)
	if err != nil {
		return nil, err
	}
	s := newSelection(docs, func() ([]byte, error) { return c.Documents, nil })
	s.partial, s.vectors = c.Partial, c.Vectors
	if c.Digest != nil { // the shard's word for it saves the work
		s.digest = func() []byte { return c.Digest }
		s.sent.Store(true)
	}
	return s, nil
}

// encodeBitmap writes a bitmap, a large one in the shortest form.
func encodeBitmap(docs *roaring.Bitmap) ([]byte, error) {
	if docs.GetSerializedSizeInBytes() > largeSet {
		docs = docs.Clone()
		docs.RunOptimize()
	}
	return docs.ToBytes()
}

// decodeBitmap reads a bitmap of untrusted bytes.
func decodeBitmap(b []byte) (*roaring.Bitmap, error) {
	if err := checkBitmap(b); err != nil {
		return nil, fmt.Errorf("%w: set of documents: %w", backend.ErrInvalid, err)
	}
	docs := roaring.New()
	if err := docs.UnmarshalBinary(b); err != nil { // a copy: bytes of a request lie anywhere, and the library reads words
		return nil, fmt.Errorf("%w: set of documents: %w", backend.ErrInvalid, err)
	}
	return docs, nil
}

// Numbers of the format, which is described at https://github.com/RoaringBitmap/RoaringFormatSpec.
const (
	cookieRuns   = 12347 // in the lower 16 bits; above it the containers less one
	cookieNoRuns = 12346
	offsetsFrom  = 4    // containers, from which on a bitmap with runs says where each begins
	arrayMost    = 4096 // values of a container that lists them
	bitsSize     = 8192 // bytes of one that has a bit for each
)

// checkBitmap says why bytes are no bitmap that can be read and worked with. It looks at each byte once; the library's own check takes time by the square of
// the runs, and its reader believes what the header says of the containers.
func checkBitmap(b []byte) error {
	const header = "the header is cut off"
	if len(b) < 4 {
		return errors.New(header)
	}
	cookie := binary.LittleEndian.Uint32(b)
	var runs []byte
	var size int
	switch {
	case cookie&0xFFFF == cookieRuns:
		size = int(cookie>>16) + 1
		if b = b[4:]; len(b) < (size+7)/8 {
			return errors.New(header)
		}
		runs, b = b[:(size+7)/8], b[(size+7)/8:]
	case cookie == cookieNoRuns && len(b) >= 8:
		n := binary.LittleEndian.Uint32(b[4:])
		if n > 1<<16 {
			return fmt.Errorf("%d containers: allowed: up to %d", n, 1<<16)
		}
		size, b = int(n), b[8:]
	default:
		return fmt.Errorf("it begins with %#08x", cookie)
	}
	skip := 4 * size
	if runs == nil || size >= offsetsFrom {
		skip *= 2
	}
	if len(b) < skip {
		return errors.New(header)
	}
	keys, rest := b[:4*size], b[skip:]
	last := -1
	for i := range size {
		key, count := int(binary.LittleEndian.Uint16(keys[4*i:])), int(binary.LittleEndian.Uint16(keys[4*i+2:]))+1
		if key <= last {
			return fmt.Errorf("container %d has the key %d after %d", i, key, last)
		}
		last = key
		var n int
		var err error
		switch {
		case runs != nil && runs[i/8]&(1<<(i%8)) != 0:
			n, err = checkRuns(rest)
		case count <= arrayMost:
			n, err = checkArray(rest, count)
		default:
			n, err = checkBits(rest, count)
		}
		if err != nil {
			return fmt.Errorf("container %d: %w", i, err)
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes follow it", len(rest))
	}
	return nil
}

var errCut = errors.New("it is cut off")

// checkRuns checks a container of runs, each its first value and how many follow that, and returns its bytes.
func checkRuns(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, errCut
	}
	n := int(binary.LittleEndian.Uint16(b))
	size := 2 + 4*n
	if len(b) < size {
		return 0, errCut
	}
	if n == 0 {
		return 0, errors.New("no runs")
	}
	end := -1 // the value before which the next run must not begin
	for r := b[2:size]; len(r) > 0; r = r[4:] {
		start, more := int(binary.LittleEndian.Uint16(r)), int(binary.LittleEndian.Uint16(r[2:]))
		if start <= end || start+more > math.MaxUint16 {
			return 0, fmt.Errorf("a run from %d with %d more, after %d", start, more, end)
		}
		end = start + more + 1
	}
	return size, nil
}

// checkArray checks a container that lists its values.
func checkArray(b []byte, count int) (int, error) {
	if len(b) < 2*count {
		return 0, errCut
	}
	last := -1
	for a := b[:2*count]; len(a) > 0; a = a[2:] {
		v := int(binary.LittleEndian.Uint16(a))
		if v <= last {
			return 0, fmt.Errorf("%d after %d", v, last)
		}
		last = v
	}
	return 2 * count, nil
}

// checkBits checks a container with a bit for each value.
func checkBits(b []byte, count int) (int, error) {
	if len(b) < bitsSize {
		return 0, errCut
	}
	n := 0
	for w := b[:bitsSize]; len(w) > 0; w = w[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(w))
	}
	if n != count {
		return 0, fmt.Errorf("%d values, and it says %d", n, count)
	}
	return bitsSize, nil
}
