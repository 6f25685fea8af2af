package hnsw

import (
	"math"
	"slices"
)

// A key is a candidate in 64 bits: distance, then node, then whether it has been expanded. Keys
// compare as integers: nearer first, equal distances by node, so that every order is total and the
// same on each run.
//
//	bits 63..32 distance, as an integer that orders like the float
//	bits 31..1  node
//	bit  0      expanded
type key = uint64

const keyExpanded = 1

func makeKey(distance float32, node uint32) key {
	b := math.Float32bits(distance)
	b ^= uint32(int32(b)>>31) | 1<<31
	return key(b)<<32 | key(node)<<1
}

func keyNode(k key) uint32 { return uint32(k) >> 1 }

func keyDistance(k key) float32 {
	b := uint32(k >> 32)
	b ^= uint32(int32(^b)>>31) | 1<<31
	return math.Float32frombits(b)
}

// beam holds the best candidates of a search, nearest first: one sorted slice that is both the
// candidates and the results of Algorithm 2, since what falls out of the results is never expanded
// either.
type beam struct {
	keys  []key
	width int // largest length of keys
}

func (b *beam) reset(width int) { b.keys, b.width = b.keys[:0], width }

// worst returns the bound that a key must be below to enter.
func (b *beam) worst() key {
	if len(b.keys) < b.width {
		return math.MaxUint64
	}
	return b.keys[len(b.keys)-1]
}

// insert puts k in its place and returns the place, or width if k is too far away.
func (b *beam) insert(k key) int {
	n := len(b.keys)
	if n == b.width {
		if n == 0 || k >= b.keys[n-1] {
			return b.width
		}
		n--
	} else {
		b.keys = append(b.keys, 0)
	}
	lo, hi := 0, n
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if b.keys[mid] < k {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	copy(b.keys[lo+1:n+1], b.keys[lo:n])
	b.keys[lo] = k
	return lo
}

// collect adds a key below bound, the last result of worst or collect, and returns the next bound.
// A scan uses it in place of insert: the beam is unsorted and up to twice its width until settle.
func (b *beam) collect(k, bound key) key {
	if b.keys = append(b.keys, k); len(b.keys) < 2*b.width {
		return bound
	}
	return b.settle()
}

// settle sorts the collected keys, drops those beyond the width, and returns worst.
func (b *beam) settle() key {
	slices.Sort(b.keys)
	b.keys = b.keys[:min(len(b.keys), b.width)]
	return b.worst()
}

// frontier is a binary heap of the keys still to expand, nearest first. It serves where candidates
// and results part: dead nodes and nodes outside a filter lead on but do not count.
type frontier []key

func (f *frontier) push(k key) {
	h := append(*f, k)
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) / 2
		if h[p] <= k {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = k
	*f = h
}

func (f *frontier) pop() key {
	h := *f
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*f = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1] < h[c] {
			c++
		}
		if last <= h[c] {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = last
	return top
}
