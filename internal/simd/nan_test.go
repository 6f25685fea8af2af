package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestNaN puts a NaN into one row of x, one channel of w and one key, and looks for it where it
// belongs and nowhere else.
func TestNaN(t *testing.T) { eachBackend(t, testNaN) }

func testNaN(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	nan := float32(math.NaN())
	for _, s := range []struct{ rows, out, in int }{{1, 5, 3}, {5, 20, 16}, {17, 50, 40}} {
		x, w := random(r, s.rows*s.in), random(r, s.out*s.in)
		row, channel := s.rows/2, s.out/3
		x[row*s.in+s.in/2] = nan
		w[channel*s.in+s.in-1] = nan
		check := func(call string, dst []float32) {
			t.Helper()
			for i := range s.rows {
				for o := range s.out {
					v := dst[i*s.out+o]
					if want := i == row || o == channel; want != (v != v) {
						t.Fatalf("%s %v: dst[%d,%d] = %v", call, s, i, o, v)
					}
				}
			}
		}
		dst := make([]float32, s.rows*s.out)
		Pack(w, s.out, s.in).Mul(dst, x, s.rows, Epilogue{Act: GELU})
		check("Mul", dst)
		PackInt8(w, s.out, s.in).Mul(dst, x, s.rows, Epilogue{Act: SiLU})
		check("Mul of bytes", dst)
		MulNT(dst, s.out, x, s.in, w, s.in, s.rows, s.out, s.in, 1)
		check("MulNT", dst)
		clear(dst)
		transposed := make([]float32, len(w))
		for o := range s.out {
			for k := range s.in {
				transposed[k*s.out+o] = w[o*s.in+k]
			}
		}
		MulNN(dst, s.out, x, s.in, transposed, s.out, s.rows, s.out, s.in, true)
		check("MulNN", dst)
	}
	for n := 1; n < 70; n++ {
		x, y := random(r, n), random(r, n)
		x[n-1] = nan
		if d, l := Dot(x, y), SquaredL2(x, y); d == d || l == l {
			t.Fatalf("n=%d: Dot, SquaredL2 = %v, %v, want NaN", n, d, l)
		}
		for i, norm := range []func(){
			func() { LayerNorm(x, x, y, nil, 1, n, 1e-6) },
			func() { RMSNorm(x, x, y, 1, n, 1e-6) },
			func() { Softmax(x) },
		} {
			for k := range x {
				x[k] = 1
			}
			x[n/2] = nan
			norm()
			for k, v := range x {
				if v == v {
					t.Fatalf("row kernel %d of n=%d: element %d is %v, want NaN", i, n, k, v)
				}
			}
		}
	}
}
