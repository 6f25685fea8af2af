package simd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
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

// measure times f, which does work operations.
func measure(b *testing.B, work float64, f func()) {
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
	b.ReportMetric(work*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
}

// BenchmarkMul measures products at the shapes of an encoder.
func BenchmarkMul(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, s := range []struct{ k, n int }{{384, 384}, {384, 1536}, {1536, 384}} {
		w := random(r, s.n*s.k)
		for _, rows := range []int{1, 8, 64, 1024} {
			x, dst, e := random(r, rows*s.k), make([]float32, rows*s.n), Epilogue{Bias: random(r, s.n)}
			for _, p := range []struct {
				precision string
				same      []Backend
				w         Packed
			}{{"f32", sameFloats, Pack(w, s.n, s.k)}, {"int8", sameBytes, PackInt8(w, s.n, s.k)}} {
				eachImpl(b, fmt.Sprintf("%s/k=%d/n=%d/m=%d", p.precision, s.k, s.n, rows), p.same, func(b *testing.B) {
					measure(b, 2*float64(rows*s.k*s.n), func() { p.w.Mul(dst, x, rows, e) })
				})
			}
		}
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
			measure(b, float64(len(x)), func() {
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
				measure(b, work, func() {
					MulNT(scores, tokens, qkv, 3*hidden, qkv[hidden:], 3*hidden, tokens, tokens, head, 0.125)
				})
			})
			eachImpl(b, fmt.Sprintf("MulNN/head=%d/tokens=%d", head, tokens), sameFloats, func(b *testing.B) {
				measure(b, work, func() {
					MulNN(context, hidden, scores, tokens, qkv[2*hidden:], 3*hidden, tokens, head, tokens, false)
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
			measure(b, count, func() { DotRows(dst[:], q, base, next()) })
		})
		eachImpl(b, fmt.Sprintf("f32single/rows=%d", rows), sameFloats, func(b *testing.B) {
			measure(b, count, func() {
				for i, id := range next() {
					dst[i] = Dot(q, base[int(id)*dim:][:dim])
				}
			})
		})
		eachImpl(b, fmt.Sprintf("int8/rows=%d", rows), sameBytes, func(b *testing.B) {
			measure(b, count, func() { DotRowsInt8(dst8[:], quantized[:dim], quantized, next()) })
		})
	}
}
