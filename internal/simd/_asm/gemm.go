package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tileRows is the most rows that one call of gemm takes: with two columns of vectors 28 of the 32
// registers of AVX-512 and 12 of the 16 of AVX2 hold sums.
func (v isa) tileRows() int {
	if v.wide() {
		return 14
	}
	return 6
}

// gemm prints gemm1 and gemm2: c [rows, cols] = a [rows, k] · b [k, nv vectors] + bias [cols] +
// residual [rows, cols]. The whole width of b is read; of the others only cols columns. bias and
// residual may be nil.
func gemm(v isa, nv int) {
	name := fmt.Sprintf("gemm%d%s", nv, v.name)
	kernel(name, "func(c *float32, ldc int, a *float32, lda int, b *float32, ldb, k, rows, cols int, bias, residual *float32, ldr int, next uintptr, stride int)", fmt.Sprintf("%s writes a·b + bias + residual to c [rows, cols], rows <= %d and cols <= %d; strides in elements.",
		name, v.tileRows(), nv*v.lanes()), fmt.Sprintf("For each row of b it prefetches %d bytes at next, which moves on by stride bytes.", nv*v.bytes))
	a, b := ptr("a"), ptr("b")
	lda, ldb, k, rows := ptr("lda"), ptr("ldb"), ptr("k"), ptr("rows")
	next, stride := ptr("next"), ptr("stride")
	SHLQ(Imm(2), lda)
	SHLQ(Imm(2), ldb)
	chooseRows(v.tileRows(), rows, func(mr int) { gemmTile(v, mr, nv, a, b, lda, ldb, nil, k, next, stride) })
}

// wideRows is the most rows of one call of gemm4: 24 registers of sums.
const wideRows = 6

// gemmWide prints gemm4, for four whole vectors of columns in two neighbouring panels of packed
// weights. For a multiply-add it loads two thirds of what gemm2 loads, which helps if the core's
// other thread is busy.
func gemmWide(v isa) {
	const nv = 4
	name := "gemm4" + v.name
	kernel(name, "func(c *float32, ldc int, a *float32, lda int, b *float32, gap, k, rows int, bias, residual *float32, ldr int, next uintptr, stride int)", fmt.Sprintf("%s writes a·b + bias + residual to c [rows, %d], rows <= %d; strides in elements, also gap, how far behind", name, nv*v.lanes(), wideRows),
		fmt.Sprintf("b [k, %d] the other half of the columns begins. For each row of b it prefetches 64 bytes at next, which moves on by stride bytes.", nv*v.lanes()/2))
	a, b := ptr("a"), ptr("b")
	lda, gap, k, rows := ptr("lda"), ptr("gap"), ptr("k"), ptr("rows")
	next, stride := ptr("next"), ptr("stride")
	SHLQ(Imm(2), lda)
	SHLQ(Imm(2), gap)
	chooseRows(wideRows, rows, func(mr int) { gemmTile(v, mr, nv, a, b, lda, nil, gap, k, next, stride) })
}

// chooseRows prints body for each number of rows up to most, and the jump to it.
func chooseRows(most int, rows reg.GPVirtual, body func(mr int)) {
	for mr := most; mr > 1; mr-- {
		CMPQ(rows, Imm(uint64(mr)))
		JEQ(LabelRef(fmt.Sprintf("rows%d", mr)))
	}
	for mr := 1; mr <= most; mr++ {
		Label(fmt.Sprintf("rows%d", mr))
		body(mr)
	}
}

// gemmTile multiplies mr rows. Four vectors of columns are in two packed panels, gap bytes apart;
// with one or two, gap is nil and the rows of b are ldb bytes apart. With few rows several sets of
// sums, one per step of k, hide the latency of the multiply-add: two per cycle with a latency of
// four cycles need eight sums.
func gemmTile(v isa, mr, nv int, a, b, lda, ldb, gap, k, next, stride reg.GPVirtual) {
	sets := 1
	for sets < 4 && sets*mr*min(nv, 2) < 8 { // four vectors would need fewer, but must have the bits of two
		sets *= 2
	}
	acc := make([][]reg.VecVirtual, sets)
	for s := range acc {
		acc[s] = v.regs(mr * nv)
		v.zero(acc[s]...)
	}
	base, element := rowPointers(mr, a, lda)
	step := func(u int) {
		w := v.regs(nv)
		if gap != nil {
			for j := range w {
				VMOVUPS(panelVector(v, b, gap, u, j), w[j])
			}
			PREFETCHT0(at(next, 0))
		} else {
			for j := range w {
				VMOVUPS(at(b, j*v.bytes), w[j])
			}
			for line := 0; line < nv*v.bytes; line += 64 {
				PREFETCHT0(at(next, line))
			}
			ADDQ(ldb, b)
		}
		ADDQ(stride, next)
		for i := range mr {
			x := v.reg()
			VBROADCASTSS(element(i, 4*u), x)
			for j := range w {
				VFMADD231PS(w[j], x, acc[u%sets][i*nv+j])
			}
		}
	}
	advance := func(steps int) {
		if gap != nil {
			ADDQ(U32(uint32(panelBytes*steps)), b)
		}
		for _, p := range base {
			ADDQ(Imm(uint64(4*steps)), p)
		}
	}
	stem := fmt.Sprintf("r%d", mr)
	unrolled(stem, k, step, advance)
	sumSets(acc, add)
	gemmStore(v, mr, nv, stem, acc[0])
}

// panelBytes is the distance of two steps of a packed panel.
const panelBytes = 128

// panelVector is vector j of step u of a panel at b, or of the one gap bytes behind it.
func panelVector(v isa, b, gap reg.GPVirtual, u, j int) Mem {
	m := at(b, panelBytes*u+j*v.bytes%panelBytes)
	if j*v.bytes >= panelBytes {
		m.Index, m.Scale = gap, 1
	}
	return m
}

// rowPointers makes one pointer for every three of mr rows, [p], [p+lda], [p+2·lda], and addresses
// through them.
func rowPointers(mr int, a, lda reg.GPVirtual) (base []reg.GPVirtual, element func(row, disp int) Mem) {
	base = []reg.GPVirtual{a}
	for i := 3; i < mr; i += 3 {
		p := GP64()
		LEAQ(Mem{Base: base[len(base)-1], Index: lda, Scale: 2}, p)
		ADDQ(lda, p)
		base = append(base, p)
	}
	return base, func(row, disp int) Mem {
		m := Mem{Base: base[row/3], Disp: disp}
		if row%3 > 0 {
			m.Index, m.Scale = lda, uint8(row%3)
		}
		return m
	}
}

// gemmStore adds bias and residual and writes the tile. Four vectors are always whole. AVX2 has a
// path without masks for full tiles.
func gemmStore(v isa, mr, nv int, stem string, acc []reg.VecVirtual) {
	if nv > 2 {
		gemmStoreMasked(v, mr, nv, stem, acc, make([]*mask, nv))
		return
	}
	tail := label(stem + "tail")
	if !v.wide() {
		cols := ptr("cols")
		CMPQ(cols, Imm(uint64(nv*v.lanes())))
		JNE(LabelRef(tail))
		gemmStoreMasked(v, mr, nv, stem, acc, make([]*mask, nv))
		Label(tail)
	}
	gemmStoreMasked(v, mr, nv, stem, acc, columnMasks(v, nv))
}

// columnMasks makes the masks of the argument cols for nv vectors of columns.
func columnMasks(v isa, nv int) []*mask {
	masks := make([]*mask, nv)
	for j := range masks {
		// Clamp cols - j·lanes to 0..lanes.
		n, limit := ptr("cols"), GP64()
		SUBQ(Imm(uint64(j*v.lanes())), n)
		MOVQ(U32(0), limit)
		CMPQ(n, limit)
		CMOVQLT(limit, n)
		MOVQ(U32(uint32(v.lanes())), limit)
		CMPQ(n, limit)
		CMOVQGT(limit, n)
		masks[j] = v.leading(n)
	}
	return masks
}

func gemmStoreMasked(v isa, mr, nv int, stem string, acc []reg.VecVirtual, masks []*mask) {
	noBias, noResidual := label(stem+"nobias"), label(stem+"noresidual")
	bias := ptr("bias")
	TESTQ(bias, bias)
	JZ(LabelRef(noBias))
	for j := range nv {
		t := v.reg()
		v.load(at(bias, j*v.bytes), t, masks[j])
		for i := range mr {
			VADDPS(t, acc[i*nv+j], acc[i*nv+j])
		}
	}
	Label(noBias)
	residual := ptr("residual")
	TESTQ(residual, residual)
	JZ(LabelRef(noResidual))
	ldr := ptr("ldr")
	for i := range mr {
		for j := range nv {
			t := v.reg()
			v.load(at(residual, j*v.bytes), t, masks[j])
			VADDPS(t, acc[i*nv+j], acc[i*nv+j])
		}
		if i+1 < mr {
			LEAQ(Mem{Base: residual, Index: ldr, Scale: 4}, residual)
		}
	}
	Label(noResidual)
	c, ldc := ptr("c"), ptr("ldc")
	for i := range mr {
		for j := range nv {
			v.store(acc[i*nv+j], at(c, j*v.bytes), masks[j])
		}
		if i+1 < mr {
			LEAQ(Mem{Base: c, Index: ldc, Scale: 4}, c)
		}
	}
	finish()
}

// transpose prints transpose: dst[p·32 + i] = alpha·b[i·ldb + p] for lanes rows i of b and k
// columns p, k a multiple of 4. Four columns of lanes rows are gathered in four registers, row 4l+i
// in 128-bit lane l of register i, and transposed there.
func transpose(v isa) {
	name := "transpose" + v.name
	kernel(name, "func(dst, b *float32, ldb, k int, alpha float32)", fmt.Sprintf("%s writes alpha·bᵀ to dst [k, %d], whose rows lie 32 apart; b is [%d, k], k a multiple of 4.", name, v.lanes(), v.lanes()))
	dst, b, ldb, k := ptr("dst"), ptr("b"), ptr("ldb"), ptr("k")
	alpha := v.argEverywhere("alpha")
	SHLQ(Imm(2), ldb)
	ldb3 := GP64()
	LEAQ(Mem{Base: ldb, Index: ldb, Scale: 2}, ldb3)
	quads := []reg.GPVirtual{b}
	for range v.lanes()/4 - 1 {
		p := GP64()
		LEAQ(Mem{Base: quads[len(quads)-1], Index: ldb, Scale: 4}, p)
		quads = append(quads, p)
	}
	row := func(q, i int) Mem {
		switch i {
		case 0:
			return at(quads[q], 0)
		case 3:
			return Mem{Base: quads[q], Index: ldb3, Scale: 1}
		}
		return Mem{Base: quads[q], Index: ldb, Scale: uint8(i)}
	}
	masks := make([]reg.OpmaskVirtual, len(quads))
	if v.wide() {
		bits := GP32()
		for q := 1; q < len(quads); q++ {
			masks[q] = K()
			MOVL(U32(0xf<<(4*q)), bits)
			KMOVW(bits, masks[q])
		}
	}
	Label("columns")
	z := v.regs(4)
	for i := range z {
		VMOVUPS(row(0, i), z[i].(reg.Vec).AsX())
		for q := 1; q < len(quads); q++ {
			if v.wide() {
				VBROADCASTF32X4(row(q, i), masks[q], z[i])
			} else {
				VINSERTF128(U8(1), row(q, i), z[i], z[i])
			}
		}
		VMULPS(alpha, z[i], z[i])
	}
	lo01, hi01, lo23, hi23 := v.reg(), v.reg(), v.reg(), v.reg()
	VUNPCKLPS(z[1], z[0], lo01)
	VUNPCKHPS(z[1], z[0], hi01)
	VUNPCKLPS(z[3], z[2], lo23)
	VUNPCKHPS(z[3], z[2], hi23)
	for i, pair := range [][2]reg.VecVirtual{{lo01, lo23}, {hi01, hi23}} {
		t := v.reg()
		VUNPCKLPD(pair[1], pair[0], t)
		VMOVUPS(t, at(dst, 256*i))
		VUNPCKHPD(pair[1], pair[0], t)
		VMOVUPS(t, at(dst, 256*i+128))
	}
	for _, p := range quads {
		ADDQ(Imm(16), p)
	}
	ADDQ(U32(512), dst)
	SUBQ(Imm(4), k)
	JGT(LabelRef("columns"))
	finish()
}
