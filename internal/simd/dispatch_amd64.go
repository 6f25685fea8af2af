//go:build !purego

package simd

//go:generate go -C _asm run . -kernels gemm -out ../gemm_amd64.s -stubs ../gemm_amd64.go -pkg simd
//go:generate go -C _asm run . -kernels rows -out ../rows_amd64.s -stubs ../rows_amd64.go -pkg simd
//go:generate go -C _asm run . -kernels vector -out ../vector_amd64.s -stubs ../vector_amd64.go -pkg simd
//go:generate go -C _asm run . -kernels int8 -out ../int8_amd64.s -stubs ../int8_amd64.go -pkg simd
//go:generate go -C _asm run . -kernels amx -out ../amx_amd64.s -stubs ../amx_amd64.go -pkg simd
//go:generate go -C _asm run . -kernels ceiling -out ../ceiling_amd64.s -stubs ../ceiling_amd64.go -pkg simd

import "unsafe"

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
	if active == AVX2 {
		return sum + dotAVX2(first(a), first(b), len(a))
	}
	return sum + dotAVX512(first(a), first(b), len(a))
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
	if active == AVX2 {
		return sum + squaredL2AVX2(first(a), first(b), len(a))
	}
	return sum + squaredL2AVX512(first(a), first(b), len(a))
}

func axpy(dst []float32, a float32, x []float32) {
	if active == Go {
		axpyGo(dst, a, x)
		return
	}
	for len(dst) > 0 {
		n := min(len(dst), longest)
		if active == AVX2 {
			axpyAVX2(first(dst), a, first(x), n)
		} else {
			axpyAVX512(first(dst), a, first(x), n)
		}
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
		if active == AVX2 {
			multiplyAVX2(first(dst), first(x), n)
		} else {
			multiplyAVX512(first(dst), first(x), n)
		}
		dst, x = dst[n:], x[n:]
	}
}

func dotRows(dst []float32, q, base []float32, ids []uint32) {
	if active == Go || len(q) == 0 {
		dotRowsGo(dst, q, base, ids)
		return
	}
	for len(ids) > 0 {
		n := min(len(ids), max(4, longest/len(q)))
		if active == AVX2 {
			dotRowsAVX2(first(dst), first(q), first(base), unsafe.SliceData(ids), n, len(q))
		} else {
			dotRowsAVX512(first(dst), first(q), first(base), unsafe.SliceData(ids), n, len(q))
		}
		dst, ids = dst[n:], ids[n:]
	}
}

func layerNorm(dst, x, gamma, beta []float32, eps float32) {
	switch active {
	case Go:
		layerNormGo(dst, x, gamma, beta, eps)
	case AVX2:
		layerNormAVX2(first(dst), first(x), first(gamma), first(beta), len(x), eps)
	default:
		layerNormAVX512(first(dst), first(x), first(gamma), first(beta), len(x), eps)
	}
}

func rmsNorm(dst, x, gamma []float32, eps float32) {
	switch active {
	case Go:
		rmsNormGo(dst, x, gamma, eps)
	case AVX2:
		rmsNormAVX2(first(dst), first(x), first(gamma), len(x), eps)
	default:
		rmsNormAVX512(first(dst), first(x), first(gamma), len(x), eps)
	}
}

func softmax(x []float32, ldx, rows, n int) {
	if active == Go {
		softmaxRowsGo(x, ldx, rows, n)
		return
	}
	for rows > 0 {
		block := min(rows, max(1, longest/4/n))
		switch {
		case active == AVX2:
			softmaxAVX2(first(x), ldx, block, n)
		case n <= 128:
			softmaxShortAVX512(first(x), ldx, block, n)
		default:
			softmaxAVX512(first(x), ldx, block, n)
		}
		if rows -= block; rows > 0 {
			x = x[block*ldx:]
		}
	}
}

func largest(x []float32) float32 {
	if active == Go {
		return largestGo(x)
	}
	top := x[0]
	for len(x) > 0 {
		n := min(len(x), longest)
		if active == AVX2 {
			top = max(top, largestAVX2(first(x), n))
		} else {
			top = max(top, largestAVX512(first(x), n))
		}
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
		if active == AVX2 {
			sum += expSumAVX2(first(x), n, top)
		} else {
			sum += expSumAVX512(first(x), n, top)
		}
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
		if active == AVX2 {
			scaleAVX2(first(x), n, by)
		} else {
			scaleAVX512(first(x), n, by)
		}
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
	p, narrow := first(x), active == AVX2
	switch {
	case act == GELU && narrow:
		geluAVX2(p, ldx, rows, cols)
	case act == GELU:
		geluAVX512(p, ldx, rows, cols)
	case act == GELUTanh && narrow:
		geluTanhAVX2(p, ldx, rows, cols)
	case act == GELUTanh:
		geluTanhAVX512(p, ldx, rows, cols)
	case act == ReLU && narrow:
		reluAVX2(p, ldx, rows, cols)
	case act == ReLU:
		reluAVX512(p, ldx, rows, cols)
	case act == SiLU && narrow:
		siluAVX2(p, ldx, rows, cols)
	case act == SiLU:
		siluAVX512(p, ldx, rows, cols)
	case act == Tanh && narrow:
		tanhAVX2(p, ldx, rows, cols)
	case act == Tanh:
		tanhAVX512(p, ldx, rows, cols)
	}
}
