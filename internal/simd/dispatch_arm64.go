//go:build !purego

package simd

import (
	"math"
	"unsafe"
)

func dot(a, b []float32) float32 {
	if active == Go {
		return dotGo(a, b)
	}
	return dotNEON(first(a), first(b), len(a))
}

func squaredL2(a, b []float32) float32 {
	if active == Go {
		return squaredL2Go(a, b)
	}
	return squaredL2NEON(first(a), first(b), len(a))
}

func axpy(dst []float32, a float32, x []float32) {
	if active == Go {
		axpyGo(dst, a, x)
		return
	}
	axpyNEON(first(dst), a, first(x), len(dst))
}

func multiply(dst, x []float32) {
	if active == Go {
		multiplyGo(dst, x)
		return
	}
	multiplyNEON(first(dst), first(x), len(dst))
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
	return largestNEON(first(x), len(x))
}

func expSum(x []float32, top float32) float32 {
	if active == Go {
		return expSumGo(x, top)
	}
	return expSumNEON(first(x), len(x), top)
}

func scale(x []float32, by float32) {
	if active == Go {
		scaleGo(x, by)
		return
	}
	scaleNEON(first(x), len(x), by)
}

func activateRow(x []float32, act Activation) {
	if active == Go {
		activateGo(x, act)
		return
	}
	activateTile(x, len(x), 1, len(x), act)
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
