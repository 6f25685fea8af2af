package hnsw

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

var updateWork = flag.Bool("update-work", false, "rewrite testdata/work.golden")

// TestWork compares the distances that searches compute, whatever the machine, with
// testdata/work.golden. All components are small integers, so that every kernel computes the same
// float32. Run it with -update-work after a change that means to alter them.
func TestWork(t *testing.T) {
	const n, dim, queries = 6000, 32, 50
	r := rand.New(rand.NewPCG(71, 72))
	centers := make([][]float32, 40)
	for i := range centers {
		centers[i] = make([]float32, dim)
		for j := range centers[i] {
			centers[i][j] = float32(r.IntN(9) - 4)
		}
	}
	vectors := make([][]float32, n+queries)
	for i := range vectors {
		vectors[i] = make([]float32, dim)
		for j, x := range centers[r.IntN(len(centers))] {
			vectors[i][j] = x + float32(r.IntN(5)-2)
		}
	}
	g, err := New(Options{Dim: dim, Metric: L2, EfSearch: 64, ExactBelow: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.AddBatch(t.Context(), iota32(n), vectors[:n], 1); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, tc := range []struct{ k, ef, share int }{{10, 16, 1}, {10, 64, 1}, {10, 200, 1}, {100, 200, 1}, {10, 64, 2}, {10, 64, 5}, {10, 64, 100}} {
		var allow *roaring.Bitmap
		if tc.share > 1 {
			allow = roaring.New()
			for id := 0; id < n; id += tc.share {
				allow.Add(uint32(id))
			}
		}
		measured, found, hits := 0, 0, 0
		for _, q := range vectors[n:] {
			s := g.pool.take()
			before := s.measured
			g.pool.put(s)
			near, err := g.Search(t.Context(), q, tc.k, tc.ef, allow)
			if err != nil {
				t.Fatal(err)
			}
			s = g.pool.take()
			measured += s.measured - before
			g.pool.put(s)
			exact, err := g.Exact(context.Background(), q, tc.k, allow)
			if err != nil {
				t.Fatal(err)
			}
			for i := range exact { // by distance: integers have many ties
				if found++; i < len(near) && near[i].Distance <= exact[len(exact)-1].Distance {
					hits++
				}
			}
		}
		fmt.Fprintf(&got, "k=%d ef=%d of 1/%d: %d distances, recall %.3f\n", tc.k, tc.ef, tc.share, measured/queries, float64(hits)/float64(found))
	}
	const path = "testdata/work.golden"
	if *updateWork {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got.String() != string(want) {
		t.Errorf("search costs mismatch, %v (-want +got)\n-%s\n+%s", err, want, got.String())
	}
}
