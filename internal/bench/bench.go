// Package bench measures kernels and encoders on a machine that others use too: what is compared
// runs in turns, in short slices, and those slices count in which the machine was least busy,
// because the mean says how busy the others are. Kernels are timed by the processor time of their
// thread.
package bench

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"searchd/internal/simd"
)

// Rate is how fast a back end does one piece of work.
type Rate struct {
	Backend string  `json:"backend"`
	Gops    float64 `json:"gops"`
	Share   float64 `json:"share"` // of the ceiling of the same back end; 0: there is none
}

// Product is a matrix product at a shape of the encoder, on one core.
type Product struct {
	Rows    int     `json:"rows"`
	In      int     `json:"in"`
	Out     int     `json:"out"`
	Floats  Rate    `json:"f32"`
	Bytes   []Rate  `json:"int8"` // one for each back end whose products of bytes differ, the slower first
	Gonum   float64 `json:"gonum_gops"`
	VsGonum float64 `json:"f32_over_gonum"`
}

// Kernels is what one core can do.
type Kernels struct {
	Backend  string    `json:"backend"`
	Floats   float64   `json:"f32_ceiling_gops"`   // multiply-adds in registers, as two operations each; 0: not measured
	Bytes    []float64 `json:"int8_ceilings_gops"` // products of bytes with their sums, for each of the rates of a product
	Products []Product `json:"products"`
}

// slice is how long a measured piece of work is repeated: less than the scheduler of the system
// lets run at once.
const slice = 500 * time.Microsecond

// work is what is measured; it returns the number of operations that it did.
type work func() float64

// rate repeats w for the given time and returns operations a second. The clock is read seldom,
// because on Linux reading it enters the kernel.
func (w work) rate(enough time.Duration, clock func() time.Duration) float64 {
	began, took, done := clock(), time.Duration(0), 0.0
	for calls := 1; took < enough; {
		for range calls {
			done += w()
		}
		if took = clock() - began; took < enough/16 {
			calls *= 2
		}
	}
	return done / took.Seconds()
}

// turn is a slice of a kernel between two slices of the loop that is its ceiling, and what the
// probe found before and after them.
type turn struct{ rate, ceiling, probe float64 }

// contest is a kernel and the loop that is its ceiling, on one back end.
type contest struct {
	backend         simd.Backend
	kernel, ceiling work
	turns           []turn
}

// probe is an inner product in the first-level cache. It loads two vectors for each multiply-add,
// so of all work it becomes slowest when somebody else has the core's other thread, where a loop in
// registers hardly does.
var probe = func() work {
	x := make([]float32, 2048)
	return func() float64 { simd.Dot(x, x); return 2 * float64(len(x)) }
}()

// take adds a turn and returns what the probe found. The ceiling is the faster one of the two
// slices around the kernel's.
func (c *contest) take() float64 {
	if err := simd.Use(c.backend); err != nil {
		panic(err)
	}
	quiet := probe.rate(slice/5, threadTime)
	before := c.ceiling.rate(slice, threadTime)
	t := turn{rate: c.kernel.rate(slice, threadTime)}
	t.ceiling = max(before, c.ceiling.rate(slice, threadTime))
	t.probe = min(quiet, probe.rate(slice/5, threadTime))
	c.turns = append(c.turns, t)
	return t.probe
}

// quiet is how many turns had a probe that was nearly as fast as the given one.
func (c *contest) quiet(quickest float64) (n int) {
	for _, t := range c.turns {
		if t.probe >= 0.9*quickest {
			n++
		}
	}
	return n
}

// result is the median turn of the tenth in which the probe was fastest, but of at most 15: in the
// others somebody else had a part of the core. peak is the median ceiling of these turns.
func (c *contest) result() (r Rate, peak float64) {
	t := slices.Clone(c.turns)
	slices.SortFunc(t, func(a, b turn) int { return cmp.Compare(b.probe, a.probe) })
	t = t[:min(15, (len(t)+9)/10)]
	median := func(of func(turn) float64) float64 {
		slices.SortFunc(t, func(a, b turn) int { return cmp.Compare(of(a), of(b)) })
		return of(t[len(t)/2])
	}
	peak = median(func(t turn) float64 { return t.ceiling })
	r = Rate{Backend: c.backend.String(), Gops: median(func(t turn) float64 { return t.rate }) / 1e9}
	if peak > 0 {
		r.Share = median(func(t turn) float64 { return t.rate / t.ceiling })
	}
	return r, peak / 1e9
}

var started = time.Now()

// wallTime is the time since the start of the program.
func wallTime() time.Duration { return time.Since(started) }

// bytesBackends are the back ends up to the active one that multiply bytes in the best and in the
// second best way.
func bytesBackends() []simd.Backend {
	if a := simd.Active(); a != simd.AMX {
		return []simd.Backend{a}
	}
	return []simd.Backend{simd.AVX512VNNI, simd.AMX}
}

// MeasureKernels multiplies at the shapes of an encoder of the given hidden and intermediate size,
// each for the given time, or for up to four times as long where the machine leaves no quiet turns.
// It must not run beside other users of package simd, whose back end it changes and puts back.
func MeasureKernels(hidden, intermediate int, rows []int, each time.Duration) Kernels {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	active, backends := simd.Active(), bytesBackends()
	defer simd.Use(active)
	r := rand.New(rand.NewPCG(1, 2))
	k := Kernels{Backend: active.String(), Bytes: make([]float64, len(backends))}
	const enoughTurns = 8
	var quickest float64 // of all probes
	for _, s := range [][2]int{{hidden, 3 * hidden}, {hidden, hidden}, {hidden, intermediate}, {intermediate, hidden}} {
		in, out := s[0], s[1]
		w := random(r, in*out)
		packed, packedBytes := simd.Pack(w, out, in), simd.PackInt8(w, out, in)
		for _, n := range rows {
			x, dst, operations := random(r, n*in), make([]float32, n*out), 2*float64(n*in*out)
			e := simd.Epilogue{Bias: random(r, out)}
			contests := []*contest{{backend: active, ceiling: simd.CeilingFloats,
				kernel: func() float64 { packed.Mul(dst, x, n, e); return operations }}}
			for _, b := range backends {
				contests = append(contests, &contest{backend: b, ceiling: simd.CeilingBytes,
					kernel: func() float64 { packedBytes.Mul(dst, x, n, e); return operations }})
			}
			for began := wallTime(); ; {
				quiet := each > 0
				for _, c := range contests {
					quickest = max(quickest, c.take())
					quiet = quiet && c.quiet(quickest) >= enoughTurns
				}
				if took := wallTime() - began; took >= 4*each || took >= each && quiet {
					break
				}
			}
			p := Product{Rows: n, In: in, Out: out, Gonum: gonum(dst, x, w, n, in, out) / 1e9}
			var peak float64
			p.Floats, peak = contests[0].result()
			k.Floats = max(k.Floats, peak)
			for i, c := range contests[1:] {
				rate, peak := c.result()
				p.Bytes = append(p.Bytes, rate)
				k.Bytes[i] = max(k.Bytes[i], peak)
			}
			p.VsGonum = p.Floats.Gops / p.Gonum
			k.Products = append(k.Products, p)
		}
	}
	return k
}

// gonum is the best rate of gonum's product, which uses threads of its own.
func gonum(dst, x, w []float32, n, in, out int) (best float64) {
	multiply := work(func() float64 {
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, blas32.General{Rows: n, Cols: in, Stride: in, Data: x},
			blas32.General{Rows: out, Cols: in, Stride: in, Data: w}, 0,
			blas32.General{Rows: n, Cols: out, Stride: out, Data: dst})
		return 2 * float64(n*in*out)
	})
	for range 3 {
		best = max(best, multiply.rate(slice, wallTime))
	}
	return best
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// Best returns the shortest of several runs of f.
func Best(rounds int, f func() error) (best time.Duration, err error) {
	for round := range rounds {
		began := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		if d := time.Since(began); round == 0 || d < best {
			best = d
		}
	}
	return best, nil
}
