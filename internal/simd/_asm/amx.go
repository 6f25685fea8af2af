package main

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// amxHeight is the most rows of a block: two tiles of sums, each for 16 columns, side by side.
const amxHeight = 32

// amxShapes is a configuration for each number of rows of a block from 1 to 32, 64 bytes each:
// palette 1; tiles 0 to 3 are sums, 4 and 5 rows of a, 6 and 7 weights. Of more than 16 rows the
// larger half is in 0, 1 and 4, the smaller in 2, 3 and 5. Up to 16 rows are in both sets, which
// alternate at the steps.
func amxShapes() Mem {
	const name = "amxShapes"
	m, ok := globals[name]
	if !ok {
		m = GLOBL(name, attr.RODATA|attr.NOPTR)
		for rows := 1; rows <= amxHeight; rows++ {
			first, second := rows, rows
			if rows > 16 {
				first, second = (rows+1)/2, rows/2
			}
			shape := [64]byte{1}
			for t, height := range []int{first, first, second, second, first, second, 16, 16} {
				shape[16+2*t] = 64 // bytes of a row
				shape[48+t] = byte(height)
			}
			for i := 0; i < len(shape); i += 8 {
				DATA((rows-1)*len(shape)+i, U64(binary.LittleEndian.Uint64(shape[i:])))
			}
		}
		globals[name] = m
	}
	return m
}

// amx is the state of a kernel that multiplies in tiles of 16 x 16 sums. While the tiles of a block
// are multiplied, the sums of the previous block become floats: the tile unit works in parallel
// with the vector unit, but the processor does not look far enough ahead to overlap them by itself.
type amx struct {
	v                    isa
	single               bool             // blocks of at most 16 rows, in two sets of sums
	x, y, b, lda, line   reg.GPPhysical   // rows of a, weights; bytes between rows of a; 128
	c, ldc, residual     reg.GPVirtual    // where the finished rows go
	scale, zero, p, left reg.GPVirtual    // of the next row to finish; its sums; how many there are
	masks                []*mask          // of the columns of the finished rows
	colScale, offset     []reg.VecVirtual // offset holds -colSum in two halves, see begin
	bias                 []reg.VecVirtual
	row                  Mem // the block's first row
	share, steps         Mem // rows to finish at each step; steps that are left
}

// gemmInt8AMX prints the product of gemmInt8, for blocks of more than 16 rows or for at most 16.
// The weights are packed as for gemmInt8: 16 groups of 16 columns are a tile whose rows lie 128
// bytes apart.
func gemmInt8AMX(single bool) {
	name, height := "gemmInt8AMX", "17 to 32"
	if single {
		name, height = name+"Single", "1 to 16"
	}
	kernel(name, "func(c *float32, ldc int, a *uint8, lda int, b *int8, ldb int, steps, rows, height, cols int, scale *float32, zero *int32, colScale *float32, colSum *int32, bias, residual *float32, sums *int32, then uintptr)", fmt.Sprintf("%s writes scale[i]·colScale[j]·(a·b - zero[i]·colSum[j]) + bias + residual to c [rows, cols], in blocks of height rows, %s;", name, height),
		"colScale and colSum are read for whole panels of 32 columns, a for whole blocks, the panels of b, ldb bytes apart, for whole steps;",
		"a step is 64 bytes of a row of a and 16 groups of b. ldc, also that of residual, in elements, lda in bytes. sums is room for 1024 numbers.",
		"zero holds each number z, 0 to 255, as z + z<<23; colSum is within 2²². then is what to prefetch during the last panel.")
	k := &amx{v: avx512, single: single, x: reg.R8, y: reg.R9, b: reg.R10, lda: reg.R11, line: reg.R12, row: AllocLocal(8), share: AllocLocal(8), steps: AllocLocal(8),
		c: GP64(), ldc: GP64(), residual: GP64(), scale: GP64(), zero: GP64(), p: GP64(), left: GP64(), masks: []*mask{{k: K()}, {k: K()}}}
	k.colScale, k.offset, k.bias = k.v.regs(2), k.v.regs(2), k.v.regs(2)
	shapes := reg.R8
	LEAQ(amxShapes().Offset(-64), shapes)
	n := ptr("height")
	SHLQ(Imm(6), n)
	ADDQ(n, shapes)
	LDTILECFG(Mem{Base: shapes})
	Load(Param("lda"), k.lda)
	MOVQ(U32(128), k.line)
	Load(Param("ldc"), k.ldc)
	SHLQ(Imm(2), k.ldc)
	for _, r := range []reg.GPVirtual{k.c, k.residual, k.scale, k.zero, k.p, k.left} {
		XORQ(r, r)
	}
	for _, r := range append(append(k.colScale, k.offset...), k.bias...) {
		k.v.zero(r)
	}
	for _, m := range k.masks {
		KXORW(m.k, m.k, m.k)
	}

	k.shares()

	Label("panel")
	MOVQ(U32(0), k.row)
	Label("block")
	k.multiply()
	k.finish("last")
	k.store()
	k.begin()
	n = ptr("height")
	ADDQ(k.row, n)
	MOVQ(n, k.row)
	CMPQ(n, argument("rows"))
	JLT(LabelRef("block"))
	k.nextPanel()
	JGT(LabelRef("panel"))
	k.finish("rest")
	TILERELEASE()
	finish()
}

// shares divides the rows of a block among the steps of the next one: ceil(height/steps).
func (k *amx) shares() {
	steps := GP64()
	Load(Param("height"), reg.RAX)
	Load(Param("steps"), steps)
	ADDQ(steps, reg.RAX)
	DECQ(reg.RAX)
	XORQ(reg.RDX, reg.RDX)
	DIVQ(steps)
	MOVQ(reg.RAX, k.share)
}

// multiply adds up the products of a block, finishes its share of the rows of the previous block at
// each step, and prefetches the next panel: the first block of rows one half of it, the others the
// other.
func (k *amx) multiply() {
	for t := range tmm(4) {
		TILEZERO(t)
	}
	p, next := GP64(), GP64()
	MOVQ(k.row, p)
	IMULQ(k.lda, p)
	Load(Param("a"), k.x)
	ADDQ(p, k.x)
	Load(Param("b"), k.b)
	if !k.single {
		k.upper(k.y)
		IMULQ(k.lda, k.y)
		ADDQ(k.x, k.y)
	}
	MOVQ(argument("ldb"), next)
	ADDQ(k.b, next)
	CMPQ(argument("cols"), Imm(32))
	JGT(LabelRef("inside"))
	Load(Param("then"), next)
	Label("inside")
	CMPQ(k.row, Imm(0))
	JEQ(LabelRef("half"))
	ADDQ(U32(1024), next)
	Label("half")
	MOVQ(argument("steps"), p)
	MOVQ(p, k.steps)
	rows := func(p reg.GPPhysical, disp int) Mem { return Mem{Base: p, Index: k.lda, Scale: 1, Disp: disp} }
	panel := func(disp int) Mem { return Mem{Base: k.b, Index: k.line, Scale: 1, Disp: disp} }
	fetch := func(disp int) {
		for line := 0; line < 1024; line += 64 {
			PREFETCHT0(at(next, disp+line))
		}
	}
	Label("step")
	TILELOADD(rows(k.x, 0), 4)
	TILELOADD(panel(0), 6)
	TILELOADD(panel(64), 7)
	TDPBUSD(6, 4, 0)
	if k.single {
		TDPBUSD(7, 4, 1)
		fetch(0)
		k.finishRows("even")
		DECQ(k.steps)
		JZ(LabelRef("multiplied"))
		TILELOADD(rows(k.x, 64), 5)
		TILELOADD(panel(2048), 6)
		TILELOADD(panel(2048+64), 7)
		ADDQ(U32(128), k.x)
		ADDQ(U32(4096), k.b)
		fetch(2048)
		ADDQ(U32(4096), next)
	} else {
		TILELOADD(rows(k.y, 0), 5)
		TDPBUSD(7, 4, 1)
		ADDQ(Imm(64), k.x)
		ADDQ(Imm(64), k.y)
		ADDQ(U32(2048), k.b)
		fetch(0)
		ADDQ(U32(2048), next)
	}
	TDPBUSD(6, 5, 2)
	TDPBUSD(7, 5, 3)
	k.finishRows("odd")
	DECQ(k.steps)
	JNZ(LabelRef("step"))
	Label("multiplied")
}

// upper loads the number of rows of the first set of tiles of a block of more than 16 rows.
func (k *amx) upper(to reg.GPPhysical) {
	Load(Param("height"), to)
	INCQ(to)
	SHRQ(Imm(1), to)
}

// store writes the tiles to the sums: rows of 32 columns, and up to 16 rows one set behind the
// other.
func (k *amx) store() {
	second := k.y
	Load(Param("sums"), k.x)
	if k.single {
		LEAQ(Mem{Base: k.x, Disp: 2048}, second)
	} else {
		k.upper(second)
		SHLQ(Imm(7), second)
		ADDQ(k.x, second)
	}
	for i, p := range []reg.GPPhysical{k.x, second} {
		TILESTORED(tmm(2*i), Mem{Base: p, Index: k.line, Scale: 1})
		TILESTORED(tmm(2*i+1), Mem{Base: p, Index: k.line, Scale: 1, Disp: 64})
	}
}

// begin prepares to finish the block whose sums were stored. Without a bias it adds -0, which
// changes nothing.
func (k *amx) begin() {
	row, height := GP64(), ptr("height")
	MOVQ(k.row, row)
	Load(Param("rows"), k.left)
	SUBQ(row, k.left)
	CMPQ(k.left, height)
	CMOVQGT(height, k.left)
	Load(Param("sums"), k.p)
	Load(Param("scale"), k.scale)
	LEAQ(Mem{Base: k.scale, Index: row, Scale: 4}, k.scale)
	Load(Param("zero"), k.zero)
	LEAQ(Mem{Base: k.zero, Index: row, Scale: 4}, k.zero)
	IMULQ(k.ldc, row)
	Load(Param("c"), k.c)
	ADDQ(row, k.c)
	Load(Param("residual"), k.residual)
	TESTQ(k.residual, k.residual)
	JZ(LabelRef("alone"))
	ADDQ(row, k.residual)
	Label("alone")
	for j, m := range columnMasks(k.v, 2) {
		KMOVW(m.k, k.masks[j].k)
	}
	scale, sum, bias := ptr("colScale"), ptr("colSum"), ptr("bias")
	low := k.v.reg()
	VMOVDQU32(constant(127), low)
	for j := range k.masks {
		VMOVUPS(at(scale, 64*j), k.colScale[j])
		// s = -colSum = l + 128·h with 0 <= l < 128, as two words: one instruction then adds z·l +
		// (z<<7)·h = z·s.
		l := k.v.reg()
		k.v.zero(k.offset[j])
		VPSUBD(at(sum, 64*j), k.offset[j], k.offset[j])
		VPANDD(low, k.offset[j], l)
		VPSRAD(U8(7), k.offset[j], k.offset[j])
		VPSLLD(U8(16), k.offset[j], k.offset[j])
		VPORD(l, k.offset[j], k.offset[j])
		VMOVUPS(constant(math.Float32bits(float32(math.Copysign(0, -1)))), k.bias[j])
	}
	TESTQ(bias, bias)
	JZ(LabelRef("unbiased"))
	for j, m := range k.masks {
		k.v.load(at(bias, 64*j), k.bias[j], m)
	}
	Label("unbiased")
}

// nextPanel moves the arguments to the next 32 columns and compares the number of those left with
// 0.
func (k *amx) nextPanel() {
	ldb := ptr("ldb")
	ADDQ(ldb, argument("b"))
	for _, name := range []string{"c", "colScale", "colSum"} {
		SUBQ(I8(-128), argument(name)) // 128 itself does not fit into a byte
	}
	for _, name := range []string{"bias", "residual"} {
		CMPQ(argument(name), Imm(0))
		JEQ(LabelRef("no" + name))
		SUBQ(I8(-128), argument(name))
		Label("no" + name)
	}
	SUBQ(Imm(32), argument("cols"))
}

// finish turns all rows that are left into floats.
func (k *amx) finish(stem string) {
	loop, done := label(stem), label(stem)
	Label(loop)
	TESTQ(k.left, k.left)
	JZ(LabelRef(done))
	k.finishRow()
	JMP(LabelRef(loop))
	Label(done)
}

// finishRows turns the share of a step into floats.
func (k *amx) finishRows(stem string) {
	loop, done := label(stem), label(stem)
	n := GP64()
	MOVQ(k.share, n)
	Label(loop)
	TESTQ(k.left, k.left)
	JZ(LabelRef(done))
	k.finishRow()
	DECQ(n)
	JNZ(LabelRef(loop))
	Label(done)
}

func (k *amx) finishRow() {
	v := k.v
	r := v.regs(2)
	z, s := v.reg(), v.reg()
	VPBROADCASTD(at(k.zero, 0), z)
	VBROADCASTSS(at(k.scale, 0), s)
	for j := range r {
		VMOVDQU32(at(k.p, 64*j), r[j])
		if k.single {
			VPADDD(at(k.p, 64*j+2048), r[j], r[j])
		}
		VPDPWSSD(k.offset[j], z, r[j])
		VCVTDQ2PS(r[j], r[j])
		VMULPS(s, r[j], r[j])
		VMULPS(k.colScale[j], r[j], r[j])
		VADDPS(k.bias[j], r[j], r[j])
	}
	plain := label("plain")
	TESTQ(k.residual, k.residual)
	JZ(LabelRef(plain))
	for j := range r {
		t := v.reg()
		v.load(at(k.residual, 64*j), t, k.masks[j])
		VADDPS(t, r[j], r[j])
	}
	ADDQ(k.ldc, k.residual)
	Label(plain)
	for j := range r {
		v.store(r[j], at(k.c, 64*j), k.masks[j])
	}
	ADDQ(k.ldc, k.c)
	ADDQ(Imm(4), k.zero)
	ADDQ(Imm(4), k.scale)
	ADDQ(k.line, k.p)
	DECQ(k.left)
}

// argument is where an argument lies, for a kernel that changes it there.
func argument(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}
