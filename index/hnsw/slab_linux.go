package hnsw

import (
	"syscall"
	"unsafe"
)

// adviseHuge requests huge pages for b. The kernel may refuse.
func adviseHuge(b []byte) {
	const (
		huge         = 1 << 21
		madvHugepage = 14
	)
	skip := -uintptr(unsafe.Pointer(&b[0])) & (huge - 1)
	if skip+huge > uintptr(len(b)) {
		return
	}
	b = b[skip:]
	_ = syscall.Madvise(b[:len(b)&^(huge-1)], madvHugepage)
}
