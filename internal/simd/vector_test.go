package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestVectors(t *testing.T) { eachBackend(t, testVectors) }

func testVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for n := 0; n <= 513; n++ {
		a, b := random(r, n), random(r, n+1)[1:]
		var dot, l2, size float64
		for i := range a {
			d := float64(a[i]) - float64(b[i])
			dot += float64(a[i]) * float64(b[i])
			size += math.Abs(float64(a[i]) * float64(b[i]))
			l2 += d * d
		}
		if got := Dot(a, b); far(got, dot, size, 1e-6) {
			t.Fatalf("Dot n=%d = %v, want %v", n, got, dot)
		}
		if got := SquaredL2(a, b); far(got, l2, l2, 1e-6) {
			t.Fatalf("SquaredL2 n=%d = %v, want %v", n, got, l2)
		}
		dst, check := guarded(t, n)
		copy(dst, a)
		Axpy(dst, 0.5, b)
		check()
		for i := range a {
			if got := dst[i]; far(got, float64(a[i])+0.5*float64(b[i]), 1, 1e-6) {
				t.Fatalf("Axpy n=%d [%d] = %v, want %v", n, i, got, float64(a[i])+0.5*float64(b[i]))
			}
		}
		product, check := guarded(t, n)
		copy(product, a)
		Multiply(product, b)
		check()
		for i := range a {
			if product[i] != a[i]*b[i] {
				t.Fatalf("Multiply n=%d [%d] = %v, want %v", n, i, product[i], a[i]*b[i])
			}
		}
		if n == 0 {
			continue
		}
		const count = 40
		base := random(r, count*n)
		ids := make([]uint32, r.IntN(20))
		for i := range ids {
			ids[i] = uint32(r.IntN(count))
		}
		rows, check := guarded(t, len(ids))
		DotRows(rows, a, base, ids)
		check()
		for i, id := range ids {
			if want := Dot(a, base[int(id)*n:int(id+1)*n]); math.Abs(float64(rows[i]-want)) > 1e-6*max(1, size) {
				t.Fatalf("DotRows n=%d [%d] = %v, want %v", n, i, rows[i], want)
			}
		}
	}
}

func TestLong(t *testing.T) { eachBackend(t, testLong) }

// testLong has vectors and lists that take several calls of a kernel. Small integers keep every sum
// exact.
func testLong(t *testing.T) {
	const n = 3<<16 + 5
	x, y := make([]float32, n), make([]float32, n)
	var dot, l2 float64
	for i := range x {
		x[i], y[i] = float32(i%3), float32(i%5-2)
		dot += float64(x[i] * y[i])
		l2 += float64((x[i] - y[i]) * (x[i] - y[i]))
	}
	if d, l := Dot(x, y), SquaredL2(x, y); float64(d) != dot || float64(l) != l2 {
		t.Errorf("Dot, SquaredL2 = %v, %v, want %v, %v", d, l, dot, l2)
	}
	got, check := guarded(t, n)
	copy(got, x)
	Axpy(got, 2, y)
	Multiply(got, y)
	activate(got, ReLU)
	check()
	for i := range x {
		if want := max(0, (x[i]+2*y[i])*y[i]); got[i] != want {
			t.Fatalf("Axpy, Multiply, ReLU [%d] = %v, want %v", i, got[i], want)
		}
	}

	x[7], x[8] = 9, -9
	if lo, hi := rowRange(x); lo != -9 || hi != 9 || Largest(x) != 9 {
		t.Errorf("rowRange = %v, %v, Largest = %v, want -9, 9 and 9", lo, hi, Largest(x))
	}

	const width, rows = 300, 700 // more elements than one call takes
	base, bytes, ids := make([]float32, rows*width), make([]int8, rows*width), make([]uint32, 2*rows)
	for i := range base {
		base[i], bytes[i] = float32(i%7-3), int8(i%7-3)
	}
	for i := range ids {
		ids[i] = uint32(i * 31 % rows)
	}
	floats, integers := make([]float32, len(ids)), make([]int32, len(ids))
	DotRows(floats, base[:width], base, ids)
	DotRowsInt8(integers, bytes[:width], bytes, ids)
	for i, id := range ids {
		want := DotInt8(bytes[:width], bytes[id*width:(id+1)*width])
		if floats[i] != float32(want) || integers[i] != want {
			t.Fatalf("DotRows, DotRowsInt8 [%d] = %v, %v, want %v", i, floats[i], integers[i], want)
		}
	}
}
