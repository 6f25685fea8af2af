package embedded

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"example.com/searchd/index/hnsw"
	"example.com/searchd/internal/simd"
	"example.com/searchd/search/backend"
	"example.com/searchd/store"
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
	// The same as those of Fetch, to the last bit.
	err = c.vectors(ctx, slots, func(i int, v []float32) { out.Matches[i].Cosine = float64(simd.Dot(r.Vector, v)) })
	if err != nil {
		return out, err
	}
	_, out.Passages, _ = c.counts()
	out.Spread, err = c.spread(r.Vector)
	return out, err
}

// The spread of a query's cosines is measured with spreadSample passages. Since small collections
// determine the deviation poorly, it counts spreadPrior more cosines with spreadDeviation.
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
	return backend.Spread{Mean: 1 - s.Mean, Deviation: math.Sqrt(squares / (n + spreadPrior)), Passages: s.Count}, nil
}

// MergeSpreads returns the spread of several samples together, where weights says how many passages
// each stands for.
func MergeSpreads(samples []backend.Spread, weights []int) (out backend.Spread) {
	const prior = spreadPrior * spreadDeviation * spreadDeviation
	var total, squares float64 // of the cosines
	for i, s := range samples {
		if s.Passages == 0 {
			continue
		}
		n, w := float64(s.Passages), float64(weights[i])
		variance := (s.Deviation*s.Deviation*(n+spreadPrior) - prior) / n
		out.Mean, squares, total = out.Mean+w*s.Mean, squares+w*(variance+s.Mean*s.Mean), total+w
		out.Passages += s.Passages
	}
	n := float64(out.Passages)
	if n > 0 {
		out.Mean /= total
		squares = n * max(0, squares/total-out.Mean*out.Mean)
	}
	out.Deviation = math.Sqrt((squares + prior) / (n + spreadPrior))
	return out
}

// moveTries is how often a search is repeated because documents got other slots while it ran. A
// commit takes as long as several searches, so that one repetition is mostly enough, except on an
// overloaded machine.
const moveTries = 8

// nearest returns the k slots nearest to q and their places. A search that runs during a commit may
// find old slots that are free when it ends: it is repeated.
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

// nearestNow is one attempt of nearest. While the graph is being filled it scans the store for the
// slots that the graph lacks.
func (c *collection) nearestNow(ctx context.Context, q []float32, k int, allow *roaring.Bitmap) ([]hnsw.Neighbor, error) {
	s := c.rebuild.graph.Load()
	if s == nil {
		return c.searchGraph(ctx, q, k, allow)
	}
	from := s.from.Load() // before the search, so that a slot added meanwhile is found twice rather than never
	found, err := c.searchGraph(ctx, q, k, allow)
	if err != nil {
		return nil, err
	}
	top := nearestK{k: k, found: found}
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

// searchGraph returns the k slots of the graph nearest to q that have a document. For a moment the
// graph may have others: slots that were deleted, and slots that replace others next.
func (c *collection) searchGraph(ctx context.Context, q []float32, k int, allow *roaring.Bitmap) ([]hnsw.Neighbor, error) {
	for want := k; ; want *= 2 {
		most := c.graph.Len()
		if allow != nil {
			most = min(most, int(allow.GetCardinality()))
		}
		found, err := c.graph.Search(ctx, q, want, 0, allow)
		if err != nil {
			return nil, err
		}
		// Fewer than asked for need not be all: the graph leaves out what is deleted meanwhile.
		all := len(found) < want && want >= most || want > hnsw.MaxK/2
		found, _ = c.slots.living(found)
		if len(found) >= k || all {
			return found[:min(k, len(found))], nil
		}
	}
}

// readShare is the share of a range, as a divisor, below which slots are read one by one instead of
// scanning the range.
const readShare = 8

// scanStored calls measure with the vectors of the slots in [from, until) that allow contains (nil:
// all): those of the store, and those that are being replaced.
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
			return c.storedVectors().Read(ctx, slots, func(i int, v []float32) { measure(slots[i], v) })
		}
	}
	err := c.vectorsFrom(ctx, from, func(slot uint32, v []float32) error {
		if slot >= until {
			return store.ErrStop
		}
		if allow == nil || allow.Contains(slot) {
			measure(slot, v)
		}
		return nil
	})
	for slot, v := range c.replaced.all() {
		if from <= slot && slot < until && (allow == nil || allow.Contains(slot)) {
			measure(slot, v)
		}
	}
	return err
}

// nearestK keeps the k nearest of the offered slots, and some more.
type nearestK struct {
	k     int
	found []hnsw.Neighbor
	bound float32 // the largest distance among the k; valid once full
	full  bool
}

func (l *nearestK) offer(n hnsw.Neighbor) {
	if l.full && n.Distance > l.bound {
		return
	}
	if l.found = append(l.found, n); len(l.found) >= 2*l.k+64 {
		l.cut()
	}
}

// cut sorts by distance and drops duplicates and what is not among the k.
func (l *nearestK) cut() {
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

func (l *nearestK) result() []hnsw.Neighbor {
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
