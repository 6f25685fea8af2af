// Package bench measures kernels and encoders on a machine that others use too: what is compared runs in turns, in short slices, and the
// best slice of each counts, because the mean says how busy the others are. Kernels are timed by the processor time of their thread.
package bench

import (
	"math/rand/v2"
	"runtime"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"searchd/internal/simd"
)

// Product is a matrix product at a shape of the encoder, on one core.
type Product struct {
	Rows    int     `json:"rows"`
	In      int     `json:"in"`
	Out     int     `json:"out"`
	Floats  float64 `json:"f32_gops"`
	Share   float64 `json:"f32_share"` // of the measured ceiling; 0: there is none
	Bytes   float64 `json:"int8_gops"`
	ShareB  float64 `json:"int8_share"`
	Gonum   float64 `json:"gonum_gops"`
	VsGonum float64 `json:"f32_over_gonum"`
}

// Kernels is what one core can do.
type Kernels struct {
	Backend  string    `json:"backend"`
	Floats   float64   `json:"f32_ceiling_gops"`  // multiply-adds in registers, as two operations each; 0: not measured
	Bytes    float64   `json:"int8_ceiling_gops"` // products of bytes with their sums
	Products []Product `json:"products"`
}

// slice is how long a measured piece of work is repeated: less than the scheduler of the system lets run at once.
const slice = 500 * time.Microsecond

// contender is one of several pieces of work; run returns the number of operations that it did.
type contender struct {
	run   func() float64
	clock func() time.Duration // nil: threadTime
	best  float64              // operations a second
}

// race lets the contenders run in turns for the given number of rounds.
func race(rounds int, cs ...*contender) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range rounds {
		for _, c := range cs {
			clock := c.clock
			if clock == nil {
				clock = threadTime
			}
			began, took, work := clock(), time.Duration(0), 0.0
			for took < slice {
				work += c.run()
				took = clock() - began
			}
			c.best = max(c.best, work/took.Seconds())
		}
	}
}

var started = time.Now()

// wallTime is the time since the start of the program.
func wallTime() time.Duration { return time.Since(started) }

// MeasureKernels multiplies at the shapes of an encoder of the given hidden and intermediate size.
func MeasureKernels(hidden, intermediate int, rows []int) Kernels {
	const rounds = 60
	r := rand.New(rand.NewPCG(1, 2))
	floats, bytes := &contender{run: simd.CeilingFloats}, &contender{run: simd.CeilingBytes}
	k := Kernels{Backend: simd.Active().String()}
	for _, s := range [][2]int{{hidden, 3 * hidden}, {hidden, hidden}, {hidden, intermediate}, {intermediate, hidden}} {
		in, out := s[0], s[1]
		w := random(r, in*out)
		packed, packedBytes := simd.Pack(w, out, in), simd.PackInt8(w, out, in)
		for _, n := range rows {
			x, dst, bias, work := random(r, n*in), make([]float32, n*out), random(r, out), 2*float64(n*in*out)
			f := &contender{run: func() float64 { packed.Mul(dst, x, n, simd.Epilogue{Bias: bias}); return work }}
			b := &contender{run: func() float64 { packedBytes.Mul(dst, x, n, simd.Epilogue{Bias: bias}); return work }}
			g := &contender{clock: wallTime, run: func() float64 { // on threads of its own
				blas32.Gemm(blas.NoTrans, blas.Trans, 1, blas32.General{Rows: n, Cols: in, Stride: in, Data: x},
					blas32.General{Rows: out, Cols: in, Stride: in, Data: w}, 0,
					blas32.General{Rows: n, Cols: out, Stride: out, Data: dst})
				return work
			}}
			race(rounds, floats, f, bytes, b)
			race(3, g)
			k.Products = append(k.Products, Product{Rows: n, In: in, Out: out, Floats: f.best / 1e9, Bytes: b.best / 1e9,
				Gonum: g.best / 1e9, VsGonum: f.best / g.best})
		}
	}
	k.Floats, k.Bytes = floats.best/1e9, bytes.best/1e9
	for i := range k.Products {
		p := &k.Products[i]
		p.Share, p.ShareB = share(p.Floats, k.Floats), share(p.Bytes, k.Bytes)
	}
	return k
}

func share(rate, ceiling float64) float64 {
	if ceiling == 0 {
		return 0
	}
	return rate / ceiling
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// Best returns the shortest of rounds runs of each f, taken in turns.
func Best(rounds int, fs ...func() error) ([]time.Duration, error) {
	best := make([]time.Duration, len(fs))
	for round := range rounds {
		for i, f := range fs {
			began := time.Now()
			if err := f(); err != nil {
				return nil, err
			}
			if d := time.Since(began); round == 0 || d < best[i] {
				best[i] = d
			}
		}
	}
	return best, nil
}
