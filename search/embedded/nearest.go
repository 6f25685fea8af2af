package embedded

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"searchd/index/hnsw"
	"searchd/internal/simd"
	"searchd/search/backend"
	"searchd/store"
)

// RetrieveVectors returns the passages nearest to a vector, or without one a sample of all
// passages.
func (b *Backend) RetrieveVectors(ctx context.Context, r backend.VectorsRequest) (out backend.VectorsResponse, err error) {
	c, release, err := b.collection(ctx, r.Collection)
	if err != nil {
		return out, err
	}
	defer release()
	if r.Vector == nil {
		out.Sample, err = c.sample(ctx, r.Limit)
		return out, err
	}
	found, places, err := c.nearest(ctx, r.Vector, r.Limit, r.Selection)
	if err != nil {
		return out, err
	}
	slots := make([]uint32, len(found))
	out.Matches = make([]backend.PassageMatch, len(found))
	for i, n := range found {
		slots[i] = n.ID
		out.Matches[i] = backend.PassageMatch{Ref: refOf(places[i].no), Ordinal: places[i].ordinal, Cosine: 1 - float64(n.Distance)}
	}
	// To the last bit what Fetch gives.
	err = c.vectors(ctx, slots, func(i int, v []float32) { out.Matches[i].Cosine = float64(simd.Dot(r.Vector, v)) })
	if err != nil {
		return out, err
	}
	out.Spread, err = c.spread(r.Vector)
	return out, err
}

// A query's cosines are measured with spreadSample passages. Small collections say little about the
// deviation: it counts as if spreadPrior further cosines had deviated by spreadDeviation.
const (
	spreadSample    = 512
	spreadPrior     = 4
	spreadDeviation = 0.1
)

// spread returns the mean and the standard deviation of the cosines of q with a sample of the
// graph.
func (c *collection) spread(q []float32) (backend.Spread, error) {
	s, err := c.graph.Spread(q, spreadSample)
	if err != nil {
		return backend.Spread{}, err
	}
	n := float64(s.Count)
	squares := n*s.Deviation*s.Deviation + spreadPrior*spreadDeviation*spreadDeviation
	return backend.Spread{Mean: 1 - s.Mean, Deviation: math.Sqrt(squares / (n + spreadPrior))}, nil
}

// vectors calls each with the vector of every slot that has one: from the graph where it holds
// them, else from the store.
func (c *collection) vectors(ctx context.Context, slots []uint32, each func(i int, v []float32)) error {
	if len(slots) == 0 {
		return nil
	}
	if c.source != nil {
		return c.source.Read(ctx, slots, each)
	}
	var missing []uint32
	var places []int
	for i, s := range slots {
		if v, ok := c.graph.Vector(s); ok {
			each(i, v)
		} else if c.rebuild.graph.Load() != nil {
			missing, places = append(missing, s), append(places, i)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return c.stored().Read(ctx, missing, func(i int, v []float32) { each(places[i], v) })
}

// moveTries is how often a search is made again because documents were given other slots while it
// ran. A commit lasts as long as several searches, so once is mostly enough; not where the machine
// is overloaded.
const moveTries = 8

// nearest returns the k slots nearest to q, and what they are. A search that began before a commit
// and ends after it may have seen the old slots of a document and come too late for them: it is
// made again.
func (c *collection) nearest(ctx context.Context, q []float32, k int, sel *backend.Selection) (found []hnsw.Neighbor, places []place, err error) {
	for again := 0; ; again++ {
		version := c.slots.version()
		if found, err = c.nearestNow(ctx, q, k, c.slotsOf(sel)); err != nil {
			return nil, nil, err
		}
		found, places = c.slots.living(found)
		if again == moveTries || c.slots.version() == version {
			return found, places, nil
		}
	}
}

// nearestNow returns the k slots nearest to q: those of the graph and, while it is being filled,
// those that it lacks.
func (c *collection) nearestNow(ctx context.Context, q []float32, k int, allow *roaring.Bitmap) ([]hnsw.Neighbor, error) {
	s := c.rebuild.graph.Load()
	if s == nil {
		return c.indexed(ctx, q, k, allow)
	}
	from := s.from.Load() // before the search: what moves over meanwhile is found twice rather than not at all
	found, err := c.indexed(ctx, q, k, allow)
	if err != nil {
		return nil, err
	}
	top := leaders{k: k, found: found}
	unit := unitLength(q)
	measure := func(slot uint32, v []float32) {
		if _, _, ok := c.slots.document(slot); ok {
			top.offer(hnsw.Neighbor{ID: slot, Distance: 1 - simd.Dot(unit, v)})
		}
	}
	if err := c.scanStored(ctx, from, s.until, allow, measure); err != nil {
		return nil, err
	}
	return top.result(), nil
}

// indexed returns the k slots of the graph nearest to q that have a document. The graph may hold
// others for a moment: what was deleted since, or while it was being added, and what takes the
// place of another next.
func (c *collection) indexed(ctx context.Context, q []float32, k int, allow *roaring.Bitmap) ([]hnsw.Neighbor, error) {
	for want := k; ; want *= 2 {
		most := c.graph.Len()
		if allow != nil {
			most = min(most, int(allow.GetCardinality()))
		}
		found, err := c.graph.Search(ctx, q, want, 0, allow)
		if err != nil {
			return nil, err
		}
		// Fewer than asked for need not be all: what was found may have been deleted before it was
		// handed out.
		all := len(found) < want && want >= most || want > hnsw.MaxK/2
		found, _ = c.slots.living(found)
		if len(found) >= k || all {
			return found[:min(k, len(found))], nil
		}
	}
}

// readShare is the share of a range, as a divisor, below which slots are looked up one by one
// instead of scanned past.
const readShare = 8

// scanStored calls measure for the stored vectors of the slots from from to until that allow, where
// not nil, holds, and for those that are leaving the store.
func (c *collection) scanStored(ctx context.Context, from, until uint32, allow *roaring.Bitmap, measure func(slot uint32, v []float32)) error {
	if from >= until {
		return nil
	}
	if allow != nil {
		part := roaring.New()
		part.AddRange(uint64(from), uint64(until))
		part.And(allow)
		if part.GetCardinality() < uint64(until-from)/readShare {
			slots := part.ToArray()
			return c.stored().Read(ctx, slots, func(i int, v []float32) { measure(slots[i], v) })
		}
	}
	err := c.storedVectors(ctx, from, func(slot uint32, v []float32) error {
		if slot >= until {
			return store.ErrStop
		}
		if allow == nil || allow.Contains(slot) {
			measure(slot, v)
		}
		return nil
	})
	for slot, v := range c.leaving.all() {
		if from <= slot && slot < until && (allow == nil || allow.Contains(slot)) {
			measure(slot, v)
		}
	}
	return err
}

// leaders keeps the k nearest of what is offered, and some more.
type leaders struct {
	k     int
	found []hnsw.Neighbor
	bound float32 // what is farther is not among the k; valid once full
	full  bool
}

func (l *leaders) offer(n hnsw.Neighbor) {
	if l.full && n.Distance > l.bound {
		return
	}
	if l.found = append(l.found, n); len(l.found) >= 2*l.k+64 {
		l.cut()
	}
}

// cut sorts, nearest first, and drops what came twice or is too far.
func (l *leaders) cut() {
	slices.SortFunc(l.found, func(a, b hnsw.Neighbor) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
	})
	seen := make(map[uint32]bool, l.k)
	kept := l.found[:0]
	for _, n := range l.found {
		if len(kept) < l.k && !seen[n.ID] {
			seen[n.ID] = true
			kept = append(kept, n)
		}
	}
	l.found = kept
	if l.full = len(kept) == l.k; l.full {
		l.bound = kept[l.k-1].Distance
	}
}

func (l *leaders) result() []hnsw.Neighbor {
	l.cut()
	return l.found
}

// unitLength returns q scaled to length 1; q itself where it has that length.
func unitLength(q []float32) []float32 {
	var sum float64
	for _, x := range q {
		sum += float64(x) * float64(x)
	}
	if math.Abs(sum-1) <= 1e-6 {
		return q
	}
	out, scale := make([]float32, len(q)), 1/math.Sqrt(sum)
	for i, x := range q {
		out[i] = float32(float64(x) * scale)
	}
	return out
}
