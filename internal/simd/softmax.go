package simd

import "math"

// Softmax replaces row by exp(row-max)/sum. An element of -Inf becomes 0; a row with NaN or +Inf, or of -Inf only,
// becomes NaN, as in PyTorch. An empty row stays as it is.
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

func softmaxRowsGo(x []float32, ldx, rows, n int) {
	for r := range rows {
		softmaxGo(x[r*ldx:][:n])
	}
}

func softmaxGo(row []float32) {
	largest := row[0]
	for _, v := range row[1:] {
		largest = max(largest, v) // the builtin passes NaN on
	}
	var sum float32
	for i, v := range row {
		e := float32(math.Exp(float64(v - largest)))
		row[i] = e
		sum += e
	}
	scale := 1 / sum
	for i := range row {
		row[i] *= scale
	}
}
