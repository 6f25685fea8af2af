package hnsw

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAdversarialSets builds what breaks other implementations, and asks each stored vector for
// itself.
func TestAdversarialSets(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const dim = 24
	around := func(center []float32, spread float32, n int) [][]float32 {
		out := make([][]float32, n)
		for i := range out {
			out[i] = gauss(r, dim)
			for j := range out[i] {
				out[i][j] = center[j] + spread*out[i][j]
			}
		}
		return out
	}
	far := func(x float32) []float32 {
		v := make([]float32, dim)
		v[0] = x
		return v
	}
	identical := slices.Repeat([][]float32{gauss(r, dim)}, 5000)
	quarter := clustered(1, 3000, dim)
	for i := range quarter {
		if i%4 == 3 {
			quarter[i] = quarter[r.IntN(i)]
		}
	}
	sink := append(clustered(2, 2000, dim), slices.Repeat([][]float32{gauss(r, dim)}, 1000)...)
	two := append(around(far(-1000), 1, 1000), around(far(1000), 1, 1000)...)
	var sorted [][]float32
	for i := range 20 {
		sorted = append(sorted, around(far(float32(i*50)), 1, 150)...)
	}
	outliers := around(far(0), 1, 3000)
	for i := 0; i < len(outliers); i += 100 {
		outliers[i] = around(far(0), 500, 1)[0]
	}
	var line [][]float32
	for i := range 2000 {
		line = append(line, far(float32(i)))
	}
	bit := slices.Repeat([][]float32{gauss(r, dim)}, 2000) // each differs from the rest in one component, by little
	for i := range bit {
		v := slices.Clone(bit[i])
		v[i%dim] += float32(i/dim+1) * 1e-6
		bit[i] = v
	}
	for _, tc := range []struct {
		name   string
		base   [][]float32
		m      Metric
		want   float64 // self-recall
		coarse bool    // neighbors are closer than the resolution of codes: the graph must be sound, no more
	}{
		{"all identical", identical, Cosine, 1, false},
		{"a quarter copies", quarter, Cosine, 0.999, false},
		{"a thousand copies", sink, Cosine, 0.999, false},
		{"two far clusters", two, L2, 0.999, true},
		{"cluster by cluster", sorted, L2, 0.999, true},
		{"outliers", outliers, L2, 0.999, false},
		{"on a line", line, L2, 0.999, true},
		{"almost identical", bit, L2, 0.999, true},
		{"fewer than M", clustered(1, 5, dim), Cosine, 1, false},
	} {
		for _, o := range []struct {
			name string
			Options
		}{
			{"none", Options{}},
			{"codes", Options{Quantize: QuantizeInt8, Source: memory(tc.base)}},
		} {
			t.Run(tc.name+"/"+o.name, func(t *testing.T) {
				o.Metric = tc.m
				g := build(t, o.Options, tc.base, 0)
				wellFormed(t, g)
				if o.Quantize == QuantizeInt8 && tc.coarse {
					return
				}
				if got := selfRecall(t, g, tc.base); got < tc.want {
					t.Errorf("self-recall %.4f, want %.4f", got, tc.want)
				}
			})
		}
	}
}

// selfRecall is the share of vectors that find themselves, or a copy, as their nearest neighbor
// with the default beam.
func selfRecall(t *testing.T, g *Graph, base [][]float32) float64 {
	t.Helper()
	hits := 0
	for id, v := range base {
		got, err := g.Search(t.Context(), v, 1, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 1 {
			found, _ := g.Vector(got[0].ID)
			want, _ := g.Vector(uint32(id))
			if slices.Equal(found, want) {
				hits++
			}
		}
	}
	return float64(hits) / float64(len(base))
}

// TestFarQueriesPastCopies: a thousand copies must not hold back queries that are far from them.
func TestFarQueriesPastCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	base := append(slices.Repeat([][]float32{gauss(r, 24)}, 1000), clustered(1, 2000, 24)...)
	g := build(t, Options{}, base, 0)
	if got := recall(t, g, clustered(4, 200, 24), 10, 64); got < 0.98 {
		t.Errorf("recall@10 = %.4f, want 0.98", got)
	}
	got, err := g.Search(t.Context(), base[0], 1500, 0, nil)
	if err != nil || len(got) != 1500 {
		t.Fatalf("%d results, %v", len(got), err)
	}
	for i, n := range got[:1000] {
		if n.ID != uint32(i) {
			t.Fatalf("result %d of equal copies is id %d", i, n.ID)
		}
	}
}
