package simd

import "math"

// nothing is where an exponential counts as 0: it is negligible beside the greatest, e^0, and
// products with subnormal weights would take a hundred times as long.
const nothing = -60

// Softmax replaces row by exp(row-max)/sum, exp counting as 0 below e^-60. An element of -Inf
// becomes 0; a row with NaN or +Inf, or of -Inf only, becomes NaN, as in PyTorch. An empty row
// stays as it is.
func Softmax(row []float32) {
	if len(row) > 0 {
		softmax(row, len(row), 1, len(row))
	}
}

// SoftmaxRows is Softmax for each row of x [rows, n]; the rows are ldx apart.
func SoftmaxRows(x []float32, ldx, rows, n int) {
	needMatrix("SoftmaxRows", "x", len(x), rows, n, ldx)
	if rows > 0 && n > 0 {
		softmax(x, ldx, rows, n)
	}
}

// Largest returns the greatest element of x, which is not empty. Of a row with NaN it may return
// any element.
func Largest(x []float32) float32 {
	need("Largest", "x", len(x), 1)
	return largest(x)
}

// ExpSum replaces each element of x by exp(x-top), or 0 below e^-60, and returns the sum; top is
// not below any element. With Largest and Scale it makes a softmax over a row that comes in parts:
// a sum for another top is scaled by exp(that - top). NaN and infinities propagate as in Softmax.
func ExpSum(x []float32, top float32) float32 {
	if len(x) == 0 {
		return 0
	}
	return expSum(x, top)
}

// Scale multiplies x by a number.
func Scale(x []float32, by float32) { scale(x, by) }

func largestGo(x []float32) float32 {
	top := x[0]
	for _, v := range x[1:] {
		top = max(top, v) // the builtin passes NaN on
	}
	return top
}

func expSumGo(x []float32, top float32) float32 {
	var sum float32
	for i, v := range x {
		var e float32
		if d := v - top; !(d < nothing) { // NaN passes
			e = float32(math.Exp(float64(d)))
		}
		x[i] = e
		sum += e
	}
	return sum
}

func scaleGo(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}

func softmaxRowsGo(x []float32, ldx, rows, n int) {
	for r := range rows {
		softmaxGo(x[r*ldx:][:n])
	}
}

func softmaxGo(row []float32) {
	scaleGo(row, 1/expSumGo(row, largestGo(row)))
}
