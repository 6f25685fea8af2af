package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// ceilings prints loops that keep the multipliers busy without touching memory: what a kernel can
// reach at best.
func ceilings() {
	loop := func(name, doc string, v isa, sums int, op func(x, y, acc Op)) {
		TEXT(name, 0x4, "func(loops int)")
		Doc(doc)
		n := ptr("loops")
		acc, x, y := v.regs(sums), v.reg(), v.reg()
		v.zero(append(acc, x, y)...)
		Label("loop")
		for i := range acc {
			op(x, y, acc[i])
		}
		DECQ(n)
		JNZ(LabelRef("loop"))
		finish()
	}
	fma := func(x, y, acc Op) { VFMADD231PS(x, y, acc) }
	loop("ceilingFMAAVX512", "ceilingFMAAVX512 runs loops x 24 multiply-adds of 16 float32.", avx512, 24, fma)
	loop("ceilingFMAAVX2", "ceilingFMAAVX2 runs loops x 12 multiply-adds of 8 float32.", avx2, 12, fma)
	loop("ceilingVNNI", "ceilingVNNI runs loops x 24 VPDPBUSD of 64 products.", avx512, 24, func(x, y, acc Op) { VPDPBUSD(x, y, acc) })
	loop("ceilingMADAVX2", "ceilingMADAVX2 runs loops x 6 VPMADDWD and VPADDD of 16 products.", avx2, 6, func(x, y, acc Op) {
		t := YMM()
		VPMADDWD(x, y, t)
		VPADDD(t, acc, acc)
	})
}
