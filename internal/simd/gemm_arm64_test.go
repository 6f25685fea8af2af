//go:build !purego

package simd

import (
	"math/rand/v2"
	"testing"
)

// TestRowsAlone: a row has the same bits alone as among others, whatever tiles it goes through.
func TestRowsAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for _, b := range Backends()[1:] {
		use(t, b)
		for _, s := range []struct{ out, in int }{{8, 3}, {32, 16}, {45, 37}, {96, 64}} {
			weights := random(r, s.out*s.in)
			for _, w := range []Packed{Pack(weights, s.out, s.in), PackInt8(weights, s.out, s.in)} {
				for rows := 2; rows <= 20; rows++ {
					x, all, alone := random(r, rows*s.in), make([]float32, rows*s.out), make([]float32, s.out)
					e := Epilogue{Bias: random(r, s.out), Act: GELU}
					w.Mul(all, x, rows, e)
					for i := range rows {
						w.Mul(alone, x[i*s.in:(i+1)*s.in], 1, e)
						for o, v := range alone {
							if v != all[i*s.out+o] {
								t.Fatalf("%v: %T %v: element %d of row %d of %d is %v, alone %v", b, w, s, o, i, rows, all[i*s.out+o], v)
							}
						}
					}
				}
			}
		}
	}
}
