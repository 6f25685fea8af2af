//go:build !purego

package simd

import "unsafe"

// longest is the number of elements that one call of a vector kernel takes: assembly cannot be preempted, and this much
// lasts some tens of microseconds at most.
const longest = 1 << 16

func dot(a, b []float32) float32 {
	if active == Go {
		return dotGo(a, b)
	}
	var sum float32
	for len(a) > longest {
		sum += dot(a[:longest], b[:longest])
		a, b = a[longest:], b[longest:]
	}
	return sum + dotNEON(first(a), first(b), len(a))
}

func squaredL2(a, b []float32) float32 {
	if active == Go {
		return squaredL2Go(a, b)
	}
	var sum float32
	for len(a) > longest {
		sum += squaredL2(a[:longest], b[:longest])
		a, b = a[longest:], b[longest:]
	}
	return sum + squaredL2NEON(first(a), first(b), len(a))
}

func axpy(dst []float32, a float32, x []float32) {
	if active == Go {
		axpyGo(dst, a, x)
		return
	}
	for len(dst) > 0 {
		n := min(len(dst), longest)
		axpyNEON(first(dst), a, first(x), n)
		dst, x = dst[n:], x[n:]
	}
}

func multiply(dst, x []float32) {
	if active == Go {
		multiplyGo(dst, x)
		return
	}
	for len(dst) > 0 {
		n := min(len(dst), longest)
		multiplyNEON(first(dst), first(x), n)
		dst, x = dst[n:], x[n:]
	}
}

func dotRows(dst []float32, q, base []float32, ids []uint32) {
	if active == Go || len(q) == 0 {
		dotRowsGo(dst, q, base, ids)
		return
	}
	for len(ids) >= 4 {
		n := min(len(ids), max(4, longest/len(q))) &^ 3
		dotRowsNEON(first(dst), first(q), first(base), unsafe.SliceData(ids), n, len(q))
		dst, ids = dst[n:], ids[n:]
	}
	for i, id := range ids {
		dst[i] = dot(q, base[int(id)*len(q):][:len(q)])
	}
}

func activate(x []float32, act Activation) { activateGo(x, act) }

func activateTile(x []float32, ldx, rows, cols int, act Activation) {
	for r := range rows {
		activateGo(x[r*ldx:][:cols], act)
	}
}

func layerNorm(dst, x, gamma, beta []float32, eps float32) { layerNormGo(dst, x, gamma, beta, eps) }

func rmsNorm(dst, x, gamma []float32, eps float32) { rmsNormGo(dst, x, gamma, eps) }

func softmax(x []float32, ldx, rows, n int) { softmaxRowsGo(x, ldx, rows, n) }

func largest(x []float32) float32 { return largestGo(x) }

func expSum(x []float32, top float32) float32 { return expSumGo(x, top) }

func scale(x []float32, by float32) { scaleGo(x, by) }
