package main

import "fmt"

// A tile is up to 2 rows of 32 columns, 4 of 16 or 8 of 8: 16 vectors of sums, v0 to v15, each for
// four columns of a row. Each sum adds its products in the order of k in every tile, so that a row
// has the same bits alone and with others.

// Registers of a tile: the rows of a from R0 on; then.
const (
	tileB, tileLDB, tileK, tileC, tileLDC, tileBias, tileResidual, tileLDR x = 8, 9, 10, 11, 12, 13, 14, 15
	tileRows, tileT                                                        x = 16, 17
	tileA, tileW                                                           v = 16, 24 // vectors of a, one for each row; of b
)

// gemm prints gemm8, gemm4 and gemm2, whose tiles have that many vectors of columns.
func gemm(p *program, nv int) {
	most := 16 / nv
	f := p.function(fmt.Sprintf("gemm%dNEON", nv), "c *float32, ldc int, a *float32, lda int, b *float32, ldb int, k int, rows int, bias *float32, residual *float32, ldr int", "",
		fmt.Sprintf("writes a·b + bias + residual to c [rows, %d], rows <= %d; strides in elements. bias and residual may be nil.", 4*nv, most))
	f.tileArguments()
	f.arg("ldb", tileLDB)
	f.line("LSL $2, %v, %v", tileLDB, tileLDB)
	f.arg("k", tileK)
	f.chooseRows(most, func(mr int) {
		f.rowPointers(mr)
		f.tileSteps(mr, nv, 8, func(u int, w v) { f.products(mr, nv, u, w, f.fmlaLane) })
		f.tileStore(mr, nv)
	})
}

// tileArguments loads what the tiles of floats and of bytes have in common.
func (f *fn) tileArguments() {
	f.arg("a", 0)
	f.arg("lda", tileT)
	f.arg("b", tileB)
	f.arg("c", tileC)
	f.arg("ldc", tileLDC)
	f.arg("bias", tileBias)
	f.arg("residual", tileResidual)
	f.arg("ldr", tileLDR)
	f.arg("rows", tileRows)
	for _, r := range []x{tileLDC, tileLDR} {
		f.line("LSL $2, %v, %v", r, r)
	}
	f.line("LSL $2, %v, %v", tileT, tileT)
}

// chooseRows prints body for each number of rows up to most, and the jump to it.
func (f *fn) chooseRows(most int, body func(mr int)) {
	for mr := most; mr > 1; mr-- {
		f.line("CMP $%d, %v", mr, tileRows)
		f.line("BEQ rows%d", mr)
	}
	for mr := 1; mr <= most; mr++ {
		f.label(fmt.Sprintf("rows%d", mr))
		body(mr)
		f.line("RET")
	}
}

// rowPointers makes a pointer for each row of a.
func (f *fn) rowPointers(mr int) {
	for i := 1; i < mr; i++ {
		f.line("ADD %v, %v, %v", tileT, x(i-1), x(i))
	}
}

// products multiplies lane u of each row of a with each vector of b, the first of which is w.
func (f *fn) products(mr, nv, u int, w v, multiply func(acc, n, m v, lane int)) {
	for j := range nv {
		for i := range mr {
			multiply(v(i*nv+j), w+v(j), tileA+v(i), u)
		}
	}
}

// tileSteps goes through k in steps of four, for which each row of a gives one vector, then in
// single steps: products multiplies lane u of these with vectors of b. There are room vectors for
// these, or nv, so that a step need not wait for the products of the previous one.
func (f *fn) tileSteps(mr, nv, room int, products func(u int, w v)) {
	for i := range mr * nv {
		f.zero(v(i))
	}
	step := func(u int) {
		w := tileW + v(u*nv%max(nv, room))
		for j := 0; j < nv; j += 2 {
			f.loadPair(w+v(j), w+v(j)+1, tileB, 16*j)
		}
		f.line("ADD %v, %v", tileLDB, tileB)
		products(u, w)
	}
	f.steps(tileK, 4, func() {
		for i := range mr {
			f.loadNext(tileA+v(i), x(i))
		}
		for u := range 4 {
			step(u)
		}
	})
	f.steps(tileK, 1, func() {
		for i := range mr {
			f.loadOneNext(tileA+v(i), x(i))
		}
		step(0)
	})
}

// tileStore adds bias and residual and writes the tile.
func (f *fn) tileStore(mr, nv int) {
	noBias, noResidual := f.newLabel("nobias"), f.newLabel("noresidual")
	each := func(pair func(j int)) {
		for j := 0; j < nv; j += 2 {
			pair(j)
		}
	}
	f.line("CBZ %v, %s", tileBias, noBias)
	each(func(j int) {
		f.loadPair(tileW, tileW+1, tileBias, 16*j)
		for i := range mr {
			acc := v(i*nv + j)
			f.fadd(acc, acc, tileW)
			f.fadd(acc+1, acc+1, tileW+1)
		}
	})
	f.label(noBias)
	f.line("CBZ %v, %s", tileResidual, noResidual)
	for i := range mr {
		each(func(j int) {
			acc := v(i*nv + j)
			f.loadPair(tileW, tileW+1, tileResidual, 16*j)
			f.fadd(acc, acc, tileW)
			f.fadd(acc+1, acc+1, tileW+1)
		})
		f.line("ADD %v, %v", tileLDR, tileResidual)
	}
	f.label(noResidual)
	for i := range mr {
		each(func(j int) {
			acc := v(i*nv + j)
			f.storePair(acc, acc+1, tileC, 16*j)
		})
		f.line("ADD %v, %v", tileLDC, tileC)
	}
}

// transpose gathers four rows of four columns and writes them as four rows, 32 apart.
func transpose(p *program) {
	f := p.function("transposeNEON", "dst *float32, b *float32, ldb int, k int, alpha float32", "",
		"writes alpha·bᵀ to dst [k, 4], whose rows lie 32 apart; b is [4, k], k a multiple of 4.")
	const dst, b, ldb, k = 4, 0, 5, 6
	f.arg("dst", dst)
	f.arg("b", b)
	f.arg("ldb", ldb)
	f.arg("k", k)
	f.argEverywhere("alpha", 7, 16)
	for i := x(1); i < 4; i++ {
		f.line("ADD %v<<2, %v, %v", x(ldb), b+i-1, b+i)
	}
	f.steps(k, 4, func() {
		for i := range v(4) {
			f.loadNext(i, b+x(i))
			f.fmul(i, i, 16)
		}
		f.zip1(4, 0, 2)
		f.zip1(5, 1, 3)
		f.zip2(6, 0, 2)
		f.zip2(7, 1, 3)
		f.zip1(0, 4, 5)
		f.zip2(1, 4, 5)
		f.zip1(2, 6, 7)
		f.zip2(3, 6, 7)
		for i := range v(4) {
			f.store(i, dst, 128*int(i))
		}
		f.line("ADD $512, %v", x(dst))
	})
	f.line("RET")
}
