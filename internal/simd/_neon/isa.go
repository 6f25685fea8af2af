package main

// The instructions of NEON, most of which Go's assembler does not know, as words. Operands stand as in Arm's manual: the destination first.

// v is a vector register.
type v int

// enc places the registers of an instruction: destination, first and second source.
func enc(d, n, m v) uint32 { return uint32(m)<<16 | uint32(n)<<5 | uint32(d) }

// index places the number of a lane of four.
func index(i int) uint32 { return uint32(i>>1)<<11 | uint32(i&1)<<21 }

func (f *fn) three(op uint32, name, shape string, d, n, m v) {
	f.code(op|enc(d, n, m), "%s v%d.%s, v%d.%s, v%d.%s", name, d, shape, n, shape, m, shape)
}

func (f *fn) two(op uint32, name, to, from string, d, n v) {
	f.code(op|enc(d, n, 0), "%s v%d.%s, v%d.%s", name, d, to, n, from)
}

// Products and sums of four float32. fmla adds n·m to d, fmls takes it away.
func (f *fn) fmla(d, n, m v) { f.three(0x4e20cc00, "fmla", "4s", d, n, m) }
func (f *fn) fadd(d, n, m v) { f.three(0x4e20d400, "fadd", "4s", d, n, m) }
func (f *fn) fsub(d, n, m v) { f.three(0x4ea0d400, "fsub", "4s", d, n, m) }
func (f *fn) fmul(d, n, m v) { f.three(0x6e20dc00, "fmul", "4s", d, n, m) }

// faddp adds neighbours: those of n to the lower half of d, those of m to the upper.
func (f *fn) faddp(d, n, m v) { f.three(0x6e20d400, "faddp", "4s", d, n, m) }

// zero clears registers.
func (f *fn) zero(rs ...v) {
	for _, d := range rs {
		f.code(0x4f000400|enc(d, 0, 0), "movi v%d.4s, #0", d)
	}
}

// Loads and stores of a vector at base+offset, of two, and of one element, which clears the other lanes. next moves base behind what was read
// or written.
func (f *fn) load(d v, base x, offset int) {
	f.code(0x3dc00000|uint32(offset/16)<<10|enc(d, v(base), 0), "ldr q%d, [x%d, #%d]", d, base, offset)
}

func (f *fn) store(d v, base x, offset int) {
	f.code(0x3d800000|uint32(offset/16)<<10|enc(d, v(base), 0), "str q%d, [x%d, #%d]", d, base, offset)
}

func (f *fn) loadNext(d v, base x) {
	f.code(0x3cc00400|16<<12|enc(d, v(base), 0), "ldr q%d, [x%d], #16", d, base)
}

func (f *fn) storeNext(d v, base x) {
	f.code(0x3c800400|16<<12|enc(d, v(base), 0), "str q%d, [x%d], #16", d, base)
}

func (f *fn) loadPair(d, e v, base x, offset int) {
	f.code(0xad400000|uint32(offset/16)<<15|uint32(e)<<10|enc(d, v(base), 0), "ldp q%d, q%d, [x%d, #%d]", d, e, base, offset)
}

func (f *fn) storePair(d, e v, base x, offset int) {
	f.code(0xad000000|uint32(offset/16)<<15|uint32(e)<<10|enc(d, v(base), 0), "stp q%d, q%d, [x%d, #%d]", d, e, base, offset)
}

func (f *fn) loadPairNext(d, e v, base x) {
	f.code(0xacc00000|2<<15|uint32(e)<<10|enc(d, v(base), 0), "ldp q%d, q%d, [x%d], #32", d, e, base)
}

func (f *fn) loadOneNext(d v, base x) {
	f.code(0xbc400400|4<<12|enc(d, v(base), 0), "ldr s%d, [x%d], #4", d, base)
}

func (f *fn) storeOneNext(d v, base x) {
	f.code(0xbc000400|4<<12|enc(d, v(base), 0), "str s%d, [x%d], #4", d, base)
}

// prefetch fetches the line at base into the first-level cache; base may point anywhere.
func (f *fn) prefetch(base x) {
	f.code(0xf9800000|enc(0, v(base), 0), "prfm pldl1keep, [x%d]", base)
}

func (f *fn) loadOne(d v, base x) {
	f.code(0xbd400000|enc(d, v(base), 0), "ldr s%d, [x%d]", d, base)
}
