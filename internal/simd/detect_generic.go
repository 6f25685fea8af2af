//go:build !amd64 || purego

package simd

func detect() Backend { return Go }
