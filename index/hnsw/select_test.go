package hnsw

import (
	"slices"
	"testing"
)

// TestSelectNeighbors is Algorithm 4 by hand: squared distances in the plane, base at the origin.
func TestSelectNeighbors(t *testing.T) {
	for _, tc := range []struct {
		name         string
		points       [][]float32
		limit, floor int
		want         []uint32
	}{
		{"nearest first", [][]float32{{2, 0}, {-1, 0}, {0, 3}}, 3, 0, []uint32{1, 0, 2}},
		{"nearer to a selected one than to the base", [][]float32{{1, 0}, {2, 0}, {-3, 0}}, 3, 0, []uint32{0, 2}},
		{"as near to a selected one as to the base", [][]float32{{1, 0}, {0.5, 2}, {-3, 0}}, 3, 0, []uint32{0, 2}},
		{"limit", [][]float32{{1, 0}, {-2, 0}, {0, 3}}, 2, 0, []uint32{0, 1}},
		{"filled up to the floor by the nearest", [][]float32{{1, 0}, {3, 0}, {2, 0}, {4, 0}}, 4, 3, []uint32{0, 2, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := build(t, Options{Metric: L2}, tc.points, 1)
			c, s := g.core.Load(), new(scratch)
			s.room(len(tc.points))
			q := &query{vec: []float32{0, 0}}
			var candidates []key
			for node := range c.next {
				candidates = append(candidates, makeKey(c.distance(q, node), node))
			}
			slices.Sort(candidates)
			var got []uint32
			for _, k := range c.selectNeighbors(s, candidates, tc.limit, tc.floor) {
				got = append(got, keyNode(k))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("selected %v, want %v", got, tc.want)
			}
		})
	}
}
