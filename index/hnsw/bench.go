package hnsw

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// BenchOptions describe a measurement of build and search by inner product.
type BenchOptions struct {
	Dim            int
	Base           Source // rows 0 to N-1
	N              int
	Query          []float32 // [queries, Dim]
	Truth          []int32   // [queries, TruthWidth] rows of Base, nearest first
	TruthWidth     int
	M              int          // 0: DefaultM
	EfConstruction int          // 0: DefaultEfConstruction
	Ef             []int        // beam widths to search with; 0: the calibrated one, whose search for it counts as building
	Quantize       Quantization // QuantizeInt8: codes in memory, and Base measures the best again
	Threads        int          // goroutines that build and search; 0: one
	Built          func(n int)  // called after each batch with the number of vectors in the graph; may be nil
}

// BenchResult is what a measurement found.
type BenchResult struct {
	BuildSeconds   float64   `json:"build_s"`
	BytesPerVector float64   `json:"bytes_per_vector"` // that the graph holds in memory
	Ef             []BenchEf `json:"ef"`
}

// BenchEf is what a measurement found for one beam width: recall@10 as mean, 5th percentile and
// minimum over the queries, and queries per second of the median of three passes.
type BenchEf struct {
	Ef     int     `json:"ef"`
	Recall float64 `json:"recall"`
	P5     float64 `json:"p5"`
	Min    float64 `json:"min"`
	QPS    float64 `json:"qps"`
}

const benchK = 10

// Bench builds a graph of o.Base and searches it for every query with each beam width.
func Bench(ctx context.Context, o BenchOptions) (*BenchResult, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Threads = max(o.Threads, 1)
	options := Options{
		Dim: o.Dim, Metric: Dot, M: o.M, EfConstruction: o.EfConstruction, Quantize: o.Quantize,
		EfSearch: 64, ExactBelow: -1, Capacity: o.N,
	}
	if slices.Contains(o.Ef, 0) {
		options.EfSearch = 0
	}
	if o.Quantize != QuantizeNone {
		options.Source = o.Base
	}
	g, err := New(options)
	if err != nil {
		return nil, err
	}
	defer g.Close() // it may be calibrating, which reads o.Base
	r := &BenchResult{}
	if r.BuildSeconds, err = o.build(ctx, g); err != nil {
		return nil, err
	}
	r.BytesPerVector = g.BytesPerVector()
	for _, ef := range o.Ef {
		if ef == 0 {
			ef = g.EfFor(benchK)
		}
		row, err := o.search(ctx, g, ef)
		if err != nil {
			return nil, err
		}
		r.Ef = append(r.Ef, row)
	}
	return r, nil
}

func (o *BenchOptions) check() error {
	switch {
	case o.Dim < 1 || o.Dim > MaxDim:
		return fmt.Errorf("%w: dim = %d, want 1 to %d", ErrArgument, o.Dim, MaxDim)
	case o.Base == nil || o.N < 1 || o.N > maxNodes:
		return fmt.Errorf("%w: n = %d, want 1 to %d", ErrArgument, o.N, maxNodes)
	case len(o.Query) == 0 || len(o.Query)%o.Dim != 0:
		return fmt.Errorf("%w: queries have %d numbers, want a multiple of %d", ErrArgument, len(o.Query), o.Dim)
	case o.TruthWidth < benchK || len(o.Truth) != len(o.Query)/o.Dim*o.TruthWidth:
		return fmt.Errorf("%w: truth has %d ids, want %d queries of %d, at least %d", ErrArgument, len(o.Truth),
			len(o.Query)/o.Dim, o.TruthWidth, benchK)
	default:
		return nil
	}
}

// benchBatch is the number of vectors that are read and inserted at a time; steps of a build are
// much smaller.
const benchBatch = 10000

// build inserts all rows and returns the seconds that it took, those of reading too.
func (o *BenchOptions) build(ctx context.Context, g *Graph) (seconds float64, err error) {
	start := time.Now()
	ids, vectors := make([]uint32, 0, benchBatch), make([][]float32, benchBatch)
	for lo := 0; lo < o.N; lo += benchBatch {
		ids = ids[:0]
		for id := lo; id < min(lo+benchBatch, o.N); id++ {
			ids = append(ids, uint32(id))
		}
		read := 0
		err := o.Base.Read(ctx, ids, func(i int, v []float32) {
			vectors[i] = append(vectors[i][:0], v...)
			read++
		})
		if err == nil && read < len(ids) {
			err = fmt.Errorf("%w: base has %d of the rows %d to %d", ErrArgument, read, lo, lo+len(ids)-1)
		}
		if err != nil {
			return 0, err
		}
		if err := g.AddBatch(ctx, ids, vectors[:len(ids)], o.Threads); err != nil {
			return 0, err
		}
		if o.Built != nil {
			o.Built(lo + len(ids))
		}
	}
	g.Wait() // for the calibrated width
	return time.Since(start).Seconds(), nil
}

// search runs all queries three times.
func (o *BenchOptions) search(ctx context.Context, g *Graph, ef int) (BenchEf, error) {
	queries := len(o.Query) / o.Dim
	recalls := make([]float64, queries)
	errs := make([]error, o.Threads)
	var seconds []float64
	for range 3 {
		start := time.Now()
		var wait sync.WaitGroup
		for w := range o.Threads {
			wait.Go(func() {
				for i := w; i < queries && errs[w] == nil; i += o.Threads {
					var got []Neighbor
					got, errs[w] = g.Search(ctx, o.Query[i*o.Dim:(i+1)*o.Dim], benchK, ef, nil)
					recalls[i] = o.recall(i, got)
				}
			})
		}
		wait.Wait()
		seconds = append(seconds, time.Since(start).Seconds())
		for _, err := range errs {
			if err != nil {
				return BenchEf{}, err
			}
		}
	}
	slices.Sort(seconds)
	slices.Sort(recalls)
	row := BenchEf{Ef: ef, Min: recalls[0], P5: recalls[queries/20], QPS: float64(queries) / seconds[1]}
	for _, r := range recalls {
		row.Recall += r / float64(queries)
	}
	row.Recall = math.Round(row.Recall*1e6) / 1e6
	return row, nil
}

// recall returns the share of the ten true neighbors of query i that are among got.
func (o *BenchOptions) recall(i int, got []Neighbor) float64 {
	hits := 0
	for _, id := range o.Truth[i*o.TruthWidth : i*o.TruthWidth+benchK] {
		if slices.ContainsFunc(got, func(n Neighbor) bool { return int32(n.ID) == id }) {
			hits++
		}
	}
	return float64(hits) / benchK
}
