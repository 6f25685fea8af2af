package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// int8Rows is the most rows of one call of gemmInt8. AVX2 needs registers to widen the bytes, so it
// keeps eight sums.
func (v isa) int8Rows() int {
	if v.wide() {
		return 14
	}
	return 4
}

// vnni is the suffix of kernels that need AVX512_VNNI where wide, AVX2 otherwise.
func (v isa) vnni() string {
	if v.wide() {
		return "VNNI"
	}
	return v.name
}

// gemmInt8 prints the product of bytes: a [rows, 4·groups] unsigned, b [groups, 32 columns, 4]
// signed, of which two vectors of columns are taken, or four whole ones in two panels, see
// gemmWide. The sums begin at -zero[row]·sum[col], so that they are those of a - zero.
func gemmInt8(v isa, nv int) {
	name, most, line := "gemmInt8"+v.vnni(), v.int8Rows(), nv*v.bytes
	if nv > 2 {
		name, most, line = "gemmInt8Wide"+v.vnni(), wideRows, 64
	}
	kernel(name, "func(c *float32, ldc int, a *uint8, lda int, b *int8, gap, groups, rows, cols int, scale *float32, zero *int32, colScale *float32, colSum *int32, bias, residual *float32, ldr int, next uintptr, stride int)", fmt.Sprintf("%s writes scale[i]·colScale[j]·(a·b - zero[i]·colSum[j]) + bias + residual to c [rows, cols], rows <= %d and cols <= %d;",
		name, most, nv*v.lanes()),
		"colScale and colSum are read for whole vectors; ldc and ldr in elements, lda in bytes, as gap, from one panel of b to the next.",
		fmt.Sprintf("For each group of b it prefetches %d bytes at next, which moves on by stride bytes.", line))
	a, b := ptr("a"), ptr("b")
	lda, groups, rows := ptr("lda"), ptr("groups"), ptr("rows")
	next, stride := ptr("next"), ptr("stride")
	gap := ptr("gap")
	chooseRows(most, rows, func(mr int) { gemmInt8Tile(v, mr, nv, line, a, b, lda, gap, groups, next, stride) })
}

func gemmInt8Tile(v isa, mr, nv, prefetched int, a, b, lda, gap, groups, next, stride reg.GPVirtual) {
	sets := 1
	for sets < 4 && sets*mr*nv < 8 && v.wide() {
		sets *= 2
	}
	acc := make([][]reg.VecVirtual, sets)
	for s := range acc {
		acc[s] = v.regs(mr * nv)
		if s > 0 {
			v.zero(acc[s]...)
		}
	}
	zero, sum := ptr("zero"), ptr("colSum")
	for i := range mr {
		z := v.reg()
		VPBROADCASTD(at(zero, 4*i), z)
		for j := range nv {
			r := acc[0][i*nv+j]
			v.zero(r)
			t := v.reg()
			VPMULLD(at(sum, j*v.bytes), z, t)
			VPSUBD(t, r, r)
		}
	}
	base, element := rowPointers(mr, a, lda)
	step := func(u int) {
		for line := 0; line < prefetched; line += 64 {
			PREFETCHT0(at(next, line))
		}
		ADDQ(stride, next)
		if v.wide() {
			w := v.regs(nv)
			for j := range w {
				VMOVDQU32(panelVector(v, b, gap, u, j), w[j])
			}
			for i := range mr {
				x := v.reg()
				VPBROADCASTD(element(i, 4*u), x)
				for j := range w {
					VPDPBUSD(w[j], x, acc[u%sets][i*nv+j])
				}
			}
			return
		}
		// A lane holds the bytes k..k+3; words of k, k+2 and of k+1, k+3 multiply without the
		// saturation of VPMADDUBSW.
		even, odd := v.regs(nv), v.regs(nv)
		for j := range nv {
			VMOVDQU(at(b, 128*u+j*v.bytes), odd[j])
			VPSLLW(U8(8), odd[j], even[j])
			VPSRAW(U8(8), even[j], even[j])
			VPSRAW(U8(8), odd[j], odd[j])
		}
		for i := range mr {
			x, y := v.reg(), v.reg()
			VPBROADCASTD(element(i, 4*u), x)
			VPSRLW(U8(8), x, y)
			VPAND(constant(0x00ff00ff), x, x)
			for j := range nv {
				t := v.reg()
				VPMADDWD(even[j], x, t)
				VPADDD(t, acc[0][i*nv+j], acc[0][i*nv+j])
				VPMADDWD(odd[j], y, t)
				VPADDD(t, acc[0][i*nv+j], acc[0][i*nv+j])
			}
		}
	}
	advance := func(steps int) {
		ADDQ(U32(uint32(128*steps)), b)
		for _, p := range base {
			ADDQ(Imm(uint64(4*steps)), p)
		}
	}
	stem := fmt.Sprintf("r%d", mr)
	unrolled(stem, groups, step, advance)
	sumSets(acc, addInt32)
	scale, colScale := ptr("scale"), ptr("colScale")
	for j := range nv {
		column := v.reg()
		VMOVUPS(at(colScale, j*v.bytes), column)
		for i := range mr {
			r, t := acc[0][i*nv+j], v.reg()
			VCVTDQ2PS(r, r)
			VBROADCASTSS(at(scale, 4*i), t)
			VMULPS(t, r, r)
			VMULPS(column, r, r)
		}
	}
	gemmStore(v, mr, nv, stem, acc[0])
}

// rangeSums is one set of running results of rowRange; several hide the latency of the comparisons.
type rangeSums struct{ lo, hi, poison reg.VecVirtual }

// rowRange prints the smallest and the largest element of x, and 0 if they lie on one side of it;
// NaN if there is one.
func rowRange(v isa) {
	kernel("rowRange"+v.name, "func(x *float32, n int) (lo, hi float32)", "rowRange"+v.name+" is min(0, x [n]) and max(0, x [n]), or NaN if x holds a NaN.")
	x := ptr("x")
	sets := make([]rangeSums, 4)
	for i := range sets {
		sets[i] = rangeSums{v.reg(), v.reg(), v.reg()}
		v.zero(sets[i].lo, sets[i].hi, sets[i].poison)
	}
	step := func(s rangeSums, r reg.VecVirtual) {
		VMINPS(r, s.lo, s.lo)
		VMAXPS(r, s.hi, s.hi)
		t := v.reg()
		VSUBPS(r, r, t) // 0, or NaN for NaN and infinities
		VADDPS(t, s.poison, s.poison)
	}
	n, off := ptr("n"), GP64()
	block := uint32(len(sets) * v.lanes())
	SUBQ(U32(block), n)
	JLT(LabelRef("few"))
	Label("four")
	for i, s := range sets {
		r := v.reg()
		VMOVUPS(at(x, i*v.bytes), r)
		step(s, r)
	}
	ADDQ(U32(4*block), x)
	SUBQ(U32(block), n)
	JGE(LabelRef("four"))
	Label("few")
	ADDQ(U32(block), n)
	v.vectors(n, off, func(m *mask) {
		r := v.reg()
		v.load(Mem{Base: x, Index: off, Scale: 1}, r, m)
		step(sets[0], r)
	})
	for _, s := range sets[1:] {
		VMINPS(s.lo, sets[0].lo, sets[0].lo)
		VMAXPS(s.hi, sets[0].hi, sets[0].hi)
		VADDPS(s.poison, sets[0].poison, sets[0].poison)
	}
	lo, hi, poison := sets[0].lo, sets[0].hi, sets[0].poison
	p := v.reduce(poison, add).(reg.Vec).AsX()
	for i, r := range []reg.VecVirtual{
		v.reduce(lo, func(a, b, to Op) { VMINPS(a, b, to) }),
		v.reduce(hi, maximum),
	} {
		result, err := ReturnIndex(i).Resolve()
		if err != nil {
			panic(err)
		}
		t := r.(reg.Vec).AsX()
		VADDSS(p, t, t)
		VMOVSS(t, result.Addr)
	}
	finish()
}

// quantizeOrder puts the double words of four vectors that were packed to bytes in order: the packs
// work on 128-bit lanes.
func (v isa) quantizeOrder() Mem {
	lanes := v.bytes / 16
	order := make([]uint32, 4*lanes)
	for i := range order {
		order[i] = uint32(i%lanes*4 + i/lanes)
	}
	return global("order"+v.name, order)
}

// quantizeRows prints, for each row, what steps and quantizeRowGo do: one pass for the range, one
// for the bytes, with the row in the first-level cache in between.
func quantizeRows(v isa) {
	kernel("quantizeRows"+v.name, "func(dst *uint8, ldd int, x *float32, rows, n int, scale *float32, zero *int32)", "quantizeRows"+v.name+" rounds x [rows, n] to bytes clamp(round(x·inverse) + zero, 0, 255), dst rows ldd apart; see steps for scale and zero.",
		fmt.Sprintf("It writes up to %d bytes behind the end of a row.", v.lanes()-1))
	dst, x, rows := ptr("dst"), ptr("x"), ptr("rows")
	order := v.reg()
	if v.wide() {
		VMOVDQU32(v.quantizeOrder(), order)
	} else {
		VMOVDQU(v.quantizeOrder(), order)
	}
	Label("row")
	lo, hi := quantizeRange(v, x)
	scale, zero := ptr("scale"), ptr("zero")
	inverse, z := XMM(), GP32()
	width, s := XMM(), XMM()
	VSUBSS(lo, hi, width)
	VXORPS(inverse, inverse, inverse)
	VXORPS(s, s, s)
	XORL(z, z)
	VUCOMISS(f32(1e-35), width)
	JPS(LabelRef("nan"))
	JCS(LabelRef("known"))
	VUCOMISS(f32(math.MaxFloat32), width)
	JHI(LabelRef("nan"))
	VMOVSS(f32(255), inverse)
	VDIVSS(f32(255), width, s)
	VDIVSS(width, inverse, inverse)
	VMULSS(inverse, lo, lo)
	VCVTSS2SI(lo, z)
	NEGL(z)
	JMP(LabelRef("known"))
	Label("nan")
	VMOVSS(constant(0x7fc00000), s)
	Label("known")
	VMOVSS(s, at(scale, 0))
	MOVL(z, at(zero, 0))
	quantizeWrite(v, dst, x, v.everywhere(inverse), z, order)
	step := GP64()
	MOVQ(ptr("ldd"), step)
	ADDQ(step, dst)
	MOVQ(ptr("n"), step)
	LEAQ(Mem{Base: x, Index: step, Scale: 4}, x)
	for _, arg := range []string{"scale", "zero"} {
		b, err := Param(arg).Resolve()
		if err != nil {
			panic(err)
		}
		ADDQ(Imm(4), b.Addr)
	}
	DECQ(rows)
	JNZ(LabelRef("row"))
	finish()
}

// quantizeRange returns min(0, row) and max(0, row) in lane 0 of two registers, NaN for a row with
// NaN or infinities.
func quantizeRange(v isa, x reg.GPVirtual) (lo, hi reg.VecVirtual) {
	sets := []rangeSums{{v.reg(), v.reg(), v.reg()}, {v.reg(), v.reg(), v.reg()}}
	none := v.reg()
	v.zero(none)
	for _, s := range sets {
		v.zero(s.lo, s.hi, s.poison)
	}
	step := func(s rangeSums, r reg.VecVirtual) {
		VMINPS(r, s.lo, s.lo)
		VMAXPS(r, s.hi, s.hi)
		VFMADD231PS(r, none, s.poison) // x·0 is NaN for NaN and infinities
	}
	p, n, off := GP64(), ptr("n"), GP64()
	MOVQ(x, p)
	SUBQ(U32(uint32(2*v.lanes())), n)
	JLT(LabelRef("fewRange"))
	Label("twoRange")
	for i, s := range sets {
		r := v.reg()
		VMOVUPS(at(p, i*v.bytes), r)
		step(s, r)
	}
	ADDQ(U32(uint32(2*v.bytes)), p)
	SUBQ(U32(uint32(2*v.lanes())), n)
	JGE(LabelRef("twoRange"))
	Label("fewRange")
	ADDQ(U32(uint32(2*v.lanes())), n)
	v.vectors(n, off, func(m *mask) {
		r := v.reg()
		v.load(Mem{Base: p, Index: off, Scale: 1}, r, m)
		step(sets[0], r)
	})
	a, b := sets[0], sets[1]
	VADDPS(b.poison, a.poison, a.poison)
	VMINPS(b.lo, a.lo, a.lo)
	VMAXPS(b.hi, a.hi, a.hi)
	least := v.reduce(a.lo, func(a, b, to Op) { VMINPS(a, b, to) }).(reg.Vec).AsX()
	most := v.reduce(a.hi, maximum).(reg.Vec).AsX()
	poison := v.reduce(a.poison, add).(reg.Vec).AsX()
	lo, hi = XMM(), XMM()
	VADDSS(poison, least, lo.(reg.Vec).AsX())
	VADDSS(poison, most, hi.(reg.Vec).AsX())
	return lo, hi
}

// quantizeWrite writes the bytes of one row, four vectors at a time, then single ones.
func quantizeWrite(v isa, dst, x reg.GPVirtual, inverse reg.VecVirtual, zero reg.GPVirtual, order reg.VecVirtual) {
	words, doubles, z := v.reg(), v.reg(), XMM()
	VMOVD(zero, z)
	VPBROADCASTW(z, words)
	VPBROADCASTD(z, doubles)
	from, to, n := GP64(), GP64(), ptr("n")
	MOVQ(x, from)
	MOVQ(dst, to)
	round := func(a Mem, m *mask) reg.VecVirtual {
		r := v.reg()
		if m == nil {
			VMULPS(a, inverse, r)
		} else {
			v.load(a, r, m)
			VMULPS(r, inverse, r)
		}
		VCVTPS2DQ(r, r)
		return r
	}
	SUBQ(U32(uint32(4*v.lanes())), n)
	JLT(LabelRef("fewBytes"))
	Label("fourBytes")
	r := make([]reg.VecVirtual, 4)
	for i := range r {
		r[i] = round(at(from, i*v.bytes), nil)
	}
	for i := 0; i < 4; i += 2 {
		VPACKSSDW(r[i+1], r[i], r[i])
		VPADDW(words, r[i], r[i])
	}
	VPACKUSWB(r[2], r[0], r[0])
	VPERMD(r[0], order, r[0])
	if v.wide() {
		VMOVDQU32(r[0], at(to, 0))
	} else {
		VMOVDQU(r[0], at(to, 0))
	}
	ADDQ(U32(uint32(4*v.bytes)), from)
	ADDQ(U32(uint32(4*v.lanes())), to)
	SUBQ(U32(uint32(4*v.lanes())), n)
	JGE(LabelRef("fourBytes"))
	Label("fewBytes")
	ADDQ(U32(uint32(4*v.lanes())), n)
	off := GP64()
	v.vectors(n, off, func(m *mask) {
		r := round(Mem{Base: from, Index: off, Scale: 1}, m)
		VPADDD(doubles, r, r)
		if v.wide() {
			none := v.reg()
			v.zero(none)
			VPMAXSD(none, r, r)
			VPMOVUSDB(r, at(to, 0))
		} else {
			VPACKSSDW(r, r, r)
			VPERMQ(U8(0b10_00), r, r)
			t := r.(reg.Vec).AsX()
			VPACKUSWB(t, t, t)
			VMOVQ(t, at(to, 0))
		}
		ADDQ(Imm(uint64(v.lanes())), to)
	})
}
