//go:build !purego

package simd

// CeilingFloats runs multiply-adds of the active back end in registers, for some tens of
// microseconds, and returns their number; 0 if there is no such loop. Their rate is the upper bound
// of a kernel's.
func CeilingFloats() float64 {
	const loops = 4000
	switch active {
	case Go:
		return 0
	case AVX2:
		ceilingFMAAVX2(loops)
		return loops * 12 * 8 * 2
	}
	ceilingFMAAVX512(loops)
	return loops * 24 * 16 * 2
}

// CeilingBytes is the same for products of bytes.
func CeilingBytes() float64 {
	const loops = 4000
	switch active {
	case Go:
		return 0
	case AMX:
		ceilingAMX(loops / 8)
		return loops / 8 * 6 * 16384 * 2
	case AVX512VNNI:
		ceilingVNNI(loops)
		return loops * 24 * 64 * 2
	}
	ceilingMADAVX2(loops)
	return loops * 6 * 16 * 2
}
