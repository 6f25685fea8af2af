package hnsw

import (
	"context"
	"math"
	"slices"

	"example.com/searchd/internal/simd"
)

// How many of the beam may be measured again in float32 for k results: at 4k, and no fewer than 50,
// the order that codes give away is regained; for very many results the estimates are off by fewer
// places than that.
const (
	rescoreFactor = 4
	rescoreLeast  = 50
	rescoreExtra  = 3000
	rescoreStep   = 8 // measured at a time after the first k, or k/8 if that is more
)

func rescoreWidth(k int) int { return max(rescoreLeast, min(rescoreFactor*k, k+rescoreExtra)) }

// rescore replaces the estimated distances of the best keys of s.beam by exact ones and drops the
// others. It stops early where none of those left can be among the k nearest, for all that codes
// can be wrong, and reports whether it did.
func (c *core) rescore(ctx context.Context, s *scratch, k int) (sure bool, err error) {
	s.beam.keys = s.beam.keys[:min(len(s.beam.keys), rescoreWidth(k))]
	return c.rescoreAll(ctx, s, k)
}

// rescoreAll is rescore for all of s.beam.
func (c *core) rescoreAll(ctx context.Context, s *scratch, k int) (sure bool, err error) {
	keys := s.beam.keys
	best := keys[:0] // sorted
	for at, n := 0, max(k, rescoreStep); at < len(keys) && !sure; n = max(rescoreStep, k/8) {
		n = min(n, len(keys)-at)
		exact, err := c.measureKeys(ctx, s, keys[at:at+n])
		if err != nil {
			return false, err
		}
		if at == 0 {
			best = append(best, exact...)
			slices.Sort(best)
		} else {
			for _, x := range exact { // inserting takes the place of what has been read, as best is a prefix of keys
				i, _ := slices.BinarySearch(best, x)
				best = slices.Insert(best, i, x)
			}
		}
		at += n
		sure = at < len(keys) && len(best) >= k && c.beyond(&s.query, keys[at:], keyDistance(best[k-1]))
	}
	s.beam.keys = best
	return sure, nil
}

// measureKeys replaces the distances of keys by exact ones and returns those that are still there.
func (c *core) measureKeys(ctx context.Context, s *scratch, keys []key) ([]key, error) {
	if !c.resident() {
		return c.readKeys(ctx, s, keys)
	}
	s.room(len(keys))
	for i, k := range keys {
		s.nodes[i] = keyNode(k)
	}
	c.exactDistances(s, &s.query, len(keys))
	for i, node := range s.nodes[:len(keys)] {
		keys[i] = makeKey(s.dist[i], node)
	}
	return keys, nil
}

// beyond reports whether all keys, whose distances are estimates, are farther than bound.
func (c *core) beyond(q *query, keys []key, bound float32) bool {
	for _, k := range keys {
		if keyDistance(k)-c.slack(q, keyNode(k)) <= bound {
			return false
		}
	}
	return true
}

// slackSigmas bounds the error of an estimate: one in a million is worse.
const slackSigmas = 5

// slack is how far an estimate may be from the distance. Rounding a component to a code is off by
// up to half a step, practically at random after the rotation: the dot product of two codes is
// off by the root of the sum of squares of one's step and the other's length, over the root of 12.
func (c *core) slack(q *query, node uint32) float32 {
	g, row := c.locate(node)
	a, b := q.scale, g.scales[row]
	if c.o.Metric == Cosine {
		return slackSigmas / 3.4641016 * float32(math.Sqrt(float64(a*a+b*b)))
	}
	code := g.code(row, c.rotation.width)
	norm := b * b * float32(simd.DotInt8(code, code))
	sigma := float32(math.Sqrt(float64(q.norm*b*b+norm*a*a))) / 3.4641016
	if c.o.Metric == L2 {
		sigma *= 2
	}
	return slackSigmas * sigma
}

// scanMost is the widest beam of a scan over codes that is made again because the first could not
// tell.
const scanMost = 4096

// rescoreScan leaves the k nearest nodes in s.beam. scan leaves a number of nodes there by their
// codes; it is repeated with more while these cannot separate the k nearest from the rest.
func (c *core) rescoreScan(ctx context.Context, s *scratch, k int, scan func(width int)) error {
	for width := rescoreWidth(k); ; width *= 4 {
		scan(width)
		found := len(s.beam.keys)
		sure, err := c.rescoreAll(ctx, s, k)
		if err != nil || sure || found < width || width >= scanMost {
			return err
		}
	}
}
