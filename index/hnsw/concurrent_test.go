package hnsw

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
)

// TestEverythingAtOnce runs writers, a batch writer, searchers, deleters and a snapshotter
// together; meant for -race.
func TestEverythingAtOnce(t *testing.T) {
	const n, dim = 1200, 12
	base := clustered(1, 4*n, dim)
	for _, z := range []Quantization{QuantizeNone, QuantizeInt8} {
		t.Run(z.String(), func(t *testing.T) {
			g := build(t, Options{Quantize: z, M: 8, EfConstruction: 60}, base[:n], 0)
			allow := roaring.New()
			allow.AddRange(0, 4*n)
			path := filepath.Join(t.TempDir(), "graph")
			var writers, readers sync.WaitGroup
			done := make(chan struct{})
			for w := range 2 {
				writers.Go(func() {
					for i := n + w; i < 2*n; i += 2 {
						if err := g.Add(uint32(i), base[i]); err != nil {
							t.Error(err)
						}
					}
				})
			}
			writers.Go(func() {
				ids := iota32(4 * n)[2*n : 3*n]
				for lo := 0; lo < n; lo += 300 {
					if err := g.AddBatch(t.Context(), ids[lo:lo+300], base[2*n+lo:2*n+lo+300], 2); err != nil {
						t.Error(err)
					}
				}
			})
			writers.Go(func() {
				for id := range uint32(n) {
					if id%3 != 0 && !g.Delete(id) {
						t.Errorf("Delete(%d) = false", id)
					}
				}
			})
			writers.Go(func() {
				for seq := range uint64(5) {
					if err := g.WriteSnapshot(path, Meta{Seq: seq}); err != nil {
						t.Error(err)
					}
					got, _, err := ReadSnapshot(path, Options{Quantize: z})
					if err != nil {
						t.Error(err)
						return
					}
					for _, problem := range got.Check() {
						t.Errorf("snapshot %d: %s", seq, problem)
					}
				}
			})
			for w := range 2 {
				readers.Go(func() {
					r := rand.New(rand.NewPCG(uint64(w), 1))
					for {
						select {
						case <-done:
							return
						default:
						}
						q := base[r.IntN(len(base))]
						var filter *roaring.Bitmap
						if r.IntN(4) == 0 {
							filter = allow
						}
						got, err := g.Search(t.Context(), q, 10, 40, filter)
						if err != nil || len(got) != 10 {
							t.Errorf("%d results, %v", len(got), err)
							return
						}
						g.Vector(got[0].ID)
						if _, err := g.Exact(t.Context(), q, 3, nil); err != nil {
							t.Error(err)
						}
					}
				})
			}
			readers.Go(func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(time.Millisecond):
					}
					if s, b := g.Stats(), g.BytesPerVector(); s.Live < n/3 || b <= 0 || g.Len() < n/3 || g.EfFor(10) < 10 {
						t.Errorf("%+v, %v bytes per vector", s, b)
					}
				}
			})
			writers.Wait()
			close(done)
			readers.Wait()
			wellFormed(t, g)
			if want := n/3 + 2*n; g.Len() != want {
				t.Errorf("Len = %d, want %d", g.Len(), want)
			}
			if got := recall(t, g, base[3*n:3*n+100], 10, 64); got < 0.95 {
				t.Errorf("recall@10 = %.4f", got)
			}
		})
	}
}

// TestContendedTinyGraphs inserts a handful of vectors from as many goroutines, very often: every
// one is found.
func TestContendedTinyGraphs(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	base := clustered(1, 24, 4)
	for round := range rounds {
		g, err := New(Options{Dim: 4, M: 4, ExactBelow: -1, EfSearch: 8, Seed: uint64(round)})
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for w := range 8 {
			wait.Go(func() {
				for i := w; i < len(base); i += 8 {
					if err := g.Add(uint32(i), base[i]); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		if problems := g.Check(); len(problems) > 0 {
			t.Fatalf("round %d: %v", round, problems)
		}
		for i, v := range base {
			got, err := g.Search(t.Context(), v, 1, 0, nil)
			if err != nil || len(got) != 1 || got[0].ID != uint32(i) {
				t.Fatalf("round %d: vector %d finds %v, %v", round, i, got, err)
			}
		}
	}
}

// TestReplaceAtOnce gives vectors new ids, the new before the old goes: a search finds one of the
// two at any time, and what is left are nodes with one id, without a group.
func TestReplaceAtOnce(t *testing.T) {
	const n, dim, rounds = 300, 12, 4
	base := clustered(1, n, dim)
	g := build(t, Options{M: 8, EfConstruction: 60}, base, 0)
	allow := roaring.New()
	allow.AddRange(0, n*(rounds+1))
	var searchers sync.WaitGroup
	done := make(chan struct{})
	for _, allow := range []*roaring.Bitmap{nil, allow} {
		searchers.Go(func() {
			for i := 0; ; i = (i + 1) % n {
				select {
				case <-done:
					return
				default:
				}
				found, err := g.Search(t.Context(), base[i], 1, 0, allow)
				if err != nil || len(found) != 1 || found[0].ID%n != uint32(i) {
					t.Errorf("Search(%d) = %v, %v", i, found, err)
					return
				}
			}
		})
	}
	for round := range uint32(rounds) {
		for i := range uint32(n) {
			if err := g.Add((round+1)*n+i, base[i]); err != nil {
				t.Error(err)
			}
			g.Delete(round*n + i)
		}
	}
	close(done)
	searchers.Wait()
	if groups := len(g.core.Load().copies.ids); groups > 0 || g.Len() != n || g.core.Load().dead.Load() > 0 {
		t.Errorf("%d groups, %d ids, %d dead nodes, want 0, %d, 0", groups, g.Len(), g.core.Load().dead.Load(), n)
	}
	for _, problem := range g.Check() {
		t.Error(problem)
	}
}
