package hnsw

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// calibration holds the beam widths that reach Options.TargetRecall.
//
// They are found by asking a sample of the stored vectors for their neighbors and comparing with a scan. The walk passes
// the vector itself by: its links are the answer, and a question that nobody has asked before has none.
type calibration struct {
	mu     sync.Mutex    // one at a time
	widths atomic.Uint32 // for k = calibrationK[0] in the low half, for calibrationK[1] in the high; 0: not calibrated
	nodes  atomic.Uint32 // of the graph when it was calibrated
}

var (
	calibrationK      = [2]int{10, 100}
	calibrationWidths = []int{12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 400, 512, 640, 800, 1000}
)

const (
	calibrationSamples = 100
	calibrationLeast   = 1000 // nodes
	uncalibratedWidth  = 96
)

// EfFor returns the beam width of a search for k results that names none.
func (g *Graph) EfFor(k int) int {
	if g.o.EfSearch > 0 {
		return max(g.o.EfSearch, k)
	}
	w := g.ef.widths.Load()
	if w == 0 {
		return max(uncalibratedWidth, 2*k)
	}
	narrow, wide := int(w&0xFFFF), int(w>>16)
	switch {
	case k <= calibrationK[0]:
		return narrow
	case k <= calibrationK[1]:
		return max(k, narrow+(wide-narrow)*(k-calibrationK[0])/(calibrationK[1]-calibrationK[0]))
	default:
		return min(wide*k/calibrationK[1], max(MaxEf, k))
	}
}

// Calibrate finds the beam widths that reach Options.TargetRecall on the graph as it is, with the given number of
// goroutines; 0 or less: GOMAXPROCS. It is done whenever the graph has doubled: by AddBatch itself where that is what has
// doubled it, else in the background. It costs about as much as a hundred scans, and nothing where Options.EfSearch is
// set.
func (g *Graph) Calibrate(ctx context.Context, workers int) error {
	g.ef.mu.Lock()
	defer g.ef.mu.Unlock()
	c := g.core.Load()
	limit := c.published.Load()
	if g.o.EfSearch > 0 || limit < calibrationLeast {
		return nil
	}
	samples := c.sample(g.o.Seed, limit)
	truth, err := g.truth(ctx, workers, c, samples, calibrationK[1])
	if err != nil {
		return err
	}
	var widths uint32
	for i, k := range calibrationK {
		at, err := firstEnough(calibrationWidths, func(ef int) (bool, error) {
			recall, err := g.sampleRecall(ctx, workers, c, samples, truth, k, ef)
			return recall >= g.o.TargetRecall, err
		})
		if err != nil {
			return err
		}
		ef := calibrationWidths[min(at, len(calibrationWidths)-1)]
		widths |= uint32(max(k, ef)) << (16 * i)
	}
	g.ef.widths.Store(widths)
	g.ef.nodes.Store(limit)
	return nil
}

// truth returns the k nodes nearest to each sample, nearest first, without the sample itself.
func (g *Graph) truth(ctx context.Context, workers int, c *core, samples []uint32, k int) ([][]uint32, error) {
	truth := make([][]uint32, len(samples))
	err := g.parallel(ctx, workers, len(samples), func(s *scratch, i int) error {
		if ok, err := c.readNode(ctx, s, samples[i]); !ok || err != nil {
			return err
		}
		if err := c.nearest(ctx, s, k+1, nil); err != nil {
			return err
		}
		truth[i] = s.nodesBut(samples[i], k)
		return nil
	})
	return truth, err
}

// calibrateIfDue has the beam widths found again if the graph has doubled since they were.
func (g *Graph) calibrateIfDue() {
	if !g.calibrationDue() {
		return
	}
	g.start(jobCalibrate, func(ctx context.Context) {
		for ctx.Err() == nil && g.calibrationDue() { // it may double once more meanwhile
			limit := g.core.Load().published.Load()
			if g.Calibrate(ctx, 1) != nil {
				g.ef.nodes.Store(limit) // tried again at the next doubling; until then the widths of before serve
			}
		}
	})
}

func (g *Graph) calibrationDue() bool {
	return g.o.EfSearch == 0 && g.core.Load().published.Load() >= max(calibrationLeast, 2*g.ef.nodes.Load())
}

// firstEnough returns the first place in widths from which on enough holds, or their number.
func firstEnough(widths []int, enough func(ef int) (bool, error)) (int, error) {
	lo, hi := 0, len(widths)
	for lo < hi {
		mid := (lo + hi) / 2
		ok, err := enough(widths[mid])
		if err != nil {
			return 0, err
		}
		if ok {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo, nil
}

// sample returns live nodes of level 0, evenly spread. A search for one of a higher level would come by it on its way.
func (c *core) sample(seed uint64, limit uint32) []uint32 {
	nodes := make([]uint32, 0, calibrationSamples)
	for i := range uint64(calibrationSamples) {
		node := uint32((i*uint64(limit) + mix(seed+i)%uint64(limit)) / calibrationSamples)
		if !c.isDead(node) && c.level(node) == 0 {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// sampleRecall is the mean recall@k of walks of width ef from the samples.
func (g *Graph) sampleRecall(ctx context.Context, workers int, c *core, samples []uint32, truth [][]uint32, k, ef int) (float64, error) {
	var hits, want atomic.Int64
	err := g.parallel(ctx, workers, len(samples), func(s *scratch, i int) error {
		if ok, err := c.readNode(ctx, s, samples[i]); !ok || err != nil {
			return err
		}
		c.from(&s.query, s.vec)
		s.without = samples[i] + 1
		ok := c.walk(s, max(ef, k))
		s.without = 0
		if !ok {
			return nil
		}
		if c.rotation != nil {
			if _, err := c.rescore(ctx, s, k); err != nil {
				return err
			}
		}
		near := truth[i][:min(k, len(truth[i]))]
		for _, node := range s.nodesBut(samples[i], k) {
			if slices.Contains(near, node) {
				hits.Add(1)
			}
		}
		want.Add(int64(len(near)))
		return nil
	})
	return float64(hits.Load()) / float64(max(want.Load(), 1)), err
}

// nodesBut returns the first n nodes of s.beam, one left out.
func (s *scratch) nodesBut(node uint32, n int) []uint32 {
	out := make([]uint32, 0, n)
	for _, k := range s.beam.keys {
		if keyNode(k) != node && len(out) < n {
			out = append(out, keyNode(k))
		}
	}
	return out
}

// parallel is the function parallel with scratches of the graph; it stops at the first error, and when ctx ends.
func (g *Graph) parallel(ctx context.Context, workers, n int, do func(s *scratch, i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	scratches := make([]*scratch, min(workers, maxWorkers))
	for i := range scratches {
		scratches[i] = g.pool.take()
		defer g.pool.put(scratches[i])
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	parallel(scratches, n, func(s *scratch, i int) {
		if ctx.Err() == nil {
			if err := do(s, i); err != nil {
				stop(err)
			}
		}
	})
	return context.Cause(ctx)
}
