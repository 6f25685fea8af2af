package simd

import "fmt"

// MulNT writes alpha·a·bᵀ to dst [m, n]; a is [m, k], b is [n, k]. Rows lie ldd, lda and ldb
// elements apart. With queries and keys of one attention head this gives the scores. dst must not
// overlap a or b.
func MulNT(dst []float32, ldd int, a []float32, lda int, b []float32, ldb int, m, n, k int, alpha float32) {
	needMatrix("MulNT", "dst", len(dst), m, n, ldd)
	needMatrix("MulNT", "a", len(a), m, k, lda)
	needMatrix("MulNT", "b", len(b), n, k, ldb)
	if m > 0 && n > 0 {
		mulNT(dst, ldd, a, lda, b, ldb, m, n, k, alpha)
	}
}

// MulNN writes a·b to dst [m, n], or adds it with accumulate; a is [m, k], b is [k, n], k at least
// 1. Rows lie ldd, lda and ldb elements apart. With attention probabilities and values of one head
// this gives the context. dst must not overlap a or b.
func MulNN(dst []float32, ldd int, a []float32, lda int, b []float32, ldb int, m, n, k int, accumulate bool) {
	if k < 1 {
		panic(fmt.Sprintf("simd: MulNN: k is %d, want 1 or more", k))
	}
	needMatrix("MulNN", "dst", len(dst), m, n, ldd)
	needMatrix("MulNN", "a", len(a), m, k, lda)
	needMatrix("MulNN", "b", len(b), k, n, ldb)
	if m > 0 && n > 0 {
		mulNN(dst, ldd, a, lda, b, ldb, m, n, k, accumulate)
	}
}

func mulNTGo(dst []float32, ldd int, a []float32, lda int, b []float32, ldb int, m, n, k int, alpha float32) {
	for i := range m {
		row := dst[i*ldd : i*ldd+n]
		x := a[i*lda : i*lda+k]
		for j := range row {
			row[j] = alpha * dotGo(x, b[j*ldb:j*ldb+k])
		}
	}
}

func mulNNGo(dst []float32, ldd int, a []float32, lda int, b []float32, ldb int, m, n, k int, accumulate bool) {
	for i := range m {
		row := dst[i*ldd : i*ldd+n]
		if !accumulate {
			clear(row)
		}
		for p, w := range a[i*lda : i*lda+k] {
			axpyGo(row, w, b[p*ldb:p*ldb+n])
		}
	}
}
