package simd

import "fmt"

// need panics if a slice is shorter than its shape, which would otherwise corrupt memory in
// assembly.
func need(call, name string, have, want int) {
	if have < want {
		panic(fmt.Sprintf("simd: %s: len(%s) is %d, want at least %d", call, name, have, want))
	}
}

func checkActivation(act Activation) {
	if act >= numActivations {
		panic(fmt.Sprintf("simd: activation %d is not one of 0..%d", act, numActivations-1))
	}
}

// strided is the length that rows rows of width elements, ld apart, need.
func strided(rows, width, ld int) int {
	if rows <= 0 || width <= 0 {
		return 0
	}
	return (rows-1)*ld + width
}

func needMatrix(call, name string, have, rows, width, ld int) {
	if rows < 0 || width < 0 || rows > 1 && ld < width {
		panic(fmt.Sprintf("simd: %s: %s is %d x %d with rows %d apart", call, name, rows, width, ld))
	}
	need(call, name, have, strided(rows, width, ld))
}
