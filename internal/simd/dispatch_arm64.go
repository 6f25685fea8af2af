//go:build !purego

package simd

import (
	"math"
	"unsafe"
)

// longest is the number of elements that one call of a vector kernel takes: assembly cannot be
// preempted, and this much lasts some tens of microseconds at most.
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

func layerNorm(dst, x, gamma, beta []float32, eps float32) {
	if active == Go {
		layerNormGo(dst, x, gamma, beta, eps)
		return
	}
	n := len(x)
	mean := sumNEON(first(x), n) / float32(n)
	normalizeNEON(first(dst), first(x), first(gamma), first(beta), n, mean, inverseRoot(deviationNEON(first(x), n, mean), n, eps))
}

func rmsNorm(dst, x, gamma []float32, eps float32) {
	if active == Go {
		rmsNormGo(dst, x, gamma, eps)
		return
	}
	n := len(x)
	normalizeNEON(first(dst), first(x), first(gamma), nil, n, 0, inverseRoot(deviationNEON(first(x), n, 0), n, eps))
}

// inverseRoot is 1/sqrt(sum/n + eps).
func inverseRoot(sum float32, n int, eps float32) float32 {
	return float32(1 / math.Sqrt(float64(sum)/float64(n)+float64(eps)))
}

func softmax(x []float32, ldx, rows, n int) {
	for r := range rows {
		row := x[r*ldx:][:n]
		scale(row, 1/expSum(row, largest(row)))
	}
}

func largest(x []float32) float32 {
	if active == Go {
		return largestGo(x)
	}
	top := x[0]
	for len(x) > 0 {
		n := min(len(x), longest)
		top = max(top, largestNEON(first(x), n))
		x = x[n:]
	}
	return top
}

func expSum(x []float32, top float32) float32 {
	if active == Go {
		return expSumGo(x, top)
	}
	var sum float32
	for len(x) > 0 {
		n := min(len(x), longest/4)
		sum += expSumNEON(first(x), n, top)
		x = x[n:]
	}
	return sum
}

func scale(x []float32, by float32) {
	if active == Go {
		scaleGo(x, by)
		return
	}
	for len(x) > 0 {
		n := min(len(x), longest)
		scaleNEON(first(x), n, by)
		x = x[n:]
	}
}

func activate(x []float32, act Activation) {
	if active == Go {
		activateGo(x, act)
		return
	}
	for len(x) > 0 {
		n := min(len(x), longest/4)
		activateTile(x, n, 1, n, act)
		x = x[n:]
	}
}

// activateTile applies act to x [rows, cols], rows ldx apart; neither is 0.
func activateTile(x []float32, ldx, rows, cols int, act Activation) {
	for r, some := 0, max(1, longest/4/cols); r < rows; r += some {
		p, n := &x[r*ldx], min(some, rows-r)
		switch act {
		case GELU:
			geluNEON(p, ldx, n, cols)
		case GELUTanh:
			geluTanhNEON(p, ldx, n, cols)
		case ReLU:
			reluNEON(p, ldx, n, cols)
		case SiLU:
			siluNEON(p, ldx, n, cols)
		case Tanh:
			tanhNEON(p, ldx, n, cols)
		}
	}
}
