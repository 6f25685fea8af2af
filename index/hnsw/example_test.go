package hnsw_test

import (
	"context"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/hnsw"
)

func ExampleGraph_Search() {
	ctx := context.Background()
	g, err := hnsw.New(hnsw.Options{Dim: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := []uint32{10, 20, 30, 40}
	vectors := [][]float32{{1, 0}, {0, 1}, {3, 4}, {-1, 0}}
	if err := g.AddBatch(ctx, ids, vectors, 0); err != nil {
		fmt.Println(err)
		return
	}
	g.Delete(40)
	for _, allow := range []*roaring.Bitmap{nil, roaring.BitmapOf(10, 40)} {
		near, err := g.Search(ctx, []float32{4, 3}, 2, 0, allow)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, n := range near {
			fmt.Printf("id %d at %.2f\n", n.ID, n.Distance)
		}
	}
	_, err = g.Search(ctx, []float32{1, 2, 3}, 2, 0, nil)
	fmt.Println(err)
	// Output:
	// id 30 at 0.04
	// id 10 at 0.20
	// id 10 at 0.20
	// hnsw: dimension mismatch: got 3 components, want 2
}
