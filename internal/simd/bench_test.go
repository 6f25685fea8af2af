package simd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// The back ends whose kernels for floats, or for bytes, are those of a back end before them.
var (
	sameFloats = []Backend{AVX512VNNI, AMX, NEONDot}
	sameBytes  = []Backend{AVX512}
)

// eachImpl runs a benchmark for each back end with kernels of its own.
func eachImpl(b *testing.B, name string, same []Backend, run func(b *testing.B)) {
	for _, impl := range Backends() {
		if !slices.Contains(same, impl) {
			b.Run(fmt.Sprintf("%s/impl=%v", name, impl), func(b *testing.B) {
				use(b, impl)
				run(b)
			})
		}
	}
}

func BenchmarkMul(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, s := range []struct{ k, n int }{{384, 384}, {384, 1536}, {1536, 384}, {256, 256}, {256, 512}, {512, 256}} {
		weights := random(r, s.n*s.k)
		w := Pack(weights, s.n, s.k)
		for _, rows := range []int{1, 2, 4, 8, 16, 64, 128, 1024} {
			x, dst, bias := random(r, rows*s.k), make([]float32, rows*s.n), random(r, s.n)
			name := fmt.Sprintf("k=%d/n=%d/m=%d", s.k, s.n, rows)
			work := 2 * float64(rows*s.k*s.n)
			eachImpl(b, name, sameFloats, func(b *testing.B) {
				race(b, work, CeilingFloats, func() { w.Mul(dst, x, rows, Epilogue{Bias: bias}) })
			})
			b.Run(name+"/impl=gonum", func(b *testing.B) {
				race(b, work, CeilingFloats, func() {
					blas32.Gemm(blas.NoTrans, blas.Trans, 1, blas32.General{Rows: rows, Cols: s.k, Stride: s.k, Data: x},
						blas32.General{Rows: s.n, Cols: s.k, Stride: s.k, Data: weights}, 0,
						blas32.General{Rows: rows, Cols: s.n, Stride: s.n, Data: dst})
				})
			})
		}
	}
}

func BenchmarkMulInt8(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, s := range []struct{ k, n int }{{384, 384}, {384, 1536}, {1536, 384}, {256, 256}, {256, 512}, {512, 256}} {
		w := PackInt8(random(r, s.n*s.k), s.n, s.k)
		for _, rows := range []int{1, 2, 4, 8, 16, 64, 128, 1024} {
			x, dst, bias := random(r, rows*s.k), make([]float32, rows*s.n), random(r, s.n)
			eachImpl(b, fmt.Sprintf("k=%d/n=%d/m=%d", s.k, s.n, rows), sameBytes, func(b *testing.B) {
				race(b, 2*float64(rows*s.k*s.n), CeilingBytes, func() { w.Mul(dst, x, rows, Epilogue{Bias: bias}) })
			})
		}
	}
}

// BenchmarkMulCold goes through 18 matrices in turn, 42 MB of float32: the weights of a small
// encoder, from memory or the last cache, as a single short query meets them.
func BenchmarkMulCold(b *testing.B) {
	r := rand.New(rand.NewPCG(6, 6))
	const k, n, count = 384, 1536, 18
	var floats [count]*Matrix
	var bytes [count]*MatrixInt8
	for i := range count {
		w := random(r, k*n)
		floats[i], bytes[i] = Pack(w, n, k), PackInt8(w, n, k)
	}
	for _, rows := range []int{1, 4, 8, 16, 32} {
		x, dst := random(r, rows*k), make([]float32, rows*n)
		at := 0
		eachImpl(b, fmt.Sprintf("f32/m=%d", rows), sameFloats, func(b *testing.B) {
			race(b, 2*float64(rows*k*n), CeilingFloats, func() {
				floats[at%count].Mul(dst, x, rows, Epilogue{})
				at++
			})
		})
		eachImpl(b, fmt.Sprintf("int8/m=%d", rows), sameBytes, func(b *testing.B) {
			race(b, 2*float64(rows*k*n), CeilingBytes, func() {
				bytes[at%count].Mul(dst, x, rows, Epilogue{})
				at++
			})
		})
	}
}

// BenchmarkEpilogue is the product of a feed-forward layer with what follows it.
func BenchmarkEpilogue(b *testing.B) {
	r := rand.New(rand.NewPCG(4, 4))
	const k, n, rows = 384, 1536, 128
	w, x, dst, bias := Pack(random(r, n*k), n, k), random(r, rows*k), make([]float32, rows*n), random(r, n)
	for act := Identity; act < numActivations; act++ {
		eachImpl(b, act.String(), sameFloats, func(b *testing.B) {
			race(b, 2*rows*k*n, CeilingFloats, func() { w.Mul(dst, x, rows, Epilogue{Bias: bias, Act: act}) })
		})
	}
}

// BenchmarkRows measures the kernels that work on rows, in elements.
func BenchmarkRows(b *testing.B) {
	r := rand.New(rand.NewPCG(2, 2))
	const rows = 16
	for _, k := range []struct {
		name string
		n    int
		run  func(x []float32, n int)
	}{
		{"softmax", 128, func(x []float32, n int) {
			for i := 0; i < len(x); i += n {
				Softmax(x[i : i+n])
			}
		}},
		{"layernorm", 384, func(x []float32, n int) { LayerNorm(x, x, x[:n], x[:n], rows, n, 1e-12) }},
		{"rmsnorm", 384, func(x []float32, n int) { RMSNorm(x, x, x[:n], rows, n, 1e-12) }},
	} {
		source, x := random(r, rows*k.n), make([]float32, rows*k.n)
		eachImpl(b, fmt.Sprintf("%s/n=%d", k.name, k.n), sameFloats, func(b *testing.B) {
			race(b, float64(len(x)), func() float64 { return 0 }, func() {
				copy(x, source)
				k.run(x, k.n)
			})
		})
	}
}

// BenchmarkAttention multiplies one head of a fused [tokens, 3·hidden] matrix of queries, keys and
// values.
func BenchmarkAttention(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, head := range []int{32, 64} {
		for _, tokens := range []int{10, 64, 128, 256} {
			const hidden = 384
			qkv := random(r, tokens*3*hidden)
			scores, context := make([]float32, tokens*tokens), make([]float32, tokens*hidden)
			work := 2 * float64(tokens*tokens*head)
			eachImpl(b, fmt.Sprintf("MulNT/head=%d/tokens=%d", head, tokens), sameFloats, func(b *testing.B) {
				race(b, work, CeilingFloats, func() {
					MulNT(scores, tokens, qkv, 3*hidden, qkv[hidden:], 3*hidden, tokens, tokens, head, 0.125)
				})
			})
			eachImpl(b, fmt.Sprintf("MulNN/head=%d/tokens=%d", head, tokens), sameFloats, func(b *testing.B) {
				race(b, work, CeilingFloats, func() {
					MulNN(context, hidden, scores, tokens, qkv[2*hidden:], 3*hidden, tokens, head, tokens)
				})
			})
		}
	}
}

// BenchmarkDotRows scores vectors that lie scattered in 64 MiB, as a graph does, and in 256 KiB.
func BenchmarkDotRows(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 5))
	const dim, count = 384, 32
	for _, rows := range []int{256 << 10 / (4 * dim), 64 << 20 / (4 * dim)} {
		base, quantized, q := make([]float32, rows*dim), make([]int8, rows*dim), random(r, dim)
		for i := range base {
			base[i], quantized[i] = float32(i%251)-125, int8(i%251-125)
		}
		all := make([]uint32, 1<<16)
		for i := range all {
			all[i] = uint32(r.IntN(rows))
		}
		var dst [count]float32
		var dst8 [count]int32
		at := 0
		next := func() []uint32 {
			at = (at + count) % len(all)
			return all[at : at+count]
		}
		eachImpl(b, fmt.Sprintf("f32/rows=%d", rows), sameFloats, func(b *testing.B) {
			race(b, count, func() float64 { return 0 }, func() { DotRows(dst[:], q, base, next()) })
		})
		eachImpl(b, fmt.Sprintf("f32single/rows=%d", rows), sameFloats, func(b *testing.B) {
			race(b, count, func() float64 { return 0 }, func() {
				for i, id := range next() {
					dst[i] = Dot(q, base[int(id)*dim:][:dim])
				}
			})
		})
		eachImpl(b, fmt.Sprintf("int8/rows=%d", rows), sameBytes, func(b *testing.B) {
			race(b, count, func() float64 { return 0 }, func() { DotRowsInt8(dst8[:], quantized[:dim], quantized, next()) })
		})
	}
}
