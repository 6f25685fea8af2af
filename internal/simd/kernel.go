//go:build (amd64 || arm64) && !purego

package simd

import "unsafe"

// first is the address of s[0]; the kernels that take it do not touch memory when the length that goes with it is 0.
func first(s []float32) *float32 { return unsafe.SliceData(s) }
