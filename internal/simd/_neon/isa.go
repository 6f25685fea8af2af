package main

// The instructions of NEON as words, because Go's assembler does not know most of them. Operands
// are in the order of Arm's manual: the destination first.

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

// Products and sums of four float32. fmla adds n·m to d.
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

// Loads and stores of a vector at base+offset, of two, and of one element, which clears the other
// lanes. next moves base behind what was read or written.
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

// fmlaLane adds n times lane i of m to d; dup copies lane i of n to all lanes of d.
func (f *fn) fmlaLane(d, n, m v, i int) {
	f.code(0x4f801000|enc(d, n, m)|index(i), "fmla v%d.4s, v%d.4s, v%d.s[%d]", d, n, m, i)
}

func (f *fn) dup(d, n v, i int) {
	f.code(0x4e040400|uint32(i)<<19|enc(d, n, 0), "dup v%d.4s, v%d.s[%d]", d, n, i)
}

// zip1 and zip2 interleave the lower and the upper halves of n and m.
func (f *fn) zip1(d, n, m v) { f.three(0x4e803800, "zip1", "4s", d, n, m) }
func (f *fn) zip2(d, n, m v) { f.three(0x4e807800, "zip2", "4s", d, n, m) }

// Products of bytes. sdot adds to each int32 of d the products of four bytes, of n and of m;
// sdotLane takes the four of lane i of m for all.
func (f *fn) sdot(d, n, m v) {
	f.code(0x4e809400|enc(d, n, m), "sdot v%d.4s, v%d.16b, v%d.16b", d, n, m)
}

func (f *fn) sdotLane(d, n, m v, i int) {
	f.code(0x4f80e000|enc(d, n, m)|index(i), "sdot v%d.4s, v%d.16b, v%d.4b[%d]", d, n, m, i)
}

// smull and smull2 multiply the lower and the upper eight bytes to int16; sadalp adds neighbours of
// these to the int32 of d.
func (f *fn) smull(d, n, m v) {
	f.code(0x0e20c000|enc(d, n, m), "smull v%d.8h, v%d.8b, v%d.8b", d, n, m)
}

func (f *fn) smull2(d, n, m v) {
	f.code(0x4e20c000|enc(d, n, m), "smull2 v%d.8h, v%d.16b, v%d.16b", d, n, m)
}

func (f *fn) sadalp(d, n v) { f.two(0x4e606800, "sadalp", "4s", "8h", d, n) }

// addpWords adds neighbours of int16, those of n to the lower half of d and those of m to the
// upper; addp the same of int32.
func (f *fn) addpWords(d, n, m v) { f.three(0x4e60bc00, "addp", "8h", d, n, m) }
func (f *fn) addp(d, n, m v)      { f.three(0x4ea0bc00, "addp", "4s", d, n, m) }
func (f *fn) add(d, n, m v)       { f.three(0x4ea08400, "add", "4s", d, n, m) }

// mls takes n·m away from d, of int32; scvtf makes float32 of them.
func (f *fn) mls(d, n, m v) { f.three(0x6ea09400, "mls", "4s", d, n, m) }
func (f *fn) scvtf(d, n v)  { f.two(0x4e21d800, "scvtf", "4s", "4s", d, n) }

// everywhereNext copies the element at base to all lanes and moves base to the next.
func (f *fn) everywhereNext(d v, base x) {
	f.code(0x4ddfc800|enc(d, v(base), 0), "ld1r {v%d.4s}, [x%d], #4", d, base)
}

// Rounding: to the nearest int32 and ties to even; to the nearest of what fits into an unsigned
// int16, for the lower and the upper half of d, and into an unsigned byte.
func (f *fn) fcvtns(d, n v)  { f.two(0x4e21a800, "fcvtns", "4s", "4s", d, n) }
func (f *fn) sqxtun(d, n v)  { f.two(0x2e612800, "sqxtun", "4h", "4s", d, n) }
func (f *fn) sqxtun2(d, n v) { f.two(0x6e612800, "sqxtun2", "8h", "4s", d, n) }
func (f *fn) uqxtn(d, n v)   { f.two(0x2e214800, "uqxtn", "8b", "8h", d, n) }
func (f *fn) eor(d, n, m v)  { f.three(0x6e201c00, "eor", "16b", d, n, m) }
func (f *fn) signBytes(d v)  { f.code(0x4f04e400|enc(d, 0, 0), "movi v%d.16b, #0x80", d) }
func (f *fn) fmax(d, n, m v) { f.three(0x4e20f400, "fmax", "4s", d, n, m) }
func (f *fn) fmin(d, n, m v) { f.three(0x4ea0f400, "fmin", "4s", d, n, m) }
func (f *fn) fmaxv(d, n v)   { f.code(0x6e30f800|enc(d, n, 0), "fmaxv s%d, v%d.4s", d, n) }
func (f *fn) fminv(d, n v)   { f.code(0x6eb0f800|enc(d, n, 0), "fminv s%d, v%d.4s", d, n) }

// storeEightNext writes the lower eight bytes.
func (f *fn) storeEightNext(d v, base x) {
	f.code(0xfc000400|8<<12|enc(d, v(base), 0), "str d%d, [x%d], #8", d, base)
}

// Further operations on four float32: d less n·m, n·m with lane i of m, quotient, magnitude, the
// other sign.
func (f *fn) fmlsLane(d, n, m v, i int) {
	f.code(0x4f805000|enc(d, n, m)|index(i), "fmls v%d.4s, v%d.4s, v%d.s[%d]", d, n, m, i)
}

func (f *fn) fmulLane(d, n, m v, i int) {
	f.code(0x4f809000|enc(d, n, m)|index(i), "fmul v%d.4s, v%d.4s, v%d.s[%d]", d, n, m, i)
}

func (f *fn) fdiv(d, n, m v) { f.three(0x6e20fc00, "fdiv", "4s", d, n, m) }
func (f *fn) fabs(d, n v)    { f.two(0x4ea0f800, "fabs", "4s", "4s", d, n) }
func (f *fn) fneg(d, n v)    { f.two(0x6ea0f800, "fneg", "4s", "4s", d, n) }

// fcmgt fills the lanes in which n is greater than m with ones, bic clears the bits of n that are
// set in m, and keeps those of both.
func (f *fn) fcmgt(d, n, m v) { f.three(0x6ea0e400, "fcmgt", "4s", d, n, m) }
func (f *fn) bic(d, n, m v)   { f.three(0x4e601c00, "bic", "16b", d, n, m) }
func (f *fn) and(d, n, m v)   { f.three(0x4e201c00, "and", "16b", d, n, m) }

// shl shifts each lane to the left.
func (f *fn) shl(d, n v, by int) {
	f.code(0x4f005400|uint32(32+by)<<16|enc(d, n, 0), "shl v%d.4s, v%d.4s, #%d", d, n, by)
}

// move copies a vector.
func (f *fn) move(d, n v) { f.code(0x4ea01c00|enc(d, n, n), "mov v%d.16b, v%d.16b", d, n) }

// onlyLane0 fills lane 0 with ones and clears the others.
func (f *fn) onlyLane0(d v) {
	f.code(0x2f00e400|0x0f<<5|enc(d, 0, 0), "movi d%d, #0xffffffff", d)
}
