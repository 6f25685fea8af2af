//go:build (amd64 || arm64) && !purego

package simd

//go:generate go -C _neon run . -kernels vector
//go:generate go -C _neon run . -kernels gemm
//go:generate go -C _neon run . -kernels rows
//go:generate go -C _neon run . -kernels int8

import (
	"sync"
	"unsafe"
)

// longest is how many elements one call of a kernel over several rows takes: assembly cannot be
// preempted, and this many last some tens of microseconds at most. Single vectors are not split.
const longest = 1 << 16

// first is the address of s[0]. Kernels do not use it if the length is 0.
func first(s []float32) *float32 { return unsafe.SliceData(s) }

// shape is the rows and columns that one call of a kernel takes.
type shape struct{ rows, cols int }

// blockRows is how many rows of x, k wide, stay in the second-level cache while all panels of
// weights are read.
func blockRows(rows, k int) int {
	const block = 192 << 10 // elements
	limit := max(64, block/max(1, k))
	blocks := (rows + limit - 1) / limit
	return (rows + blocks - 1) / blocks
}

// at returns the first of Bias and of Residual for the part of dst that begins at its element at,
// in column col; nil for none.
func (e *Epilogue) at(at, col int) (bias, residual *float32) {
	if e.Bias != nil {
		bias = &e.Bias[col]
	}
	if e.Residual != nil {
		residual = &e.Residual[at]
	}
	return bias, residual
}

// scratch holds one panel of a transposed or copied operand.
var scratch = sync.Pool{New: func() any { return new([]float32) }}

func borrow(n int) *[]float32 {
	p := scratch.Get().(*[]float32)
	if len(*p) < n {
		*p = alignedFloats(n)
	}
	return p
}
