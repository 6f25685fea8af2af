package main

// pairs runs body over a and b of n elements in blocks of four vectors, each with a sum of its own,
// then in single vectors and elements, of which the other lanes are zero. It leaves the total of
// the four sums, v0 to v3, in lane 0 of v0.
func pairs(f *fn, a, b, n x, body func(acc, a, b v)) {
	f.zero(0, 1, 2, 3)
	f.steps(n, 16, func() {
		f.loadPairNext(16, 17, a)
		f.loadPairNext(18, 19, a)
		f.loadPairNext(20, 21, b)
		f.loadPairNext(22, 23, b)
		for i := range v(4) {
			body(i, 16+i, 20+i)
		}
	})
	f.steps(n, 4, func() {
		f.loadNext(16, a)
		f.loadNext(20, b)
		body(0, 16, 20)
	})
	f.steps(n, 1, func() {
		f.loadOneNext(16, a)
		f.loadOneNext(20, b)
		body(0, 16, 20)
	})
	f.total()
}

// total leaves the sum of all lanes of v0 to v3 in lane 0 of v0.
func (f *fn) total() {
	f.fadd(0, 0, 1)
	f.fadd(2, 2, 3)
	f.fadd(0, 0, 2)
	f.faddp(0, 0, 0)
	f.faddp(0, 0, 0)
}

// twoVectors begins a function of two vectors and loads its arguments into R0, R1 and R2.
func twoVectors(p *program, name, doc string) *fn {
	f := p.function(name, "a *float32, b *float32, n int", "float32", doc)
	f.args(0, "a", "b", "n")
	return f
}

func dot(p *program) {
	f := twoVectors(p, "dotNEON", "is the inner product of a [n] and b [n].")
	pairs(f, 0, 1, 2, f.fmla)
	f.returnLane0(0)
}

func squaredL2(p *program) {
	f := twoVectors(p, "squaredL2NEON", "is the squared Euclidean distance of a [n] and b [n].")
	pairs(f, 0, 1, 2, func(acc, a, b v) {
		f.fsub(a, a, b)
		f.fmla(acc, a, a)
	})
	f.returnLane0(0)
}

// inPlace runs body over the vectors of dst and x, then over single elements, and stores what it
// leaves in its first argument.
func inPlace(f *fn, dst, from, n x, body func(d, s v)) {
	f.steps(n, 8, func() {
		f.loadPair(0, 1, dst, 0)
		f.loadPairNext(2, 3, from)
		body(0, 2)
		body(1, 3)
		f.storeNext(0, dst)
		f.storeNext(1, dst)
	})
	f.steps(n, 4, func() {
		f.load(0, dst, 0)
		f.loadNext(2, from)
		body(0, 2)
		f.storeNext(0, dst)
	})
	f.steps(n, 1, func() {
		f.loadOne(0, dst)
		f.loadOneNext(2, from)
		body(0, 2)
		f.storeOneNext(0, dst)
	})
	f.line("RET")
}

func axpy(p *program) {
	f := p.function("axpyNEON", "dst *float32, a float32, x *float32, n int", "", "adds a·x to dst [n].")
	f.arg("dst", 0)
	f.argEverywhere("a", 1, 16)
	f.args(1, "x", "n")
	inPlace(f, 0, 1, 2, func(d, s v) { f.fmla(d, s, 16) })
}

func multiply(p *program) {
	f := p.function("multiplyNEON", "dst *float32, x *float32, n int", "", "multiplies dst [n] by x, element by element.")
	f.args(0, "dst", "x", "n")
	inPlace(f, 0, 1, 2, func(d, s v) { f.fmul(d, d, s) })
}

// rowAddresses computes the addresses of the four rows that ids names, width bytes each, in to and
// the three registers behind it.
func rowAddresses(f *fn, to, ids, width, base x) {
	for i := range x(4) {
		f.line("MOVWU %d(%v), %v", 4*i, ids, to+i)
		f.line("MADD %v, %v, %v, %v", width, base, to+i, to+i)
	}
}

// rowsAhead computes the addresses of the next four rows, or if there are fewer, of the same four;
// t is destroyed.
func rowsAhead(f *fn, to, ids, count, width, base, t x) {
	f.line("ADD $16, %v, %v", ids, t)
	f.line("CMP $8, %v", count)
	f.line("CSEL GE, %v, %v, %v", t, ids, t)
	rowAddresses(f, to, t, width, base)
}

// dotRows multiplies q with four rows at a time, so that a vector of q is read once for the four,
// and prefetches the same place of the next four rows. The sums are those of dot.
func dotRows(p *program) {
	f := p.function("dotRowsNEON", "dst *float32, q *float32, base *float32, ids *uint32, count int, n int", "",
		"writes q [n] · base[ids[i]] to dst [count]; count is a multiple of 4, and not 0.")
	const dst, q, base, ids, count, n, width, rows, ahead, left, t = 0, 1, 2, 3, 4, 5, 6, 7, 11, 15, 16
	f.args(0, "dst", "q", "base", "ids", "count", "n")
	f.line("LSL $2, %v, %v", x(n), x(width))
	group := f.newLabel("group")
	f.label(group)
	rowAddresses(f, rows, ids, width, base)
	rowsAhead(f, ahead, ids, count, width, base, t)
	f.line("MOVD %v, %v", x(n), x(left))
	for i := range v(16) {
		f.zero(i)
	}
	f.steps(left, 16, func() {
		f.loadPairNext(16, 17, q)
		f.loadPairNext(18, 19, q)
		for i := range 4 {
			row, acc := x(rows+i), v(4*i)
			f.loadPairNext(20, 21, row)
			f.loadPairNext(22, 23, row)
			for j := range v(4) {
				f.fmla(acc+j, 16+j, 20+j)
			}
			f.prefetch(ahead + x(i))
			f.line("ADD $64, %v", ahead+x(i))
		}
	})
	f.steps(left, 4, func() {
		f.loadNext(16, q)
		for i := range 4 {
			f.loadNext(20, x(rows+i))
			f.fmla(v(4*i), 16, 20)
		}
	})
	f.steps(left, 1, func() {
		f.loadOneNext(16, q)
		for i := range 4 {
			f.loadOneNext(20, x(rows+i))
			f.fmla(v(4*i), 16, 20)
		}
	})
	for i := range v(4) {
		f.fadd(4*i, 4*i, 4*i+1)
		f.fadd(4*i+2, 4*i+2, 4*i+3)
		f.fadd(4*i, 4*i, 4*i+2)
	}
	f.faddp(0, 0, 4)
	f.faddp(8, 8, 12)
	f.faddp(0, 0, 8)
	f.storeNext(0, dst)
	f.line("SUB %v, %v", x(width), x(q))
	f.line("ADD $16, %v", x(ids))
	f.line("SUBS $4, %v", x(count))
	f.line("BNE %s", group)
	f.line("RET")
}
