package hnsw

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// calibration holds the beam widths that reach a recall.
//
// They are found by comparing searches with scans. Stored vectors are easy queries, as their
// neighbors are near and linked to each other, although the walk ignores the vector itself, whose
// links are the answer. Real queries lie between the texts rather than among them: a short query
// has its nearest passages at cosines of 0.4 to 0.6, a passage at 0.8. So the width for ten results
// is also measured with the means of three stored vectors, which are about as far away. These may
// miss half as much, since they only approximate real queries.
type calibration struct {
	mu     sync.Mutex // one at a time
	aim    atomic.Pointer[aim]
	widths atomic.Uint64 // see packedWidths; 0: not calibrated
	saved  atomic.Uint64 // widths of the last snapshot
	tried  atomic.Uint64 // see aim.tried; 0: never

	near, wide, far int // what the last calibration has found, where the next one begins; 0: none
}

// aim determines the beam width of a search that does not set one.
type aim struct {
	width  int     // Options.EfSearch; 0: calibrated
	recall float64 // Options.TargetRecall
}

// bits are those of the recall as float32, as a snapshot has them.
func (a aim) bits() uint32 { return math.Float32bits(float32(a.recall)) }

// tried returns the value of calibration.tried after an attempt to calibrate a graph of a number of
// nodes.
func (a aim) tried(nodes uint32) uint64 { return uint64(nodes) | uint64(a.bits())<<32 }

// packedWidths are the calibrated beam widths as one word: for k = calibrationK[0] in the lowest 16
// bits, for calibrationK[1] in the next, and in the high half the bits of the recall that they
// reach.
func packedWidths(narrow, wide int, recall uint32) uint64 {
	return uint64(narrow) | uint64(wide)<<16 | uint64(recall)<<32
}

// SetWidth replaces Options.EfSearch and Options.TargetRecall. A large enough graph is calibrated
// to another recall in the background, also where its snapshot has no widths for it; until then
// searches use the old widths. It returns ErrOptions. Safe for concurrent use.
func (g *Graph) SetWidth(efSearch int, targetRecall float64) error {
	o := g.o
	o.EfSearch, o.TargetRecall = efSearch, targetRecall
	if err := o.Validate(); err != nil {
		return err
	}
	g.ef.aim.Store(&aim{efSearch, o.withDefaults().TargetRecall})
	g.calibrateIfDue()
	return nil
}

// NewWidths reports whether the calibrated beam widths differ from those in the last snapshot.
func (g *Graph) NewWidths() bool { return g.ef.widths.Load() != g.ef.saved.Load() }

var (
	calibrationK      = [2]int{10, 100}
	calibrationWidths = []int{12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 400, 512, 640, 800, 1000}
)

const (
	calibrationSamples = 200
	calibrationLeast   = 1000 // nodes
	farFactor          = 5    // how much wider far questions may make a search: halfway between clusters no width finds the truth
	uncalibratedWidth  = 96
)

// EfFor returns the beam width of a search for k results that does not set one.
func (g *Graph) EfFor(k int) int {
	if width := g.ef.aim.Load().width; width > 0 {
		return max(width, k)
	}
	k = min(k, math.MaxInt32) // more is in no graph, and its multiples are no int
	w := g.ef.widths.Load()
	if w == 0 {
		return max(uncalibratedWidth, 2*k)
	}
	narrow, wide := int(w&0xFFFF), int(w>>16&0xFFFF)
	switch {
	case k <= calibrationK[0]:
		return narrow
	case k <= calibrationK[1]:
		return max(k, narrow, narrow+(wide-narrow)*(k-calibrationK[0])/(calibrationK[1]-calibrationK[0]))
	default:
		return max(narrow, min(wide*k/calibrationK[1], max(MaxEf, k)))
	}
}

// Calibrate finds the beam widths that reach Options.TargetRecall on the graph as it is, with the
// given number of goroutines; 0 or less: GOMAXPROCS. It is done whenever the graph has doubled: by
// AddBatch itself where that is what has doubled it, else in the background. It costs about as much
// as four hundred scans, and nothing where Options.EfSearch is set.
func (g *Graph) Calibrate(ctx context.Context, workers int) error {
	g.ef.mu.Lock()
	defer g.ef.mu.Unlock()
	c := g.core.Load()
	limit := c.published.Load()
	aim := g.ef.aim.Load()
	if aim.width > 0 || limit < calibrationLeast {
		return nil
	}
	stored := c.stored(g.o.Seed, limit)
	blends, err := g.blends(ctx, c, stored)
	if err != nil {
		return err
	}
	near, wide, err := g.widthsFor(ctx, workers, c, stored, calibrationK[1], aim.recall, g.ef.near, g.ef.wide)
	if err != nil {
		return err
	}
	far, _, err := g.widthsFor(ctx, workers, c, blends, calibrationK[0], (1+aim.recall)/2, g.ef.far, 0)
	if err != nil {
		return err
	}
	g.ef.near, g.ef.wide, g.ef.far = near, wide, far
	narrow := min(max(near, far), farFactor*near)
	g.ef.widths.Store(packedWidths(narrow, wide, aim.bits()))
	g.ef.tried.Store(aim.tried(limit))
	return nil
}

// question is a query vector, prepared as the graph stores it, or a stored vector.
type question struct {
	node uint32 // where vec is nil
	vec  []float32
}

// blends returns as many questions, each the mean of three vectors of the sample. Those that cancel
// out are left out.
func (g *Graph) blends(ctx context.Context, c *core, sample []question) ([]question, error) {
	s := g.pool.take()
	defer g.pool.put(s)
	vectors := make([][]float32, 0, len(sample))
	for _, q := range sample {
		ok, err := c.readNode(ctx, s, q.node)
		if err != nil {
			return nil, err
		}
		if ok {
			vectors = append(vectors, slices.Clone(s.vec))
		}
	}
	out := make([]question, 0, len(vectors))
	for i, x := range vectors {
		n := uint64(len(vectors))
		y, z := vectors[mix(g.o.Seed+2*uint64(i))%n], vectors[mix(g.o.Seed+2*uint64(i)+1)%n]
		blend := make([]float32, len(x))
		for j := range blend {
			blend[j] = (x[j] + y[j] + z[j]) / 3
		}
		if g.o.checkVector(blend) == nil {
			g.o.prepare(blend, blend)
			out = append(out, question{vec: blend})
		}
	}
	return out, nil
}

// widthsFor returns the least beam widths with which the questions reach a recall of target, for
// calibrationK[0] results and for k, which is that or more, or the largest there is. One scan
// serves both. The last two arguments are what they may be near to.
func (g *Graph) widthsFor(ctx context.Context, workers int, c *core, questions []question, k int, target float64, maybeNarrow, maybeWide int) (narrow, wide int, err error) {
	truth, err := g.truth(ctx, workers, c, questions, k)
	if err != nil {
		return 0, 0, err
	}
	width := func(k, maybe int) (int, error) {
		at, err := firstEnough(calibrationWidths, maybe, func(ef int) (bool, error) {
			recall, err := g.sampleRecall(ctx, workers, c, questions, truth, k, ef)
			return recall >= target, err
		})
		return max(k, calibrationWidths[min(at, len(calibrationWidths)-1)]), err
	}
	if narrow, err = width(calibrationK[0], maybeNarrow); err != nil || k == calibrationK[0] {
		return narrow, narrow, err
	}
	wide, err = width(k, maybeWide)
	return narrow, wide, err
}

// pose sets s.vec to the vector of a question and reports whether there is one.
func (c *core) pose(ctx context.Context, s *scratch, q question) (bool, error) {
	if q.vec == nil {
		return c.readNode(ctx, s, q.node)
	}
	s.vec = append(s.vec[:0], q.vec...)
	return true, nil
}

// own returns 1 + the node that a question is the vector of, or 0: what scratch.without holds.
func (q question) own() uint32 {
	if q.vec == nil {
		return q.node + 1
	}
	return 0
}

// truth returns the k nodes nearest to each question, nearest first, without its own.
func (g *Graph) truth(ctx context.Context, workers int, c *core, questions []question, k int) ([][]uint32, error) {
	truth := make([][]uint32, len(questions))
	err := g.parallel(ctx, workers, len(questions), func(s *scratch, i int) error {
		if ok, err := c.pose(ctx, s, questions[i]); !ok || err != nil {
			return err
		}
		if err := c.nearest(ctx, s, k+1, nil); err != nil {
			return err
		}
		truth[i] = s.nodesBut(questions[i].own(), k)
		return nil
	})
	return truth, err
}

// calibrateIfDue starts a calibration if the graph has doubled since the last one, or the target
// recall has changed.
func (g *Graph) calibrateIfDue() {
	if !g.calibrationDue() {
		return
	}
	g.start(jobCalibrate, func(ctx context.Context) {
		aim, limit := g.ef.aim.Load(), g.core.Load().published.Load()
		if g.calibrationDue() && g.Calibrate(ctx, 1) != nil {
			g.ef.tried.Store(aim.tried(limit)) // retried when the graph has doubled
		}
	})
}

func (g *Graph) calibrationDue() bool {
	aim, tried, nodes := g.ef.aim.Load(), g.ef.tried.Load(), uint64(g.core.Load().published.Load())
	return aim.width == 0 && nodes >= calibrationLeast && (uint32(tried>>32) != aim.bits() || nodes >= 2*(tried&math.MaxUint32))
}

// firstEnough returns the first place in widths from which on enough holds, or their number. It
// looks around the width that may be the one, in steps that grow; 0: in the middle.
func firstEnough(widths []int, maybe int, enough func(ef int) (bool, error)) (int, error) {
	lo, hi := 0, len(widths)
	at, step := -1, len(widths)
	if maybe > 0 {
		at, step = slices.IndexFunc(widths, func(w int) bool { return w >= maybe }), 1
	}
	for lo < hi {
		if at < lo || at >= hi {
			at = (lo + hi) / 2
		}
		ok, err := enough(widths[at])
		if err != nil {
			return 0, err
		}
		if ok {
			hi, at = at, at-step
		} else {
			lo, at = at+1, at+step
		}
		step *= 2
	}
	return lo, nil
}

// stored returns live vectors of nodes of level 0, evenly spread. A search passes through nodes of
// higher levels on its way.
func (c *core) stored(seed uint64, limit uint32) []question {
	out := make([]question, 0, calibrationSamples)
	for i := range uint64(calibrationSamples) {
		node := uint32((i*uint64(limit) + mix(seed+i)%uint64(limit)) / calibrationSamples)
		if !c.isDead(node) && c.level(node) == 0 {
			out = append(out, question{node: node})
		}
	}
	return out
}

// sampleRecall is the mean recall@k of walks of width ef for the questions.
func (g *Graph) sampleRecall(ctx context.Context, workers int, c *core, questions []question, truth [][]uint32, k, ef int) (float64, error) {
	var hits, want atomic.Int64
	err := g.parallel(ctx, workers, len(questions), func(s *scratch, i int) error {
		q := questions[i]
		if ok, err := c.pose(ctx, s, q); !ok || err != nil {
			return err
		}
		c.from(&s.query, s.vec)
		s.without = q.own()
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
		for _, node := range s.nodesBut(q.own(), k) {
			if slices.Contains(near, node) {
				hits.Add(1)
			}
		}
		want.Add(int64(len(near)))
		return nil
	})
	return float64(hits.Load()) / float64(max(want.Load(), 1)), err
}

// nodesBut returns the first n nodes of s.beam, without node own-1.
func (s *scratch) nodesBut(own uint32, n int) []uint32 {
	out := make([]uint32, 0, n)
	for _, k := range s.beam.keys {
		if keyNode(k)+1 != own && len(out) < n {
			out = append(out, keyNode(k))
		}
	}
	return out
}

// parallel is the function parallel with scratches of the graph; it stops at the first error, and
// when ctx ends.
func (g *Graph) parallel(ctx context.Context, workers, n int, do func(s *scratch, i int) error) error {
	scratches := g.pool.takeMany(workers, n)
	defer g.pool.put(scratches...)
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
