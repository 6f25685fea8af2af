//go:build (linux || darwin) && (amd64 || arm64)

package hnsw

import (
	"os"
	"syscall"
	"unsafe"
)

// mapFloats maps n float32 of a file, or returns nil. The byte order of these processors is that of
// the file.
func mapFloats(file *os.File, n int) []float32 {
	b, err := syscall.Mmap(int(file.Fd()), 0, 4*n, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

func unmapFloats(rows []float32) error {
	if rows == nil {
		return nil
	}
	return syscall.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rows))), 4*len(rows)))
}
