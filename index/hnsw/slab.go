package hnsw

import "unsafe"

// makeRows returns n zeroed elements for random access. Large ones are put on huge pages where the
// system has them: a walk through the graph touches rows all over the slab, and would miss the TLB
// at most of them.
func makeRows[T any](n int) []T {
	s := make([]T, n)
	const least = 1 << 22
	if size := uintptr(n) * unsafe.Sizeof(*new(T)); size >= least {
		adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), size))
	}
	return s
}

// asBytes returns the memory of codes.
func asBytes(codes []int8) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(codes))), len(codes))
}
