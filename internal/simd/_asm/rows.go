package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// softmax takes three passes over each row: the maximum, the exponentials with their sum, the
// division.
func softmax(v isa) {
	kernel("softmax"+v.name, "func(x *float32, ldx, rows, n int)", "softmax"+v.name+" replaces each row of x [rows, n], rows ldx apart, by exp(x-max)/sum; neither is 0.")
	x, off, rows, ldx := ptr("x"), GP64(), ptr("rows"), ptr("ldx")
	SHLQ(Imm(2), ldx)
	element := Mem{Base: x, Index: off, Scale: 1}
	p := v.expPool()

	Label("row")
	top := v.everywhere(largest(v, element, off))
	one := XMM()
	total := expSum(v, p, element, off, top)
	VMOVSS(f32(1), one)
	VDIVSS(total.(reg.Vec).AsX(), one, one)
	multiplyBy(v, element, off, v.everywhere(one))
	ADDQ(ldx, x)
	DECQ(rows)
	JNZ(LabelRef("row"))
	finish()
}

// expPool holds the constants of expTo.
func (v isa) expPool() *pool {
	if v.wide() {
		return v.pool(expBelowConstants...)
	}
	return v.pool(expConstants...)
}

// largest returns the greatest of the n elements in lane 0; off is destroyed.
func largest(v isa, element Mem, off reg.GPVirtual) reg.VecVirtual {
	low := v.reg()
	VMOVUPS(constant(0xff800000), low)
	most := v.reg()
	VMOVAPS(low, most)
	v.vectors(ptr("n"), off, func(m *mask) {
		r := v.reg()
		switch {
		case m == nil:
			VMOVUPS(element, r)
		case v.wide():
			VMOVAPS(low, r)
			VMOVUPS(element, m.k, r)
		default:
			VMASKMOVPS(element, m.y, r)
			VBLENDVPS(m.y, r, low, r)
		}
		VMAXPS(r, most, most)
	})
	return v.reduce(most, maximum)
}

// expSum replaces the n elements by exp(x-top), or 0 below e^-60, where top is not below any, and
// returns their sum in lane 0; off is destroyed.
func expSum(v isa, p *pool, element Mem, off reg.GPVirtual, top reg.VecVirtual) reg.VecVirtual {
	sum := v.reg()
	v.zero(sum)
	v.vectors(ptr("n"), off, func(m *mask) {
		r := v.reg()
		v.load(element, r, m)
		VSUBPS(top, r, r)
		e := p.expBelow(r)
		v.store(e, element, m)
		v.keep(e, m)
		VADDPS(e, sum, sum)
	})
	return v.reduce(sum, add)
}

// multiplyBy multiplies the n elements by the lanes of factor; off is destroyed.
func multiplyBy(v isa, element Mem, off reg.GPVirtual, factor reg.VecVirtual) {
	v.vectors(ptr("n"), off, func(m *mask) {
		r := v.reg()
		v.load(element, r, m)
		VMULPS(factor, r, r)
		v.store(r, element, m)
	})
}

// online prints the parts of a softmax over a row that comes in parts.
func online(v isa) {
	begin := func(name, signature, doc string) (element Mem, off reg.GPVirtual) {
		kernel(name+v.name, signature, name+v.name+" "+doc)
		off = GP64()
		return Mem{Base: ptr("x"), Index: off, Scale: 1}, off
	}
	element, off := begin("largest", "func(x *float32, n int) float32", "is the greatest element of x [n], n > 0.")
	returnLane0(largest(v, element, off))
	element, off = begin("expSum", "func(x *float32, n int, top float32) float32", "replaces each element of x [n] by exp(x-top) and returns the sum; top is not below any.")
	returnLane0(expSum(v, v.expPool(), element, off, v.argEverywhere("top")))
	element, off = begin("scale", "func(x *float32, n int, by float32)", "multiplies x [n] by a number.")
	multiplyBy(v, element, off, v.argEverywhere("by"))
	finish()
}

// softmaxShortVectors is how many vectors of a row softmaxShort keeps in registers at most.
const softmaxShortVectors = 8

// softmaxShort prints softmax for rows that fit into registers, which are read and written once.
// Wide vectors only.
func softmaxShort(v isa) {
	name := "softmaxShort" + v.name
	kernel(name, "func(x *float32, ldx, rows, n int)", fmt.Sprintf("%s is softmax%s for 0 < n <= %d.", name, v.name, softmaxShortVectors*v.lanes()))
	x, rows, ldx, n := ptr("x"), ptr("rows"), ptr("ldx"), ptr("n")
	SHLQ(Imm(2), ldx)
	p := v.pool(append([]float64{math.Inf(-1)}, expBelowConstants...)...)
	for nv := softmaxShortVectors; nv > 1; nv-- {
		CMPQ(n, U32(uint32((nv-1)*v.lanes())))
		JGT(LabelRef(fmt.Sprintf("vectors%d", nv)))
	}
	for nv := 1; nv <= softmaxShortVectors; nv++ {
		Label(fmt.Sprintf("vectors%d", nv))
		left := ptr("n")
		SUBQ(U32(uint32((nv-1)*v.lanes())), left)
		tail := v.leading(left)
		loop := fmt.Sprintf("row%d", nv)
		Label(loop)
		r := v.regs(nv)
		for i := range nv - 1 {
			VMOVUPS(at(x, i*v.bytes), r[i])
		}
		last := nv - 1
		VMOVAPS(p.reg(math.Inf(-1)), r[last])
		VMOVUPS(at(x, last*v.bytes), tail.k, r[last])
		largest := v.fold(r, maximum)
		top := v.everywhere(v.reduce(largest, maximum))
		for i := range r {
			if i < last {
				VSUBPS(top, r[i], r[i])
			} else {
				VSUBPS_Z(top, r[i], tail.k, r[i])
			}
			r[i] = p.expBelow(r[i])
		}
		v.keep(r[last], tail)
		total := v.reduce(v.fold(r, add), add).(reg.Vec).AsX()
		one := XMM()
		VMOVSS(f32(1), one)
		VDIVSS(total, one, one)
		scale := v.everywhere(one)
		for i := range r {
			VMULPS(scale, r[i], r[i])
			if i < last {
				VMOVUPS(r[i], at(x, i*v.bytes))
			} else {
				v.store(r[i], at(x, i*v.bytes), tail)
			}
		}
		ADDQ(ldx, x)
		DECQ(rows)
		JNZ(LabelRef(loop))
		finish()
	}
}

// fold combines vectors pairwise with op into a new one and leaves them as they are.
func (v isa) fold(rs []reg.VecVirtual, op func(a, b, to Op)) reg.VecVirtual {
	for len(rs) > 1 {
		var next []reg.VecVirtual
		for i := 0; i+1 < len(rs); i += 2 {
			t := v.reg()
			op(rs[i], rs[i+1], t)
			next = append(next, t)
		}
		if len(rs)%2 == 1 {
			next = append(next, rs[len(rs)-1])
		}
		rs = next
	}
	return rs[0]
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
	kernel("layerNorm"+v.name, "func(dst, x, gamma, beta *float32, n int, eps float32)", "layerNorm"+v.name+" writes gamma·(x-mean)/sqrt(variance+eps) + beta to dst [n], n > 0; beta may be nil.")
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
		finish()
	}
	TESTQ(beta, beta)
	JZ(LabelRef("nobeta"))
	write(true)
	Label("nobeta")
	write(false)
}

func rmsNorm(v isa) {
	kernel("rmsNorm"+v.name, "func(dst, x, gamma *float32, n int, eps float32)", "rmsNorm"+v.name+" writes gamma·x/sqrt(mean(x²)+eps) to dst [n], n > 0.")
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
	finish()
}
