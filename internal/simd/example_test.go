package simd_test

import (
	"fmt"

	"example.com/searchd/internal/simd"
)

func ExampleMatrix_Mul() {
	weight := []float32{ // [2, 3]: two output channels
		1, 0, -1,
		2, 1, 0,
	}
	m := simd.Pack(weight, 2, 3)
	x := []float32{ // [2, 3]: two tokens
		1, 2, 3,
		4, 5, 6,
	}
	y := make([]float32, 2*m.Out())
	m.Mul(y, x, 2, simd.Epilogue{Bias: []float32{0, 10}, Act: simd.ReLU})
	fmt.Println(y)
	// Output: [0 14 0 23]
}

func ExampleMulNT() {
	queries := []float32{1, 0, 0, 1}    // two of size 2
	keys := []float32{3, 4, 5, 6, 7, 8} // three of size 2
	scores := make([]float32, 2*3)      // [2, 3]
	simd.MulNT(scores, 3, queries, 2, keys, 2, 2, 3, 2, 0.5)
	fmt.Println(scores)
	// Output: [1.5 2.5 3.5 2 3 4]
}

func ExampleDotRows() {
	base := []float32{1, 0, 0, 1, 1, 1} // three vectors of two elements
	scores := make([]float32, 2)
	simd.DotRows(scores, []float32{2, 3}, base, []uint32{2, 0})
	fmt.Println(scores)
	// Output: [5 2]
}
