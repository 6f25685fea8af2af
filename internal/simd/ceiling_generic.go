//go:build (!amd64 && !arm64) || purego

package simd

// CeilingFloats has no loop to run here and returns 0.
func CeilingFloats() float64 { return 0 }

// CeilingBytes has no loop to run here and returns 0.
func CeilingBytes() float64 { return 0 }
