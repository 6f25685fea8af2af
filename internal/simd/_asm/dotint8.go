package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// byteMask selects the first n bytes of a zmm, 0 < n < 64; n is destroyed.
func byteMask(n reg.GPVirtual) reg.OpmaskVirtual {
	ones, k := GP64(), K()
	MOVQ(I32(-1), ones)
	BZHIQ(n, ones, ones)
	KMOVQ(ones, k)
	return k
}

// bytesLoop runs body for each block of n bytes at offset off: 64 with VNNI, where the last one has
// a mask, else 16.
func (v isa) bytesLoop(n, off reg.GPVirtual, body func(k *reg.OpmaskVirtual)) {
	loop, rest, done := label("bytes"), label("rest"), label("done")
	step := uint64(16)
	if v.wide() {
		step = 64
	}
	XORQ(off, off)
	SUBQ(Imm(step), n)
	JLT(LabelRef(rest))
	Label(loop)
	body(nil)
	ADDQ(Imm(step), off)
	SUBQ(Imm(step), n)
	JGE(LabelRef(loop))
	Label(rest)
	if v.wide() {
		ADDQ(Imm(step), n)
		JZ(LabelRef(done))
		k := byteMask(n)
		body(&k)
		Label(done)
	}
}

// loadBytes reads 64 bytes as they are with VNNI, else 16 bytes widened to words.
func (v isa) loadBytes(from Mem, k *reg.OpmaskVirtual) reg.VecVirtual {
	r := v.reg()
	switch {
	case !v.wide():
		VPMOVSXBW(from, r)
	case k == nil:
		VMOVDQU8(from, r)
	default:
		VMOVDQU8_Z(from, *k, r)
	}
	return r
}

func addInt32(a, b, to Op) { VPADDD(a, b, to) }

// products adds the products of x and y to acc. With VNNI y is moved to unsigned by adding 128; the
// sum of 128·x corrects that.
func (v isa) products(x, y, acc, flip reg.VecVirtual) {
	if v.wide() {
		VPXORD(y, flip, y)
		VPDPBUSD(x, y, acc)
		return
	}
	VPMADDWD(x, y, y)
	VPADDD(y, acc, acc)
}

func (v isa) flip() reg.VecVirtual {
	r := v.reg()
	VMOVUPS(constant(0x80808080), r)
	return r
}

func (v isa) bytesDoc() string {
	if v.wide() {
		return "."
	}
	return "; n is a multiple of 16."
}

func dotInt8(v isa) {
	name := "dotInt8" + v.vnni()
	kernel(name, "func(a, b *int8, n int) int32", name+" is the inner product of a [n] and b [n]"+v.bytesDoc())
	a, b, off := ptr("a"), ptr("b"), GP64()
	acc, correction, flip := v.reg(), v.reg(), v.flip()
	v.zero(acc, correction)
	v.bytesLoop(ptr("n"), off, func(k *reg.OpmaskVirtual) {
		x := v.loadBytes(Mem{Base: a, Index: off, Scale: 1}, k)
		y := v.loadBytes(Mem{Base: b, Index: off, Scale: 1}, k)
		v.products(x, y, acc, flip)
		if v.wide() {
			VPDPBUSD(x, flip, correction)
		}
	})
	VPSUBD(correction, acc, acc)
	total := GP32()
	VMOVD(v.reduce(acc, addInt32).(reg.Vec).AsX(), total)
	Store(total, ReturnIndex(0))
	finish()
}

// dotRowsInt8 is dotRows for bytes.
func dotRowsInt8(v isa) {
	name := "dotRowsInt8" + v.vnni()
	kernel(name, "func(dst *int32, q, base *int8, ids *uint32, count, n, width int)", name+" writes q [n] · base[ids[i]] to dst [count], count at least 1; the rows of base are width bytes apart"+v.bytesDoc())
	dst, q, ids, count := ptr("dst"), ptr("q"), ptr("ids"), ptr("count")
	flip := v.flip()
	groups(dst, ids, count, func(group int) { dotGroupInt8(v, group, dst, q, ids, count, flip) })
}

func dotGroupInt8(v isa, group int, dst, q, ids, count reg.GPVirtual, flip reg.VecVirtual) {
	rows, ahead := groupRows(group, ids, count, ptr("width"))
	acc, correction := v.regs(group), v.reg()
	v.zero(append(acc, correction)...)
	off := GP64()
	v.bytesLoop(ptr("n"), off, func(k *reg.OpmaskVirtual) {
		x := v.loadBytes(Mem{Base: q, Index: off, Scale: 1}, k)
		if v.wide() {
			VPDPBUSD(x, flip, correction)
		}
		for i := range group {
			y := v.loadBytes(Mem{Base: rows[i], Index: off, Scale: 1}, k)
			v.products(x, y, acc[i], flip)
			if group > 1 {
				PREFETCHT0(Mem{Base: ahead[i], Index: off, Scale: 1})
			}
		}
	})
	for i := range group {
		VPSUBD(correction, acc[i], acc[i])
		VMOVD(v.reduce(acc[i], addInt32).(reg.Vec).AsX(), at(dst, 4*i))
	}
}
