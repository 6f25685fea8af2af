package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMul(t *testing.T) { eachBackend(t, testMul) }

func testMul(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shapes := []struct{ out, in int }{{1, 1}, {3, 0}, {3, 5}, {16, 16}, {31, 7}, {32, 33}, {33, 64}, {48, 100}, {64, 384}, {100, 47}, {300, 65}}
	for _, s := range shapes {
		w := random(r, s.out*s.in)
		m := Pack(w, s.out, s.in)
		if m.Out() != s.out || m.in != s.in {
			t.Fatalf("Out, in = %d, %d, want %d, %d", m.Out(), m.in, s.out, s.in)
		}
		for rows := 0; rows <= 70; rows++ {
			if rows > 30 && rows%7 != 0 {
				continue
			}
			c := newLinear(t, r, rows, s.out, s.in)
			m.Mul(c.dst, c.x, rows, c.e)
			c.compare(1e-6, func(i, o int) (sum, size float64) {
				for k := range s.in {
					p := float64(c.x[i*s.in+k]) * float64(w[o*s.in+k])
					sum += p
					size += math.Abs(p)
				}
				return sum, size
			})
		}
	}
}

func TestMulInBlocks(t *testing.T) { eachBackend(t, testMulInBlocks) }

// testMulInBlocks has rows that are too many or too long to stay in the cache, so that they are
// taken in blocks: the result is that of each row alone.
func testMulInBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	const rows, out, in = 150, 3, 8200
	w, x, residual := random(r, out*in), random(r, rows*in), random(r, rows*out)
	for name, mul := range map[string]func(dst, x []float32, rows int, e Epilogue){
		"Matrix":     Pack(w, out, in).Mul,
		"MatrixInt8": PackInt8(w, out, in).Mul,
	} {
		got, check := guarded(t, rows*out)
		mul(got, x, rows, Epilogue{Residual: residual})
		check()
		for i := range rows {
			var want [out]float32
			mul(want[:], x[i*in:(i+1)*in], 1, Epilogue{Residual: residual[i*out : (i+1)*out]})
			for o, v := range want {
				if far(got[i*out+o], float64(v), 100, 1e-5) {
					t.Fatalf("%s: dst[%d,%d] = %v, alone %v", name, i, o, got[i*out+o], v)
				}
			}
		}
	}
}

// linear is one product with a random choice of bias, activation or residual, the latter now and
// then in place.
type linear struct {
	t        *testing.T
	rows     int
	out, in  int
	x, dst   []float32
	residual []float32
	e        Epilogue
	check    func()
}

func newLinear(t *testing.T, r *rand.Rand, rows, out, in int) *linear {
	c := &linear{t: t, rows: rows, out: out, in: in, x: random(r, rows*in), residual: random(r, rows*out)}
	c.dst, c.check = guarded(t, rows*out)
	if r.IntN(2) == 0 {
		c.e.Bias = random(r, out)
	}
	switch r.IntN(4) {
	case 0:
		c.e.Residual = c.residual
	case 1:
		copy(c.dst, c.residual)
		c.e.Residual = c.dst
	default:
		c.e.Act = Activation(r.IntN(int(numActivations)))
	}
	return c
}

// compare holds dst against product, which returns an element of x·Wᵀ and the scale of its rounding
// errors.
func (c *linear) compare(tol float64, product func(i, o int) (sum, size float64)) {
	c.t.Helper()
	c.check()
	for i := range c.rows {
		for o := range c.out {
			want, size := product(i, o)
			if c.e.Bias != nil {
				want += float64(c.e.Bias[o])
			}
			want = activation64(want, c.e.Act)
			if c.e.Residual != nil {
				want += float64(c.residual[i*c.out+o])
			}
			if got := c.dst[i*c.out+o]; far(got, want, size, tol) {
				c.t.Fatalf("out=%d in=%d rows=%d %v bias=%v residual=%v: dst[%d,%d] = %v, want %v", c.out, c.in, c.rows,
					c.e.Act, c.e.Bias != nil, c.e.Residual != nil, i, o, got, want)
			}
		}
	}
}

func TestMulShare(t *testing.T) { eachBackend(t, testMulShare) }

// testMulShare puts a product together from shares; with a share left out, its columns must stay as
// they were.
func testMulShare(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, s := range []struct{ rows, out, in, parts int }{{1, 70, 40, 2}, {10, 384, 96, 3}, {15, 33, 8, 5}, {57, 64, 31, 1}} {
		weights := random(r, s.out*s.in)
		next := Pack(weights, s.out, s.in)
		for _, w := range []Packed{Pack(weights, s.out, s.in), PackInt8(weights, s.out, s.in)} {
			c := newLinear(t, r, s.rows, s.out, s.in)
			c.e.Then = next
			want := append([]float32(nil), c.dst...)
			whole := c.e
			if c.e.Residual != nil {
				whole.Residual = c.residual
			}
			w.Mul(want, c.x, s.rows, whole)
			skip := r.IntN(s.parts + 1)
			before := append([]float32(nil), c.dst...)
			from, to := 0, 0
			for part := range s.parts {
				if part == skip {
					from, to = Share(s.out, part, s.parts)
					continue
				}
				w.MulShare(c.dst, c.x, s.rows, part, s.parts, c.e)
			}
			c.check()
			for i := range s.rows {
				for o := range s.out {
					at := i*s.out + o
					if o >= from && o < to {
						want[at] = before[at]
					}
					if c.dst[at] != want[at] {
						t.Fatalf("%T %+v without part %d: dst[%d,%d] = %v, want %v", w, s, skip, i, o, c.dst[at], want[at])
					}
				}
			}
		}
	}
}
