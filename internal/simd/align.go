package simd

import "unsafe"

// alignedFloats allocates n zero floats that begin on a cache line, so that no 64-byte load of
// packed weights is split.
func alignedFloats(n int) []float32 {
	const line = 64
	buf := make([]float32, n+line/4)
	skip := (-int(uintptr(unsafe.Pointer(unsafe.SliceData(buf))) / 4)) & (line/4 - 1)
	return buf[skip : skip+n : skip+n]
}
