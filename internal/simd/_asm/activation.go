package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pool provides constants: from registers, loaded once before the loop, if there are 32 of them;
// else from memory.
type pool struct {
	v      isa
	loaded map[float64]reg.VecVirtual
}

func (v isa) pool(values ...float64) *pool {
	p := &pool{v, map[float64]reg.VecVirtual{}}
	if v.wide() {
		for _, x := range values {
			if p.loaded[x] == nil {
				p.loaded[x] = v.reg()
				VMOVUPS(f32(x), p.loaded[x])
			}
		}
	}
	return p
}

// op is x as an operand, in memory or a register.
func (p *pool) op(x float64) Op {
	if r, ok := p.loaded[x]; ok {
		return r
	}
	return f32(x)
}

// reg is x in a register.
func (p *pool) reg(x float64) reg.VecVirtual {
	if r, ok := p.loaded[x]; ok {
		return r
	}
	r := p.v.reg()
	VMOVUPS(f32(x), r)
	return r
}

// copyOf is x in a register that may be changed.
func (p *pool) copyOf(x float64) reg.VecVirtual {
	r := p.v.reg()
	VMOVUPS(p.op(x), r)
	return r
}

// atMost and atLeast clamp. The second operand of the instruction is its result for NaN, so NaN
// passes.
func (p *pool) atMost(limit float64, x reg.VecVirtual)  { VMINPS(x, p.reg(limit), x) }
func (p *pool) atLeast(limit float64, x reg.VecVirtual) { VMAXPS(x, p.reg(limit), x) }

// polynomial returns c[0] + c[1]·x + c[2]·x² + ...
func (p *pool) polynomial(x reg.VecVirtual, c []float64) reg.VecVirtual {
	y := p.copyOf(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		VFMADD213PS(p.op(c[i]), x, y)
	}
	return y
}

// Below expLow the exponential rounds to 0, above expHigh to +Inf.
const (
	expLow  = -104
	expHigh = 89
	log2e   = 1.44269504088896341
	ln2Hi   = 0.693359375 // short, so that n·ln2Hi is exact
	ln2Lo   = -2.12194440e-4
)

// expPolynomial approximates e^r for |r| <= ln2/2 to one unit in the last place. Source: Cephes
// expf.
var expPolynomial = []float64{1, 1, 5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4}

var expConstants = append([]float64{expLow, expHigh, log2e, ln2Hi, ln2Lo}, expPolynomial...)

// exp replaces x by e^x = 2^n · e^r with n = round(x/ln2) and r = x - n·ln2.
func (p *pool) exp(x reg.VecVirtual) reg.VecVirtual {
	p.atMost(expHigh, x)
	p.atLeast(expLow, x)
	n := p.v.reg()
	VMULPS(p.op(log2e), x, n)
	if p.v.wide() {
		VRNDSCALEPS(U8(8), n, n)
	} else {
		VROUNDPS(U8(8), n, n)
	}
	VFNMADD231PS(p.op(ln2Hi), n, x)
	VFNMADD231PS(p.op(ln2Lo), n, x)
	y := p.polynomial(x, expPolynomial)
	if p.v.wide() {
		VSCALEFPS(n, y, y)
		return y
	}
	// 2^n does not fit into one float32 for subnormal results: multiply by 2^(n/2) twice.
	half, rest := p.v.reg(), p.v.reg()
	VCVTPS2DQ(n, rest)
	VPSRAD(U8(1), rest, half)
	VPSUBD(half, rest, rest)
	for _, e := range []reg.VecVirtual{half, rest} {
		VPADDD(constant(127), e, e)
		VPSLLD(U8(23), e, e)
		VMULPS(e, y, y)
	}
	return y
}

// exp2Polynomial approximates 2^f for |f| <= 1/2 within 3e-9. Chebyshev interpolation of degree 6,
// in powers of f.
var exp2Polynomial = []float64{1, 0.6931472067, 0.2402265092, 0.05550327227, 0.009618056679, 0.001340042818, 0.0001546144467}

// magic, added to a small number, leaves its nearest integer in the low bits of the sum.
const magic = 3 << 22

// expNothing is where exp counts as 0 in a softmax, whose greatest weight is e^0: e^-60 is
// negligible in a sum of such weights, and products with subnormal numbers would take a hundred
// times as long.
const expNothing = -60

var expBelowConstants = append([]float64{expNothing, log2e, magic}, exp2Polynomial...)

// expBelow replaces x, which is at most 0, by e^x, or 0 below expNothing. It takes fewer steps than
// exp; its error is below 4e-8·|x| plus that of the polynomial, together below 4e-8 because x·e^x
// stays below 0.37.
func (p *pool) expBelow(x reg.VecVirtual) reg.VecVirtual {
	const notLess = 0x15 // true for NaN
	if !p.v.wide() {
		some := p.v.reg()
		VCMPPS(U8(notLess), p.op(expNothing), x, some)
		e := p.exp(x)
		VANDPS(some, e, e)
		return e
	}
	some := K()
	VCMPPS(U8(notLess), p.op(expNothing), x, some)
	n := p.v.reg()
	VMOVAPS(x, n)
	VFMADD213PS(p.op(magic), p.reg(log2e), n)
	VSUBPS(p.op(magic), n, n)
	VFMSUB213PS(n, p.reg(log2e), x)
	y := p.polynomial(x, exp2Polynomial)
	VSCALEFPS_Z(n, y, some, y)
	return y
}

// geluSegments is t·Φ(-t) on [0, 5.5] in 16 pieces, within 3e-8: row i holds the coefficients of
// r^i for each piece n, where 15.49/5.5·t = n + r with |r| <= 1/2. Chebyshev interpolation of
// degree 5 on each piece.
var geluSegments = [6][]float64{
	{0, 0.128275126, 0.169587508, 0.152741596, 0.110446513, 0.0673225746, 0.035298761, 0.0160783902, 0.00639645988, 0.00222950568, 0.000682157057, 0.000183443815, 4.33931236e-05, 9.03403543e-06, 1.65598703e-06, 2.67343353e-07},
	{0.177533895, 0.0810518488, 0.00662073446, -0.0346451886, -0.0457670167, -0.0385460779, -0.0253152698, -0.0137423882, -0.00632127654, -0.00249564485, -0.000851999328, -0.000252710481, -6.53296811e-05, -1.47526052e-05, -2.91477045e-06, -5.04486025e-07},
	{-0.0502952039, -0.0442460589, -0.029231105, -0.012340094, 0.000157093076, 0.00599060487, 0.00660019601, 0.00478624599, 0.00270096422, 0.00125159789, 0.00048804449, 0.000162292825, 4.64005461e-05, 1.14673721e-05, 2.45894626e-06, 4.58735883e-07},
	{0, 0.00384389074, 0.00574192731, 0.00515124295, 0.00305724936, 0.000926969806, -0.000353080453, -0.000733893889, -0.000608783332, -0.000358087855, -0.000166430807, -6.37068733e-05, -2.05050146e-05, -5.61697061e-06, -1.31970512e-06, -2.67356938e-07},
	{0.00104936399, 0.000772680272, 0.000149918196, -0.000392912742, -0.00057889038, -0.000442873832, -0.000196842637, -1.44760925e-05, 5.81162167e-05, 5.86688147e-05, 3.61701095e-05, 1.68329752e-05, 6.30957629e-06, 1.96196493e-06, 5.14433225e-07, 1.14902278e-07},
	{0, -0.000103270999, -0.000130789253, -7.69229373e-05, 8.31782586e-07, 4.59779658e-05, 4.66053243e-05, 2.50806661e-05, 5.43551005e-06, -3.54481881e-06, -4.64134382e-06, -2.96074791e-06, -1.35769653e-06, -4.90773346e-07, -1.45319973e-07, -3.59727537e-08},
}

// geluWide keeps the coefficients of all pieces in registers, from which a permutation selects
// those of each lane: half the steps of one polynomial, and a chain of 5 instead of 17
// multiply-adds.
func geluWide(v isa) {
	const limit, pieces = 5.5, 15.49 / 5.5
	var tables []reg.VecVirtual
	start := func(*pool) {
		for i, c := range geluSegments {
			t := v.reg()
			VMOVUPS(table(fmt.Sprintf("gelu%d", i), c), t)
			tables = append(tables, t)
		}
	}
	elementwise(v, "gelu", "x·Φ(x)", []float64{limit, pieces, magic}, start, func(p *pool, x reg.VecVirtual) reg.VecVirtual {
		u, z, n, zero := v.reg(), v.reg(), v.reg(), v.reg()
		v.and(constant(0x7fffffff), x, u)
		p.atMost(limit, u)
		VMOVAPS(u, z)
		VFMADD213PS(p.op(magic), p.reg(pieces), z)
		VSUBPS(p.op(magic), z, n)
		VFMSUB213PS(n, p.reg(pieces), u)
		pick := func(i int) reg.VecVirtual {
			c := v.reg()
			VPERMPS(tables[i], z, c)
			return c
		}
		y := pick(len(tables) - 1)
		for i := len(tables) - 2; i >= 0; i-- {
			VFMADD213PS(pick(i), u, y)
		}
		v.zero(zero)
		VMAXPS(zero, x, x)
		VSUBPS(y, x, x)
		return x
	})
}

// geluTail is t·Φ(-t) on [0, 5.5] as a polynomial in u = 2t/5.5 - 1, within 4e-8: x·Φ(x) is max(x,
// 0) minus that of |x|. Chebyshev interpolation of degree 17, in powers of u. Beyond 5.5 it stays
// below 1.1e-7.
var geluTail = []float64{
	0.008194370147, -0.06057603729, 0.1912633705, -0.3087741843, 0.1789475822, 0.2617242915,
	-0.6283229227, 0.4514880329, 0.1513838684, -0.5179120315, 0.2722125251, 0.1806585444,
	-0.2569062131, 0.01826339563, 0.09892436873, -0.03236422073, -0.0156969204, 0.007492276087,
}

// rational is x·P(x²)/Q(x²) of tanh for |x| <= 7.9. Source: Eigen, generic_fast_tanh_float.
var (
	tanhP = []float64{4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08,
		-8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16}
	tanhQ = []float64{4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06}
)

// geluNarrow uses one polynomial, because AVX2 has no permutation over 16 lanes.
func geluNarrow(v isa) {
	elementwise(v, "gelu", "x·Φ(x)", append([]float64{5.5, 2 / 5.5, -1}, geluTail...), nil, func(p *pool, x reg.VecVirtual) reg.VecVirtual {
		u, zero := v.reg(), v.reg()
		v.and(constant(0x7fffffff), x, u)
		p.atMost(5.5, u)
		VFMADD213PS(p.op(-1), p.reg(2/5.5), u)
		y := p.polynomial(u, geluTail)
		v.zero(zero)
		VMAXPS(zero, x, x)
		VSUBPS(y, x, x)
		return x
	})
}

// sigmoidTimes returns x / (1 + e^-z); z is destroyed.
func (p *pool) sigmoidTimes(x, z reg.VecVirtual) reg.VecVirtual {
	p.v.xor(constant(0x80000000), z, z)
	e := p.exp(z)
	VADDPS(p.op(1), e, e)
	VDIVPS(e, x, e)
	return e
}

// activations prints a kernel for each activation over x [rows, cols], rows ldx apart.
func activations(v isa) {
	if v.wide() {
		geluWide(v)
	} else {
		geluNarrow(v)
	}
	const a, b = 1.5957691216057308, 0.07135481282949306 // 2·sqrt(2/π), and that times 0.044715
	elementwise(v, "geluTanh", "the tanh form of GELU", append([]float64{a, b}, expConstants...), nil, func(p *pool, x reg.VecVirtual) reg.VecVirtual {
		z := v.reg()
		VMULPS(x, x, z)
		VFMADD213PS(p.op(a), p.reg(b), z)
		VMULPS(x, z, z)
		return p.sigmoidTimes(x, z)
	})
	elementwise(v, "relu", "max(x, 0)", nil, nil, func(p *pool, x reg.VecVirtual) reg.VecVirtual {
		zero := v.reg()
		v.zero(zero)
		VMAXPS(x, zero, x)
		return x
	})
	elementwise(v, "silu", "x·sigmoid(x)", expConstants, nil, func(p *pool, x reg.VecVirtual) reg.VecVirtual {
		z := v.reg()
		VMOVAPS(x, z)
		return p.sigmoidTimes(x, z)
	})
	const limit = 7.9
	elementwise(v, "tanh", "the hyperbolic tangent", append(append([]float64{limit, -limit}, tanhP...), tanhQ...), nil, func(p *pool, x reg.VecVirtual) reg.VecVirtual {
		p.atMost(limit, x)
		p.atLeast(-limit, x)
		square := v.reg()
		VMULPS(x, x, square)
		num := p.polynomial(square, tanhP)
		VMULPS(x, num, num)
		VDIVPS(p.polynomial(square, tanhQ), num, num)
		return num
	})
}

// elementwise prints one of them. start, if there is one, runs once before the loops.
func elementwise(v isa, name, doc string, values []float64, start func(*pool), body func(p *pool, x reg.VecVirtual) reg.VecVirtual) {
	kernel(name+v.name, "func(x *float32, ldx, rows, cols int)", name+v.name+" replaces each element of x [rows, cols], rows ldx apart, by "+doc+".")
	x, ldx, rows, off := ptr("x"), ptr("ldx"), ptr("rows"), GP64()
	p := v.pool(values...)
	if start != nil {
		start(p)
	}
	Label("row")
	v.vectors(ptr("cols"), off, func(m *mask) {
		r := v.reg()
		v.load(Mem{Base: x, Index: off, Scale: 1}, r, m)
		v.store(body(p, r), Mem{Base: x, Index: off, Scale: 1}, m)
	})
	LEAQ(Mem{Base: x, Index: ldx, Scale: 4}, x)
	DECQ(rows)
	JNZ(LabelRef("row"))
	finish()
}
