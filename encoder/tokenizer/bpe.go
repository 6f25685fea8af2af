package tokenizer

import (
	"container/heap"
	"fmt"
	"slices"
	"unicode/utf8"
)

// bpe starts with the characters of a word and repeatedly merges the neighbours whose merge is
// first in the list of merges, the leftmost of equals. With a heap of the possible merges a word of
// n characters takes n log n.
type bpe struct {
	trie         *trie
	merges       map[[2]int32]merge // of two neighbours
	unk          int32              // -1: characters without a token are left out
	prefix       string
	suffix       string
	fuseUnk      bool
	ignoreMerges bool
	byteFallback bool
	fallback     [256]int32 // <0x00> to <0xFF>
	fromBytes    bool       // words are bytes, see byteLevel
	byteIDs      [256]int32 // token of each byte, or -1
}

// merge is the rank of a merge and the token that it gives.
type merge struct{ rank, id int32 }

// symbol is a token of the word in the making; symbols form a list from left to right.
type symbol struct {
	id         int32
	prev, next int32 // -1 at the ends
	start, end int32 // bytes of the word
	rank       int32 // of the merge with next, -1 if there is none; -2: merged away
	merged     int32 // the token of that merge
}

func newBPE(m *modelFile, v *vocab, bytes bool) (*bpe, error) {
	b := &bpe{trie: v.trie, unk: -1}
	var unk string
	var dropout float64
	err := m.fields(map[string]any{"unk_token": &unk, "continuing_subword_prefix": &b.prefix, "end_of_word_suffix": &b.suffix,
		"fuse_unk": &b.fuseUnk, "ignore_merges": &b.ignoreMerges, "byte_fallback": &b.byteFallback, "dropout": &dropout})
	if err != nil {
		return nil, err
	}
	if dropout < 0 || dropout > 1 {
		return nil, fmt.Errorf("dropout %v, allowed 0 to 1", dropout)
	}
	if len(b.prefix) > maxToken || len(b.suffix) > maxToken {
		return nil, fmt.Errorf("continuing_subword_prefix and end_of_word_suffix: allowed up to %d bytes", maxToken)
	}
	if unk != "" {
		if b.unk, err = v.must("unk_token", unk); err != nil {
			return nil, err
		}
	}
	b.fallback, _ = v.byteTokens()
	b.fromBytes = bytes && b.prefix == "" && b.suffix == "" && !b.byteFallback
	for i := range b.byteIDs {
		b.byteIDs[i] = v.id(string(byteRune[i]))
	}
	b.merges = make(map[[2]int32]merge, len(m.merges))
	var joined []byte
	for rank, pair := range m.merges {
		left, right := v.id(pair[0]), v.id(pair[1])
		if left < 0 || right < 0 {
			return nil, fmt.Errorf("merges[%d] %.40q %.40q, want two tokens of vocab", rank, pair[0], pair[1])
		}
		if len(pair[1]) < len(b.prefix) {
			return nil, fmt.Errorf("merges[%d] %.40q %.40q: the second is shorter than continuing_subword_prefix", rank, pair[0], pair[1])
		}
		joined = append(append(joined[:0], pair[0]...), pair[1][len(b.prefix):]...)
		id := v.trie.find(joined)
		if id < 0 {
			return nil, fmt.Errorf("merges[%d] %.40q %.40q give %.40q, want a token of vocab", rank, pair[0], pair[1], joined)
		}
		b.merges[[2]int32{left, right}] = merge{int32(rank), id} // the last of equal pairs, as in the Rust code
	}
	return b, nil
}

func (b *bpe) tokenize(dst []piece, w []byte, s *scratch) []piece {
	if b.ignoreMerges {
		if id := b.whole(w, s); id >= 0 {
			return append(dst, piece{id, 0, int32(len(w))})
		}
	}
	s.symbols = slices.Grow(s.symbols[:0], len(w))
	if b.fromBytes {
		b.symbolsOfBytes(w, s)
	} else {
		b.symbolsOfRunes(w, s)
	}
	if len(s.symbols) == 0 {
		return dst
	}
	b.merge(s)
	for i := int32(0); i >= 0; i = s.symbols[i].next {
		y := &s.symbols[i]
		dst = append(dst, piece{y.id, y.start, y.end})
	}
	return dst
}

// whole returns the token that is the whole word, or -1.
func (b *bpe) whole(w []byte, s *scratch) int32 {
	if !b.fromBytes {
		return b.trie.find(w)
	}
	if len(w) > maxToken {
		return -1
	}
	s.join = s.join[:0]
	for _, c := range w {
		s.join = utf8.AppendRune(s.join, byteRune[c])
	}
	return b.trie.find(s.join)
}

func (s *scratch) addSymbol(id, start, end int32) {
	s.symbols = append(s.symbols, symbol{id: id, start: start, end: end})
}

// unknown is a token for characters without one, which may be joined with the next.
type unknown struct {
	open       bool
	start, end int32
}

func (b *bpe) addUnknown(s *scratch, u *unknown, start, end int) {
	if b.unk < 0 {
		return
	}
	if u.open && b.fuseUnk {
		u.end = int32(end)
		return
	}
	b.flush(s, u)
	*u = unknown{true, int32(start), int32(end)}
}

func (b *bpe) flush(s *scratch, u *unknown) {
	if u.open {
		s.addSymbol(b.unk, u.start, u.end)
		u.open = false
	}
}

func (b *bpe) symbolsOfBytes(w []byte, s *scratch) {
	var u unknown
	for i, c := range w {
		if id := b.byteIDs[c]; id >= 0 {
			b.flush(s, &u)
			s.addSymbol(id, int32(i), int32(i+1))
		} else {
			b.addUnknown(s, &u, i, i+1)
		}
	}
	b.flush(s, &u)
}

func (b *bpe) symbolsOfRunes(w []byte, s *scratch) {
	var u unknown
	for i := 0; i < len(w); {
		_, n := utf8.DecodeRune(w[i:])
		c := w[i : i+n]
		if i > 0 && b.prefix != "" || i+n == len(w) && b.suffix != "" {
			s.join = s.join[:0]
			if i > 0 {
				s.join = append(s.join, b.prefix...)
			}
			s.join = append(s.join, c...)
			if i+n == len(w) {
				s.join = append(s.join, b.suffix...)
			}
			c = s.join
		}
		id := b.trie.find(c)
		switch {
		case id >= 0:
			b.flush(s, &u)
			s.addSymbol(id, int32(i), int32(i+n))
		case b.byteFallback && b.hasBytes(c):
			// As in the Rust code, an unknown token that waits stays behind the bytes.
			for _, x := range c {
				s.addSymbol(b.fallback[x], int32(i), int32(i+n))
			}
		default:
			b.addUnknown(s, &u, i, i+n)
		}
		i += n
	}
	b.flush(s, &u)
}

func (b *bpe) hasBytes(c []byte) bool {
	for _, x := range c {
		if b.fallback[x] < 0 {
			return false
		}
	}
	return true
}

// rankAt looks up the merge of symbol i with its right neighbour.
func (b *bpe) rankAt(y []symbol, i int32) bool {
	y[i].rank = -1
	if y[i].next < 0 {
		return false
	}
	m, ok := b.merges[[2]int32{y[i].id, y[y[i].next].id}]
	if ok {
		y[i].rank, y[i].merged = m.rank, m.id
	}
	return ok
}

func (b *bpe) merge(s *scratch) {
	y := s.symbols
	for i := range y {
		y[i].prev, y[i].next = int32(i)-1, int32(i)+1
	}
	y[len(y)-1].next = -1
	s.heap = s.heap[:0]
	for i := range y {
		if b.rankAt(y, int32(i)) {
			s.heap = append(s.heap, heapKey(y, int32(i)))
		}
	}
	if len(y) <= 24 {
		b.mergeShort(y)
		return
	}
	heap.Init(&s.heap)
	for len(s.heap) > 0 {
		key := heap.Pop(&s.heap).(uint64)
		i := int32(uint32(key))
		if y[i].rank < 0 || uint32(y[i].rank) != uint32(key>>32) {
			continue // stale
		}
		b.join(y, i)
		if b.rankAt(y, i) {
			heap.Push(&s.heap, heapKey(y, i))
		}
		if p := y[i].prev; p >= 0 && b.rankAt(y, p) {
			heap.Push(&s.heap, heapKey(y, p))
		}
	}
}

// mergeShort is merge for short words, where looking at every pair is faster than a heap.
func (b *bpe) mergeShort(y []symbol) {
	for {
		best := int32(-1)
		for i := int32(0); i >= 0; i = y[i].next {
			if y[i].rank >= 0 && (best < 0 || y[i].rank < y[best].rank) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		b.join(y, best)
		b.rankAt(y, best)
		if p := y[best].prev; p >= 0 {
			b.rankAt(y, p)
		}
	}
}

// join merges symbol i with its right neighbour.
func (b *bpe) join(y []symbol, i int32) {
	n := y[i].next
	y[i].id, y[i].end, y[i].next = y[i].merged, y[n].end, y[n].next
	if y[n].next >= 0 {
		y[y[n].next].prev = i
	}
	y[n].rank = -2
}

// heapKey orders merges by rank, then from left to right.
func heapKey(y []symbol, i int32) uint64 { return uint64(y[i].rank)<<32 | uint64(uint32(i)) }

// mergeHeap is a heap of possible merges by heapKey.
type mergeHeap []uint64

func (h mergeHeap) Len() int           { return len(h) }
func (h mergeHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h mergeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *mergeHeap) Push(key any)      { *h = append(*h, key.(uint64)) }
func (h *mergeHeap) Pop() any {
	last := len(*h) - 1
	key := (*h)[last]
	*h = (*h)[:last]
	return key
}
