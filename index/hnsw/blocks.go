package hnsw

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

// blockWriter cuts a stream into blocks. Its first error stays.
type blockWriter struct {
	out     io.Writer
	payload []byte
	crc     uint32 // of the CRCs of all blocks
	err     error
}

func (w *blockWriter) word(x uint32) {
	if len(w.payload)+4 > blockSize {
		// The byte per row may leave the words that follow across the end of a block.
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], x)
		w.bytes(b[:])
		return
	}
	w.payload = binary.LittleEndian.AppendUint32(w.payload, x)
}

func (w *blockWriter) bytes(b []byte) {
	for len(b) > 0 {
		n := min(len(b), blockSize-len(w.payload))
		w.payload = append(w.payload, b[:n]...)
		b = b[n:]
		if len(w.payload) == blockSize {
			w.flush()
		}
	}
}

func (w *blockWriter) flush() {
	if len(w.payload) == 0 || w.err != nil {
		return
	}
	var head [blockHead]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(w.payload)))
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(w.payload, castagnoli))
	w.crc = crc32.Update(w.crc, castagnoli, head[4:])
	if _, w.err = w.out.Write(head[:]); w.err == nil {
		_, w.err = w.out.Write(w.payload)
	}
	w.payload = w.payload[:0]
}

// blockReader gives the stream that a blockWriter cut up, every byte of it verified.
type blockReader struct {
	in      io.Reader
	left    uint64 // bytes of the stream in blocks not read yet
	payload []byte // of the current block
	at      int    // first byte of payload not taken yet
	crc     uint32 // of the CRCs of all blocks
	block   int
}

// next returns n bytes of the stream, n at most blockSize; they are valid until the next call.
func (r *blockReader) next(n int) ([]byte, error) {
	if r.at+n > len(r.payload) {
		// What is left of this block moves to the front of the next.
		rest := copy(r.payload, r.payload[r.at:])
		r.payload, r.at = r.payload[:rest], 0
		for len(r.payload) < n {
			if err := r.read(); err != nil {
				return nil, err
			}
		}
	}
	b := r.payload[r.at : r.at+n]
	r.at += n
	return b, nil
}

// read appends the next block to payload.
func (r *blockReader) read() error {
	var head [blockHead]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return damaged("block %d: %v", r.block, err)
	}
	n := min(r.left, blockSize)
	if n == 0 || uint64(binary.LittleEndian.Uint32(head[:])) != n {
		return damaged("block %d: length %d, want %d", r.block, binary.LittleEndian.Uint32(head[:]), n)
	}
	at := len(r.payload)
	if cap(r.payload)-at < int(n) {
		r.payload = append(make([]byte, 0, at+int(n)), r.payload...)
	}
	r.payload = r.payload[:at+int(n)]
	if _, err := io.ReadFull(r.in, r.payload[at:]); err != nil {
		return damaged("block %d: %v", r.block, err)
	}
	if crc32.Checksum(r.payload[at:], castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return damaged("block %d: checksum does not match", r.block)
	}
	r.crc = crc32.Update(r.crc, castagnoli, head[4:])
	r.left -= n
	r.block++
	return nil
}

// words fills dst with words of the stream.
func (r *blockReader) words(dst []uint32) error {
	for len(dst) > 0 {
		n := min(len(dst), blockSize/8)
		b, err := r.next(4 * n)
		if err != nil {
			return err
		}
		for i := range dst[:n] {
			dst[i] = binary.LittleEndian.Uint32(b[4*i:])
		}
		dst = dst[n:]
	}
	return nil
}
