package simd

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"
)

// atPageEnd returns n random elements that end where memory ends: the page behind them cannot be
// read or written.
func atPageEnd(t testing.TB, r *rand.Rand, n int) []float32 {
	t.Helper()
	page := syscall.Getpagesize()
	size := (4*n+page-1)/page*page + page
	mem, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip("mmap: ", err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	if err := syscall.Mprotect(mem[size:], syscall.PROT_NONE); err != nil {
		t.Skip("mprotect: ", err)
	}
	x := unsafe.Slice((*float32)(unsafe.Pointer(&mem[size-4*n])), n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func asBytes(x []float32) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// TestBounds runs each kernel on slices whose ends cannot be crossed; a kernel that reads too far
// crashes the test.
func TestBounds(t *testing.T) { eachBackend(t, testBounds) }

func testBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	end := func(n int) []float32 { return atPageEnd(t, r, n) }
	for _, s := range []struct{ rows, out, in int }{{1, 1, 1}, {3, 17, 5}, {14, 32, 16}, {7, 40, 33}, {15, 63, 30}, {16, 130, 31}} {
		w, x, dst := random(r, s.out*s.in), end(s.rows*s.in), end(s.rows*s.out)
		for _, e := range []Epilogue{{Bias: end(s.out), Residual: end(s.rows * s.out)}, {Bias: end(s.out), Act: GELU}, {Act: Tanh}} {
			Pack(w, s.out, s.in).Mul(dst, x, s.rows, e)
			PackInt8(w, s.out, s.in).Mul(dst, x, s.rows, e)
		}
		MulNT(dst, s.out, x, s.in, end(s.out*s.in), s.in, s.rows, s.out, s.in, 1)
		MulNN(dst, s.out, x, s.in, end(s.in*s.out), s.out, s.rows, s.out, s.in, true)
	}
	for _, n := range []int{1, 3, 8, 15, 16, 17, 31, 33, 63, 64, 65, 129, 200} {
		x, y := end(n), end(n)
		LayerNorm(x, x, y, y, 1, n, 1e-5)
		RMSNorm(x, x, y, 1, n, 1e-5)
		Softmax(x)
		Scale(x, 1/ExpSum(x, Largest(x)))
		Dot(x, y)
		SquaredL2(x, y)
		Axpy(x, 2, y)
		Multiply(x, y)
		base := end(5 * n)
		DotRows(end(6), x, base, []uint32{4, 0, 4, 1, 2, 4})
		bytes := asBytes(base)
		for cut := range 4 {
			q := asBytes(y)[cut:]
			DotInt8(q, asBytes(x)[cut:])
			DotRowsInt8(make([]int32, 6), q, bytes[len(bytes)-5*len(q):], []uint32{4, 0, 4, 1, 2, 4})
		}
	}
}
