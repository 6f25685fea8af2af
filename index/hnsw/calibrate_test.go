package hnsw

import (
	"errors"
	"math"
	"path/filepath"
	"testing"
)

// TestCalibratedWidthReachesTheTarget asks questions that the calibration has not seen.
func TestCalibratedWidthReachesTheTarget(t *testing.T) {
	base, queries := clustered(1, 6000, 48), clustered(2, 200, 48)
	for _, target := range []float64{0.9, 0.98, 0.995} {
		g := build(t, Options{TargetRecall: target, M: 6, EfConstruction: 40}, base, 0)
		if g.EfFor(10) > g.EfFor(50) || g.EfFor(50) > g.EfFor(100) || g.EfFor(100) > g.EfFor(1000) {
			t.Errorf("target %v: widths do not grow with k: %d, %d, %d, %d", target, g.EfFor(10), g.EfFor(50), g.EfFor(100), g.EfFor(1000))
		}
		for _, k := range []int{10, 100} {
			got := recall(t, g, queries, k, 0)
			t.Logf("target %v: recall@%d = %.4f with ef %d", target, k, got, g.EfFor(k))
			if got < target-0.01 {
				t.Errorf("target %v: recall@%d = %.4f with ef %d", target, k, got, g.EfFor(k))
			}
		}
	}
}

func TestFixedWidthIsNotCalibrated(t *testing.T) {
	g := build(t, Options{EfSearch: 33}, clustered(1, 1500, 8), 0)
	if g.EfFor(10) != 33 || g.EfFor(50) != 50 || g.ef.widths.Load() != 0 {
		t.Errorf("EfFor = %d, %d", g.EfFor(10), g.EfFor(50))
	}
}

// TestCalibratedWidthServesFarQuestions asks what lies between the stored vectors, where no two of
// the true neighbors need be linked.
func TestCalibratedWidthServesFarQuestions(t *testing.T) {
	base, parts := clustered(1, 6000, 48), clustered(2, 600, 48)
	queries := make([][]float32, 200)
	for i := range queries {
		queries[i] = make([]float32, 48)
		for j := range queries[i] {
			queries[i][j] = parts[3*i][j] + 0.8*parts[3*i+1][j] + 0.5*parts[3*i+2][j]
		}
	}
	g := build(t, Options{M: 6, EfConstruction: 40}, base, 0)
	got := recall(t, g, queries, 10, 0)
	t.Logf("recall@10 = %.4f with ef %d", got, g.EfFor(10))
	if got < DefaultTargetRecall {
		t.Errorf("recall@10 = %.4f with ef %d", got, g.EfFor(10))
	}
}

// TestCalibratedWidthLeavesRoom asks about means of three vectors, as the calibration does, but
// others: it aims halfway between its target and all.
func TestCalibratedWidthLeavesRoom(t *testing.T) {
	base := clustered(1, 4000, 32)
	queries := make([][]float32, 300)
	for i := range queries {
		queries[i] = make([]float32, 32)
		for j := range queries[i] {
			queries[i][j] = base[13*i][j] + base[13*i+5][j] + base[13*i+7][j]
		}
	}
	g := build(t, Options{M: 12, EfConstruction: 100}, base, 0)
	if got := recall(t, g, queries, 10, 0); got < DefaultTargetRecall+0.006 {
		t.Errorf("recall@10 = %.4f with ef %d", got, g.EfFor(10))
	}
}

// TestEfForAll asks for as many results as there are numbers.
func TestEfForAll(t *testing.T) {
	g, err := New(Options{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, widths := range []uint64{0, 300<<16 | 40} {
		g.ef.widths.Store(widths)
		if ef := g.EfFor(math.MaxInt); ef < math.MaxInt32 {
			t.Errorf("widths %x: EfFor = %d", widths, ef)
		}
	}
}

// TestSetWidth changes what a graph in use, and one that was saved, aims at.
func TestSetWidth(t *testing.T) {
	base := clustered(1, 3000, 48)
	o := Options{Dim: 48, M: 6, EfConstruction: 40, TargetRecall: 0.8, ExactBelow: -1}
	want := map[float64]int{}
	for _, target := range []float64{0.8, 0.99} {
		fresh := o
		fresh.TargetRecall = target
		want[target] = build(t, fresh, base, 0).EfFor(10)
	}
	if want[0.8] >= want[0.99] {
		t.Fatalf("widths %v do not differ", want)
	}
	g := build(t, o, base, 0)
	set := func(g *Graph, width int, target float64, want int) {
		t.Helper()
		if err := g.SetWidth(width, target); err != nil {
			t.Fatal(err)
		}
		g.Wait()
		if ef := g.EfFor(10); ef != want {
			t.Errorf("SetWidth(%d, %v): the width is %d, want %d", width, target, ef, want)
		}
	}
	set(g, 0, 0.99, want[0.99])
	set(g, 33, 0, 33)
	set(g, 0, 0.8, want[0.8])
	for _, bad := range []float64{-0.1, 1, math.NaN()} {
		if err := g.SetWidth(0, bad); !errors.Is(err, ErrOptions) || g.EfFor(10) != want[0.8] {
			t.Errorf("SetWidth(0, %v) = %v", bad, err)
		}
	}
	path := filepath.Join(t.TempDir(), "graph")
	reopen := func(o Options) *Graph {
		t.Helper()
		if err := g.WriteSnapshot(path, Meta{}); err != nil || g.NewWidths() {
			t.Fatal(err, g.NewWidths())
		}
		r, _, err := ReadSnapshot(path, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		return r
	}
	o.TargetRecall = 0.99
	r := reopen(o)
	if ef := r.EfFor(10); ef != want[0.8] || r.NewWidths() {
		t.Errorf("opened with another target the width is %d, want that of before, %d", ef, want[0.8])
	}
	set(r, 0, 0.99, want[0.99])
	if !r.NewWidths() {
		t.Error("other widths are not saved")
	}
	g = r
	if r = reopen(o); r.EfFor(10) != want[0.99] || r.calibrationDue() {
		t.Errorf("the width after saving is %d, want %d", r.EfFor(10), want[0.99])
	}
	// A graph that was saved with a width of its own has none that is calibrated.
	g = build(t, Options{M: 6, EfConstruction: 40, EfSearch: 50}, base, 0)
	set(reopen(o), 0, 0.99, want[0.99])
}

// TestFirstEnough finds each place from each place where it may be, and with two looks where it was
// before.
func TestFirstEnough(t *testing.T) {
	for want := range len(calibrationWidths) + 1 {
		for _, maybe := range append([]int{0, 1, 100, 5000}, calibrationWidths...) {
			looks := 0
			got, err := firstEnough(calibrationWidths, maybe, func(ef int) (bool, error) {
				looks++
				return want < len(calibrationWidths) && ef >= calibrationWidths[want], nil
			})
			if err != nil || got != want {
				t.Errorf("firstEnough from %d = %d, %v, want %d", maybe, got, err, want)
			}
			if limit := 9; looks > limit || want < len(calibrationWidths) && maybe == calibrationWidths[want] && looks > 2 {
				t.Errorf("firstEnough from %d to place %d took %d looks", maybe, want, looks)
			}
		}
	}
}
