package main

// The approximations are those of ../_asm/activation.go.
var (
	// expPolynomial is e^r for |r| <= ln2/2; exp2Polynomial is 2^f for |f| <= 1/2.
	expPolynomial  = []float64{1, 1, 5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4}
	exp2Polynomial = []float64{1, 0.6931472067, 0.2402265092, 0.05550327227, 0.009618056679, 0.001340042818, 0.0001546144467}

	// geluTail is t·Φ(-t) on [0, 5.5] in u = 2t/5.5 - 1.
	geluTail = []float64{
		0.008194370147, -0.06057603729, 0.1912633705, -0.3087741843, 0.1789475822, 0.2617242915,
		-0.6283229227, 0.4514880329, 0.1513838684, -0.5179120315, 0.2722125251, 0.1806585444,
		-0.2569062131, 0.01826339563, 0.09892436873, -0.03236422073, -0.0156969204, 0.007492276087,
	}

	// tanhP and tanhQ are the x·P(x²)/Q(x²) of the hyperbolic tangent for |x| <= 7.9.
	tanhP = []float64{4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08,
		-8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16}
	tanhQ = []float64{4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06}
)

const (
	expHigh = 89  // above it the exponential is +Inf
	expLow  = -86 // far below where 1 + e^x is 1
	log2e   = 1.44269504088896341
	ln2Hi   = 0.693359375 // short, so that n·ln2Hi is exact
	ln2Lo   = -2.12194440e-4
)

// addProduct adds n·value to d, takeProduct takes it away, product is it alone; constant copies
// value to all lanes.
func (f *fn) addProduct(d, n v, value float64) {
	m, i := f.lane(value)
	f.fmlaLane(d, n, m, i)
}

func (f *fn) takeProduct(d, n v, value float64) {
	m, i := f.lane(value)
	f.fmlsLane(d, n, m, i)
}

func (f *fn) product(d, n v, value float64) {
	m, i := f.lane(value)
	f.fmulLane(d, n, m, i)
}

func (f *fn) constant(d v, value float64) {
	n, i := f.lane(value)
	f.dup(d, n, i)
}

// polynomial leaves c[0] + c[1]·u + c[2]·u² + ... in y, by pairs, so that few multiply-adds wait
// for each other; the len(c)/2 + 1 registers, rounded up, from y on are destroyed.
func (f *fn) polynomial(y, u v, c []float64) {
	var terms []v
	power := y
	for ; len(c) > 0; power++ {
		f.constant(power, c[0])
		if len(c) > 1 {
			f.addProduct(power, u, c[1])
		}
		terms, c = append(terms, power), c[min(2, len(c)):]
	}
	for len(terms) > 1 {
		f.fmul(power, u, u)
		u = power
		var next []v
		for i := 0; i < len(terms); i += 2 {
			if i+1 < len(terms) {
				f.fmla(terms[i], terms[i+1], power)
			}
			next = append(next, terms[i])
		}
		terms = next
	}
}

// half is half of each number.
func half(c []float64) []float64 {
	h := make([]float64, len(c))
	for i := range c {
		h[i] = c[i] / 2
	}
	return h
}

// exp leaves e^z in y; z is between expLow and expHigh, and the five registers after y are
// destroyed. It computes half of it from 2^n and a polynomial, because twice the greatest power of
// two is no float32; expLow keeps the exponent of that half in range.
func (f *fn) exp(y, z v) {
	n := y + 5
	f.product(n, z, log2e)
	f.fcvtns(n, n)
	f.scvtf(y, n)
	f.takeProduct(z, y, ln2Hi)
	f.takeProduct(z, y, ln2Lo)
	f.polynomial(y, z, half(expPolynomial))
	f.shl(n, n, 23)
	f.add(y, y, n)
	f.fadd(y, y, y)
}

// elementwise prints a kernel for x [rows, cols]. start runs once; body replaces v0 and may use the
// registers up to v19, and v30 and v31 if it has made constants of them in start.
func elementwise(p *program, name, doc string, values []float64, start, body func(f *fn)) {
	f := p.function(name+"NEON", "x *float32, ldx int, rows int, cols int", "",
		"replaces each element of x [rows, cols], rows ldx apart, by "+doc+"; neither is 0.")
	const from, ldx, rows, cols, at, n = 0, 1, 2, 3, 4, 5
	f.args(0, "x", "ldx", "rows", "cols")
	f.constants(at, 20, values...)
	start(f)
	row := f.newLabel("row")
	f.label(row)
	f.line("MOVD %v, %v", x(from), x(at))
	f.line("MOVD %v, %v", x(cols), x(n))
	f.steps(n, 4, func() {
		f.load(0, at, 0)
		body(f)
		f.storeNext(0, at)
	})
	f.steps(n, 1, func() {
		f.loadOne(0, at)
		body(f)
		f.storeOneNext(0, at)
	})
	f.line("ADD %v<<2, %v, %v", x(ldx), x(from), x(from))
	f.line("SUBS $1, %v", x(rows))
	f.line("BNE %s", row)
	f.line("RET")
	f.data()
}

// sigmoidTimes replaces v0 by v0 / (1 + e^-z); z is v1.
func (f *fn) sigmoidTimes() {
	f.fneg(1, 1)
	f.fmin(1, 1, 30)
	f.fmax(1, 1, 31)
	f.exp(2, 1)
	f.constant(3, 1)
	f.fadd(2, 2, 3)
	f.fdiv(0, 0, 2)
}

// activations prints a kernel for each activation. fmin and fmax pass a NaN on.
func activations(p *program) {
	limits := func(high, low float64) func(f *fn) {
		return func(f *fn) {
			f.constant(30, high)
			f.constant(31, low)
		}
	}
	const reach = 5.5
	elementwise(p, "gelu", "x·Φ(x)", append([]float64{reach, 0, 2 / reach, -1}, geluTail...), limits(reach, 0), func(f *fn) {
		f.fabs(1, 0)
		f.fmin(1, 1, 30)
		f.constant(2, -1)
		f.addProduct(2, 1, 2/reach)
		f.polynomial(3, 2, geluTail)
		f.fmax(0, 0, 31)
		f.fsub(0, 0, 3)
	})
	exponential := append([]float64{expHigh, expLow, 1, log2e, ln2Hi, ln2Lo}, half(expPolynomial)...)
	const a, b = 1.5957691216057308, 0.07135481282949306 // 2·sqrt(2/π), and that times 0.044715
	elementwise(p, "geluTanh", "the tanh form of GELU", append([]float64{a, b}, exponential...), limits(expHigh, expLow), func(f *fn) {
		f.fmul(2, 0, 0)
		f.constant(1, a)
		f.addProduct(1, 2, b)
		f.fmul(1, 1, 0)
		f.sigmoidTimes()
	})
	elementwise(p, "silu", "x·sigmoid(x)", exponential, limits(expHigh, expLow), func(f *fn) {
		f.move(1, 0)
		f.sigmoidTimes()
	})
	elementwise(p, "relu", "max(x, 0)", []float64{0}, limits(0, 0), func(f *fn) { f.fmax(0, 0, 31) })
	const limit = 7.9
	elementwise(p, "tanh", "the hyperbolic tangent", append(append([]float64{limit, -limit}, tanhP...), tanhQ...), limits(limit, -limit), func(f *fn) {
		f.fmin(0, 0, 30)
		f.fmax(0, 0, 31)
		f.fmul(1, 0, 0)
		f.polynomial(2, 1, tanhP)
		f.fmul(2, 2, 0)
		f.polynomial(7, 1, tanhQ)
		f.fdiv(0, 2, 7)
	})
}
