package main

import "fmt"

// bytesByWords adds the products of four times four bytes, n and m, to the int32 of acc, like sdot,
// which older processors lack. One of the two has no -128, so that a sum of two products fits into
// an int16.
func (f *fn) bytesByWords(acc, n, m, t0, t1 v) {
	f.smull(t0, n, m)
	f.smull2(t1, n, m)
	f.addpWords(t0, t0, t1)
	f.sadalp(acc, t0)
}

// gemmInt8 prints the tiles of gemm for bytes: a step of k is a group of four bytes.
func gemmInt8(p *program, nv int, sdot bool) {
	most := 16 / nv
	f := p.function(sdotName(fmt.Sprintf("gemmInt8x%dNEON", nv), sdot), "c *float32, ldc int, a *int8, lda int, b *int8, groups int, rows int, scale *float32, zero *int32, colScale *float32, colSum *int32, bias *float32, residual *float32, ldr int", "",
		fmt.Sprintf("writes scale[i]·colScale[j]·(a·b - zero[i]·colSum[j]) + bias + residual to c [rows, %d], rows <= %d; ldc and ldr in\nelements, lda in groups. bias and residual may be nil.", 4*nv, most))
	f.tileArguments()
	f.line("MOVD $128, %v", tileLDB)
	f.arg("groups", tileK)
	f.chooseRows(most, func(mr int) {
		f.rowPointers(mr)
		if sdot {
			f.tileSteps(mr, nv, 8, func(u int, w v) { f.products(mr, nv, u, w, f.sdotLane) })
		} else {
			f.tileSteps(mr, nv, 4, func(u int, w v) { f.productsByWords(mr, nv, u, w) })
		}
		f.rescale(mr, nv)
		f.tileStore(mr, nv)
	})
}

// productsByWords is products with bytesByWords, for which four bytes of a row are copied to all
// lanes.
func (f *fn) productsByWords(mr, nv, u int, w v) {
	t := v(28)
	if nv == 8 {
		t = 18 // there are two rows alone
	}
	for i := range mr {
		f.dup(t, tileA+v(i), u)
		for j := range nv {
			f.bytesByWords(v(i*nv+j), w+v(j), t, t+1, t+2)
		}
	}
}

// rescale makes float32 of the sums.
func (f *fn) rescale(mr, nv int) {
	const scale, zero, colScale, colSum x = 0, 1, 2, 3
	f.arg("scale", scale)
	f.arg("zero", zero)
	f.arg("colScale", colScale)
	f.arg("colSum", colSum)
	for i := range mr {
		f.everywhereNext(16, zero)
		f.everywhereNext(17, scale)
		for j := 0; j < nv; j += 2 {
			f.loadPair(18, 19, colSum, 16*j)
			f.loadPair(20, 21, colScale, 16*j)
			for half := range v(2) {
				acc := v(i*nv+j) + half
				f.mls(acc, 18+half, 16)
				f.scvtf(acc, acc)
				f.fmul(acc, acc, 17)
				f.fmul(acc, acc, 20+half)
			}
		}
	}
}

// dotInt8 prints the inner product of bytes, of which either may be -128.
func dotInt8(p *program, sdot bool) {
	f := p.function(sdotName("dotInt8NEON", sdot), "a *int8, b *int8, n int", "int32", "is the inner product of a [n] and b [n]; n is a multiple of 16.")
	f.args(0, "a", "b", "n")
	f.zero(0, 1, 2, 3)
	f.steps(2, 64, func() {
		for i := v(0); i < 4; i += 2 {
			f.loadPairNext(16+i, 17+i, 0)
			f.loadPairNext(20+i, 21+i, 1)
		}
		for i := range v(4) {
			f.dotBytes(i, 16+i, 20+i, 24+2*i, sdot)
		}
	})
	f.steps(2, 16, func() {
		f.loadNext(16, 0)
		f.loadNext(20, 1)
		f.dotBytes(0, 16, 20, 24, sdot)
	})
	f.add(0, 0, 1)
	f.add(2, 2, 3)
	f.add(0, 0, 2)
	f.addp(0, 0, 0)
	f.addp(0, 0, 0)
	f.returnLane0(0)
}

func sdotName(name string, sdot bool) string {
	if sdot {
		return name + "Dot"
	}
	return name
}

// dotBytes adds the products of sixteen bytes to acc; t and the one behind it are destroyed.
func (f *fn) dotBytes(acc, n, m, t v, sdot bool) {
	if sdot {
		f.sdot(acc, n, m)
		return
	}
	f.smull(t, n, m)
	f.smull2(t+1, n, m)
	f.sadalp(acc, t)
	f.sadalp(acc, t+1)
}

// dotRowsInt8 is dotRows for bytes.
func dotRowsInt8(p *program, sdot bool) {
	f := p.function(sdotName("dotRowsInt8NEON", sdot), "dst *int32, q *int8, base *int8, ids *uint32, count int, n int, width int", "",
		"writes q [n] · base[ids[i]] to dst [count]; count is a multiple of 4, and not 0; the rows of base are width bytes\napart; n is a multiple of 16.")
	const dst, q, base, ids, count, n, width, rows, ahead, left, t = 0, 1, 2, 3, 4, 5, 6, 7, 11, 15, 16
	f.args(0, "dst", "q", "base", "ids", "count", "n", "width")
	group := f.newLabel("group")
	f.label(group)
	rowAddresses(f, rows, ids, width, base)
	rowsAhead(f, ahead, ids, count, width, base, t)
	f.line("MOVD %v, %v", x(n), x(left))
	for i := range v(8) {
		f.zero(i)
	}
	f.steps(left, 64, func() {
		f.loadPairNext(16, 17, q)
		f.loadPairNext(18, 19, q)
		for i := range 4 {
			row := x(rows + i)
			f.loadPairNext(20, 21, row)
			f.loadPairNext(22, 23, row)
			for j := range v(4) {
				f.dotBytes(v(2*i)+j%2, 16+j, 20+j, 24+2*j, sdot)
			}
			f.prefetch(ahead + x(i))
			f.line("ADD $64, %v", ahead+x(i))
		}
	})
	f.steps(left, 16, func() {
		f.loadNext(16, q)
		for i := range 4 {
			f.loadNext(20, x(rows+i))
			f.dotBytes(v(2*i), 16, 20, 24, sdot)
		}
	})
	for i := range v(4) {
		f.add(2*i, 2*i, 2*i+1)
	}
	f.addp(0, 0, 2)
	f.addp(4, 4, 6)
	f.addp(0, 0, 4)
	f.storeNext(0, dst)
	f.line("SUB %v, %v", x(n), x(q))
	f.line("ADD $16, %v", x(ids))
	f.line("SUBS $4, %v", x(count))
	f.line("BNE %s", group)
	f.line("RET")
}

// rowRange prints the least and the greatest element, or zero; a NaN passes.
func rowRange(p *program) {
	f := p.function("rowRangeNEON", "x *float32, n int", "lo float32, hi float32", "is min(0, x [n]) and max(0, x [n]), or NaN if x holds a NaN.")
	f.args(0, "x", "n")
	f.zero(0, 1, 2, 3)
	narrow := func(i v) {
		f.fmin(i, i, 16+i)
		f.fmax(2+i, 2+i, 16+i)
	}
	f.steps(1, 8, func() {
		f.loadPairNext(16, 17, 0)
		narrow(0)
		narrow(1)
	})
	f.steps(1, 4, func() {
		f.loadNext(16, 0)
		narrow(0)
	})
	f.steps(1, 1, func() {
		f.loadOneNext(16, 0)
		narrow(0)
	})
	f.fmin(0, 0, 1)
	f.fmax(2, 2, 3)
	f.fminv(0, 0)
	f.fmaxv(2, 2)
	f.line("FMOVS F0, %s", f.offsets["lo"])
	f.line("FMOVS F2, %s", f.offsets["hi"])
	f.line("RET")
}

// quantize rounds a row to bytes.
func quantize(p *program) {
	f := p.function("quantizeNEON", "dst *int8, x *float32, n int, inverse float32, zero int32", "",
		"rounds x [n] to bytes clamp(round(x·inverse) + zero, 0, 255) - 128; n is a multiple of 8.")
	f.args(0, "dst", "x", "n")
	f.argEverywhere("inverse", 3, 16)
	f.argEverywhere("zero", 3, 17)
	f.signBytes(18)
	f.steps(2, 8, func() {
		f.loadPairNext(0, 1, 1)
		for i := range v(2) {
			f.fmul(i, i, 16)
			f.fcvtns(i, i)
			f.add(i, i, 17)
		}
		f.sqxtun(2, 0)
		f.sqxtun2(2, 1)
		f.uqxtn(2, 2)
		f.eor(2, 2, 18)
		f.storeEightNext(2, 0)
	})
	f.line("RET")
}
