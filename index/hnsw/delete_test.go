package hnsw

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

func TestDelete(t *testing.T) {
	base, queries := clustered(1, 4000, 24), clustered(2, 100, 24)
	for _, tc := range []struct {
		name   string
		delete func(g *Graph, id uint32) bool
	}{
		{"a tenth", func(_ *Graph, id uint32) bool { return id%10 == 0 }},
		{"a half", func(_ *Graph, id uint32) bool { return id%2 == 0 }},
		{"all but five", func(_ *Graph, id uint32) bool { return id >= 5 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := build(t, Options{}, base, 0)
			left := 0
			for id := range uint32(len(base)) {
				if !tc.delete(g, id) {
					left++
					continue
				}
				if !g.Delete(id) {
					t.Fatalf("Delete(%d) = false", id)
				}
			}
			if g.Len() != left {
				t.Fatalf("Len = %d, want %d", g.Len(), left)
			}
			wellFormed(t, g)
			if got := recall(t, g, queries, 10, 100); got < 0.98 {
				t.Errorf("recall@10 = %.4f, want 0.98", got)
			}
			for _, q := range queries {
				got, _ := g.Search(t.Context(), q, 10, 50, nil)
				if len(got) != min(10, left) {
					t.Fatalf("%d results, want %d", len(got), min(10, left))
				}
				for _, n := range got {
					if tc.delete(g, n.ID) {
						t.Fatalf("deleted id %d found", n.ID)
					}
				}
			}
		})
	}
}

func TestDeleteEntryPointAgainAndAgain(t *testing.T) {
	base := clustered(1, 600, 16)
	g := build(t, Options{}, base, 1)
	for n := len(base); n > 0; n-- {
		c := g.core.Load()
		entry, _, _ := c.entryPoint()
		if !g.Delete(c.primaryID(entry)) {
			t.Fatalf("the entry point with %d left is no id", n)
		}
		if n%37 == 0 {
			wellFormed(t, g)
		}
		got, err := g.Search(t.Context(), base[0], 5, 32, nil)
		if err != nil || len(got) != min(5, n-1) {
			t.Fatalf("%d left: %d results, %v", n-1, len(got), err)
		}
	}
	if err := g.AddBatch(t.Context(), iota32(len(base)), base, 2); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, g)
	if got := recall(t, g, base[:50], 1, 0); got != 1 {
		t.Errorf("self-recall after delete all and insert again: %v", got)
	}
}

func TestDeleteCluster(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var base [][]float32
	for i := range 3000 {
		v := gauss(r, 16)
		v[0] += float32(30 * (i % 3)) // three clusters
		base = append(base, v)
	}
	g := build(t, Options{Metric: L2}, base, 0)
	for id := 0; id < 3000; id += 3 {
		g.Delete(uint32(id))
		if id == 1200 {
			wellFormed(t, g)
		}
	}
	wellFormed(t, g)
	for id := 0; id < 300; id += 3 {
		got, err := g.Search(t.Context(), base[id], 10, 20, nil)
		if err != nil || len(got) != 10 {
			t.Fatalf("query in the deleted cluster: %d results, %v", len(got), err)
		}
	}
}

// TestChurn replaces a tenth of the graph fifty times: recall stays within a point of a graph built
// at once.
func TestChurn(t *testing.T) {
	const n, generations = 2000, 50
	pool, queries := clustered(11, n+generations*n/10, 24), clustered(12, 100, 24)
	g := build(t, Options{}, pool[:n], 0)
	r := rand.New(rand.NewPCG(1, 2))
	alive := roaring.New()
	alive.AddRange(0, n)
	next := n
	for range generations {
		for range n / 10 {
			id, err := alive.Select(uint32(r.IntN(int(alive.GetCardinality()))))
			if err != nil || !g.Delete(id) {
				t.Fatalf("Delete(%d): %v", id, err)
			}
			alive.Remove(id)
		}
		for range n / 10 {
			if err := g.Add(uint32(next), pool[next]); err != nil {
				t.Fatal(err)
			}
			alive.Add(uint32(next))
			next++
		}
	}
	wellFormed(t, g)
	var rest [][]float32
	for it := alive.Iterator(); it.HasNext(); {
		rest = append(rest, pool[it.Next()])
	}
	fresh := build(t, Options{}, rest, 0)
	for _, ef := range []int{16, 40, 100} {
		churned, built := recall(t, g, queries, 10, ef), recall(t, fresh, queries, 10, ef)
		t.Logf("ef %d: recall@10 %.4f after churn, %.4f built at once", ef, churned, built)
		if churned < built-0.01 {
			t.Errorf("ef %d: recall@10 %.4f after churn, %.4f built at once", ef, churned, built)
		}
	}
}

// TestCandidatesDie deletes all that an insertion has found before it links: it finds others, so
// that it is reached at once.
func TestCandidatesDie(t *testing.T) {
	base := clustered(1, 2*checkAlways, 8)
	g := build(t, Options{M: 4, EfConstruction: 4, ExactBelow: -1}, base[1:], 0)
	c, s := g.core.Load(), g.pool.take()
	s.prepare(g, base[0])
	c.from(&s.query, s.vec)
	p := &plan{node: noNode}
	seen := c.plan(s, p)
	for _, k := range slices.Clone(p.layers[0]) {
		g.Delete(c.primaryID(keyNode(k)))
	}
	if c.refresh(s, p, seen); len(p.layers[0]) == 0 || slices.ContainsFunc(p.layers[0], func(k key) bool { return c.isDead(keyNode(k)) }) {
		t.Errorf("candidates %v, want some, all of them alive", p.layers[0])
	}
}
