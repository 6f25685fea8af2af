//go:build !purego

package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// throughTiles runs test with every product in AMX's tiles, however few its rows; where there are
// none TestRequired says so.
func throughTiles(t *testing.T, test func(t *testing.T)) {
	if !slices.Contains(Backends(), AMX) {
		return
	}
	use(t, AMX)
	least := amxLeast
	amxLeast = 1
	defer func() { amxLeast = least }()
	test(t)
}

// TestTiles repeats the tests of MatrixInt8 with rows that are otherwise too few for tiles.
func TestTiles(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"integers": testMulInt8Integers, "epilogue": testMulInt8, "odd": testMulInt8Odd, "bounds": testBounds,
	} {
		t.Run(name, func(t *testing.T) { throughTiles(t, test) })
	}
}

// TestTilesSame wants the bits of AVX-512, whose sums the tests compare with those of pure Go:
// every height of the last block, every width of the last panel, part of a last step, rows that
// hold what the buffer was used for before, and a residual in place.
func TestTilesSame(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	shapes := []struct{ rows, out, in int }{{70, 40, 384}, {33, 130, 1000}, {16, 300, 64}, {129, 96, 65}, {64, 33, 200}, {65, 31, 63}, {5, 7, 1}}
	for rows := 1; rows <= 66; rows++ {
		shapes = append(shapes, struct{ rows, out, in int }{rows, 1 + r.IntN(140), 1 + r.IntN(300)})
	}
	for _, s := range shapes {
		m := PackInt8(random(r, s.out*s.in), s.out, s.in)
		x, bias, residual := random(r, s.rows*s.in), random(r, s.out), random(r, s.rows*s.out)
		for name, e := range map[string]Epilogue{
			"plain": {}, "bias": {Bias: bias}, "residual": {Bias: bias, Residual: residual}, "gelu": {Bias: bias, Act: GELU}, "relu": {Act: ReLU},
		} {
			t.Run(fmt.Sprintf("%s/rows=%d/out=%d/in=%d", name, s.rows, s.out, s.in), func(t *testing.T) {
				run := func(test func(dst []float32)) []float32 {
					dst, check := guarded(t, s.rows*s.out)
					if e.Residual != nil {
						copy(dst, residual)
						e.Residual = dst
					}
					test(dst)
					check()
					return dst
				}
				var got []float32
				throughTiles(t, func(*testing.T) { got = run(func(dst []float32) { m.Mul(dst, x, s.rows, e) }) })
				if got == nil {
					return
				}
				use(t, AVX512VNNI)
				for i, want := range run(func(dst []float32) { m.Mul(dst, x, s.rows, e) }) {
					if math.Float32bits(got[i]) != math.Float32bits(want) {
						t.Fatalf("dst[%d,%d] = %v, want %v", i/s.out, i%s.out, got[i], want)
					}
				}
			})
		}
	}
}

// TestTilesDeepest has the largest sums of weights that the kernels take apart, of both signs, and
// rows that lie below zero but for one element, so that the zero is 255: the product without it is
// far from the one with it.
func TestTilesDeepest(t *testing.T) {
	const rows, out = 17, 4
	for _, in := range []int{amxDeepest - 1, amxDeepest, amxDeepest + 1} {
		w, x := make([]float32, out*in), make([]float32, rows*in)
		for i := range w {
			w[i] = 1 - float32(i/in%2)*2
		}
		for i := range x {
			x[i] = -float32(i%7) - 1
		}
		m := PackInt8(w, out, in)
		var want, got [rows * out]float32
		use(t, Go)
		m.Mul(want[:], x, rows, Epilogue{})
		throughTiles(t, func(*testing.T) {
			m.Mul(got[:], x, rows, Epilogue{})
			for i, v := range got {
				if far(v, float64(want[i]), math.Abs(float64(want[i])), 1e-6) {
					t.Fatalf("in=%d: dst[%d,%d] = %v, want %v", in, i/out, i%out, v, want[i])
				}
			}
		})
	}
}
