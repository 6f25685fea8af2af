package hnsw

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestCompactionBesideWriters deletes, adds and copies while the graph is being compacted again and
// again.
func TestCompactionBesideWriters(t *testing.T) {
	const dim = 16
	n := 4000
	if testing.Short() { // as under the race detector
		n = 2000
	}
	base := clustered(1, 3*n, dim)
	for _, z := range []Quantization{QuantizeNone, QuantizeInt8} {
		t.Run(z.String(), func(t *testing.T) {
			o := Options{Quantize: z, M: 8, EfConstruction: 40}
			if z == QuantizeInt8 {
				o.Source = memory(base)
			}
			g := build(t, o, base[:n], 0)
			want := make([]bool, 3*n)
			var wait sync.WaitGroup
			wait.Go(func() {
				for id := range uint32(n) {
					if id%4 != 0 && !g.Delete(id) {
						t.Errorf("Delete(%d) = false", id)
					}
				}
			})
			wait.Go(func() {
				for id := n; id < 2*n; id++ {
					if err := g.Add(uint32(id), base[id]); err != nil {
						t.Error(err)
					}
					if id%3 == 0 {
						g.Delete(uint32(id))
					}
					if id%5 == 0 && z == QuantizeNone {
						if err := g.Add(uint32(id+n), base[id-n]); err != nil { // perhaps a copy of what lives, perhaps not
							t.Error(err)
						}
					}
				}
			})
			wait.Go(func() {
				for range 20 {
					g.Compact()
				}
			})
			wait.Wait()
			g.Compact()
			g.Wait()
			for id := range want {
				switch {
				case id < n:
					want[id] = id%4 == 0
				case id < 2*n:
					want[id] = id%3 != 0
				default:
					want[id] = (id-n)%5 == 0 && z == QuantizeNone
				}
				if g.Contains(uint32(id)) != want[id] {
					t.Fatalf("id %d: there %t, want %t", id, !want[id], want[id])
				}
			}
			wellFormed(t, g)
			if d := g.core.Load().dead.Load(); d > 0 {
				t.Errorf("%d dead nodes after Compact", d)
			}
			if got := recall(t, g, base[n:n+100], 10, 64); got < 0.95 {
				t.Errorf("recall@10 = %.4f", got)
			}
		})
	}
}

// TestDeleteDoesNotCompact measures the longest Delete of a graph that is compacted meanwhile.
func TestDeleteDoesNotCompact(t *testing.T) {
	base := clustered(1, 12000, 16)
	g := build(t, Options{M: 8, EfConstruction: 40}, base, 0)
	var longest time.Duration
	for id := range uint32(6000) {
		start := time.Now()
		g.Delete(id)
		longest = max(longest, time.Since(start))
	}
	g.Wait()
	start := time.Now()
	g.Compact()
	t.Logf("longest Delete %v, a compaction %v", longest, time.Since(start))
	if c := g.core.Load(); c.next > 9000 {
		t.Errorf("%d nodes for %d ids: never compacted", c.next, c.live.Load())
	}
	wellFormed(t, g)
}

func TestCloseStopsTheBackground(t *testing.T) {
	base := clustered(1, 6000, 16)
	g := build(t, Options{M: 8, EfConstruction: 40}, base, 0)
	for id := range uint32(1500) {
		g.Delete(id)
	}
	g.Close()
	if g.Busy() {
		t.Error("busy after Close")
	}
	for id := uint32(1500); id < 4000; id++ {
		g.Delete(id)
	}
	if g.Busy() {
		t.Error("busy after Close and Delete")
	}
	if g.core.Load().dead.Load() < 2000 {
		t.Error("compacted after Close")
	}
	g.Repair()
	wellFormed(t, g)
	if got := recall(t, g, base[4000:4050], 10, 64); got < 0.95 {
		t.Errorf("recall@10 = %.4f", got)
	}
}

// TestAddAloneCalibrates fills a graph by Add only and wants the beam width to reach its target by
// itself.
func TestAddAloneCalibrates(t *testing.T) {
	base, queries := clustered(1, 5000, 48), clustered(2, 200, 48)
	g, err := New(Options{Dim: 48, M: 6, EfConstruction: 40, TargetRecall: 0.99, ExactBelow: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range base {
		if err := g.Add(uint32(i), v); err != nil {
			t.Fatal(err)
		}
	}
	g.Wait()
	if n := uint32(g.ef.tried.Load()); n < uint32(len(base)/2) {
		t.Errorf("calibrated at %d of %d nodes", n, len(base))
	}
	if got := recall(t, g, queries, 10, 0); got < 0.98 {
		t.Errorf("recall@10 = %.4f with ef %d", got, g.EfFor(10))
	}
}

// TestJournalOrder plays changes that only make sense in their order.
func TestJournalOrder(t *testing.T) {
	base := clustered(1, 40, 8)
	g := build(t, Options{}, base, 1)
	old := g.core.Load()
	f := old.freezeRows()
	c := g.rebuild(t.Context(), old, f, new(unlocked))
	var j journal
	j.note(7, noNode)  // deleted,
	j.note(7, 9)       // a copy of 9's,
	j.note(9, noNode)  // whose first id goes,
	j.note(7, noNode)  // and then it too:
	j.note(50, 9)      // the vector comes back under another id
	j.note(51, 3)      // a copy
	j.note(51, 3)      // that is there already
	j.note(99, noNode) // never was
	var m merger
	if err := c.play(new(scratch), &m, old, j.changes); err != nil {
		t.Fatal(err)
	}
	g.core.Store(c)
	wellFormed(t, g)
	if v, ok := g.Vector(50); !ok || g.Contains(7) || g.Contains(9) || !slices.Equal(v, old.vector(9)) {
		t.Errorf("7: %t, 9: %t, 50: %v", g.Contains(7), g.Contains(9), v)
	}
	if g.Len() != len(base) {
		t.Errorf("Len = %d, want %d", g.Len(), len(base))
	}
}

// TestAskedForMeanwhile asks twice for a job that is about to end: it may have looked before that,
// and is run once more.
func TestAskedForMeanwhile(t *testing.T) {
	g, err := New(Options{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	runs, looked, end := 0, make(chan struct{}), make(chan struct{})
	do := func(context.Context) {
		if runs++; runs == 1 {
			close(looked)
			<-end
		}
	}
	first := g.start(jobCalibrate, do)
	<-looked
	for range 2 {
		if done := g.start(jobCalibrate, do); done != first {
			t.Error("two of one job at a time")
		}
	}
	close(end)
	<-first
	if runs != 2 || g.Busy() {
		t.Errorf("ran %d times, busy %t", runs, g.Busy())
	}
}
