package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// softmax takes three passes over each row: the maximum, the exponentials with their sum, the division.
func softmax(v isa) {
	TEXT("softmax"+v.name, 0x4, "func(x *float32, ldx, rows, n int)")
	Pragma("noescape")
	Doc("softmax" + v.name + " replaces each row of x [rows, n], rows ldx apart, by exp(x-max)/sum; neither is 0.")
	x, off, rows, ldx := ptr("x"), GP64(), ptr("rows"), ptr("ldx")
	SHLQ(Imm(2), ldx)
	element := Mem{Base: x, Index: off, Scale: 1}
	p := v.pool(expConstants...)

	Label("row")
	largest := v.reg()
	VMOVUPS(constant(0xff800000), largest)
	v.vectors(ptr("n"), off, func(m *mask) {
		r := v.reg()
		switch {
		case m == nil:
			VMOVUPS(element, r)
		case v.wide():
			VMOVUPS(constant(0xff800000), r)
			VMOVUPS(element, m.k, r)
		default:
			low := v.reg()
			VMOVUPS(constant(0xff800000), low)
			VMASKMOVPS(element, m.y, r)
			VBLENDVPS(m.y, r, low, r)
		}
		VMAXPS(r, largest, largest)
	})
	top := v.everywhere(v.reduce(largest, maximum))

	sum := v.reg()
	v.zero(sum)
	v.vectors(ptr("n"), off, func(m *mask) {
		r := v.reg()
		v.load(element, r, m)
		VSUBPS(top, r, r)
		e := p.exp(r)
		v.store(e, element, m)
		v.keep(e, m)
		VADDPS(e, sum, sum)
	})
	total := v.reduce(sum, add).(reg.Vec).AsX()
	one := XMM()
	VMOVSS(f32(1), one)
	VDIVSS(total, one, one)
	scale := v.everywhere(one)
	v.vectors(ptr("n"), off, func(m *mask) {
		r := v.reg()
		v.load(element, r, m)
		VMULPS(scale, r, r)
		v.store(r, element, m)
	})
	ADDQ(ldx, x)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// sums adds up body over x [n] in lane 0, four vectors at a time with a sum each; x stays.
func sums(v isa, x reg.GPVirtual, body func(r, acc reg.VecVirtual, m *mask)) reg.VecVirtual {
	p := GP64()
	MOVQ(x, p)
	return pairs(v, p, nil, ptr("n"), func(a, _ Mem, m *mask, acc reg.VecVirtual) {
		r := v.reg()
		v.load(a, r, m)
		body(r, acc, m)
	})
}

// inverseRoot returns 1/sqrt(sum/n + eps) in all lanes.
func inverseRoot(v isa, sum reg.VecVirtual) reg.VecVirtual {
	n, x := XMM(), sum.(reg.Vec).AsX()
	VXORPS(n, n, n)
	VCVTSI2SSQ(ptr("n"), n, n)
	VDIVSS(n, x, x)
	eps, err := Param("eps").Resolve()
	if err != nil {
		panic(err)
	}
	VADDSS(eps.Addr, x, x)
	VSQRTSS(x, x, x)
	one := XMM()
	VMOVSS(f32(1), one)
	VDIVSS(x, one, one)
	return v.everywhere(one)
}

func layerNorm(v isa) {
	TEXT("layerNorm"+v.name, 0x4, "func(dst, x, gamma, beta *float32, n int, eps float32)")
	Pragma("noescape")
	Doc("layerNorm" + v.name + " writes gamma·(x-mean)/sqrt(variance+eps) + beta to dst [n], n > 0; beta may be nil.")
	x := ptr("x")
	sum := sums(v, x, func(r, acc reg.VecVirtual, m *mask) { VADDPS(r, acc, acc) }).(reg.Vec).AsX()
	n := XMM()
	VXORPS(n, n, n)
	VCVTSI2SSQ(ptr("n"), n, n)
	VDIVSS(n, sum, n)
	mean := v.everywhere(n)
	scale := inverseRoot(v, sums(v, x, func(r, acc reg.VecVirtual, m *mask) {
		VSUBPS(mean, r, r)
		v.keep(r, m)
		VFMADD231PS(r, r, acc)
	}))
	dst, gamma, beta, off := ptr("dst"), ptr("gamma"), ptr("beta"), GP64()
	write := func(withBeta bool) {
		v.vectors(ptr("n"), off, func(m *mask) {
			r, g := v.reg(), v.reg()
			v.load(Mem{Base: x, Index: off, Scale: 1}, r, m)
			v.load(Mem{Base: gamma, Index: off, Scale: 1}, g, m)
			VSUBPS(mean, r, r)
			VMULPS(scale, r, r)
			if withBeta {
				b := v.reg()
				v.load(Mem{Base: beta, Index: off, Scale: 1}, b, m)
				VFMADD213PS(b, g, r)
			} else {
				VMULPS(g, r, r)
			}
			v.store(r, Mem{Base: dst, Index: off, Scale: 1}, m)
		})
		VZEROUPPER()
		RET()
	}
	TESTQ(beta, beta)
	JZ(LabelRef("nobeta"))
	write(true)
	Label("nobeta")
	write(false)
}

func rmsNorm(v isa) {
	TEXT("rmsNorm"+v.name, 0x4, "func(dst, x, gamma *float32, n int, eps float32)")
	Pragma("noescape")
	Doc("rmsNorm" + v.name + " writes gamma·x/sqrt(mean(x²)+eps) to dst [n], n > 0.")
	x := ptr("x")
	scale := inverseRoot(v, sums(v, x, func(r, acc reg.VecVirtual, m *mask) { VFMADD231PS(r, r, acc) }))
	dst, gamma, off := ptr("dst"), ptr("gamma"), GP64()
	v.vectors(ptr("n"), off, func(m *mask) {
		r, g := v.reg(), v.reg()
		v.load(Mem{Base: x, Index: off, Scale: 1}, r, m)
		v.load(Mem{Base: gamma, Index: off, Scale: 1}, g, m)
		VMULPS(scale, r, r)
		VMULPS(g, r, r)
		v.store(r, Mem{Base: dst, Index: off, Scale: 1}, m)
	})
	VZEROUPPER()
	RET()
}
