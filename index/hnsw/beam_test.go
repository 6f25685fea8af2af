package hnsw

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBeam holds the two ways of filling a beam against sorting everything.
func TestBeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 40).Draw(t, "width")
		keys := rapid.SliceOfDistinct(rapid.Uint64Range(0, 1000), rapid.ID).Draw(t, "keys")
		var placed, collected beam
		placed.reset(width)
		collected.reset(width)
		bound := collected.worst()
		for _, k := range keys {
			placed.insert(k)
			if k < bound {
				bound = collected.collect(k, bound)
			}
			if len(collected.keys) >= 2*width {
				t.Fatalf("%d keys for a width of %d", len(collected.keys), width)
			}
		}
		collected.settle()
		slices.Sort(keys)
		keys = keys[:min(width, len(keys))]
		if !slices.Equal(placed.keys, keys) || !slices.Equal(collected.keys, keys) {
			t.Fatalf("placed %v, collected %v, want %v", placed.keys, collected.keys, keys)
		}
	})
}
