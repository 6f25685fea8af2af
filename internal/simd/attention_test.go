package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestAttentionProducts(t *testing.T) { eachBackend(t, testAttentionProducts) }

func testAttentionProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{0, 1, 16, 30, 64, 129} {
		for _, n := range []int{1, 7, 16, 31, 32, 33, 77} {
			for _, m := range []int{1, 2, 3, 6, 13, 15, 29, 70} {
				lda, ldb, ldd := k+r.IntN(9), k+r.IntN(9), n+r.IntN(9)
				a, b := random(r, m*lda), random(r, n*ldb)
				const alpha = 0.125
				full, check := guarded(t, strided(m, n, ldd))
				for i := range full {
					full[i] = guard
				}
				MulNT(full, ldd, a, lda, b, ldb, m, n, k, alpha)
				check()
				compare(t, "MulNT", full, ldd, m, n, k, func(i, j, p int) float64 {
					return alpha * float64(a[i*lda+p]) * float64(b[j*ldb+p])
				}, 0)

				if k == 0 {
					continue
				}
				ldb = n + r.IntN(9)
				b = random(r, k*ldb)
				for i := range m {
					for j := range n {
						full[i*ldd+j] = 2
					}
				}
				for _, start := range []float64{2, 0} {
					MulNN(full, ldd, a, lda, b, ldb, m, n, k, start != 0)
					check()
					compare(t, "MulNN", full, ldd, m, n, k, func(i, j, p int) float64 {
						return float64(a[i*lda+p]) * float64(b[p*ldb+j])
					}, start)
				}
			}
		}
	}
}

// compare checks dst [m, n] against start plus the sum of term over k, and that the space between
// rows is untouched.
func compare(t *testing.T, call string, dst []float32, ldd, m, n, k int, term func(i, j, p int) float64, start float64) {
	t.Helper()
	for i := range m {
		for j := range n {
			sum, size := start, 0.0
			for p := range k {
				v := term(i, j, p)
				sum += v
				size += math.Abs(v)
			}
			if got := dst[i*ldd+j]; far(got, sum, size, 1e-6) {
				t.Fatalf("%s m=%d n=%d k=%d dst[%d,%d] = %v, want %v", call, m, n, k, i, j, got, sum)
			}
		}
		for j := n; j < ldd && i+1 < m; j++ {
			if dst[i*ldd+j] != guard {
				t.Fatalf("%s m=%d n=%d k=%d wrote between rows at (%d,%d)", call, m, n, k, i, j)
			}
		}
	}
}
