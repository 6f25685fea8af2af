package main

// largest takes the maximum of four vectors at a time, beginning with the first element in each
// lane.
func largest(p *program) {
	f := p.function("largestNEON", "x *float32, n int", "float32", "is the greatest element of x [n], n > 0.")
	f.args(0, "x", "n")
	f.line("MOVD R0, R2")
	f.everywhereNext(0, 2)
	for i := v(1); i < 4; i++ {
		f.move(i, 0)
	}
	f.steps(1, 16, func() {
		f.loadPairNext(16, 17, 0)
		f.loadPairNext(18, 19, 0)
		for i := range v(4) {
			f.fmax(i, i, 16+i)
		}
	})
	f.steps(1, 4, func() {
		f.loadNext(16, 0)
		f.fmax(0, 0, 16)
	})
	f.steps(1, 1, func() {
		f.everywhereNext(16, 0)
		f.fmax(0, 0, 16)
	})
	f.fmax(0, 0, 1)
	f.fmax(2, 2, 3)
	f.fmax(0, 0, 2)
	f.fmaxv(0, 0)
	f.returnLane0(0)
}

// expSum prints the exponentials of a softmax, whose greatest weight is e^0: those below e^-60
// count as 0.
func expSum(p *program) {
	const nothing = -60
	f := p.function("expSumNEON", "x *float32, n int, top float32", "float32", "replaces each element of x [n] by exp(x-top), or 0 below e^-60, and returns the sum; top is not below any.")
	f.args(0, "x", "n")
	f.argEverywhere("top", 2, 16)
	f.constants(2, 20, append([]float64{nothing, log2e}, exp2Polynomial...)...)
	f.constant(17, nothing)
	f.onlyLane0(18)
	f.zero(19)
	// e^d = 2^n · 2^f with n = round(d/ln2), f = d/ln2 - n. The exponent of 2^f takes n; where it
	// cannot, the element counts as 0.
	body := func() {
		f.fsub(0, 0, 16)
		f.fcmgt(1, 17, 0) // not for NaN
		f.product(2, 0, log2e)
		f.fcvtns(2, 2)
		f.scvtf(3, 2)
		f.fneg(3, 3)
		f.addProduct(3, 0, log2e)
		f.polynomial(4, 3, exp2Polynomial)
		f.shl(2, 2, 23)
		f.add(4, 4, 2)
		f.bic(4, 4, 1)
	}
	f.steps(1, 4, func() {
		f.load(0, 0, 0)
		body()
		f.fadd(19, 19, 4)
		f.storeNext(4, 0)
	})
	f.steps(1, 1, func() {
		f.loadOne(0, 0)
		body()
		f.and(4, 4, 18)
		f.fadd(19, 19, 4)
		f.storeOneNext(4, 0)
	})
	f.faddp(0, 19, 19)
	f.faddp(0, 0, 0)
	f.returnLane0(0)
	f.data()
}

func scale(p *program) {
	f := p.function("scaleNEON", "x *float32, n int, by float32", "", "multiplies x [n] by a number.")
	f.args(0, "x", "n")
	f.argEverywhere("by", 2, 16)
	f.steps(1, 8, func() {
		f.loadPair(0, 1, 0, 0)
		f.fmul(0, 0, 16)
		f.fmul(1, 1, 16)
		f.storeNext(0, 0)
		f.storeNext(1, 0)
	})
	f.steps(1, 4, func() {
		f.load(0, 0, 0)
		f.fmul(0, 0, 16)
		f.storeNext(0, 0)
	})
	f.steps(1, 1, func() {
		f.loadOne(0, 0)
		f.fmul(0, 0, 16)
		f.storeOneNext(0, 0)
	})
	f.line("RET")
}

// sums adds up body over x [n], four vectors at a time with a sum each; of a single element the
// other lanes are zero, and so they must leave body.
func sums(f *fn, body func(acc, r v, single bool)) {
	f.args(0, "x", "n")
	f.zero(0, 1, 2, 3)
	f.steps(1, 16, func() {
		f.loadPairNext(16, 17, 0)
		f.loadPairNext(18, 19, 0)
		for i := range v(4) {
			body(i, 16+i, false)
		}
	})
	f.steps(1, 4, func() {
		f.loadNext(16, 0)
		body(0, 16, false)
	})
	f.steps(1, 1, func() {
		f.loadOneNext(16, 0)
		body(0, 16, true)
	})
	f.total()
	f.returnLane0(0)
}

// norms prints the pieces of layer normalisation.
func norms(p *program) {
	f := p.function("sumNEON", "x *float32, n int", "float32", "is the sum of x [n].")
	sums(f, func(acc, r v, single bool) { f.fadd(acc, acc, r) })

	f = p.function("deviationNEON", "x *float32, n int, mean float32", "float32", "is the sum of (x-mean)² over x [n].")
	f.argEverywhere("mean", 2, 20)
	f.onlyLane0(21)
	sums(f, func(acc, r v, single bool) {
		f.fsub(r, r, 20)
		if single {
			f.and(r, r, 21)
		}
		f.fmla(acc, r, r)
	})

	f = p.function("normalizeNEON", "dst *float32, x *float32, gamma *float32, beta *float32, n int, mean float32, scale float32", "",
		"writes gamma·(x-mean)·scale + beta to dst [n]; beta may be nil.")
	f.args(0, "dst", "x", "gamma", "beta", "n")
	f.argEverywhere("mean", 5, 16)
	f.argEverywhere("scale", 5, 17)
	f.line("CBZ R3, plain")
	for _, withBeta := range []bool{true, false} {
		if !withBeta {
			f.label("plain")
		}
		body := func(load func(d v, base x), store func(d v, base x)) func() {
			return func() {
				load(0, 1)
				load(1, 2)
				f.fsub(0, 0, 16)
				f.fmul(0, 0, 17)
				if withBeta {
					load(2, 3)
					f.fmla(2, 0, 1)
				} else {
					f.fmul(2, 0, 1)
				}
				store(2, 0)
			}
		}
		f.steps(4, 4, body(f.loadNext, f.storeNext))
		f.steps(4, 1, body(f.loadOneNext, f.storeOneNext))
		f.line("RET")
	}
}
