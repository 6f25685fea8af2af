package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairs runs body over a and b (or a alone, if b is nil) of n elements in blocks of four vectors,
// each with a sum of its own, then in single vectors; it returns the total in lane 0.
func pairs(v isa, a, b, n reg.GPVirtual, body func(a, b Mem, m *mask, acc reg.VecVirtual)) reg.VecVirtual {
	const unroll = 4
	acc := v.regs(unroll)
	v.zero(acc...)
	block, rest := label("block"), label("rest")
	SUBQ(Imm(uint64(unroll*v.lanes())), n)
	JLT(LabelRef(rest))
	Label(block)
	for u := range unroll {
		var second Mem
		if b != nil {
			second = at(b, u*v.bytes)
		}
		body(at(a, u*v.bytes), second, nil, acc[u])
	}
	ADDQ(U32(uint32(unroll*v.bytes)), a)
	if b != nil {
		ADDQ(U32(uint32(unroll*v.bytes)), b)
	}
	SUBQ(Imm(uint64(unroll*v.lanes())), n)
	JGE(LabelRef(block))
	Label(rest)
	ADDQ(Imm(uint64(unroll*v.lanes())), n)
	off := GP64()
	v.vectors(n, off, func(m *mask) {
		var second Mem
		if b != nil {
			second = Mem{Base: b, Index: off, Scale: 1}
		}
		body(Mem{Base: a, Index: off, Scale: 1}, second, m, acc[0])
	})
	VADDPS(acc[1], acc[0], acc[0])
	VADDPS(acc[3], acc[2], acc[2])
	VADDPS(acc[2], acc[0], acc[0])
	return v.reduce(acc[0], add)
}

func returnLane0(x reg.VecVirtual) {
	result, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	VMOVSS(x.(reg.Vec).AsX(), result.Addr) // Store would use MOVSS, which mixes badly with vectors
	finish()
}

func dot(v isa) {
	kernel("dot"+v.name, "func(a, b *float32, n int) float32", "dot"+v.name+" is the inner product of a [n] and b [n].")
	returnLane0(pairs(v, ptr("a"), ptr("b"), ptr("n"), func(a, b Mem, m *mask, acc reg.VecVirtual) {
		x := v.reg()
		v.load(a, x, m)
		if m == nil {
			VFMADD231PS(b, x, acc)
			return
		}
		y := v.reg()
		v.load(b, y, m)
		VFMADD231PS(y, x, acc)
	}))
}

func squaredL2(v isa) {
	kernel("squaredL2"+v.name, "func(a, b *float32, n int) float32", "squaredL2"+v.name+" is the squared Euclidean distance of a [n] and b [n].")
	returnLane0(pairs(v, ptr("a"), ptr("b"), ptr("n"), func(a, b Mem, m *mask, acc reg.VecVirtual) {
		x, y := v.reg(), v.reg()
		v.load(a, x, m)
		v.load(b, y, m)
		VSUBPS(y, x, x)
		VFMADD231PS(x, x, acc)
	}))
}

func axpy(v isa) {
	kernel("axpy"+v.name, "func(dst *float32, a float32, x *float32, n int)", "axpy"+v.name+" adds a·x to dst [n].")
	dst, x, n, off := ptr("dst"), ptr("x"), ptr("n"), GP64()
	a := v.argEverywhere("a")
	v.vectors(n, off, func(m *mask) {
		y, z := v.reg(), v.reg()
		v.load(Mem{Base: x, Index: off, Scale: 1}, y, m)
		v.load(Mem{Base: dst, Index: off, Scale: 1}, z, m)
		VFMADD231PS(a, y, z)
		v.store(z, Mem{Base: dst, Index: off, Scale: 1}, m)
	})
	finish()
}

func multiply(v isa) {
	kernel("multiply"+v.name, "func(dst, x *float32, n int)", "multiply"+v.name+" multiplies dst [n] by x, element by element.")
	dst, x, n, off := ptr("dst"), ptr("x"), ptr("n"), GP64()
	v.vectors(n, off, func(m *mask) {
		y, z := v.reg(), v.reg()
		v.load(Mem{Base: x, Index: off, Scale: 1}, y, m)
		v.load(Mem{Base: dst, Index: off, Scale: 1}, z, m)
		VMULPS(y, z, z)
		v.store(z, Mem{Base: dst, Index: off, Scale: 1}, m)
	})
	finish()
}

// dotRows multiplies q with four rows at a time, so that a vector of q is read once for the four,
// and prefetches the same place of the next four rows.
func dotRows(v isa) {
	kernel("dotRows"+v.name, "func(dst, q, base *float32, ids *uint32, count, n int)", "dotRows"+v.name+" writes q [n] · base[ids[i]] to dst [count]; count is at least 1.")
	dst, q, ids, count := ptr("dst"), ptr("q"), ptr("ids"), ptr("count")
	groups(dst, ids, count, func(group int) { dotGroup(v, group, dst, q, ids, count) })
}

// groups runs body for each four of the rows that ids names, then for each one of the rest, and
// ends the kernel.
func groups(dst, ids, count reg.GPVirtual, body func(group int)) {
	for _, group := range []int{4, 1} {
		loop, out := label("group"), label("out")
		Label(loop)
		CMPQ(count, Imm(uint64(group)))
		JLT(LabelRef(out))
		body(group)
		ADDQ(Imm(uint64(4*group)), ids)
		ADDQ(Imm(uint64(4*group)), dst)
		SUBQ(Imm(uint64(group)), count)
		JMP(LabelRef(loop))
		Label(out)
	}
	finish()
}

func dotGroup(v isa, group int, dst, q, ids, count reg.GPVirtual) {
	n, off, width := ptr("n"), GP64(), GP64()
	MOVQ(n, width)
	SHLQ(Imm(2), width)
	rows, ahead := groupRows(group, ids, count, width)
	acc := v.regs(group)
	v.zero(acc...)
	v.vectors(n, off, func(m *mask) {
		x := v.reg()
		v.load(Mem{Base: q, Index: off, Scale: 1}, x, m)
		for i := range group {
			row := Mem{Base: rows[i], Index: off, Scale: 1}
			if m == nil {
				VFMADD231PS(row, x, acc[i])
			} else {
				y := v.reg()
				v.load(row, y, m)
				VFMADD231PS(y, x, acc[i])
			}
			if group > 1 {
				PREFETCHT0(Mem{Base: ahead[i], Index: off, Scale: 1})
			}
		}
	})
	for i := range group {
		VMOVSS(v.reduce(acc[i], add).(reg.Vec).AsX(), at(dst, 4*i))
	}
}

// groupRows computes the addresses of the rows that ids names, width bytes each, and those of the
// next group, to prefetch. With fewer than two groups left the group prefetches itself, which needs
// no branch.
func groupRows(group int, ids, count, width reg.GPVirtual) (rows, ahead []reg.GPVirtual) {
	base := ptr("base")
	address := func(p reg.GPVirtual) []reg.GPVirtual {
		to := make([]reg.GPVirtual, group)
		for i := range to {
			to[i] = GP64()
			MOVL(at(p, 4*i), to[i].As32())
			IMULQ(width, to[i])
			ADDQ(base, to[i])
		}
		return to
	}
	rows = address(ids)
	if group == 1 {
		return rows, nil
	}
	next, step := GP64(), GP64()
	XORQ(next, next)
	MOVQ(U32(uint32(4*group)), step)
	CMPQ(count, Imm(uint64(2*group)))
	CMOVQGE(step, next)
	ADDQ(ids, next)
	return rows, address(next)
}
