//go:build !purego

package simd

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// detect knows of Apple's processors that they have the byte products, which the first versions of
// macOS for them do not tell.
func detect() []Backend {
	if runtime.GOOS == "darwin" || cpu.ARM64.HasASIMDDP {
		return []Backend{Go, NEON, NEONDot}
	}
	return []Backend{Go, NEON}
}
