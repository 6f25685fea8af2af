//go:build !purego

package simd

// CeilingFloats runs multiply-adds of the active back end in registers, for some tens of
// microseconds, and returns how many operations these were; 0 where there is no such loop. Timed
// beside a kernel it says what share of the processor the kernel uses.
func CeilingFloats() float64 {
	const loops = 4000
	if active == Go {
		return 0
	}
	ceilingNEON(loops)
	return loops * 24 * 4 * 2
}

// CeilingBytes is the same for products of bytes.
func CeilingBytes() float64 {
	const loops = 4000
	switch active {
	case Go:
		return 0
	case NEONDot:
		ceilingBytesNEONDot(loops)
		return loops * 24 * 16 * 2
	}
	ceilingBytesNEON(loops / 2)
	return loops / 2 * 16 * 16 * 2
}
