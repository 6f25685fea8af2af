//go:build !purego

package simd

import "golang.org/x/sys/cpu"

// detect reads the CPU's features. x/sys/cpu reports AVX and AVX-512 only if the operating system
// saves their registers, but tiles wherever the CPU has them.
func detect() []Backend {
	all := []Backend{Go, AVX2, AVX512, AVX512VNNI, AMX}
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasBMI2:
		return all[:1]
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return all[:2]
	case !x.HasAVX512VNNI:
		return all[:3]
	case !x.HasAMXTile || !x.HasAMXInt8 || !tilesPermitted():
		return all[:4]
	}
	return all
}
