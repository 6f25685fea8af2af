package hnsw

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// oracle returns the k nearest ids of allow by plain float64 arithmetic over the kept vectors.
func oracle(t testing.TB, g *Graph, q []float32, k int, allow func(id uint32) bool, ids []uint32) []Neighbor {
	t.Helper()
	kept := make([]float32, len(q))
	g.o.prepare(kept, q)
	var out []Neighbor
	for _, id := range ids {
		v, ok := g.Vector(id)
		if !ok || !allow(id) {
			continue
		}
		var dot, l2 float64
		for i := range v {
			dot += float64(kept[i]) * float64(v[i])
			l2 += (float64(kept[i]) - float64(v[i])) * (float64(kept[i]) - float64(v[i]))
		}
		if g.o.Metric == L2 {
			out = append(out, Neighbor{id, float32(l2)})
		} else {
			out = append(out, Neighbor{id, float32(1 - dot)})
		}
	}
	slices.SortFunc(out, compareNeighbors)
	return out[:min(k, len(out))]
}

// within counts how many of got are no farther than the last of want, with room for rounding, and
// fails the test for anything that no correct search returns.
func within(t testing.TB, got, want []Neighbor, k int, allow func(id uint32) bool) int {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d", len(got), len(want))
	}
	hits := 0
	seen := map[uint32]bool{}
	for i, n := range got {
		if seen[n.ID] || !allow(n.ID) {
			t.Fatalf("result %d: id %d, twice or not allowed", i, n.ID)
		}
		if i > 0 && got[i-1].Distance > n.Distance {
			t.Fatalf("result %d is nearer than the one before", i)
		}
		seen[n.ID] = true
		if n.Distance <= want[len(want)-1].Distance+1e-4 {
			hits++
		}
	}
	return hits
}

func TestFilter(t *testing.T) {
	const n = 6000
	base, queries := clustered(1, n, 32), clustered(2, 20, 32)
	copy(base[100:], base[:100]) // copies: ids 0 to 99 share nodes with 100 to 199
	nearFirst := map[uint32]bool{}
	for _, z := range []Quantization{QuantizeNone, QuantizeInt8} {
		g := build(t, Options{Quantize: z}, base, 0)
		if len(nearFirst) == 0 {
			near, err := g.Exact(t.Context(), queries[0], n/2, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range near {
				nearFirst[x.ID] = true
			}
		}
		for _, tc := range []struct {
			name  string
			allow func(id uint32) bool
		}{
			{"all", func(uint32) bool { return true }},
			{"a half", func(id uint32) bool { return id%2 == 1 }},
			{"a third", func(id uint32) bool { return id%3 == 0 }},
			{"a tenth", func(id uint32) bool { return id%10 == 0 }},
			{"one copy of each", func(id uint32) bool { return id >= 100 && id < 5000 }},
			{"near the first query", func(id uint32) bool { return nearFirst[id] }},
			{"far from the first query", func(id uint32) bool { return !nearFirst[id] }},
			{"fewer than k", func(id uint32) bool { return id < 7 }},
			{"one", func(id uint32) bool { return id == 4321 }},
			{"none", func(uint32) bool { return false }},
		} {
			t.Run(fmt.Sprintf("%s/%v", tc.name, z), func(t *testing.T) {
				allow := roaring.New()
				for id := range uint32(n) {
					if tc.allow(id) {
						allow.Add(id)
					}
				}
				allow.AddRange(n, n+50) // ids that are not in the graph
				hits, total := 0, 0
				for _, q := range queries {
					want := oracle(t, g, q, 10, tc.allow, iota32(n))
					exact, err := g.Exact(t.Context(), q, 10, allow)
					if err != nil {
						t.Fatal(err)
					}
					if got := within(t, exact, want, 10, tc.allow); got != len(want) {
						t.Fatalf("Exact = %v, want %v", exact, want)
					}
					got, err := g.Search(t.Context(), q, 10, 40, allow)
					if err != nil {
						t.Fatal(err)
					}
					hits += within(t, got, want, 10, tc.allow)
					total += len(want)
					// The ways of a walk, also where a scan would be cheaper.
					for _, twoHop := range []bool{false, true} {
						got := walkAllowed(g, q, 10, 60, allow, twoHop)
						for _, x := range got {
							if !tc.allow(x.ID) {
								t.Fatalf("walk, two hops %v: id %d is not allowed", twoHop, x.ID)
							}
						}
					}
				}
				if float64(hits) < 0.97*float64(total) {
					t.Errorf("recall@10 = %.3f", float64(hits)/float64(total))
				}
			})
		}
	}
}

// walkAllowed is the walk of searchAllowed without the scan before or after it.
func walkAllowed(g *Graph, q []float32, k, ef int, allow *roaring.Bitmap, twoHop bool) []Neighbor {
	c := g.core.Load()
	s := new(scratch)
	s.prepare(g, q)
	c.from(&s.query, s.vec)
	s.sieve.set(allow, uint64(c.live.Load()))
	s.sieve.twoHop = twoHop
	c.walk(s, ef)
	out, err := c.results(context.Background(), s, k, allow)
	if err != nil {
		panic(err)
	}
	return out
}

// TestWalkAllowedFinds holds both walks to the recall that they are chosen for.
func TestWalkAllowedFinds(t *testing.T) {
	const n = 6000
	base, queries := clustered(1, n, 32), clustered(2, 50, 32)
	g := build(t, Options{}, base, 0)
	for _, every := range []uint32{2, 3, 5, 10} {
		allow := roaring.New()
		for id := uint32(0); id < n; id += every {
			allow.Add(id)
		}
		for _, twoHop := range []bool{false, true} {
			hits := 0
			for _, q := range queries {
				want, err := g.Exact(t.Context(), q, 10, allow)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range walkAllowed(g, q, 10, 60, allow, twoHop) {
					if x.Distance <= want[9].Distance {
						hits++
					}
				}
			}
			if r := float64(hits) / float64(10*len(queries)); r < 0.97 {
				t.Errorf("one of %d allowed, two hops %v: recall@10 = %.3f", every, twoHop, r)
			}
		}
	}
}

func TestFilterWithFarApartIDs(t *testing.T) {
	base := clustered(1, 3000, 8)
	g, err := New(Options{Dim: 8, ExactBelow: -1, EfSearch: 10})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]uint32, len(base))
	allow := roaring.New()
	for i := range ids {
		ids[i] = uint32(i) * 1_400_000
		if i%2 == 0 {
			allow.Add(ids[i])
		}
	}
	if err := g.AddBatch(t.Context(), ids, base, 0); err != nil {
		t.Fatal(err)
	}
	for _, q := range base[:50] {
		got, err := g.Search(t.Context(), q, 5, 0, allow)
		if err != nil || len(got) != 5 {
			t.Fatalf("%d results, %v", len(got), err)
		}
		for _, x := range got {
			if !allow.Contains(x.ID) {
				t.Fatalf("id %d is not allowed", x.ID)
			}
		}
	}
}
