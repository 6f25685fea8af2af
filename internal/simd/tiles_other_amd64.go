//go:build !purego && !linux

package simd

// tilesPermitted is false: only on Linux it is known how to ask for AMX's tiles.
func tilesPermitted() bool { return false }
