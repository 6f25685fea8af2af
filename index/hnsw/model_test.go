package hnsw

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"
)

// mapSource is a source that knows what the map holds.
type mapSource map[uint32][]float32

func (m mapSource) Read(_ context.Context, ids []uint32, each func(i int, v []float32)) error {
	for i, id := range ids {
		if v, ok := m[id]; ok {
			each(i, v)
		}
	}
	return nil
}

// TestAgainstModel plays random operations on a graph and on a map, and compares what both know.
func TestAgainstModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Dim: 3, M: 4, EfConstruction: 20, ExactBelow: -1,
			Metric:   rapid.SampledFrom([]Metric{Cosine, Dot, L2}).Draw(t, "metric"),
			Quantize: rapid.SampledFrom([]Quantization{QuantizeNone, QuantizeInt8}).Draw(t, "quantize"),
		}
		model := map[uint32][]float32{}
		if o.Quantize == QuantizeInt8 && rapid.Bool().Draw(t, "source") {
			o.Source = mapSource(model)
		}
		g, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		id := rapid.Uint32Range(0, 60)
		component := rapid.Float32Range(-2, 2)
		vector := rapid.Custom(func(t *rapid.T) []float32 { // few enough for copies
			return []float32{1, float32(rapid.IntRange(-2, 2).Draw(t, "y")), component.Draw(t, "z")}
		})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				id, v := id.Draw(t, "id"), vector.Draw(t, "v")
				_, there := model[id]
				err := g.Add(id, v)
				if !there && err != nil {
					t.Fatal(err)
				}
				if !there {
					model[id] = v
				}
			},
			"batch": func(t *rapid.T) {
				var ids []uint32
				var vectors [][]float32
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					id, v := id.Draw(t, "id"), vector.Draw(t, "v")
					if _, there := model[id]; !there {
						model[id] = v
						ids, vectors = append(ids, id), append(vectors, v)
					}
				}
				if err := g.AddBatch(t.Context(), ids, vectors, rapid.IntRange(1, 3).Draw(t, "workers")); err != nil {
					t.Fatal(err)
				}
			},
			"delete": func(t *rapid.T) {
				id := id.Draw(t, "id")
				_, there := model[id]
				if g.Delete(id) != there {
					t.Fatalf("Delete(%d) = %v", id, !there)
				}
				delete(model, id)
			},
			"compact": func(*rapid.T) { g.Compact() },
			"restart": func(t *rapid.T) {
				path := filepath.Join(dir, "graph")
				if err := g.WriteSnapshot(path, Meta{}); err != nil {
					t.Fatal(err)
				}
				if g, _, err = ReadSnapshot(path, o); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				if g.Len() != len(model) {
					t.Fatalf("Len = %d, want %d", g.Len(), len(model))
				}
				g.Repair()
				for _, problem := range g.Check() {
					t.Error(problem)
				}
				q := vector.Draw(t, "q")
				allow := roaring.New()
				for id := range model {
					if id%3 > 0 {
						allow.Add(id)
					}
				}
				for _, filter := range []*roaring.Bitmap{nil, allow} {
					want, err := g.Exact(t.Context(), q, 5, filter)
					if err != nil {
						t.Fatal(err)
					}
					got, err := g.Search(t.Context(), q, 5, 40, filter)
					if err != nil {
						t.Fatal(err)
					}
					n := len(model)
					if filter != nil {
						n = int(filter.GetCardinality())
					}
					if len(want) != min(5, n) || len(got) != len(want) {
						t.Fatalf("%d and %d results of %d", len(got), len(want), n)
					}
					for _, x := range got {
						if _, there := model[x.ID]; !there || filter != nil && !filter.Contains(x.ID) {
							t.Fatalf("id %d is not there or not allowed", x.ID)
						}
					}
				}
			},
		})
	})
}
