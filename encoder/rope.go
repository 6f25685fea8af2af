package encoder

import (
	"math"
	"sync"
	"sync/atomic"
)

// rope is a rotation of queries and keys by their positions. Sines and cosines are computed on
// first use and for as many positions as needed; layers with the same rotation share it.
type rope struct {
	theta float64
	dims  int                             // leading dimensions of a head that are rotated
	scale func(frequency float64) float64 // nil: none

	// dynamic NTK: sequences longer than trained tokens get a larger theta; 0: never.
	trained int
	stretch float64

	table  atomic.Pointer[ropeTable]
	grow   sync.Mutex
	longer atomic.Pointer[ropeTable] // of the last sequence with a theta of its own
}

// ropeTable holds cosines and sines [n, dims/2].
type ropeTable struct {
	n        int
	cos, sin []float32
}

// at returns a table for a sequence of n tokens.
func (r *rope) at(n int) *ropeTable {
	if r.trained > 0 && n > r.trained {
		t := r.longer.Load()
		if t == nil || t.n != n {
			t = r.tabulate(n, r.stretched(n))
			r.longer.Store(t)
		}
		return t
	}
	if t := r.table.Load(); t != nil && t.n >= n {
		return t
	}
	r.grow.Lock()
	defer r.grow.Unlock()
	t := r.table.Load()
	if t == nil || t.n < n {
		size := 256
		for size < n {
			size *= 2
		}
		t = r.tabulate(size, r.theta)
		r.table.Store(t)
	}
	return t
}

// stretched is theta for a sequence of n tokens under dynamic NTK scaling.
func (r *rope) stretched(n int) float64 {
	d := float64(r.dims)
	return r.theta * math.Pow(r.stretch*float64(n)/float64(r.trained)-(r.stretch-1), d/(d-2))
}

// tabulate computes n positions. The products are rounded to float32 as in PyTorch: at position
// 8000 that moves an angle by up to 2.5e-4, which the reference vectors contain.
func (r *rope) tabulate(n int, theta float64) *ropeTable {
	half := r.dims / 2
	t := &ropeTable{n: n, cos: make([]float32, n*half), sin: make([]float32, n*half)}
	for j := range half {
		freq := 1 / float32(math.Pow(theta, float64(float32(2*j)/float32(r.dims))))
		if r.scale != nil {
			freq = float32(r.scale(float64(freq)))
		}
		for i := range n {
			sin, cos := math.Sincos(float64(float32(i) * freq))
			t.sin[i*half+j], t.cos[i*half+j] = float32(sin), float32(cos)
		}
	}
	return t
}

// rotate turns the first heads heads of the rows [from, to) of the batch; x holds these rows, each
// width long. Dimension j turns with dimension j + dims/2 (the order of GPT-NeoX). Positions count
// from 0 in each sequence, or from the number of its tokens that are cached.
func (r *rope) rotate(x []float32, width, headSize, heads int, b *batch, from, to int) {
	half, offsets := r.dims/2, b.offsets
	for seq := range len(offsets) - 1 {
		lo, hi := max(from, offsets[seq]), min(to, offsets[seq+1])
		if lo >= hi {
			continue
		}
		past := b.past(seq)
		t := r.at(past + offsets[seq+1] - offsets[seq])
		for i := lo; i < hi; i++ {
			at := (past + i - offsets[seq]) * half
			cos, sin := t.cos[at:at+half], t.sin[at:at+half]
			row := x[(i-from)*width:]
			for h := range heads {
				a := row[h*headSize : h*headSize+half]
				b := row[h*headSize+half : h*headSize+2*half]
				for j, c := range cos {
					p, q := a[j], b[j]
					a[j], b[j] = p*c-q*sin[j], q*c+p*sin[j]
				}
			}
		}
	}
}
