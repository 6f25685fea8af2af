package hnsw

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

func TestBench(t *testing.T) {
	const n, dim = 1500, 16
	base, queries := clustered(1, n, dim), clustered(2, 40, dim)
	o := BenchOptions{Dim: dim, TruthWidth: 10, Ef: []int{10, 100}, Threads: 2}
	o.Base, o.N = memory(base), n
	g := build(t, Options{Metric: Dot}, base, 0)
	for _, q := range queries {
		o.Query = append(o.Query, q...)
		near, err := g.Exact(t.Context(), q, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range near {
			o.Truth = append(o.Truth, int32(x.ID))
		}
	}
	r, err := Bench(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Ef) != 2 || r.Ef[1].Recall < 0.95 || r.Ef[0].Recall > r.Ef[1].Recall || r.Ef[1].Min > r.Ef[1].P5 || r.Ef[1].QPS <= 0 {
		t.Errorf("%+v", r)
	}
	if least := float64(4*dim + 4*33); r.BytesPerVector < least || r.BytesPerVector > 2*least {
		t.Errorf("%v bytes per vector", r.BytesPerVector)
	}
	o.Quantize = QuantizeInt8
	small, err := Bench(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if small.Ef[1].Recall < 0.95 || small.BytesPerVector > 64+4*33+100 {
		t.Errorf("codes: %+v", small)
	}
	o.N++
	if _, err := Bench(t.Context(), o); !errors.Is(err, ErrArgument) {
		t.Errorf("a row that is not there: %v", err)
	}
	o.N--
	o.Truth = o.Truth[1:]
	if _, err := Bench(t.Context(), o); !errors.Is(err, ErrArgument) {
		t.Errorf("truth of another length: %v", err)
	}
}

func BenchmarkSearch(b *testing.B) {
	base, queries := clustered(1, 20000, 128), clustered(2, 100, 128)
	for _, z := range []Quantization{QuantizeNone, QuantizeInt8} {
		g := build(b, Options{Quantize: z}, base, 0)
		for _, ef := range []int{16, 64} {
			b.Run(fmt.Sprintf("n=20000/dim=128/quantize=%v/ef=%d", z, ef), func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if _, err := g.Search(b.Context(), queries[i%len(queries)], 10, ef, nil); err != nil {
						b.Fatal(err)
					}
					i++
				}
				b.ReportMetric(recall(b, g, queries, 10, ef), "recall@10")
			})
		}
		b.Run(fmt.Sprintf("n=20000/dim=128/quantize=%v/exact", z), func(b *testing.B) {
			i := 0
			for b.Loop() {
				if _, err := g.Exact(b.Context(), queries[i%len(queries)], 10, nil); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func BenchmarkAddBatch(b *testing.B) {
	base := clustered(1, 5000, 128)
	for _, z := range []Quantization{QuantizeNone, QuantizeInt8} {
		b.Run(fmt.Sprintf("n=5000/dim=128/quantize=%v", z), func(b *testing.B) {
			for b.Loop() {
				build(b, Options{Quantize: z, EfSearch: 64}, base, 1)
			}
		})
	}
}

// TestBenchAtTheCalibratedWidth makes the last rows those that double the graph, which calibrates
// it in the background.
func TestBenchAtTheCalibratedWidth(t *testing.T) {
	const n, dim = 2*benchBatch + 100, 16
	base := clustered(1, n, dim)
	base[benchBatch] = base[0] // one vector less than twice as many after the second batch
	src := &countedReads{Source: memory(base)}
	o := BenchOptions{Dim: dim, Base: src, N: n, Query: base[1], Truth: make([]int32, 10), TruthWidth: 10, M: 4, EfConstruction: 8,
		Ef: []int{0}, Quantize: QuantizeInt8, Threads: 2}
	if _, err := Bench(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	reads := src.n.Load()
	time.Sleep(50 * time.Millisecond)
	if late := src.n.Load() - reads; late > 0 {
		t.Errorf("the base was read %d times after the measurement, when it may be closed", late)
	}
}

type countedReads struct {
	Source
	n atomic.Int64
}

func (c *countedReads) Read(ctx context.Context, ids []uint32, do func(i int, v []float32)) error {
	c.n.Add(1)
	return c.Source.Read(ctx, ids, do)
}
