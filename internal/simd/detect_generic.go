//go:build (!amd64 && !arm64) || purego

package simd

func detect() []Backend { return []Backend{Go} }
