package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRoundEven(t *testing.T) {
	for x := -300.0; x <= 300; x += 0.125 {
		if got := roundEven(x); float64(got) != math.RoundToEven(x) {
			t.Fatalf("roundEven(%v) = %d", x, got)
		}
	}
}

func TestMulInt8Integers(t *testing.T) { eachBackend(t, testMulInt8Integers) }

// testMulInt8Integers uses rows and weights whose scales are 1, so that every result is a sum of
// products of integers.
func testMulInt8Integers(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, s := range []struct{ out, in int }{{1, 2}, {3, 5}, {16, 16}, {31, 7}, {33, 64}, {48, 100}, {64, 384}, {100, 47}, {40, 513}} {
		for _, rows := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 29, 70} {
			for _, extreme := range []bool{false, true} {
				w, x := make([]float32, s.out*s.in), make([]float32, rows*s.in)
				for o := range s.out {
					row := w[o*s.in : (o+1)*s.in]
					for k := range row {
						row[k] = float32(r.IntN(255) - 127)
						if extreme {
							row[k] = 127 - float32(o%2)*254
						}
					}
					row[r.IntN(s.in)] = 127
				}
				for i := range rows {
					row := x[i*s.in : (i+1)*s.in]
					lo := float32(-(i * 37 % 256))
					for k := range row {
						row[k] = lo + float32(r.IntN(256))
						if extreme {
							row[k] = lo + 255
						}
					}
					row[0], row[s.in-1] = lo, lo+255
				}
				dst, check := guarded(t, rows*s.out)
				PackInt8(w, s.out, s.in).Mul(dst, x, rows, Epilogue{})
				check()
				for i := range rows {
					for o := range s.out {
						var want int64
						for k := range s.in {
							want += int64(x[i*s.in+k]) * int64(w[o*s.in+k])
						}
						if want > 1<<24 || want < -1<<24 {
							t.Fatalf("the test's own sum %d is not exact in float32", want)
						}
						if got := dst[i*s.out+o]; got != float32(want) {
							t.Fatalf("out=%d in=%d rows=%d extreme=%v dst[%d,%d] = %v, want %d", s.out, s.in, rows, extreme, i, o, got, want)
						}
					}
				}
			}
		}
	}
}

func TestMulInt8(t *testing.T) { eachBackend(t, testMulInt8) }

func testMulInt8(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, s := range []struct{ out, in int }{{3, 0}, {32, 32}, {50, 77}, {70, 200}} {
		w := random(r, s.out*s.in)
		m := PackInt8(w, s.out, s.in)
		if m.Out() != s.out || m.in != s.in {
			t.Fatalf("Out, in = %d, %d, want %d, %d", m.Out(), m.in, s.out, s.in)
		}
		for _, rows := range []int{0, 1, 2, 3, 4, 6, 9, 14, 17, 31} {
			c := newLinear(t, r, rows, s.out, s.in)
			m.Mul(c.dst, c.x, rows, c.e)
			c.compare(2e-6, func(i, o int) (sum, size float64) {
				row, weights := c.x[i*s.in:(i+1)*s.in], w[o*s.in:(o+1)*s.in]
				var exact float64
				for k, v := range row {
					exact += float64(v) * float64(weights[k])
				}
				sum = rounded(row, weights)
				if math.Abs(sum-exact) > 0.1*math.Sqrt(float64(s.in)) {
					t.Fatalf("the rounded product %v is far from the exact one %v", sum, exact)
				}
				return sum, math.Abs(sum)
			})
		}
	}
}

// rounded is the product of x and w after the rounding that MatrixInt8 documents, in float64.
func rounded(x, w []float32) float64 {
	var lo, hi, largest float32
	for k := range x {
		lo, hi, largest = min(lo, x[k]), max(hi, x[k]), max(largest, w[k], -w[k])
	}
	step, inverse := float64(hi-lo)/255, 255/(hi-lo)
	zero := math.RoundToEven(float64(-lo * inverse))
	var sum float64
	for k := range x {
		q := min(255, max(0, math.RoundToEven(float64(x[k]*inverse))+zero)) - zero
		sum += q * math.RoundToEven(float64(w[k])*127/float64(largest))
	}
	return sum * step * float64(largest) / 127
}

func TestMulInt8Odd(t *testing.T) { eachBackend(t, testMulInt8Odd) }

func testMulInt8Odd(t *testing.T) {
	const out, in = 33, 40
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	w := random(rand.New(rand.NewPCG(15, 16)), out*in)
	m := PackInt8(w, out, in)
	for _, tt := range []struct {
		name  string
		value float32
		nan   bool
	}{{"zeros", 0, false}, {"subnormal", 1e-40, false}, {"NaN", nan, true}, {"Inf", inf, true}} {
		t.Run(tt.name, func(t *testing.T) {
			x := make([]float32, 3*in)
			x[in+17] = tt.value
			dst := make([]float32, 3*out)
			m.Mul(dst, x, 3, Epilogue{})
			for i, v := range dst {
				if want := tt.nan && i/out == 1; want != (v != v) || !want && v != 0 {
					t.Fatalf("dst[%d,%d] = %v", i/out, i%out, v)
				}
			}
		})
	}
	w[5*in] = nan
	clear(w[6*in : 7*in])
	x, dst := random(rand.New(rand.NewPCG(17, 18)), in), make([]float32, out)
	PackInt8(w, out, in).Mul(dst, x, 1, Epilogue{})
	if dst[5] == dst[5] || dst[6] != 0 || dst[7] != dst[7] {
		t.Errorf("channels with NaN, zeros and numbers give %v, want NaN, 0 and a number", dst[5:8])
	}
}

func TestDotInt8(t *testing.T) { eachBackend(t, testDotInt8) }

func testDotInt8(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	draw := func(n, mode int) []int8 {
		x := make([]int8, n+1)[1:]
		for i := range x {
			x[i] = [...]int8{int8(r.IntN(256) - 128), -128, 127}[mode]
		}
		return x
	}
	for n := 0; n <= 513; n++ {
		a := draw(n, n%3)
		const count = 17
		base := draw(n*count, n/3%3)
		ids := make([]uint32, r.IntN(15))
		for i := range ids {
			ids[i] = uint32(r.IntN(count))
		}
		got := make([]int32, len(ids)+2)
		got[0], got[len(got)-1] = 77, 77
		if n > 0 {
			DotRowsInt8(got[1:len(got)-1], a, base, ids)
		}
		if got[0] != 77 || got[len(got)-1] != 77 {
			t.Fatalf("n=%d: DotRowsInt8 wrote outside dst", n)
		}
		for i, id := range ids {
			row := base[int(id)*n : int(id+1)*n]
			var want int32
			for k, v := range a {
				want += int32(v) * int32(row[k])
			}
			if n > 0 && got[i+1] != want {
				t.Fatalf("n=%d: DotRowsInt8 [%d] = %d, want %d", n, i, got[i+1], want)
			}
			if d := DotInt8(a, row); d != want {
				t.Fatalf("n=%d: DotInt8 = %d, want %d", n, d, want)
			}
		}
	}
}
