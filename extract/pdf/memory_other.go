//go:build !linux

package pdf

import "github.com/tetratelabs/wazero/experimental"

// newAllocator returns nil: the memory of PDFium's instances is in the Go heap.
func newAllocator() experimental.MemoryAllocator { return nil }
