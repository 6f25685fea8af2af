package tokenizer

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
)

const (
	cacheSlots   = 1 << 15 // at most about 8 MB when every slot holds a long word
	cacheMaxWord = 48      // bytes; longer words are rare and cost memory
)

// piece is one token of a word: bytes [start, end) of the word.
type piece struct {
	id         int32
	start, end int32
}

// wordCache caches the pieces of words in a table of fixed size, in which a new word replaces the
// one in its slot: bounded, without locks, no allocation on a hit. Safe for concurrent use.
type wordCache struct {
	slots [cacheSlots]atomic.Pointer[cachedWord]
}

type cachedWord struct {
	word   string
	pieces []piece // read-only
}

func hashWord(w []byte) uint32 {
	const k0, k1 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	h := uint64(len(w)) * k0
	for len(w) >= 8 {
		hi, lo := bits.Mul64(h^binary.LittleEndian.Uint64(w), k1)
		h = hi ^ lo
		w = w[8:]
	}
	var tail uint64
	for i, c := range w {
		tail |= uint64(c) << (8 * i)
	}
	hi, lo := bits.Mul64(h^tail, k1)
	return uint32((hi ^ lo) >> 7)
}

// get returns the pieces of w, nil if they are not cached. A word is in its slot or in the
// neighbouring slot.
func (c *wordCache) get(w []byte, hash uint32) []piece {
	if e := c.slots[hash%cacheSlots].Load(); e != nil && e.word == string(w) {
		return e.pieces
	}
	if e := c.slots[hash%cacheSlots^1].Load(); e != nil && e.word == string(w) {
		return e.pieces
	}
	return nil
}

func (c *wordCache) put(w []byte, hash uint32, p []piece) {
	slot := &c.slots[hash%cacheSlots]
	if other := &c.slots[hash%cacheSlots^1]; slot.Load() != nil && other.Load() == nil {
		slot = other
	}
	slot.Store(&cachedWord{string(w), append([]piece(nil), p...)})
}
