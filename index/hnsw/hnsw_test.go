package hnsw

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// clustered returns n unit-free vectors around centers of a low-dimensional latent space, as
// sentence embeddings lie.
func clustered(seed uint64, n, dim int) [][]float32 {
	const latent = 24
	r := rand.New(rand.NewPCG(seed, 7))
	shape := rand.New(rand.NewPCG(1, 1)) // the same space for each seed
	w := make([][]float32, latent)
	for i := range w {
		w[i] = gauss(shape, dim)
	}
	centers := make([][]float32, 20)
	for i := range centers {
		centers[i] = gauss(shape, latent)
	}
	out := make([][]float32, n)
	for i := range out {
		c := centers[r.IntN(len(centers))]
		v := make([]float32, dim)
		for j := range w {
			z := c[j] + 0.6*float32(r.NormFloat64())
			for k := range v {
				v[k] += z * w[j][k]
			}
		}
		for k := range v {
			v[k] += 0.5 * float32(r.NormFloat64())
		}
		out[i] = v
	}
	return out
}

func gauss(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func iota32(n int) []uint32 {
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(i)
	}
	return ids
}

// build returns a graph of vectors under the ids 0, 1, ... that always walks.
func build(t testing.TB, o Options, vectors [][]float32, workers int) *Graph {
	t.Helper()
	if o.Dim == 0 {
		o.Dim = len(vectors[0])
	}
	if o.ExactBelow == 0 {
		o.ExactBelow = -1
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.AddBatch(t.Context(), iota32(len(vectors)), vectors, workers); err != nil {
		t.Fatal(err)
	}
	return g
}

// wellFormed fails the test where an invariant is broken. Between two verifications a few nodes may
// be cut off.
func wellFormed(t testing.TB, g *Graph) {
	t.Helper()
	if n, most := g.Repair(), 2+g.Len()/100; n > most {
		t.Errorf("%d nodes could not be reached, want no more than %d", n, most)
	}
	for _, problem := range g.Check() {
		t.Error(problem)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// recall returns the mean of recall@k over queries: the share of results no farther than the k-th
// exact one.
func recall(t testing.TB, g *Graph, queries [][]float32, k, ef int) float64 {
	t.Helper()
	hits, want := 0, 0
	for _, q := range queries {
		exact, err := g.Exact(t.Context(), q, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.Search(t.Context(), q, k, ef, nil)
		if err != nil {
			t.Fatal(err)
		}
		bound := exact[len(exact)-1].Distance
		for _, n := range got {
			if n.Distance <= bound {
				hits++
			}
		}
		want += len(exact)
	}
	return float64(hits) / float64(want)
}

func TestRecall(t *testing.T) {
	base, queries := clustered(1, 5000, 48), clustered(2, 200, 48)
	for _, tc := range []struct {
		name string
		o    Options
		want float64
	}{
		{"cosine", Options{}, 0.98},
		{"dot", Options{Metric: Dot}, 0.90},
		{"l2", Options{Metric: L2}, 0.98},
		{"cosine int8", Options{Quantize: QuantizeInt8}, 0.98},
		{"l2 int8", Options{Metric: L2, Quantize: QuantizeInt8}, 0.97},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := build(t, tc.o, base, 0)
			wellFormed(t, g)
			if got := recall(t, g, queries, 10, 100); got < tc.want {
				t.Errorf("recall@10 with ef = 100: %.4f, want %.2f", got, tc.want)
			} else {
				t.Logf("recall@10 with ef = 100: %.4f", got)
			}
		})
	}
}

func TestSameGraphForAnyNumberOfGoroutines(t *testing.T) {
	base := clustered(3, 3000, 32)
	if testing.Short() { // as under the race detector, which sees as much
		base = base[:600]
	}
	for _, z := range []Quantization{QuantizeNone, QuantizeInt8} {
		want := build(t, Options{Quantize: z}, base, 1).Digest()
		for _, workers := range []int{2, 8} {
			before := runtime.GOMAXPROCS(workers)
			got := build(t, Options{Quantize: z}, base, workers).Digest()
			runtime.GOMAXPROCS(before)
			if got != want {
				t.Errorf("%v: digest with %d goroutines %x, with one %x", z, workers, got, want)
			}
		}
	}
}

func TestAddOneByOne(t *testing.T) {
	base, queries := clustered(1, 3000, 32), clustered(2, 100, 32)
	g, err := New(Options{Dim: 32, ExactBelow: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range base {
		if err := g.Add(uint32(i), v); err != nil {
			t.Fatal(err)
		}
	}
	wellFormed(t, g)
	if got := recall(t, g, queries, 10, 100); got < 0.98 {
		t.Errorf("recall@10 = %.4f, want 0.98", got)
	}
}

func TestKeysOrderLikeDistances(t *testing.T) {
	values := []float32{float32(math.Inf(-1)), -math.MaxFloat32, -2, -1, -1e-45, 0, 1e-45, 0.5, 1, math.MaxFloat32}
	for i, v := range values {
		k := makeKey(v, 1<<31-2)
		if keyDistance(k) != v || keyNode(k) != 1<<31-2 || k&keyExpanded != 0 {
			t.Errorf("key of %v: %v, node %d", v, keyDistance(k), keyNode(k))
		}
		if i > 0 && makeKey(values[i-1], 1<<31-2) >= makeKey(v, 0) {
			t.Errorf("key of %v is not below that of %v", values[i-1], v)
		}
	}
}
