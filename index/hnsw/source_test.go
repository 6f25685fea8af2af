package hnsw

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/internal/simd"
)

// TestSource compares a graph whose vectors lie elsewhere with one that holds them: the same graph,
// the same answers.
func TestSource(t *testing.T) {
	base, queries := clustered(1, 2500, 48), clustered(2, 50, 48)
	base = append(base, base[7], base[7], base[8])
	allow := roaring.New()
	allow.AddRange(1000, 1300)
	metrics := []Metric{Cosine, Dot, L2}
	if testing.Short() { // as under the race detector, to which all are the same
		metrics = metrics[:1]
	}
	for _, m := range metrics {
		t.Run(m.String(), func(t *testing.T) {
			here := build(t, Options{Metric: m, Quantize: QuantizeInt8}, base, 0)
			there := build(t, Options{Metric: m, Quantize: QuantizeInt8, Source: memory(base)}, base, 0)
			for _, g := range []*Graph{here, there} {
				for id := range uint32(300) {
					g.Delete(3 * id)
				}
				wellFormed(t, g)
			}
			if a, b := here.EfFor(10), there.EfFor(10); a != b {
				t.Errorf("calibrated to %d and %d", a, b)
			}
			for i, q := range queries {
				for _, s := range []struct {
					name  string
					ef    int
					allow *roaring.Bitmap
				}{{"walk", 64, nil}, {"filter", 64, allow}, {"scan", MaxEf, nil}} {
					want, err := here.Search(t.Context(), q, 10, s.ef, s.allow)
					if err != nil {
						t.Fatal(err)
					}
					got, err := there.Search(t.Context(), q, 10, s.ef, s.allow)
					same(t, i, s.name, got, err, want)
				}
				want, err := here.Exact(t.Context(), q, 10, allow)
				if err != nil {
					t.Fatal(err)
				}
				got, err := there.Exact(t.Context(), q, 10, allow)
				same(t, i, "exact", got, err, want)
			}
			if b := there.BytesPerVector(); b > 64+150+100 || there.Memory().Vectors != 0 {
				t.Errorf("%v bytes per vector", b)
			}
			v, _ := here.Vector(8)
			if got, ok := there.Vector(8); !ok || !equalBits(got, v) {
				t.Errorf("Vector(8) = %v, %t", got, ok)
			}
			if err := there.Add(8, base[8]); err != nil {
				t.Errorf("the same again: %v", err)
			}
			if err := there.Add(8, base[10]); !errors.Is(err, ErrExists) {
				t.Errorf("another vector: %v", err)
			}
		})
	}
}

// same compares results by distance, which ties in the last bit may give to another id.
func same(t *testing.T, query int, name string, got []Neighbor, err error, want []Neighbor) {
	t.Helper()
	if err != nil || len(got) != len(want) {
		t.Fatalf("query %d, %s: %d results, want %d, %v", query, name, len(got), len(want), err)
	}
	for i := range got {
		if got[i].Distance != want[i].Distance {
			t.Fatalf("query %d, %s: result %d is %v, want %v", query, name, i, got[i], want[i])
		}
	}
}

// forgetful knows only the ids from least on, and fails where it is told to.
type forgetful struct {
	memory
	least uint32
	err   error
	short bool
}

func (f *forgetful) Read(ctx context.Context, ids []uint32, each func(i int, v []float32)) error {
	if f.err != nil {
		return f.err
	}
	return f.memory.Read(ctx, ids, func(i int, v []float32) {
		switch {
		case f.short:
			each(i, v[1:])
		case ids[i] >= f.least:
			each(i, v)
		}
	})
}

func TestSourceThatForgets(t *testing.T) {
	base := clustered(1, 3000, 24)
	f := &forgetful{memory: base}
	g := build(t, Options{Quantize: QuantizeInt8, Source: f, EfSearch: 64}, base, 0)
	f.least = 1500
	for i := range 20 {
		got, err := g.Search(t.Context(), base[i], 10, 0, nil)
		if err != nil || len(got) == 0 {
			t.Fatalf("%d results, %v", len(got), err)
		}
		for _, n := range got {
			if n.ID < 1500 {
				t.Fatalf("id %d, whose vector is gone", n.ID)
			}
		}
	}
	if _, ok := g.Vector(3); ok {
		t.Error("Vector of an id that the source does not know")
	}
	f.err = errors.New("disk on fire")
	if _, err := g.Search(t.Context(), base[0], 10, 0, nil); !errors.Is(err, f.err) {
		t.Errorf("error of the source: %v", err)
	}
	if _, err := g.Exact(t.Context(), base[0], 10, nil); !errors.Is(err, f.err) {
		t.Errorf("error of the source: %v", err)
	}
	f.err, f.short = nil, true
	if _, err := g.Search(t.Context(), base[0], 10, 0, nil); !errors.Is(err, ErrDimension) {
		t.Errorf("short vectors: %v", err)
	}
	if _, err := New(Options{Dim: 3, Source: f}); !errors.Is(err, ErrOptions) {
		t.Errorf("a source without codes: %v", err)
	}
}

// TestSlack holds the bound on the error of codes against what it is.
func TestSlack(t *testing.T) {
	base, queries := clustered(1, 500, 100), clustered(2, 100, 100)
	for _, m := range []Metric{Cosine, Dot, L2} {
		g := build(t, Options{Metric: m, Quantize: QuantizeInt8}, base, 0)
		c := g.core.Load()
		s := new(scratch)
		s.room(1)
		beyond, largest := 0, 0.0
		for _, q := range queries {
			s.prepare(g, q)
			c.from(&s.query, s.vec)
			for node := range c.next {
				s.nodes[0] = node
				c.distances(s, &s.query, 1)
				off := math.Abs(float64(s.dist[0]-c.distance(&s.query, node))) / float64(c.slack(&s.query, node))
				largest = max(largest, off)
				if off > 1 {
					beyond++
				}
			}
		}
		if beyond > 1 || largest < 0.5 {
			t.Errorf("%v: %d of 50,000 errors are beyond the slack, the largest is %.2f of it", m, beyond, largest)
		}
	}
}

// TestSameGraphOnEveryBackEnd: integer codes make the graph independent of the kernels.
func TestSameGraphOnEveryBackEnd(t *testing.T) {
	base := clustered(5, 2000, 72)
	active := simd.Active()
	defer func() {
		if err := simd.Use(active); err != nil {
			t.Fatal(err)
		}
	}()
	var want uint64
	for i, b := range simd.Backends() {
		if err := simd.Use(b); err != nil {
			t.Fatal(err)
		}
		g := build(t, Options{Quantize: QuantizeInt8, Source: memory(base), EfSearch: 32}, base, 2)
		for id := range uint32(300) {
			g.Delete(id)
		}
		got := g.Digest()
		if i == 0 {
			want = got
		} else if got != want {
			t.Errorf("%v: digest %x, %v: %x", b, got, simd.Backends()[0], want)
		}
	}
}

func TestRows(t *testing.T) {
	base := clustered(1, 100, 5)
	var b []byte
	for _, v := range base {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	path := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mapped := range []bool{true, false} {
		r, err := OpenRows(path, 5)
		if err != nil || r.Len() != 100 {
			t.Fatalf("%d rows, %v", r.Len(), err)
		}
		if !mapped {
			if err := unmapFloats(r.rows); err != nil {
				t.Fatal(err)
			}
			r.rows = nil
		}
		ids, seen := []uint32{99, 100, 0, 1<<32 - 1}, 0
		if err := r.Read(t.Context(), ids, func(i int, v []float32) {
			seen++
			if !equalBits(v, base[ids[i]]) {
				t.Errorf("row %d is %v", ids[i], v)
			}
		}); err != nil || seen != 2 {
			t.Errorf("%d rows read, %v", seen, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, dim := range []int{0, 7} {
		if _, err := OpenRows(path, dim); !errors.Is(err, ErrArgument) {
			t.Errorf("dim %d: %v", dim, err)
		}
	}
}

// without is a source that lacks some ids, which it deletes from a graph, where not nil, as soon as
// it is asked for one.
type without struct {
	memory
	gone []uint32
	from *Graph
}

func (w *without) Read(ctx context.Context, ids []uint32, each func(i int, v []float32)) error {
	return w.memory.Read(ctx, ids, func(i int, v []float32) {
		switch {
		case !slices.Contains(w.gone, ids[i]):
			each(i, v)
		case w.from != nil:
			for _, id := range w.gone {
				w.from.Delete(id)
			}
		}
	})
}

// TestOneCopyIsLeft: of the ids of one vector the source knows the first, the one between or the
// last, while the graph has all, or deletes the others after a search has looked at them and before
// it has read them.
func TestOneCopyIsLeft(t *testing.T) {
	base := clustered(1, 1200, 48)
	copies := []uint32{300, 600, 900}
	base[600], base[900] = base[300], base[300]
	all := roaring.New()
	all.AddRange(0, uint64(len(base)))
	for _, left := range copies {
		for _, deleted := range []bool{false, true} {
			for _, s := range []struct {
				name   string
				search func(g *Graph) ([]Neighbor, error)
			}{
				{"walk", func(g *Graph) ([]Neighbor, error) { return g.Search(t.Context(), base[300], 3, 64, nil) }},
				{"filter", func(g *Graph) ([]Neighbor, error) { return g.Search(t.Context(), base[300], 3, 64, all) }},
				{"scan", func(g *Graph) ([]Neighbor, error) { return g.Search(t.Context(), base[300], 3, MaxEf, nil) }},
				{"exact", func(g *Graph) ([]Neighbor, error) { return g.Exact(t.Context(), base[300], 3, nil) }},
			} {
				src := &without{memory: base}
				g := build(t, Options{Quantize: QuantizeInt8, Source: src, EfSearch: 64}, base, 0)
				src.gone = slices.DeleteFunc(slices.Clone(copies), func(id uint32) bool { return id == left })
				if deleted {
					src.from = g
				}
				got, err := s.search(g)
				if err != nil || len(got) == 0 || got[0].Distance > 1e-4 {
					t.Errorf("%s, %d is left, deleted %t: %v, %v", s.name, left, deleted, got, err)
				}
			}
		}
	}
}
