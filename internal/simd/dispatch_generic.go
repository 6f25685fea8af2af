//go:build (!amd64 && !arm64) || purego

package simd

func (m *Matrix) mul(dst, x []float32, rows, from, to int, e Epilogue) {
	m.mulGo(dst, x, rows, from, to, e)
}

func mulNT(dst []float32, ldd int, a []float32, lda int, b []float32, ldb int, m, n, k int, alpha float32) {
	mulNTGo(dst, ldd, a, lda, b, ldb, m, n, k, alpha)
}

func mulNN(dst []float32, ldd int, a []float32, lda int, b []float32, ldb int, m, n, k int, accumulate bool) {
	mulNNGo(dst, ldd, a, lda, b, ldb, m, n, k, accumulate)
}

func layerNorm(dst, x, gamma, beta []float32, eps float32) { layerNormGo(dst, x, gamma, beta, eps) }

func rmsNorm(dst, x, gamma []float32, eps float32) { rmsNormGo(dst, x, gamma, eps) }

func softmax(x []float32, ldx, rows, n int) { softmaxRowsGo(x, ldx, rows, n) }

func largest(x []float32) float32 { return largestGo(x) }

func expSum(x []float32, top float32) float32 { return expSumGo(x, top) }

func scale(x []float32, by float32) { scaleGo(x, by) }

func dot(a, b []float32) float32 { return dotGo(a, b) }

func squaredL2(a, b []float32) float32 { return squaredL2Go(a, b) }

func axpy(dst []float32, a float32, x []float32) { axpyGo(dst, a, x) }

func multiply(dst, x []float32) { multiplyGo(dst, x) }

func dotRows(dst []float32, q, base []float32, ids []uint32) { dotRowsGo(dst, q, base, ids) }

func (m *MatrixInt8) mul(dst, x []float32, rows, from, to int, e Epilogue) {
	m.mulGo(dst, x, rows, from, to, e)
}

func dotInt8(a, b []int8) int32 { return dotInt8Go(a, b) }

func dotRowsInt8(dst []int32, q, base []int8, ids []uint32) { dotRowsInt8Go(dst, q, base, ids) }

func rowRange(x []float32) (lo, hi float32) { return rowRangeGo(x) }

func activateRow(x []float32, act Activation) { activateGo(x, act) }
