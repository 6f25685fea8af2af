package hnsw

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    Options
		ok   bool
	}{
		{"zero value with Dim", Options{Dim: 1}, true},
		{"no Dim", Options{}, false},
		{"negative Dim", Options{Dim: -4}, false},
		{"large Dim", Options{Dim: MaxDim + 1}, false},
		{"metric", Options{Dim: 4, Metric: 3}, false},
		{"M of one", Options{Dim: 4, M: 1}, false},
		{"large M", Options{Dim: 4, M: MaxM + 1}, false},
		{"negative EfConstruction", Options{Dim: 4, EfConstruction: -1}, false},
		{"large EfSearch", Options{Dim: 4, EfSearch: MaxEf + 1}, false},
		{"TargetRecall of one", Options{Dim: 4, TargetRecall: 1}, false},
		{"TargetRecall not a number", Options{Dim: 4, TargetRecall: math.NaN()}, false},
		{"Quantize", Options{Dim: 4, Quantize: 2}, false},
		{"negative Capacity", Options{Dim: 4, Capacity: -1}, false},
	} {
		if _, err := New(tc.o); (err == nil) != tc.ok || err != nil && !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestVectorsThatAreRefused(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tc := range []struct {
		name string
		m    Metric
		v    []float32
		want error
	}{
		{"empty", Cosine, nil, ErrDimension},
		{"short", Cosine, []float32{1}, ErrDimension},
		{"long", L2, []float32{1, 2, 3}, ErrDimension},
		{"NaN", Cosine, []float32{1, nan}, ErrNotFinite},
		{"Inf", Dot, []float32{inf, 1}, ErrNotFinite},
		{"-Inf", L2, []float32{-inf, 1}, ErrNotFinite},
		{"zero", Cosine, []float32{0, float32(math.Copysign(0, -1))}, ErrZero},
		{"zero, dot", Dot, []float32{0, 0}, nil},
		{"zero, l2", L2, []float32{0, 0}, nil},
		{"largest, cosine", Cosine, []float32{math.MaxFloat32, math.MaxFloat32}, nil},
		{"largest, dot", Dot, []float32{math.MaxFloat32, 0}, ErrNotFinite},
		{"smallest, cosine", Cosine, []float32{1e-45, 0}, nil},
	} {
		for _, z := range []Quantization{QuantizeNone, QuantizeInt8} {
			g, err := New(Options{Dim: 2, Metric: tc.m, Quantize: z})
			if err != nil {
				t.Fatal(err)
			}
			if err := g.AddBatch(t.Context(), []uint32{1, 2}, [][]float32{{1, 2}, {2, 1}}, 1); err != nil {
				t.Fatal(err)
			}
			if err := g.AddBatch(t.Context(), []uint32{8, 9}, [][]float32{{3, 1}, tc.v}, 1); !errors.Is(err, tc.want) {
				t.Errorf("%s, %v: AddBatch: %v, want %v", tc.name, z, err, tc.want)
			}
			if tc.want != nil && g.Len() != 2 {
				t.Errorf("%s: a refused batch has changed the graph: %d ids", tc.name, g.Len())
			}
			if err := g.Add(3, tc.v); !errors.Is(err, tc.want) {
				t.Errorf("%s: Add: %v, want %v", tc.name, err, tc.want)
			}
			if _, err := g.Search(t.Context(), tc.v, 1, 0, nil); !errors.Is(err, tc.want) {
				t.Errorf("%s: Search: %v, want %v", tc.name, err, tc.want)
			}
			if _, err := g.Exact(t.Context(), tc.v, 1, nil); !errors.Is(err, tc.want) {
				t.Errorf("%s: Exact: %v, want %v", tc.name, err, tc.want)
			}
			wellFormed(t, g)
		}
	}
}

func TestArguments(t *testing.T) {
	g := build(t, Options{}, clustered(1, 20, 4), 1)
	q := []float32{1, 2, 3, 4}
	for _, tc := range []struct {
		name  string
		k, ef int
		want  error
		n     int
	}{
		{"k of zero", 0, 10, ErrArgument, 0},
		{"negative k", -1, 10, ErrArgument, 0},
		{"huge k", MaxK + 1, 10, ErrArgument, 0},
		{"negative ef", 1, -1, ErrArgument, 0},
		{"huge ef", 1, MaxEf + 1, ErrArgument, 0},
		{"k above the number of vectors", 100, 10, nil, 20},
		{"ef below k", 10, 1, nil, 10},
		{"default ef", 10, 0, nil, 10},
	} {
		got, err := g.Search(t.Context(), q, tc.k, tc.ef, nil)
		if !errors.Is(err, tc.want) || len(got) != tc.n {
			t.Errorf("%s: %d results, %v; want %d, %v", tc.name, len(got), err, tc.n, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Search(ctx, q, 1, 0, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Search with a context that has ended: %v", err)
	}
	if err := g.AddBatch(ctx, []uint32{100}, [][]float32{q}, 1); !errors.Is(err, context.Canceled) || g.Contains(100) {
		t.Errorf("AddBatch with a context that has ended: %v", err)
	}
	if err := g.AddBatch(t.Context(), []uint32{1, 2}, [][]float32{q}, 1); !errors.Is(err, ErrArgument) {
		t.Errorf("more ids than vectors: %v", err)
	}
}

func TestEmptyAndOne(t *testing.T) {
	g, err := New(Options{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	all := roaring.New()
	all.AddRange(0, 10)
	for n := range 2 {
		for _, allow := range []*roaring.Bitmap{nil, all} {
			got, err := g.Search(t.Context(), []float32{1, 1}, 3, 0, allow)
			exact, errExact := g.Exact(t.Context(), []float32{1, 1}, 3, allow)
			if err != nil || errExact != nil || len(got) != n || !slices.Equal(got, exact) {
				t.Errorf("%d vectors: Search = %v, %v; Exact = %v, %v", n, got, err, exact, errExact)
			}
		}
		if g.Delete(5) {
			t.Error("Delete of an id that is not there = true")
		}
		if err := g.AddBatch(t.Context(), nil, nil, 0); err != nil {
			t.Error(err)
		}
		wellFormed(t, g)
		if err := g.Add(0, []float32{1, 0}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIDsThatExist(t *testing.T) {
	g := build(t, Options{}, [][]float32{{1, 0}, {0, 1}}, 1)
	before := g.Digest()
	if err := g.Add(0, []float32{2, 0}); err != nil { // the same direction
		t.Errorf("the same vector again: %v", err)
	}
	if err := g.Add(0, []float32{1, 1}); !errors.Is(err, ErrExists) {
		t.Errorf("another vector: %v, want ErrExists", err)
	}
	if err := g.AddBatch(t.Context(), []uint32{0, 1}, [][]float32{{1, 0}, {0, 1}}, 1); err != nil {
		t.Errorf("the same batch again: %v", err)
	}
	if g.Digest() != before {
		t.Error("the graph has changed")
	}
	if err := g.AddBatch(t.Context(), []uint32{7, 7}, [][]float32{{1, 3}, {3, 1}}, 1); !errors.Is(err, ErrExists) {
		t.Errorf("an id twice with two vectors: %v, want ErrExists", err)
	}
	wellFormed(t, g)
}

// TestCopiesLiveAndDieOneByOne follows the ids of one vector.
func TestCopiesLiveAndDieOneByOne(t *testing.T) {
	g := build(t, Options{}, [][]float32{{1, 0}, {1, 0}, {0, 1}, {1, 0}, {-0.5, 1}}, 1)
	find := func() []uint32 {
		got, err := g.Search(t.Context(), []float32{1, 0}, 10, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		var ids []uint32
		for _, n := range got {
			if n.Distance == 0 {
				ids = append(ids, n.ID)
			}
		}
		wellFormed(t, g)
		return ids
	}
	for _, step := range []struct {
		do   func()
		want []uint32
	}{
		{func() {}, []uint32{0, 1, 3}},
		{func() { g.Delete(0) }, []uint32{1, 3}},
		{func() { g.Delete(3) }, []uint32{1}},
		{func() { _ = g.Add(9, []float32{1, 0}) }, []uint32{1, 9}},
		{func() { g.Delete(1); g.Delete(9) }, nil},
		{func() { _ = g.Add(0, []float32{1, 0}) }, []uint32{0}},
	} {
		step.do()
		if got := find(); !slices.Equal(got, step.want) {
			t.Errorf("ids of the vector: %v, want %v", got, step.want)
		}
	}
}
