package hnsw

import "math"

// rotation turns vectors into codes of one signed byte per component. A random rotation first
// spreads what sits in a few large components over all of them: the scale of a code is its largest
// component / 127, so that one outlier would cost all others their precision. Rotations keep dot
// products and lengths.
//
// The rotation is rounds of random signs and a Walsh-Hadamard transform over blocks, with a shuffle
// between rounds so that blocks mix (as in weaviate's fast_rotation). It follows from dim and seed
// alone.
type rotation struct {
	width int // bytes per code: the dimension rounded up to a multiple of 64, one vector register
	signs [rotationRounds][]float32
}

const rotationRounds = 2

func codeWidth(dim int) int { return (dim + 63) &^ 63 }

func newRotation(dim int, seed uint64) *rotation {
	r := &rotation{width: codeWidth(dim)}
	h := mix(seed ^ 0x726F746174696F6E)
	for i := range r.signs {
		r.signs[i] = make([]float32, r.width)
		for j := range r.signs[i] {
			h = mix(h + 0x9E3779B97F4A7C15)
			r.signs[i][j] = 1 - 2*float32(h>>63)
		}
	}
	return r
}

// encode writes the code of v [dim] to dst [width] and returns its scale: v, rotated, is about
// scale*dst. buf [width] is scratch.
func (r *rotation) encode(dst []int8, v, buf []float32) float32 {
	n := copy(buf, v)
	clear(buf[n:])
	r.rotate(buf)
	var peak float32
	for _, x := range buf {
		peak = max(peak, x, -x)
	}
	scale := peak / 127
	if inverse := 127 / peak; !math.IsInf(float64(inverse), 0) {
		for i, x := range buf {
			// Adding and taking away 1.5*2^23 rounds to the nearest integer, ties to even.
			const magic = 3 << 22
			dst[i] = int8(x*inverse + magic - magic)
		}
		return scale
	}
	clear(dst) // all zero, or too small for float32 to scale
	return 0
}

// rotate turns x [width] in place.
func (r *rotation) rotate(x []float32) {
	for i := range r.signs {
		for j, s := range r.signs[i] {
			x[j] *= s
		}
		for at := 0; at < len(x); {
			n := 256
			for n > len(x)-at {
				n /= 2
			}
			hadamard(x[at : at+n])
			at += n
		}
		if i+1 < len(r.signs) && len(x) > 64 {
			interleave(x)
		}
	}
}

// hadamard is the orthonormal Walsh-Hadamard transform of x, whose length is a power of two.
func hadamard(x []float32) {
	for h := 1; h < len(x); h *= 2 {
		for i := 0; i < len(x); i += 2 * h {
			a, b := x[i:i+h], x[i+h:i+2*h]
			for j := range a {
				a[j], b[j] = a[j]+b[j], a[j]-b[j]
			}
		}
	}
	scale := float32(1 / math.Sqrt(float64(len(x))))
	for i := range x {
		x[i] *= scale
	}
}

// interleave swaps every other component of the first half with its mirror image in the second.
func interleave(x []float32) {
	for i, j := 0, len(x)-1; i < j; i, j = i+2, j-2 {
		x[i], x[j] = x[j], x[i]
	}
}
