//go:build !purego

package simd

//go:generate go -C _asm run . -kernels gemm -out ../gemm_amd64.s -stubs ../gemm_amd64.go -pkg simd
//go:generate go -C _asm run . -kernels rows -out ../rows_amd64.s -stubs ../rows_amd64.go -pkg simd
//go:generate go -C _asm run . -kernels vector -out ../vector_amd64.s -stubs ../vector_amd64.go -pkg simd
//go:generate go -C _asm run . -kernels int8 -out ../int8_amd64.s -stubs ../int8_amd64.go -pkg simd
//go:generate go -C _asm run . -kernels amx -out ../amx_amd64.s -stubs ../amx_amd64.go -pkg simd

import "unsafe"

func dot(a, b []float32) float32 {
	switch active {
	case Go:
		return dotGo(a, b)
	case AVX2:
		return dotAVX2(first(a), first(b), len(a))
	}
	return dotAVX512(first(a), first(b), len(a))
}

func squaredL2(a, b []float32) float32 {
	switch active {
	case Go:
		return squaredL2Go(a, b)
	case AVX2:
		return squaredL2AVX2(first(a), first(b), len(a))
	}
	return squaredL2AVX512(first(a), first(b), len(a))
}

func axpy(dst []float32, a float32, x []float32) {
	switch active {
	case Go:
		axpyGo(dst, a, x)
	case AVX2:
		axpyAVX2(first(dst), a, first(x), len(dst))
	default:
		axpyAVX512(first(dst), a, first(x), len(dst))
	}
}

func multiply(dst, x []float32) {
	switch active {
	case Go:
		multiplyGo(dst, x)
	case AVX2:
		multiplyAVX2(first(dst), first(x), len(dst))
	default:
		multiplyAVX512(first(dst), first(x), len(dst))
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
	switch active {
	case Go:
		return largestGo(x)
	case AVX2:
		return largestAVX2(first(x), len(x))
	}
	return largestAVX512(first(x), len(x))
}

func expSum(x []float32, top float32) float32 {
	switch active {
	case Go:
		return expSumGo(x, top)
	case AVX2:
		return expSumAVX2(first(x), len(x), top)
	}
	return expSumAVX512(first(x), len(x), top)
}

func scale(x []float32, by float32) {
	switch active {
	case Go:
		scaleGo(x, by)
	case AVX2:
		scaleAVX2(first(x), len(x), by)
	default:
		scaleAVX512(first(x), len(x), by)
	}
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
