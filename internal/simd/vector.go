package simd

import "fmt"

// Dot is the inner product of a and b, which have the same length.
func Dot(a, b []float32) float32 {
	need("Dot", "b", len(b), len(a))
	return dot(a, b[:len(a)])
}

// SquaredL2 is the squared Euclidean distance of a and b, which have the same length.
func SquaredL2(a, b []float32) float32 {
	need("SquaredL2", "b", len(b), len(a))
	return squaredL2(a, b[:len(a)])
}

// Axpy adds a·x to dst; len(x) elements are touched.
func Axpy(dst []float32, a float32, x []float32) {
	need("Axpy", "dst", len(dst), len(x))
	axpy(dst[:len(x)], a, x)
}

// Multiply multiplies dst by x element by element, as gated feed-forward layers do; len(x) elements
// are touched.
func Multiply(dst, x []float32) {
	need("Multiply", "dst", len(dst), len(x))
	multiply(dst[:len(x)], x)
}

// DotRows writes to dst[i] the inner product of q with row ids[i] of base, whose rows are len(q)
// long. The next rows are prefetched.
func DotRows(dst []float32, q, base []float32, ids []uint32) {
	checkRows("DotRows", len(dst), len(q), len(base), ids)
	if len(ids) > 0 {
		dotRows(dst[:len(ids)], q, base, ids)
	}
}

// checkRows checks the bounds that indexing would check.
func checkRows(call string, dst, width, base int, ids []uint32) {
	need(call, "dst", dst, len(ids))
	var largest uint32
	for _, id := range ids {
		largest = max(largest, id)
	}
	if len(ids) > 0 && (int(largest)+1)*width > base {
		panic(fmt.Sprintf("simd: %s: row %d of width %d lies outside base of length %d", call, largest, width, base))
	}
}

// dotGo uses eight sums, so that additions do not wait for each other and rounding errors grow
// slowly.
func dotGo(a, b []float32) float32 {
	b = b[:len(a)]
	var s [8]float32
	for len(a) >= 8 && len(b) >= 8 {
		s[0] += a[0] * b[0]
		s[1] += a[1] * b[1]
		s[2] += a[2] * b[2]
		s[3] += a[3] * b[3]
		s[4] += a[4] * b[4]
		s[5] += a[5] * b[5]
		s[6] += a[6] * b[6]
		s[7] += a[7] * b[7]
		a, b = a[8:], b[8:]
	}
	for i, v := range a {
		s[i] += v * b[i]
	}
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

func squaredL2Go(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		d0, d1, d2, d3 := a[0]-b[0], a[1]-b[1], a[2]-b[2], a[3]-b[3]
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
		a, b = a[4:], b[4:]
	}
	for i, v := range a {
		d := v - b[i]
		s0 += d * d
	}
	return (s0 + s2) + (s1 + s3)
}

func axpyGo(dst []float32, a float32, x []float32) {
	x = x[:len(dst)]
	for len(dst) >= 4 && len(x) >= 4 {
		dst[0] += a * x[0]
		dst[1] += a * x[1]
		dst[2] += a * x[2]
		dst[3] += a * x[3]
		dst, x = dst[4:], x[4:]
	}
	for i, v := range x {
		dst[i] += a * v
	}
}

func multiplyGo(dst, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] *= x[i]
	}
}

func dotRowsGo(dst []float32, q, base []float32, ids []uint32) {
	for i, id := range ids {
		at := int(id) * len(q)
		dst[i] = dotGo(q, base[at:at+len(q)])
	}
}
