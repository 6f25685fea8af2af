package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is a vector instruction set. Kernels are written once for all sets, with cases only where
// they differ.
type isa struct {
	name  string // suffix of function names
	bytes int    // of one vector
}

var (
	avx512 = isa{"AVX512", 64}
	avx2   = isa{"AVX2", 32}
)

// lanes is the number of float32 in a vector.
func (v isa) lanes() int { return v.bytes / 4 }

func (v isa) wide() bool { return v.bytes == 64 }

func (v isa) reg() reg.VecVirtual {
	if v.wide() {
		return ZMM()
	}
	return YMM()
}

func (v isa) regs(n int) []reg.VecVirtual {
	r := make([]reg.VecVirtual, n)
	for i := range r {
		r[i] = v.reg()
	}
	return r
}

// zero clears registers.
func (v isa) zero(rs ...reg.VecVirtual) {
	for _, r := range rs {
		if v.wide() {
			VPXORQ(r, r, r)
		} else {
			VPXOR(r, r, r)
		}
	}
}

// mask selects the leading lanes of a vector. A nil mask selects all lanes.
type mask struct {
	k reg.OpmaskVirtual
	y reg.VecVirtual
}

// leading makes the mask of the first n lanes, 0 <= n <= lanes; n is destroyed.
func (v isa) leading(n reg.GPVirtual) *mask {
	if v.wide() {
		ones, k := GP32(), K()
		MOVL(U32(0xffffffff), ones)
		BZHIL(n.As32(), ones, ones)
		KMOVW(ones, k)
		return &mask{k: k}
	}
	table, y := GP64(), YMM()
	LEAQ(laneMasks(), table)
	NEGQ(n)
	VMOVDQU(Mem{Base: table, Disp: 32, Index: n, Scale: 4}, y)
	return &mask{y: y}
}

// load reads a vector; lanes outside the mask become 0 and are not read.
func (v isa) load(from Mem, to reg.VecVirtual, m *mask) {
	switch {
	case m == nil:
		VMOVUPS(from, to)
	case v.wide():
		VMOVUPS_Z(from, m.k, to)
	default:
		VMASKMOVPS(from, m.y, to)
	}
}

// store writes the lanes of the mask.
func (v isa) store(from reg.VecVirtual, to Mem, m *mask) {
	switch {
	case m == nil:
		VMOVUPS(from, to)
	case v.wide():
		VMOVUPS(from, m.k, to)
	default:
		VMASKMOVPS(from, m.y, to)
	}
}

// keep clears the lanes outside the mask.
func (v isa) keep(r reg.VecVirtual, m *mask) {
	switch {
	case m == nil:
	case v.wide():
		VMOVUPS_Z(r, m.k, r)
	default:
		VANDPS(m.y, r, r)
	}
}

// xor and and work on whole vectors.
func (v isa) xor(a Op, b, to reg.VecVirtual) {
	if v.wide() {
		VPXORD(a, b, to)
	} else {
		VPXOR(a, b, to)
	}
}

func (v isa) and(a Op, b, to reg.VecVirtual) {
	if v.wide() {
		VPANDD(a, b, to)
	} else {
		VPAND(a, b, to)
	}
}

// reduce combines the lanes of r pairwise with op and leaves the result in lane 0 of the register
// that it returns.
func (v isa) reduce(r reg.VecVirtual, op func(a, b, to Op)) reg.VecVirtual {
	if v.wide() {
		y := YMM()
		VEXTRACTF64X4(U8(1), r, y)
		op(y, r.(reg.Vec).AsY(), y)
		r = y
	}
	x := XMM()
	if v.wide() {
		VEXTRACTF32X4(U8(1), r.(reg.Vec).AsY(), x) // can address all 32 registers
	} else {
		VEXTRACTF128(U8(1), r.(reg.Vec).AsY(), x)
	}
	op(x, r.(reg.Vec).AsX(), x)
	t := XMM()
	VPERMILPS(U8(0b01_00_11_10), x, t)
	op(t, x, x)
	VPERMILPS(U8(0b10_11_00_01), x, t)
	op(t, x, x)
	return x
}

func add(a, b, to Op)     { VADDPS(a, b, to) }
func maximum(a, b, to Op) { VMAXPS(a, b, to) }

// everywhere copies lane 0 of x to all lanes of a new vector.
func (v isa) everywhere(x reg.VecVirtual) reg.VecVirtual {
	r := v.reg()
	VBROADCASTSS(x.(reg.Vec).AsX(), r)
	return r
}

// argEverywhere copies a float32 argument to all lanes.
func (v isa) argEverywhere(name string) reg.VecVirtual {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	r := v.reg()
	VBROADCASTSS(b.Addr, r)
	return r
}

var globals = map[string]Mem{}

// global is read-only memory that holds the given words.
func global(name string, words []uint32) Mem {
	m, ok := globals[name]
	if !ok {
		m = GLOBL(name, attr.RODATA|attr.NOPTR)
		for i, w := range words {
			DATA(4*i, U32(w))
		}
		globals[name] = m
	}
	return m
}

// constant is a 64-byte block of read-only memory with the 32-bit pattern u in each lane: an
// operand for any isa.
func constant(u uint32) Mem { return global(fmt.Sprintf("c%08x", u), slices.Repeat([]uint32{u}, 16)) }

func f32(x float64) Mem { return constant(math.Float32bits(float32(x))) }

// table is read-only memory that holds the given numbers one after another.
func table(name string, values []float64) Mem {
	words := make([]uint32, len(values))
	for i, x := range values {
		words[i] = math.Float32bits(float32(x))
	}
	return global(name, words)
}

// laneMasks is 8 lanes of ones and 8 of zeros; a window of 8 that begins at 8-n selects the first
// n.
func laneMasks() Mem {
	return global("lanes", append(slices.Repeat([]uint32{0xffffffff}, 8), make([]uint32, 8)...))
}

// kernel begins a function of the package.
func kernel(name, signature string, doc ...string) {
	TEXT(name, attr.NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc...)
}

// finish ends a kernel that has used vectors.
func finish() {
	VZEROUPPER()
	RET()
}

// unrolled runs step n times, four steps at a time with the numbers 0 to 3 and then one by one with
// 0; advance moves the pointers by that many steps. n is destroyed.
func unrolled(stem string, n reg.GPVirtual, step, advance func(int)) {
	const unroll = 4
	loop, rest, restLoop, done := label(stem+"loop"), label(stem+"rest"), label(stem+"restloop"), label(stem+"done")
	SUBQ(Imm(unroll), n)
	JLT(LabelRef(rest))
	Label(loop)
	for u := range unroll {
		step(u)
	}
	advance(unroll)
	SUBQ(Imm(unroll), n)
	JGE(LabelRef(loop))
	Label(rest)
	ADDQ(Imm(unroll), n)
	JZ(LabelRef(done))
	Label(restLoop)
	step(0)
	advance(1)
	DECQ(n)
	JNZ(LabelRef(restLoop))
	Label(done)
}

// sumSets adds all sets of sums to the first, pairwise.
func sumSets(acc [][]reg.VecVirtual, op func(a, b, to Op)) {
	for n := len(acc); n > 1; n /= 2 {
		for s := range n / 2 {
			for i := range acc[s] {
				op(acc[s+n/2][i], acc[s][i], acc[s][i])
			}
		}
	}
}

var labels int

// label gives a name that is not taken in the function.
func label(stem string) string {
	labels++
	return fmt.Sprintf("%s%d", stem, labels)
}

func ptr(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

func at(base reg.Register, disp int) Mem { return Mem{Base: base, Disp: disp} }

// vectors runs body for each vector of a row of n elements: with whole vectors first, then once
// with a mask. off is the byte offset into the row; n and off are destroyed.
func (v isa) vectors(n, off reg.GPVirtual, body func(m *mask)) {
	loop, rest, done := label("loop"), label("rest"), label("done")
	XORQ(off, off)
	SUBQ(Imm(uint64(v.lanes())), n)
	JLT(LabelRef(rest))
	Label(loop)
	body(nil)
	ADDQ(Imm(uint64(v.bytes)), off)
	SUBQ(Imm(uint64(v.lanes())), n)
	JGE(LabelRef(loop))
	Label(rest)
	ADDQ(Imm(uint64(v.lanes())), n)
	JZ(LabelRef(done))
	body(v.leading(n))
	Label(done)
}
