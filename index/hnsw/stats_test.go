package hnsw

import "testing"

func TestStats(t *testing.T) {
	base := clustered(1, 3000, 24)
	g := build(t, Options{}, append(base, base[0]), 0)
	for id := range uint32(100) {
		g.Delete(id + 10)
	}
	s := g.Stats()
	if s.Live != 2901 || s.Nodes != 2900 || s.Dead != 100 || s.Layers < 2 || s.EfSearch != g.EfFor(10) || s.Memory.Vectors != 4*24*3000 {
		t.Errorf("%+v", s)
	}
	p, err := g.Probe(t.Context(), 20)
	if err != nil || p.Samples < 15 || p.Recall < 0.95 || p.Unfound > 0 || p.Unreachable > 0 {
		t.Errorf("%+v, %v", p, err)
	}
	// Cut a node off: the probe must see it.
	c := g.core.Load()
	for node := range c.next {
		rec := c.record(node, 0)
		for i, v := range rec {
			if v == 2001 {
				rec[i] = 0
			}
		}
	}
	if p, err = g.Probe(t.Context(), 20); err != nil || p.Unreachable != 1 {
		t.Errorf("with one node cut off: %+v, %v", p, err)
	}
	if n := g.Repair(); n != 1 {
		t.Errorf("Repair = %d", n)
	}
	if p, err = g.Probe(t.Context(), 0); err != nil || p.Unreachable != 0 || p.Samples != 0 || p.Recall != 1 {
		t.Errorf("after Repair: %+v, %v", p, err)
	}
	for _, n := range []int{0, 1, 7} {
		g := build(t, Options{Dim: 24}, base[:n], 1)
		if p, err := g.Probe(t.Context(), 20); err != nil || p.Recall != 1 || p.Unreachable+p.Unfound > 0 || g.Stats().Live != n {
			t.Errorf("%d vectors: %+v, %v", n, p, err)
		}
	}
	for id := range uint32(8) { // a vector alone has no neighbors to find, whatever its level
		g := build(t, Options{Dim: 24}, nil, 1)
		for i := range uint32(2) {
			if err := g.Add(id+i, base[id+i]); err != nil {
				t.Fatal(err)
			}
		}
		g.Delete(id)
		if p, err := g.Probe(t.Context(), 20); err != nil || p.Recall != 1 || p.Unreachable+p.Unfound > 0 {
			t.Errorf("id %d, the other deleted: %+v, %v", id, p, err)
		}
	}
}
