package hnsw

import "math"

// Spread is the mean and the standard deviation of some distances.
type Spread struct {
	Mean, Deviation float64
	Count           int // vectors measured
}

// Spread measures the distances from q to at most n vectors, evenly spaced in the order of
// insertion. Where a source holds the vectors, it measures on codes. It returns the errors of
// Search. Safe for concurrent use.
func (g *Graph) Spread(q []float32, n int) (Spread, error) {
	if err := g.o.checkVector(q); err != nil {
		return Spread{}, err
	}
	c := g.core.Load()
	s := g.pool.take()
	defer g.pool.put(s)
	s.prepare(g, q)
	if c.from(&s.query, s.vec); c.resident() {
		s.query = query{vec: s.vec}
	}
	s.room(scanBlock)
	limit := c.published.Load()
	step := max(1, limit/uint32(max(1, n)))
	var out Spread
	var sum, squares float64
	var sieve sieve
	for node := uint32(0); node < limit; {
		k := 0
		for ; node < limit && k < scanBlock; node += step {
			if sieve.accepts(c, node) {
				s.nodes[k] = node
				k++
			}
		}
		c.measure(s, &s.query, k, !c.resident())
		for _, d := range s.dist[:k] {
			sum, squares = sum+float64(d), squares+float64(d)*float64(d)
		}
		out.Count += k
	}
	if out.Count > 0 {
		out.Mean = sum / float64(out.Count)
		out.Deviation = math.Sqrt(max(0, squares/float64(out.Count)-out.Mean*out.Mean))
	}
	return out, nil
}
